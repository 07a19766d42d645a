"""The study of services that share a link: what it tests, and which runs it makes."""

from functools import partial

from narrows.studies.study import Quick, Study, labels

FOUR = ("bbr", "reno", "batches", "dash")
PAIRS = tuple(f"{a}+{b}" for n, a in enumerate(FOUR) for b in FOUR[n:])

STUDY = Study(
    title="Do services share a link fairly?",
    paper="Philip, *Accurately Parameterizing Internet Performance Testing for Realistic Evaluations* "
    "(2025), chapter 4, and *Prudentia*, SIGCOMM 2024",
    quick=Quick(
        ("t09_all_pairs",), {"rate": ("8Mbit",), "length": ("60s",), "pair": (*FOUR, *PAIRS)}, seeds=("0",)
    ),
    usual={"length": ("180s",)},
    headline="T9",
    headline_figure="share_8Mbit",
    condition=partial(labels, besides=("seed", "length"), experiment=False),  # shorter trials are trials too,
)
