from collections.abc import Iterator

from narrows.judging.parts import Mark, Measure, Number, Numbers, all_of
from narrows.studies.local_bottleneck.claims.measures import BOTH, CCAS, AtHome, on, tcp_rtt_ms

ALIKE = 1.3
TWICE = (1.5, 3.0)
WIRELESS_MS = (200.0, 350.0)
FIBRE, WIRELESS = {"profile": "ftth-200-60"}, {"profile": "fwa-30-3"}
MEDIAN = Measure("TCP RTT of uploads, median", "ms", tcp_rtt_ms("test.up-BE"), FIBRE)
HIGH = Measure("TCP RTT of uploads, p99", "ms", tcp_rtt_ms("test.up-BE", 99), WIRELESS)
HIGHEST = "highest RTT"


def highest(found: Numbers) -> Iterator[Number]:
    """The higher of both CCAs in the FIFO, where both were tried with and without a local queue."""
    remote, local = (all_of(found, HIGH.name, home=home) for home in BOTH)
    if len(remote) == len(local) == len(CCAS):
        yield Number(HIGHEST, "ms", max(each.value for each in remote), remote[0].n, WIRELESS)


REMOTE = {**FIBRE, "home": "remote"}
judge = AtHome(
    "L14",
    "FTTH: no difference between BBR and CUBIC, about twice the local RTT; FWA up to 275 ms",
    "Fig. 11b, 11c",
    "l14_fibre_and_wireless.py",
    by=("profile", "cca", "home"),
    where=on("best_effort", flows="4", profile=("ftth-200-60", "fwa-30-3")),
    measures=(MEDIAN, HIGH),
    derive=highest,
    hidden=(HIGHEST,),
    whole=(),
    marks=(
        Mark(
            f"fibre: CUBIC within {ALIKE:g} of BBR", MEDIAN.name, 1 / ALIKE, ALIKE,
            where={**REMOTE, "cca": "cubic"}, against={"cca": "bbr"},
        ),
        Mark(
            f"fibre: {TWICE[0]:g} to {TWICE[1]:g} times the local RTT", MEDIAN.name, *TWICE,
            where={**REMOTE, "cca": CCAS}, against={"home": "local"},
        ),
        Mark(f"wireless: {WIRELESS_MS[0]:g} to {WIRELESS_MS[1]:g} ms at most", HIGHEST, *WIRELESS_MS),
    ),
    under="FTTH at a fifth of its rates, FWA 30/3",
)  # fmt: skip
