"""The contestants of this study: every stack of `narrows quic list` with each of its controls."""

from collections.abc import Sequence
from typing import Any

from narrows.spec import axis, quic, repeat, tap

CONTESTANTS = {
    "quinn": ("cubic", "reno", "bbr"),
    "ngtcp2": ("cubic", "reno", "bbr", "bbr2"),
    "quic-go": ("reno",),
    "aioquic": ("cubic", "reno"),
    "s2n-quic": ("cubic", "bbr"),
    "quiche": ("cubic", "reno"),
}
STACKS = tuple(f"{stack}_{cca}" for stack, ccas in CONTESTANTS.items() for cca in ccas)
BBR = tuple(stack for stack in STACKS if "bbr" in stack)
LOSS_BASED = tuple(stack for stack in STACKS if "bbr" not in stack)
HTTP = ("ngtcp2",)
"""They speak HTTP/3, the others perf."""


def contestants(leave_out: Sequence[str] = (), **options: Any) -> Any:
    """An axis of them; the options are those of `quic()`."""
    return axis(
        "stack",
        {
            f"{stack}_{cca}": quic(stack, cca=cca, **options)
            for stack, ccas in CONTESTANTS.items()
            for cca in ccas
            if stack not in leave_out
        },
    )


def recorded() -> None:
    """What is kept of each packet, and how often a condition is made."""
    tap("summary")
    repeat(1)
