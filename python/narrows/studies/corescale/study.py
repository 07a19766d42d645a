"""CoreScale, chapter 3 of Philip's thesis: what it tests, and which runs it makes.

A whole sweep would take weeks; a call by name makes the thesis' own conditions at its smallest scale, once.
"""

from collections.abc import Sequence

from narrows.studies.study import Quick, Study

LONG = "-long"


def of_size(size: str, labels: Sequence[str]) -> list[str]:
    """A label itself, else all that begin with the size (`core`: core-1000, core-3000, …); the long runs only
    if they are named."""
    if size in labels:
        return [size]
    return [label for label in labels if label.startswith(f"{size}-") and not label.endswith(LONG)]


STUDY = Study(
    title="Fairness of 2 to 5000 flows at one bottleneck",
    paper="Philip's thesis on fairness at scale, whose chapter 3 is CoreScale (first at IMC 2021)",
    quick=Quick(("many_flows",), {"mix": ("reno", "cubic", "bbr")}),
    seeds=("0",),
    usual={
        "rtt": ("20ms", "100ms", "200ms"),
        "buffer": ("one",),
        "offloads": ("off",),
        "timers": ("exact",),
        "start": ("spread",),
    },
    size_of=of_size,
    size_axes=("setting", "size"),
    default_size="edge",
    many_packets=True,
    headline="T5",
    headline_figure="chapter3_fig_3_4",
    condition=None,
)
