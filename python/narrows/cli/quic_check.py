"""`narrows quic check NAME|FOLDER`: some short runs of one stack, and what each of them shows."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import typer

from narrows.cli.format import table
from narrows.cli.run import FAILED, carry_out, make_engine
from narrows.errors import UsageError, did_you_mean
from narrows.plan.identity import plan_hash

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.plan.model import Plan
    from narrows.tools.quic.stack import Stack

EXPERIMENT = '''"""Can the stack do this: {about}?"""

from narrows.spec import Link, command, fq_codel, pfifo, quic, tap

link = Link(rate="{rate}", base_rtt="40 ms", queue={queue}{link})
mine = quic({stack!r}, {options}, start_jitter="0 s")
{more}
tap("summary")
'''
BYTES = 10_000_000
ENOUGH = 0.8
"""Of the link's rate, of a flow alone with a queue of 1 BDP."""
NEW_ADDRESS = "10.0.0.9"
MOVE = """known = command(
    "ip neighbour add {new} lladdr 02:00:00:00:00:01 dev eth0 nud permanent", node="router", start="1 s"
)  # as the plan has all others: no packet of ARP is the flow's
move = command(["sh", "-c", '''set -e
port=$((0x$(awk 'FNR > 1 {{split($2, at, ":"); print at[2]; exit}}' /proc/net/udp /proc/net/udp6)))
ip address add {new}/32 dev eth0
nft -f - <<END
table ip moved {{
 chain out {{
  type filter hook output priority 0; udp dport {port} ip saddr set {new} udp sport set 61001
 }}
 chain in {{
  type filter hook prerouting priority 0; udp sport {port} ip daddr set 10.0.0.1 udp dport set $port
 }}
}}
END'''], node="client", start="1500 ms")"""


MOVED = MOVE.format(new=NEW_ADDRESS, port=4433)


@dataclass(frozen=True)
class Seen:
    """What a run's tables say."""

    metrics: pl.DataFrame
    flows: pl.DataFrame
    seconds: float

    def value(self, name: str, way: str, source: str = "mine") -> float | None:
        """A figure, if there is one."""
        rows = self.metrics.filter(name=name, direction=way, source=source)
        return None if rows.is_empty() else float(rows["value"][0])


Judged = tuple[str, str]
"""`ok`, `lacks` or `fails`, and why."""


@dataclass(frozen=True)
class Case:
    """One thing that a stack should do."""

    name: str
    about: str
    options: str
    judge: Callable[[Seen], Judged]
    way: str = "down"
    rate: str = "20 Mbit/s"
    queue: str = "pfifo(limit=66)"
    link: str = ""
    more: str = ""
    sized: bool = True
    """It transfers a number of bytes."""


def _whole(bytes_: int, way: str) -> Callable[[Seen], Judged]:
    def judge(seen: Seen) -> Judged:
        got = seen.value("quic_bytes", way)
        passed = seen.value("tap_departed_bytes", way, "bottleneck/mine") or 0.0
        if (passed if got is None else got) < bytes_:
            return "fails", f"{got or passed:.0f} bytes came, not {bytes_}"
        lost = seen.value("quic_lost_packets", way)
        said = "" if lost is None else f", {lost:.0f} packets lost by its count"
        return "ok", f"{bytes_} bytes in {seen.seconds:.2f} s{said}"

    return judge


def _marks(seen: Seen) -> Judged:
    source = "bottleneck/mine"
    all_, ect0, ect1, marked = (
        seen.value(name, "down", source) or 0.0
        for name in ("tap_arrived", "tap_arrived_ect0", "tap_arrived_ect1", "tap_marked")
    )
    if not ect0 + ect1:
        return "lacks", f"none of {all_:.0f} packets is ECN-capable"
    lost = seen.value("tap_dropped", "down", source) or 0.0
    which = "ECT(1)" if ect1 > ect0 else "ECT(0)"
    return "ok", f"{100 * (ect0 + ect1) / all_:.0f} % {which}, {marked:.0f} marked, {lost:.0f} dropped"


def _moved(seen: Seen) -> Judged:
    if not seen.flows["label"].cast(pl.String).str.contains(NEW_ADDRESS).any():
        return "fails", "no packet had the new address"
    return _whole(BYTES, "down")(seen)


def _filled(rate_bps: float) -> Callable[[Seen], Judged]:
    def judge(seen: Seen) -> Judged:
        rate = seen.value("quic_goodput_bps", "down") or seen.value("quic_tap_bps", "down") or 0.0
        said = f"{rate / 1e6:.3g} Mbit/s, {100 * rate / rate_bps:.0f} %"
        return ("ok" if rate >= ENOUGH * rate_bps else "fails"), said

    return judge


