from narrows.studies.media.claims.measures import beside

# Two flows of media; ten sources of 40 KB every ten seconds.
judge = beside(
    "M6",
    "Flows of media keep most of the link beside short TCP flows",
    "RFC 8867, section 5.7",
    "m6_short_tcp.py",
    flows=2,
    part=1.0,
    of="the link",
)
