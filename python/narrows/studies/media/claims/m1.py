from narrows.studies.media.claims.measures import follows

# One flow; 1, 2.5, 0.6 and 1 Mbit/s.
judge = follows(
    "M1",
    "A flow of media follows a capacity that changes, and does not swing about it",
    "RFC 8867, section 5.1",
    "m1_single.py",
    flows=1,
)
