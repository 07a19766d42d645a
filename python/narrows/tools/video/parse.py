"""What the video's client wrote (`client/run.mjs`): once a second the rung, the buffer and the frames;
stalls; and what says whether the trial is valid.

Figures are of the whole time that it was watched, but where they say otherwise. A stall is what the element
calls `waiting` after it has played once, until it plays again. A picture that stands still although there is
more to show is no stall of the network's: the browser hangs.
"""

from itertools import pairwise
from typing import Any

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed, known_shape
from narrows.tools.services.parse import ClientLog, of_run

SERIES = (
    ("rung_bps", "video_rung", "bit/s"),
    ("height", "video_height", "1"),
    ("buffer_s", "video_buffer", "s"),
    ("played_s", "video_played", "s"),
    ("dropped", "video_frames_dropped", "frames"),
)

STILL = 0.1
"""A picture stands still that shows less than this of the time that passes."""
ENOUGH_S = 1.0
MOST_FROZEN_MS = 2000.0
"""States are a second apart, and a player may take one to go on after a stall."""


def parse(log: ClientLog, item: str, *, where: str = "video") -> Parsed:
    """Figures and series. A player's fault is an error: what it did afterwards is no service."""
    parsed = Parsed()
    if faults := log.of("fault"):
        raise StoreError(f"the player failed: {faults[0].get('message')}", where=where)
    with known_shape(where, "what narrows' video client writes"):
        states = log.of("state")
        times = log.times(states)
        for field, series, unit in SERIES:
            parsed.add(series, unit, times, [state[field] for state in states], direction="down")
        if started := log.of("started"):
            parsed.figure("video_start_ms", started[0]["after_ms"], "ms")
        last = log.end["state"] or (states[-1] if states else None)
        if last is None:
            raise StoreError("the page never played: it told nothing", where=where, remedy="watch it longer")
        rungs = [state["rung_bps"] for state in states if state["rung_bps"] is not None]
        if rungs:
            parsed.figure("video_mean_rung_bps", sum(rungs) / len(rungs), "bit/s", "down")
            parsed.figure("video_switches", sum(a != b for a, b in pairwise(rungs)), "switches")
        stalls = [stall["for_ms"] for stall in log.of("stalled")]
        stalls += [last["stalled_ms"]] if last["stalled_ms"] else []
        parsed.figure("video_stalls", len(stalls), "stalls")
        parsed.figure("video_stalled_ms", sum(stalls), "ms")
        parsed.figure("video_played_s", last["played_s"], "s")
        parsed.figure("video_frames", last["frames"], "frames")
        parsed.figure("video_frames_dropped", last["dropped"], "frames")
        _validity(parsed, log, item)
    return parsed


def frozen_ms(states: list[dict[str, Any]]) -> float | None:
    """The longest time that the picture stood still, once it had moved, with `ENOUGH_S` or more buffered.
    None of fewer than two states."""
    if len(states) < 2:
        return None
    longest = now = 0.0
    for before, after in pairwise(states):
        took_ms = after["at_ms"] - before["at_ms"]
        moved_s = after["played_s"] - before["played_s"]
        still = 1000 * moved_s < STILL * took_ms and before["played_s"] > 0
        enough = min(before["buffer_s"] or 0.0, after["buffer_s"] or 0.0) >= ENOUGH_S
        now = now + took_ms if still and enough else 0.0
        longest = max(longest, now)
    return longest


def _validity(parsed: Parsed, log: ClientLog, item: str) -> None:
    """What a trial must show to count; judged by who uses it, warned of here."""
    if able := log.of("able"):
        top = bool(able[0]["supported"] and able[0]["smooth"])
        parsed.figure("video_top_rung_playable", float(top), "1")
        parsed.figure("video_viewport_height", able[0]["height"], "1")
        if not top:
            parsed.warnings.append(f"{item}: the browser does not believe that it can play the highest rung")
    frozen = frozen_ms(log.of("state"))
    parsed.figure("video_frozen_ms", frozen, "ms")
    if frozen is not None and frozen > MOST_FROZEN_MS:
        parsed.warnings.append(
            f"{item}: the picture stood still for {frozen / 1000:.0f} s with more in the buffer"
        )
    gone = log.end["processes_gone"]
    parsed.figure("browser_processes_gone", len(gone), "processes")
    if gone:
        parsed.warnings.append(f"{item}: processes of the browser died: {', '.join(gone)}")


def read(ran: CommandRun) -> Parsed:
    return parse(of_run(ran), ran.item.id, where=ran.where)
