from narrows.studies.quic.claims.measures import much

judge = much(
    "Q1",
    "quinn's BBR does not behave as BBR: it fills queues and does not heed losses",
    "n0-computer/noq#475, which says of it no more than that it is broken",
    "q1_shares.py",
    stack="quinn_bbr",
    beside="cubic",
)
