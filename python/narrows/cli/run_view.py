"""The view of `narrows run`: live on a terminal, one line per event elsewhere. Decides nothing."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from narrows.cli.format import duration, key
from narrows.engine.events import Done, Event, Moved, Planned, Reading, Skipped, Started, Stopped
from narrows.engine.work import duration_s, expected_work
from narrows.plan.model import Plan


@dataclass
class Guest:
    """What a slot does now."""

    plan: Plan
    started: float
    t_ns: int | None = None
    phase: str = "boot"
    note: str = ""


@dataclass
class State:
    """All that has happened, as far as a view needs it."""

    started: float = field(default_factory=time.monotonic)
    planned: Planned | None = None
    guests: dict[int, Guest] = field(default_factory=dict)
    ok: int = 0
    failed: list[Done] = field(default_factory=list)
    work_left: float = 0.0
    work_done: float = 0.0
    busy_s: float = 0.0
    virtual_s: float = 0.0
    wall_s: float = 0.0

    def take(self, event: Event) -> None:
        """Bring the state up to date."""
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
            self.work_done += expected_work(event.plan)
            self.busy_s += time.monotonic() - (guest.started if guest else time.monotonic())
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

    def left_s(self, total_work: float) -> float | None:
        """Time left, from the measured pace of finished runs; None before the first."""
        if not self.planned or not self.work_done or not self.busy_s:
            return None
        now = time.monotonic()
        per_work = self.busy_s / self.work_done
        running = sum(min(now - g.started, expected_work(g.plan) * per_work) for g in self.guests.values())
        left = (total_work - self.work_done) * per_work - running
        return max(0.0, left) / max(1, self.planned.slots)


def done_line(event: Done) -> Text:
    """One line per finished run."""
    what = key(event.plan.key)
    if event.fault is not None:
        text = Text("failed ", style="bold red")
        return text.append(f"{event.run_id}  {what}  {event.fault.line()}", style="not bold default")
    pace = f"{event.virtual_s:.1f} s virtual, " if event.virtual_s is not None else ""
    line = Text("ok     ", style="green")
    return line.append(f"{event.run_id}  {what}  ({pace}{duration(event.wall_s)} wall)", style="default")


class View(Protocol):
    """What `narrows run` shows events with."""

    def show(self, event: Event) -> None: ...

    def __enter__(self) -> View: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class PlainView:
    """Lines, for logs and pipes."""

    def __init__(self, console: Console, state: State, total_work: float) -> None:
        self._console, self._state, self._total = console, state, total_work

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def show(self, event: Event) -> None:
        """Print what is worth a line."""
        self._state.take(event)
        if isinstance(event, Planned):
            self._console.print(planned_line(event))
        elif isinstance(event, Done):
            assert self._state.planned is not None
            left = self._state.left_s(self._total)
            count = f"[{self._state.done}/{self._state.planned.to_do}] "
            tail = f"  left: {duration(left)}" if left else ""
            self._console.print(Text(count).append_text(done_line(event)).append(tail))
            for warning in event.warnings:
                self._console.print(f"    warning: {warning}")


class LiveView:
    """A few lines at the foot of the terminal, finished runs scroll above them."""

    def __init__(self, console: Console, state: State, total_work: float) -> None:
        self._console, self._state, self._total = console, state, total_work
        self._live = Live(console=console, get_renderable=self._render, refresh_per_second=4, transient=True)

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.__exit__(kind, error, trace)

    def show(self, event: Event) -> None:
        """Take the event; print finished runs above the view."""
        self._state.take(event)
        if isinstance(event, Planned):
            self._console.print(planned_line(event))
        elif isinstance(event, Done):
            self._console.print(done_line(event))
            for warning in event.warnings:
                self._console.print(f"    warning: {warning}")
        elif isinstance(event, Skipped):
            pass

    def _render(self) -> RenderableType:
        state = self._state
        if state.planned is None:
            return Text("planning")
        head = Table.grid(padding=(0, 1))
        failed = f", {len(state.failed)} failed" if state.failed else ""
        left = state.left_s(self._total)
        head.add_row(
            ProgressBar(total=max(1.0, self._total), completed=self._partly(), width=30),
            f"{state.done}/{state.planned.to_do} runs{failed}",
            f"{duration(time.monotonic() - state.started)} so far",
            f"about {duration(left)} left" if left is not None else "time left: known after the first run",
        )
        guests = Table.grid(padding=(0, 2))
        for number, guest in sorted(state.guests.items()):
            wall = time.monotonic() - guest.started
            t_s = 0.0 if guest.t_ns is None else guest.t_ns / 1e9
            pace = f"{t_s:7.1f} s virtual / {wall:6.1f} s wall"
            guests.add_row(f"{number}", key(guest.plan.key), guest.phase, pace, guest.note[:40])
        return Group(head, guests)

    def _partly(self) -> float:
        """Work done, running guests by their virtual time."""
        part = self._state.work_done
        for guest in self._state.guests.values():
            length = duration_s(guest.plan)
            if guest.t_ns and guest.t_ns > 0 and length > 0:
                part += expected_work(guest.plan) * min(1.0, guest.t_ns / 1e9 / length)
        return part


def planned_line(event: Planned) -> str:
    """What there is to do."""
    parts = [f"{event.total} runs"]
    if event.skipped:
        parts.append(f"{event.skipped} there already")
    if event.reused:
        parts.append(f"{event.reused} linked from another directory")
    parts.append(f"{event.to_do} to do on {event.slots} cores" if event.to_do else "nothing to do")
    return ", ".join(parts)
