"""The view of `narrows run`: live on a terminal, one line per event elsewhere. Decides nothing."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from narrows.cli.format import counted, duration, key

if TYPE_CHECKING:
    from narrows.engine.events import Done, Event, Moved, Planned
    from narrows.engine.pace import Pace, Running
    from narrows.plan.model import Plan

QUIET_S = 60.0
"""After so much wall time a run in a log says again how far it has come."""


@dataclass
class Guest:
    """What a slot does now."""

    plan: Plan
    started: float
    t_ns: int | None = None
    phase: str = "boot"
    note: str = ""

    def wall_s(self) -> float:
        return time.monotonic() - self.started

    def virtual_s(self) -> float | None:
        """How far it has come; None before its first word."""
        return None if self.t_ns is None else self.t_ns / 1e9


@dataclass
class State:
    """All that has happened, as far as a view needs it."""

    pace: Pace
    started: float = field(default_factory=time.monotonic)
    planned: Planned | None = None
    guests: dict[int, Guest] = field(default_factory=dict)
    ok: int = 0
    failed: list[Done] = field(default_factory=list)
    virtual_s: float = 0.0
    wall_s: float = 0.0
    warned: Counter[str] = field(default_factory=Counter)
    """How many runs have each warning."""

    def unsaid(self, event: Done) -> list[str]:
        """A run's warnings that no run before it had: what many share stands once."""
        new = [warning for warning in event.warnings if not self.warned[warning]]
        self.warned.update(event.warnings)
        return new

    def take(self, event: Event) -> None:
        from narrows.engine.events import Done, Moved, Planned, Reading, Started, Stopped

        if isinstance(event, Planned):
            self.planned = event
        elif isinstance(event, Started):
            self.guests[event.slot.number] = Guest(event.plan, time.monotonic())
        elif isinstance(event, Moved):
            guest = self.guests.get(event.slot.number)
            if guest is not None:
                guest.t_ns, guest.phase = event.progress.t_ns, event.progress.phase
                guest.note = event.progress.note
        elif isinstance(event, Reading):
            guest = self.guests.get(event.slot.number)
            if guest is not None:
                guest.phase, guest.note = "reading results", ""
        elif isinstance(event, Done):
            guest = self.guests.pop(event.slot.number, None)
            busy_s = time.monotonic() - guest.started if guest else event.wall_s
            self.pace.finished(event.plan, busy_s, good=event.fault is None)
            self.virtual_s += event.virtual_s or 0.0
            self.wall_s += event.wall_s
            if event.fault is None:
                self.ok += 1
            else:
                self.failed.append(event)
        elif isinstance(event, Stopped):
            self.guests.pop(event.slot.number, None)

    @property
    def done(self) -> int:
        """Runs that are over."""
        return self.ok + len(self.failed)

    def running(self) -> list[Running]:
        """What the guests do, for how long already, and how far they have come."""
        from narrows.engine.pace import Running

        return [Running(guest.plan, guest.wall_s(), guest.virtual_s()) for guest in self.guests.values()]

    def left_s(self) -> float | None:
        """Time left, from the pace measured so far; None before there is one."""
        return self.pace.left_s(self.running(), self.planned.slots) if self.planned else None


def done_line(event: Done) -> Text:
    what = key(event.plan.key)
    if event.fault is not None:
        text = Text("failed ", style="bold red")
        return text.append(f"{event.run_id}  {what}  {event.fault.line()}", style="not bold default")
    pace = f"{event.virtual_s:.1f} s virtual, " if event.virtual_s is not None else ""
    line = Text("ok     ", style="green")
    return line.append(f"{event.run_id}  {what}  ({pace}{duration(event.wall_s)} wall)", style="default")


class PlainView:
    """Lines, for logs and pipes: one for each run, and one a minute for each that takes longer."""

    def __init__(self, console: Console, state: State) -> None:
        self._console, self._state = console, state
        self._said: dict[int, float] = {}

    def __enter__(self) -> PlainView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def show(self, event: Event) -> None:
        """Take the event; print what is worth a line."""
        from narrows.engine.events import Done, Making, Moved, Planned

        self._state.take(event)
        if isinstance(event, Planned):
            self._console.print(planned_line(event))
        elif isinstance(event, Making):
            self._console.print(f"making, once: {event.about}")
        elif isinstance(event, Moved):
            self._moved(event)
        elif isinstance(event, Done):
            self._line(done_line(event))
            for warning in self._state.unsaid(event):
                self._console.print(f"    warning: {warning}")

    def _moved(self, event: Moved) -> None:
        """Where a run is, if nothing was said of it for a while."""
        number, now = event.slot.number, time.monotonic()
        guest = self._state.guests.get(number)
        if guest is None or now - max(guest.started, self._said.get(number, 0.0)) < QUIET_S:
            return
        self._said[number] = now
        so_far = f"{guest.virtual_s() or 0.0:.1f} s virtual, {duration(guest.wall_s())} wall so far"
        self._line(Text(f"{guest.phase:<6} {event.run_id}  {key(guest.plan.key)}  ({so_far})"))

    def _line(self, text: Text) -> None:
        """How many are done, the text, and the time left."""
        assert self._state.planned is not None
        left = self._state.left_s()
        tail = f"  left: {duration(left)}" if left else ""
        count = f"[{self._state.done}/{self._state.planned.to_do}] "
        self._console.print(Text(count).append_text(text).append(tail))


class LiveView(PlainView):
    """A few lines at the foot of the terminal, finished runs scroll above them."""

    def __init__(self, console: Console, state: State) -> None:
        super().__init__(console, state)
        self._live = Live(console=console, get_renderable=self.render, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def _moved(self, event: Moved) -> None:
        """It is shown already."""

    def _line(self, text: Text) -> None:
        self._console.print(text)

    def render(self) -> RenderableType:
        state = self._state
        if state.planned is None:
            return Text("planning")
        head = Table.grid(padding=(0, 1))
        failed = f", {len(state.failed)} failed" if state.failed else ""
        left = state.left_s()
        head.add_row(
            self._bar(left),
            f"{state.done}/{state.planned.to_do} runs{failed}",
            f"{duration(time.monotonic() - state.started)} so far",
            f"about {duration(left)} left" if left is not None else "time left: not known yet",
        )
        guests = Table.grid(padding=(0, 2))
        for number, guest in sorted(state.guests.items()):
            pace = f"{guest.virtual_s() or 0.0:7.1f} s virtual / {guest.wall_s():6.1f} s wall"
            guests.add_row(f"{number}", key(guest.plan.key), guest.phase, pace, guest.note[:40])
        return Group(head, guests)

    def _bar(self, left_s: float | None) -> ProgressBar:
        """The share of all time that guests need which they have had."""
        state = self._state
        had_s = state.pace.busy_s() + sum(one.elapsed_s for one in state.running())
        total_s = had_s + (left_s or 0.0) * (state.planned.slots if state.planned else 1)
        return ProgressBar(total=max(1.0, total_s), completed=0.0 if left_s is None else had_s, width=30)


def planned_line(event: Planned) -> str:
    parts = [counted(event.total, "run")]
    if event.skipped:
        parts.append(f"{event.skipped} there already")
    if event.reused:
        parts.append(f"{event.reused} linked from another directory")
    parts.append(f"{event.to_do} to do on {counted(event.slots, 'core')}" if event.to_do else "nothing to do")
    return ", ".join(parts)
