from collections.abc import Iterator

from narrows.judging.parts import Mark, Number, Numbers, all_of, one, percent
from narrows.studies.local_bottleneck.claims.measures import DOWN, INDUCED, LOCAL, REMOTE, AtHome, on

KEPT = 0.90  # of the remote throughput: the local queue is set to 95 %
CUT = 0.5  # of the remote induced latency is left at most


def cuts(found: Numbers) -> Iterator[Number]:
    """The milliseconds by which the latency falls."""
    for remote in all_of(found, INDUCED.name, **REMOTE):
        under = {axis: label for axis, label in remote.conditions.items() if axis != "home"}
        local = one(found, INDUCED.name, **under, **LOCAL)
        if local is not None:
            yield Number("cut", "ms", remote.value - local.value, remote.n, under)


judge = AtHome(
    "L1",
    "Bulk download: a little throughput buys a large cut in induced latency, more with CUBIC than with BBR",
    "Fig. 5a, 5c",
    "l01_bulk_download.py",
    by=("profile", "cca", "home"),
    where=on("down", profile=("fttc-30-10", "fwa-30-3")),
    measures=(INDUCED, DOWN),
    derive=cuts,
    hidden=("cut",),
    whole=("profile",),
    marks=(
        Mark(f"{percent(KEPT)} of the remote goodput is kept", DOWN.name, KEPT, where=LOCAL, against=REMOTE),
        Mark(f"the latency is cut to {percent(CUT)}", INDUCED.name, most=CUT, where=LOCAL, against=REMOTE),
        Mark("more with CUBIC", "cut", 1, strict=True, where={"cca": "cubic"}, against={"cca": "bbr"}),
    ),
)
