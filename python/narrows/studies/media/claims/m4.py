from narrows.studies.media.claims.measures import even

# Three flows that come one after the other.
judge = even(
    "M4",
    "Flows of media of one congestion control share a link evenly",
    "RFC 8867, section 5.4",
    "m4_competing.py",
    flows=3,
)
