"""Turns one run's raw files into tables and a manifest, and judges whether the run counts.

A run counts only if the agent says so, the kernel kept what was asked for, its rig is calibrated, no packet
is lost from sight, and every file that the plan asks for could be read. Otherwise its manifest says `failed`
and why. What was measured until its traffic failed is kept as tables, which only those read who ask for
failed runs. Where the directory lies and what it is called afterwards is the runner's affair.
"""

from __future__ import annotations

import gzip
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from narrows.engine import console, layout
from narrows.engine.types import Finished, RunFacts, RunFault
from narrows.errors import NarrowsError
from narrows.plan import uses
from narrows.plan.bottlenecks import idle_queues
from narrows.plan.model import HOME_HOP, Plan
from narrows.store import (
    agent_result,
    cca_shares,
    conservation,
    flow_tap,
    flow_tap_tables,
    fragments,
    held,
    host_limits,
    kept,
    manifest,
    media,
    queue_table,
    schema,
    sockets,
    sources,
    tap,
    tap_tables,
)
from narrows.store.agent_result import AgentResult
from narrows.store.items import Span
from narrows.store.spill import Spill
from narrows.store.whose import Name, figure_rows

SLOW_FROM_S, SLOW_TIMES = 20, 50
"""A guest is slow from so much wall time on, and so many times its own."""
SLOW_FILE_BYTES = 10_000_000
COMPRESS_FROM_BYTES = 256 * 1024
COMPRESSED_SUFFIXES = {".csv", ".jsonl", ".stdout", ".stderr"}


def ingest(directory: Path, facts: RunFacts) -> Finished:
    """Read `directory/raw`, write the tables and `manifest.json` beside it. Never raises for a bad run."""
    plan = Plan.read(directory / layout.PLAN)
    raw = directory / layout.RAW
    fault, result = facts.carried.error, None
    links = sorted(path.relative_to(directory).as_posix() for path in raw.rglob("*") if path.is_symlink())
    if links:
        # A program of the run made it, and what it leads to may be any file of this user's.
        what = f"{', '.join(links)}: a link, which is not followed; nothing of raw/ was read"
        fault = fault or RunFault("store", what)
    else:
        try:
            result = agent_result.read(raw / layout.RESULT)
        except NarrowsError as error:
            fault = fault or _fault("agent", error)
    checks: list[conservation.HopChecks] = []
    rows: dict[str, int] = {}
    warnings: list[str] = []
    packets, seen = None, dict[str, list[dict[str, Any]]]()
    read_back = None
    fault = console.lacked_memory(directory, plan) or fault
    if result is not None:
        fault = fault or _agent_fault(plan, result)
        if result.kept or fault is None:
            read_back = kept.compare(plan, result, has_own_links=facts.engine.has_own_links)
            if read_back.others:
                # What else went wrong, such as calibration, may follow from it.
                lines = "; ".join(each.line() for each in read_back.others)
                fault = RunFault("setup", f"not what was asked for: {lines}")
    if fault is None and result is not None:
        try:
            data = tap.read(raw / layout.TAP) if (raw / layout.TAP).exists() else None
            engine = facts.engine
            checks = conservation.check(
                plan, result, data, has_tap=engine.has_tap, has_own_links=engine.has_own_links
            )
            failures = conservation.failures(checks) + _of_media(raw, plan, result, data)
            if failures:
                fault = RunFault("conservation", "; ".join(failures))
            else:
                rows, packets, warnings, of_sockets = _tables(directory, facts.run_id, plan, result, data)
                warnings += _without_tap(result) + conservation.uncounted(plan, result, data)
                warnings += (
                    console.warnings(directory) + idle_queues(plan) + held.warnings(plan, result, data)
                )
                warnings += _slow(raw, result, facts.carried.wall_s)
                if plan.media:
                    rows["media"] = _media_table(directory, facts.run_id, plan, result)
                if plan.flow_tap is not None and facts.engine.has_tap:
                    more, tcp_flows = _flow_tap(directory, facts.run_id, plan, result)
                    rows |= more
                    of_sockets.append(sockets.of_flow_tap(tcp_flows))
                seen = sockets.seen(plan, of_sockets, _spans(result))
                warnings += sockets.unseen(plan, seen) + uses.fallbacks(plan, seen)
                if other := uses.contradictions(plan, seen):
                    remedy = "make the program use it, or say what it uses"
                    fault = RunFault("sockets", f"{'; '.join(other)} → {remedy}")
        except NarrowsError as error:
            fault = _fault("store", error)
        except OSError:
            raise  # a full disk is not this run's fault
        except Exception as error:
            fault = RunFault("store", f"defect in narrows: {type(error).__name__}: {error}")
    elif result is not None and facts.carried.error is None and _had_traffic(result):
        rows, packets, warnings = _of_failed(directory, facts, plan, result)
    whole = manifest.build(plan, facts, result, checks, fault, warnings, packets, rows, seen, read_back)
    manifest.write(directory, whole)
    if fault is None:
        for name in (layout.TAP, layout.FLOW_TAP, layout.MEDIA):
            (raw / name).unlink(missing_ok=True)
        _compress(raw)
    virtual_s = None if result is None or result.end_ns is None else result.end_ns / 1e9
    return Finished(fault, virtual_s, tuple(warnings))


