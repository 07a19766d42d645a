from narrows.studies.media.claims.measures import follows

# Two flows; 4, 2, 3.5, 1 and 2 Mbit/s.
judge = follows(
    "M2",
    "Two flows of media follow a capacity that changes",
    "RFC 8867, section 5.2",
    "m2_several.py",
    flows=2,
)
