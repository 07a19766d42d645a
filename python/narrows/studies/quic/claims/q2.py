from narrows.studies.quic.claims.measures import much

judge = much(
    "Q2",
    "ngtcp2's BBR (0.12, of the draft of 2017) is too aggressive: losses do not stop it",
    "ngtcp2/ngtcp2#327, of a commit of September 2021 and losses at random",
    "q1_shares.py",
    stack="ngtcp2_bbr",
    beside="nothing",
)
