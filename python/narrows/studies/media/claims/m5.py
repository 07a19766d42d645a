from narrows.studies.media.claims.measures import beside

# One flow of media, one of CUBIC.
judge = beside(
    "M5",
    "A flow of media neither starves beside a long TCP flow nor starves it",
    "RFC 8867, section 5.6",
    "m5_long_tcp.py",
    flows=1,
    part=0.5,
    of="an even split",
)
