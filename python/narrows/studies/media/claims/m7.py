from narrows.studies.media.claims.measures import even

# Three flows, of which one pauses; after it has resumed.
judge = even(
    "M7",
    "When a flow of media pauses and resumes, all share evenly again",
    "RFC 8867, section 5.8",
    "m7_pause.py",
    flows=3,
)
