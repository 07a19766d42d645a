"""What `narrows run` shows meanwhile: runs done, time left, what each guest does, virtual against wall."""

from __future__ import annotations

import io
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
from rich.console import Console
from store_fakes import make_plan

from narrows.cli import run_view
from narrows.cli.run import report_on
from narrows.cli.run_view import LiveView, PlainView, State
from narrows.engine.events import Done, Moved, Planned, Reading, Started, Stopped
from narrows.engine.pace import Pace
from narrows.engine.types import Progress, RunFault, Slot

PLANS = [make_plan(seed=seed, duration_s=10.0) for seed in (1, 2, 3, 4)]
SLOTS = (Slot(0, 0), Slot(1, 1))


class Clock:
    """Wall time as the test says."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(run_view, "time", SimpleNamespace(monotonic=made))
    return made


def done(number: int, slot: int, fault: RunFault | None = None, warnings: tuple[str, ...] = ()) -> Done:
    status = "ok" if fault is None else "failed"
    return Done(f"run{number}", PLANS[number], SLOTS[slot], status, fault, 4.0, 10.0, warnings)  # type: ignore[arg-type]


def shown(view: LiveView) -> str:
    console = Console(file=io.StringIO(), width=200)
    console.print(view.render())
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def live(state: State) -> LiveView:
    return LiveView(Console(file=io.StringIO(), width=200), state)


def test_each_guest_says_what_it_does_in_virtual_and_in_wall_time(clock: Clock) -> None:
    state = State(Pace(PLANS), started=clock.now)
    state.take(Planned(total=5, skipped=1, reused=0, to_do=4, slots=2))
    for number in (0, 1):
        state.take(Started(f"run{number}", PLANS[number], SLOTS[number]))
    assert "time left: not known yet" in shown(live(state))
    clock.now += 2.5
    state.take(Moved("run0", SLOTS[0], Progress(6_500_000_000, "traffic", "ndt7 download")))
    state.take(Reading("run1", SLOTS[1], 2.0))
    text = shown(live(state))
    assert "0/4 runs" in text
    assert "2.5 s so far" in text
    assert "about " in text  # from how far the first has come
    first, second = (line for line in text.splitlines() if "virtual" in line)
    assert "seed=1" in first
    assert "traffic" in first
    assert "6.5 s virtual /    2.5 s wall" in first
    assert "ndt7 download" in first
    assert "reading results" in second


def test_time_left_follows_the_pace_of_finished_runs(clock: Clock) -> None:
    state = State(Pace(PLANS), started=clock.now)
    state.take(Planned(total=4, skipped=0, reused=0, to_do=4, slots=2))
    for number in (0, 1):
        state.take(Started(f"run{number}", PLANS[number], SLOTS[number]))
    clock.now += 8
    for number in (0, 1):
        state.take(done(number, number))
    # Two equal runs took 8 s each on two cores; two are left, at once.
    assert state.left_s() == pytest.approx(8.0)
    for number in (2, 3):
        state.take(Started(f"run{number}", PLANS[number], SLOTS[number - 2]))
    clock.now += 5
    assert state.left_s() == pytest.approx(3.0)
    assert "2/4 runs" in shown(live(state))
    assert "about 3.0 s left" in shown(live(state))
    clock.now += 60  # slower than thought: never less than nothing
    assert state.left_s() == 0.0


def test_failed_runs_are_counted_and_a_stopped_guest_is_gone(clock: Clock) -> None:
    state = State(Pace(PLANS), started=clock.now)
    state.take(Planned(total=4, skipped=0, reused=0, to_do=4, slots=2))
    state.take(Started("run0", PLANS[0], SLOTS[0]))
    state.take(done(0, 0, RunFault("calibration", "the link is slow")))
    state.take(Started("run1", PLANS[1], SLOTS[1]))
    state.take(Stopped("run1", SLOTS[1]))
    text = shown(live(state))
    assert "1/4 runs, 1 failed" in text
    assert "virtual" not in text


def test_into_a_file_there_is_one_line_for_each_run(clock: Clock) -> None:
    file = io.StringIO()
    with PlainView(Console(file=file, width=200), State(Pace(PLANS), started=clock.now)) as view:
        view.show(Planned(total=4, skipped=0, reused=0, to_do=4, slots=2))
        view.show(Started("run0", PLANS[0], SLOTS[0]))
        view.show(Moved("run0", SLOTS[0], Progress(1, "traffic", "")))
        clock.now += 8
        view.show(done(0, 0, warnings=("no tap",)))
        view.show(Started("run1", PLANS[1], SLOTS[1]))
        view.show(done(1, 1, RunFault("calibration", "the link is slow")))
    lines = file.getvalue().splitlines()
    assert lines[0] == "4 runs, 4 to do on 2 cores"
    assert lines[1].startswith("[1/4] ok     run0  ")
    assert "(10.0 s virtual, 4.0 s wall)" in lines[1]
    assert "left: " in lines[1]
    assert lines[2] == "    warning: no tap"
    assert lines[3].startswith("[2/4] failed run1  ")
    assert "calibration: the link is slow" in lines[3]
    assert len(lines) == 4


def test_into_a_file_a_long_run_says_each_minute_how_far_it_has_come(clock: Clock) -> None:
    file = io.StringIO()
    with PlainView(Console(file=file, width=200), State(Pace(PLANS[:1]), started=clock.now)) as view:
        view.show(Planned(total=1, skipped=0, reused=0, to_do=1, slots=1))
        view.show(Started("run0", PLANS[0], SLOTS[0]))
        for t_s in range(1, 10):
            clock.now += 20
            view.show(Moved("run0", SLOTS[0], Progress(t_s * 10**9, "traffic", "")))
    lines = file.getvalue().splitlines()
    assert len(lines) == 1 + 3
    assert lines[1].startswith("[0/1] traffic run0  ")
    # 3 of 10 virtual seconds took 60 s
    assert lines[1].endswith("(3.0 s virtual, 1 min 00 s wall so far)  left: 2 min 20 s")


def test_the_last_word_counts_the_rounds_of_a_rule_together(clock: Clock) -> None:
    states = []
    for numbers in ((0, 1), (2,)):
        state = State(Pace(PLANS), started=clock.now)
        state.take(Planned(total=len(numbers), skipped=0, reused=0, to_do=len(numbers), slots=1))
        for number in numbers:
            state.take(Started(f"run{number}", PLANS[number], SLOTS[0]))
            state.take(done(number, 0, RunFault("traffic", "it broke") if number == 1 else None))
        states.append(state)
    console = Console(file=io.StringIO(), width=200)
    with pytest.raises(typer.Exit):
        report_on(console, states, Path("results/x"))
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert said.startswith("2 made, 1 failed in ")
    assert "30 s virtual in 12 s of guests' wall time" in said
    assert "1 failed; the first: narrows show run1 --dir results/x" in said