def _of_media(raw: Path, plan: Plan, result: AgentResult, data: tap.Tap | None) -> list[str]:
    """How packets below the queues are not what the plan's schedules say."""
    if not plan.media:
        return []
    departed: dict[str, int] = {}
    for number, hop in enumerate(plan.hops):
        if data is not None and hop.hop != HOME_HOP and hop.tap in ("packets", "summary"):
            own = data.of_hop(number)
            since = queue_table.leaving_ns(own, result.epoch_monotonic_ns or 0) >= 0
            departed[hop.direction] = int(np.count_nonzero(since & (own["outcome"] == tap.DEPARTED)))
    return media.problems(plan, result, media.read(raw / layout.MEDIA), departed)


def _media_table(directory: Path, run_id: str, plan: Plan, result: AgentResult) -> int:
    records = media.read(directory / layout.RAW / layout.MEDIA)
    table = media.table(run_id, plan, records, result.epoch_monotonic_ns or 0)
    schema.write(table, directory / "media.parquet")
    return table.height


def _had_traffic(result: AgentResult) -> bool:
    """Whether it failed only after its rig had been found right and its traffic had begun."""
    calibrated = result.calibration is not None and result.calibration.ok
    return calibrated and None not in (result.end_ns, result.epoch_monotonic_ns) and bool(result.hops)


def _of_failed(
    directory: Path, facts: RunFacts, plan: Plan, result: AgentResult
) -> tuple[dict[str, int], int | None, list[str]]:
    """Tables of what was measured until the run failed, where the rig counted it rightly; else why there are
    none. Nothing here changes why the run failed."""
    raw = directory / layout.RAW
    try:
        data = tap.read(raw / layout.TAP) if (raw / layout.TAP).exists() else None
        checks = conservation.check(plan, result, data, has_tap=facts.engine.has_tap)
        failures = conservation.failures(checks)
        if not failures:
            return _tables(directory, facts.run_id, plan, result, data, is_whole=False)[:3]
        why = "; ".join(failures)
    except NarrowsError as error:
        why = _fault("store", error).message
    except OSError:
        raise
    except Exception as error:
        why = f"defect in narrows: {type(error).__name__}: {error}"
    for path in directory.glob("*.parquet"):
        path.unlink()
    return {}, None, [f"of this failed run no table could be kept: {why}"]


def fail(directory: Path, facts: RunFacts, fault: RunFault) -> Finished:
    """Only the manifest, of a run that could not be read."""
    plan = Plan.read(directory / layout.PLAN)
    manifest.write(directory, manifest.build(plan, facts, None, [], fault, [], None, {}, {}))
    return Finished(fault, None)


def _fault(stage: str, error: NarrowsError) -> RunFault:
    where = f"{error.where}: " if error.where else ""
    remedy = f" → {error.remedy}" if error.remedy else ""
    return RunFault(stage, f"{where}{error.message}{remedy}")


def _agent_fault(plan: Plan, result: AgentResult) -> RunFault | None:
    if result.status == "failed":
        if result.error is None:
            return RunFault("agent", "the agent says that the run failed, and not why")
        fault = result.error.fault()
        if fault.stage not in ("calibration", "limit") or not (where := held.when_failed(plan, result)):
            return fault
        said, _, asked = fault.message.rpartition(": ")  # where they are is the answer to what the agent asks
        return replace(fault, message=(said if asked.endswith("?") else fault.message) + where)
    calibration = result.calibration
    if calibration is None:
        return RunFault("calibration", "the agent did not calibrate the rig")
    if not calibration.ok:
        return RunFault("calibration", "; ".join(calibration.problems) or "the rig is not what the plan says")
    if result.end_ns is None or result.epoch_monotonic_ns is None:
        return RunFault("agent", "the agent's result lacks end_ns or epoch_monotonic_ns")
    return None


