"""What the page's client wrote (`client/run.mjs`): each load's times, from the navigation's start.

A load that was not over before the next was due has no times: medians over the others would be
too low, so a failed one counts as endless, and where that is the median there is none.
"""

import numpy as np

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape
from narrows.tools.services.parse import ClientLog, of_run

TIMES = (
    ("load_ms", "page_load_ms", "page_load"),
    ("visual_ms", "page_visual_ms", "page_visual"),
    ("first_paint_ms", "page_first_paint_ms", "page_first_paint"),
    ("last_byte_ms", "page_last_byte_ms", "page_last_byte"),
)


def parse(log: ClientLog, item: str, *, where: str = "page") -> Parsed:
    """Medians over all loads (a failed one counts as the longest), and a series of each time."""
    parsed = Parsed()
    with known_shape(where, "what narrows' page client writes"):
        loads, failed = log.of("load"), log.of("unloaded")
        if not loads:
            why = failed[0]["message"] if failed else "nothing was loaded"
            raise StoreError(f"the page never loaded: {why}", where=where)
        parsed.figure("page_loads", len(loads), "loads")
        parsed.figure("page_loads_failed", len(failed), "loads")
        parsed.figure("page_requests", loads[0]["requests"], "requests")
        at = [log.t_ns(load["begun_ms"]) for load in loads]
        late = 0
        for field, figure, series in TIMES:
            values = [load[field] for load in loads]
            parsed.add(series, "ms", at, values, direction="down")
            every = [np.inf if v is None else float(v) for v in values] + [np.inf] * len(failed)
            middle = float(np.median(every))
            parsed.figure(figure, middle if np.isfinite(middle) else None, "ms")
        for load in loads:
            first, last = load["first_paint_ms"], load["last_byte_ms"]
            late += first is not None and first > last
        parsed.figure("page_paints_after_last_byte", late, "loads")
    if failed:
        parsed.warnings.append(
            f"{item}: {len(failed)} of {len(loads) + len(failed)} loads were not over in time"
        )
    return parsed


def read(ran: CommandRun) -> Parsed:
    return parse(of_run(ran), ran.item.id, where=ran.where)
