"""Pass marks of an experiment: what its figures must be for `narrows run` to end well."""

from typing import Any

from narrows.errors import UnitError
from narrows.spec.base import SpecObject, option
from narrows.spec.observe import figure_name, statistic
from narrows.spec.parsers import Wrong, choice, optional, percent, text
from narrows.units import Duration, Rate, Size

Bound = float | Rate | Duration | Size


def _mark(value: Any) -> Bound:
    """A quantity, a share (`"1 %"`), or a plain number of whatever the figure counts."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, str) and value.strip().endswith("%"):
        return percent(value) / 100
    for kind in (Rate, Duration, Size):
        try:
            return kind.parse(value)
        except UnitError:
            continue
    raise Wrong(f"{value!r} is no pass mark", '"20 ms", "45 Mbit/s", "1 %", 100')


def _of(value: Any) -> float | None:
    return None if value == "each" else statistic(value)


class expect(SpecObject):
    """`expect("sojourn_p95_ms", below="20 ms", direction="down")`: a figure must be so, or `narrows run` ends
    with status 3. Figures are those of the tables `metrics`, `items` and `score`, as of `ci`; a run without
    it fails.

    With `of="median"` (or `"p95"`) it is that statistic over the repetitions of each condition. `only` keeps
    the mark to some runs: `only="queue=mine"`, as `narrows run --only`.
    """

    positional = ("figure",)
    may_stand_alone = True

    figure: str = option(figure_name)
    below: str | float | None = option(optional(_mark), default=None, doc='"20 ms", "45 Mbit/s", "1 %", 100')
    above: str | float | None = option(optional(_mark), default=None)
    of: str = option(_of, default="each", doc='"each" run, or "median", "p95", … of the repetitions')
    direction: str | None = option(optional(choice("down", "up")), default=None)
    source: str | None = option(optional(figure_name), default=None, doc="needed where several have it")
    only: str | None = option(optional(text), default=None, doc='"queue=mine", as --only')

    def check(self) -> None:
        if self["below"] is None and self["above"] is None:
            self.fail("neither below nor above", 'below="20 ms"')