def _tables(
    directory: Path,
    run_id: str,
    plan: Plan,
    result: AgentResult,
    data: tap.Tap | None,
    *,
    is_whole: bool = True,
) -> tuple[dict[str, int], int | None, list[str], list[pl.DataFrame]]:
    """Write all tables; returns their heights, the packets of the tap, warnings, and what was seen of
    sockets. Of a run that is not whole what cannot be read is a warning."""
    assert result.end_ns is not None
    assert result.epoch_monotonic_ns is not None
    flows, sojourn = schema.empty("flows"), schema.empty("sojourn")
    samples: list[pl.DataFrame] = []
    metrics: list[pl.DataFrame] = []
    rows: dict[str, int] = {}
    packets = None
    warnings: list[str] = []
    if data is not None:
        spans = _spans(result)
        data, warnings = fragments.assign(data, plan, spans, result.epoch_monotonic_ns)
        derived = tap_tables.derive(run_id, plan, data, result.epoch_monotonic_ns, result.end_ns, spans)
        flows, sojourn, packets = derived.flows, derived.sojourn, derived.packets
        samples.append(derived.samples)
        metrics += [derived.metrics, cca_shares.figures(run_id, plan, spans, derived.samples)]
        rows["queue"] = queue_table.write(
            directory / "queue.parquet", run_id, plan.hops, data.packets, result.epoch_monotonic_ns
        )
    else:
        schema.write(schema.empty("queue"), directory / "queue.parquet")
        rows["queue"] = 0
    spill = Spill(directory, run_id)
    parsed = sources.parse_all(plan, result, directory / layout.RAW, flows, spill, is_whole=is_whole)
    samples.append(spill.with_run(schema.concat(parsed.samples, "samples")))
    if parsed.metrics:
        frame = figure_rows((Name(m.name, m.direction, m.whose), m.value, m.unit) for m in parsed.metrics)
        metrics.append(schema.conform(frame, "metrics", {"run_id": run_id}))
    whole = schema.concat(samples, "samples")
    rows["samples"] = spill.write(whole, directory / "samples.parquet")
    tables = {"metrics": schema.concat(metrics, "metrics"), "sojourn": sojourn, "flows": flows}
    for name, table in tables.items():
        schema.write(table.select(list(schema.TABLES[name])), directory / f"{name}.parquet")
        rows[name] = table.height
    limits = host_limits.warnings(spill.whole(whole, directory / "samples.parquet"), plan)
    return rows, packets, [*parsed.warnings, *warnings, *limits], parsed.sockets


def _without_tap(result: AgentResult) -> list[str]:
    """One line for each hop whose tap is NULL although the plan asks for it."""
    return [
        f"hop {hop.hop} {hop.direction}: no tap: {hop.tap_note}"
        for hop in result.hops
        if hop.tap is None and hop.tap_note is not None
    ]


def _slow(raw: Path, result: AgentResult, wall_s: float | None) -> list[str]:
    """A line where a guest took far longer than the time that passed in it, with the likeliest reason."""
    virtual_s = (result.end_ns or 0) / 1e9
    if wall_s is None or wall_s < SLOW_FROM_S or wall_s < SLOW_TIMES * virtual_s:
        return []
    sizes = {path.name: path.stat().st_size for path in raw.iterdir() if path.is_file()}
    largest = max(sizes, key=lambda name: sizes[name])
    why = "a program of it may read the clock or poll without pause"
    if sizes[largest] >= SLOW_FILE_BYTES and largest not in (layout.TAP, layout.FLOW_TAP, layout.MEDIA):
        why = (
            f"{largest} has {sizes[largest] / 1e6:.0f} MB: a program that logs so much takes the time for it"
        )
    return [f"{virtual_s:.3g} s took {wall_s:.0f} s of wall time: {why}"]


def _spans(result: AgentResult) -> dict[str, Span]:
    return {name: Span(item.start_ns, item.end_ns) for name, item in result.items.items()}


def _flow_tap(
    directory: Path, run_id: str, plan: Plan, result: AgentResult
) -> tuple[dict[str, int], pl.DataFrame]:
    """Write the tables of the flow tap; returns their heights, and that of flows."""
    assert result.epoch_monotonic_ns is not None
    spans = _spans(result)
    data = flow_tap.read(directory / layout.RAW / layout.FLOW_TAP)
    made = flow_tap_tables.derive(run_id, plan, data, result.flow_tap, result.epoch_monotonic_ns, spans)
    tables = {"tcp_flows": made.flows, "tcp_events": made.events, "tcp_samples": made.samples}
    for name, table in tables.items():
        schema.write(table, directory / f"{name}.parquet")
    return {name: table.height for name, table in tables.items()}, made.flows


def _compress(raw: Path) -> None:
    """Big text files become .gz; nothing of them is lost."""
    for path in sorted(raw.iterdir()):
        if path.suffix in COMPRESSED_SUFFIXES and path.stat().st_size >= COMPRESS_FROM_BYTES:
            packed = path.with_name(path.name + ".gz")
            # No name and no time in the header: equal content, equal bytes.
            with (
                path.open("rb") as source,
                packed.open("wb") as sink,
                gzip.GzipFile("", "wb", compresslevel=3, fileobj=sink, mtime=0) as zipped,
            ):
                shutil.copyfileobj(source, zipped, 1 << 20)
            os.unlink(path)