def _cases() -> list[Case]:
    whole = f'bytes="{BYTES} B", time_limit="120 s"'
    found = [
        Case("handshake", "a kilobyte", 'bytes="1 kB", time_limit="20 s"', _whole(1000, "down")),
        Case("down", "10 MB down", whole, _whole(BYTES, "down")),
        Case("up", "10 MB up", f'{whole}, direction="up"', _whole(BYTES, "up"), way="up"),
        Case("loss", "10 MB at 1 % loss", whole, _whole(BYTES, "down"), link=', loss="1 %"'),
        Case("ecn", "marks in place of drops", 'duration="5 s"', _marks, queue="fq_codel()", sized=False),
        Case(
            "migration",
            "the client's address changes",
            f"{whole}, port=4433",
            _moved,
            more=MOVED,
        ),
    ]
    for rate, seconds, packets in (
        ("0.1", 20, 10),
        ("1", 10, 10),
        ("10", 5, 33),
        ("100", 5, 330),
        ("300", 5, 1000),
    ):
        found.append(
            Case(
                f"rate {rate}",
                f"{rate} Mbit/s",
                f'duration="{seconds} s"',
                _filled(float(rate) * 1e6),
                rate=f"{rate} Mbit/s",
                queue=f"pfifo(limit={packets})",
                sized=False,
            )
        )
    return found


TWICE = "twice"


def check(console: Console, stack: str, cca: str | None, only: tuple[str, ...], results: Path) -> None:
    """Plan and run every case, and print what came of each; exit status 1 where one fails."""
    from narrows.tools.quic import stack as stacks

    one = stacks.find(stack, Path.cwd(), "narrows quic check")
    name = stack if stack in stacks.names() else str(one.folder)
    every = {case.name: case for case in _cases()}
    for word in only:
        if word not in (*every, TWICE):
            raise UsageError(f"there is no case {word}", remedy=did_you_mean(word, (*every, TWICE)))
    wanted = {key: case for key, case in every.items() if not only or key in only}
    found: dict[str, Judged] = {}
    plans: dict[str, Plan] = {}
    for key, case in wanted.items():
        if lacks := _lacks(one, case):
            found[key] = "lacks", lacks
        else:
            plans[key] = _plan(name, case, cca)
    directory = results / one.name
    console.print(f"{one.name}: {one.stack}")
    ran = _run(console, list(plans.values()), directory)
    found |= {key: _judged(wanted[key], ran[plan_hash(plan)], directory) for key, plan in plans.items()}
    if not only or TWICE in only:
        found[TWICE] = _twice(console, _plan(name, every["rate 10"], cca), directory)
    rows = [[key, *found[key]] for key in (*every, TWICE) if key in found]
    console.print(table(["case", "", ""], rows))
    console.print(f"the runs: {directory}")
    if any(row[1] == "fails" for row in rows):
        raise typer.Exit(FAILED)


def _lacks(one: Stack, case: Case) -> str | None:
    from narrows.engine.uml import guest_path

    if case.way not in one.ways:
        return f"it goes {', '.join(one.ways)} only"
    if case.sized and not any(map(one.has, ("bytes", "size", "part"))):
        return "no @bytes in its words"
    if case.more == MOVED and shutil.which("nft", path=guest_path(None)) is None:
        return "not tried: nft is not installed here (apt-get install nftables)"
    return None


def _plan(stack: str, case: Case, cca: str | None) -> Plan:
    from narrows.plan.build import plan_file

    options = case.options + ("" if cca is None else f", cca={cca!r}")
    with tempfile.TemporaryDirectory(prefix="narrows-check-") as place:
        file = Path(place) / "quic_check.py"
        file.write_text(
            EXPERIMENT.format(
                about=case.about, rate=case.rate, queue=case.queue, link=case.link, stack=stack,
                options=options, more=case.more,
            )
        )  # fmt: skip
        return plan_file(file).plans[0]


Ran = tuple[str, str | None]
"""A run's id, and why it failed."""


def _run(console: Console, plans: list[Plan], directory: Path, *, reuse: bool = True) -> dict[str, Ran]:
    """By the plan's hash."""
    from narrows.engine.runner import Runner
    from narrows.store.finish import FinishPool

    with FinishPool(1) as finish:
        runner = Runner(make_engine("uml", plans=plans), plans, directory, finish, reuse=reuse)
        state = carry_out(console, runner, directory, "narrows quic check")
    faults = {each.run_id: each.fault for each in state.failed}
    return {
        plan_hash(plan): (run_id, fault.message if (fault := faults.get(run_id)) else None)
        for run_id, plan in runner.plans.items()
    }


def _judged(case: Case, ran: Ran, directory: Path) -> Judged:
    from narrows.engine import layout
    from narrows.store import parquet

    run_id, fault = ran
    if fault is not None:
        return "fails", f"{fault.splitlines()[0]} (narrows show {run_id} --dir {directory})"
    run = layout.run_dir(directory, run_id)
    span = ((layout.read_manifest(run) or {}).get("items") or {}).get("mine") or {}
    seconds = (span.get("end_ns", 0) - span.get("start_ns", 0)) / 1e9
    tables = [parquet.read(run / f"{name}.parquet") for name in ("metrics", "flows")]
    metrics, flows = (each.with_columns(pl.col(pl.Categorical).cast(pl.String)) for each in tables)
    return case.judge(Seen(metrics, flows, seconds))


def _twice(console: Console, plan: Plan, directory: Path) -> Judged:
    """The same run again: every packet at the same time."""
    from narrows.engine import layout

    digests = set()
    for name in ("once", "again"):
        ((run_id, fault),) = _run(console, [plan], directory / name, reuse=False).values()
        if fault is not None:
            return "fails", fault.splitlines()[0]
        run = layout.run_dir(directory / name, run_id)
        digests.add(hashlib.sha256((run / "queue.parquet").read_bytes()).hexdigest())
    return ("ok", "equal to the byte") if len(digests) == 1 else ("fails", "other packets, or other times")
