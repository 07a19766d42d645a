"""A condition in the thesis' words: its scale, its buffer in units of the scale's own, and whether it is one
of the thesis' conditions.

EdgeScale and CoreScale are the thesis' words; the middle is between them in proportion.
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from narrows.runs.flow_case import DROP_TAIL, FlowCase, flow_cases
from narrows.runs.observed import Observed
from narrows.runs.same_runs import of_same_runs

SCALES = {100_000_000: "edge", 1_000_000_000: "middle", 10_000_000_000: "core"}
"""By the bottleneck's rate in bit/s."""
BUFFER_BYTES = {"edge": 3_000_000, "middle": 37_500_000, "core": 375_000_000}
"""The thesis' buffers, about one BDP at 200 ms."""
SAME_BUFFER = 0.02


@dataclass(frozen=True, order=True)
class Case(FlowCase):
    """A condition of many flows as the thesis has it."""

    @property
    def scale(self) -> str:
        """ "edge", "middle", "core", or the rate."""
        return SCALES.get(self.rate_bps, f"{self.rate_bps / 1e6:g} Mbit/s")

    @property
    def buffer(self) -> float | None:
        """The queue's limit over the scale's own buffer; None where there is no such limit."""
        whole = BUFFER_BYTES.get(self.scale)
        return None if whole is None or self.buffer_bytes is None else round(self.buffer_bytes / whole, 3)

    @property
    def is_thesis(self) -> bool:
        """Whether nothing is unusual, and the queue is drop-tail of the scale's buffer."""
        whole = self.buffer is not None and abs(self.buffer - 1) < SAME_BUFFER
        return self.is_usual and self.queue in DROP_TAIL and whole

    def labels(self) -> dict[str, str]:
        """Its conditions by axis; what is not as in the thesis is one."""
        scale, mix, rtt, *besides = self._parts()
        return {
            "scale": scale,
            "mix": mix,
            "rtt": rtt,
            **({"besides": ", ".join(besides)} if besides else {}),
        }

    def words(self) -> str:
        """For a table or a caption."""
        return ", ".join(self._parts())

    def _parts(self) -> list[str]:
        extra = [f"{self.queue} {self.variant}".strip()] if self.variant or not self.is_thesis else []
        if self.buffer is not None and abs(self.buffer - 1) >= SAME_BUFFER:
            extra.append(f"buffer × {self.buffer:g}")
        return [self.scale, self.mixed(), self.rtt, *extra, *self.besides_words()]


@of_same_runs
def thesis_cases(runs: Iterable[Observed]) -> dict[Case, list[Observed]]:
    """Good runs with a flow tap, by condition; smaller scales first."""
    names = [field.name for field in dataclasses.fields(FlowCase)]
    found = {
        Case(**{name: getattr(case, name) for name in names}): same for case, same in flow_cases(runs).items()
    }
    return {case: found[case] for case in sorted(found, key=_order)}


def _order(case: Case) -> tuple[Any, ...]:
    scales = (*SCALES.values(), case.scale)
    return (scales.index(case.scale), case.ccas, case.flows, case.rtts_ms, case.queue, case.words())
