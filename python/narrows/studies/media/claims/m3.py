from narrows.studies.media.claims.measures import follows

# Media both ways; 2, 1, 0.5 and 2 Mbit/s downstream.
judge = follows(
    "M3",
    "A flow of media follows its capacity also while its feedback's way is congested",
    "RFC 8867, section 5.3",
    "m3_feedback.py",
    flows=1,
)
