"""Makes `manifest.json` of a run: what was asked for, what took part, what the checks said.

docs/data.md lists its keys. It computes nothing; `ingest` gives it the parts.
"""

import dataclasses
import datetime
import json
import os
import platform
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import narrows
from narrows.engine import host, layout
from narrows.engine.layout import KERNEL_AXIS
from narrows.engine.types import RunFacts, RunFault
from narrows.plan.identity import plan_hash
from narrows.plan.model import Plan
from narrows.store.agent_result import AgentResult
from narrows.store.conservation import HopChecks
from narrows.store.kept import ReadBack

_LIBRARIES = ("polars", "duckdb", "numpy", "pydantic")
_COPIED = ("sysctls", "tc_before", "tc_after", "links_before", "links_after", "ip_before", "ip_after")
_SAID = {
    *_COPIED, "format", "status", "error", "kernel", "tools", "epoch_monotonic_ns", "wall_epoch_ns",
    "end_ns", "items", "calibration", "kept", "hops", "until_settled",
}  # fmt: skip
"""What of the agent's result has a place of its own."""


def build(
    plan: Plan,
    facts: RunFacts,
    result: AgentResult | None,
    checks: list[HopChecks],
    fault: RunFault | None,
    warnings: list[str],
    packets: int | None,
    rows: dict[str, int],
    sockets: dict[str, list[dict[str, Any]]],
    read_back: ReadBack | None = None,
) -> dict[str, Any]:
    """The manifest as it is written."""
    carried = facts.carried
    said: dict[str, Any] = {} if result is None else result.model_dump(mode="json")
    error = None if fault is None else {**dataclasses.asdict(fault), "line": fault.line()}
    end_ns = said.get("end_ns")
    return {
        "format": layout.TABLES_FORMAT,
        "run_id": facts.run_id,
        "status": "ok" if fault is None else "failed",
        "error": error,
        "experiment": plan.experiment,
        "question": plan.question,
        "key": {**plan.key, **kernel_axis(facts.engine.kernel)},
        "plan_hash": plan_hash(plan),
        "t0_unix_ns": t0_unix_ns(plan, result),
        "plan_seed": plan.seed,
        "link": plan.link.model_dump(mode="json"),
        "engine": facts.engine.name,
        "kernel": {"id": facts.engine.kernel_id, "release": said.get("kernel"), **facts.engine.kernel},
        "agent": {"id": facts.engine.agent_id, **facts.engine.agent},
        "tools": said.get("tools", {}),
        "python": {
            "narrows": narrows.__version__,
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in _LIBRARIES},
        },
        "items": said.get("items", {}),
        "sockets": sockets,
        "calibration": said.get("calibration"),
        "until_settled": said.get("until_settled"),
        "conservation": [one.to_dict() for one in checks],
        "read_back": None if read_back is None else read_back.to_dict(),
        **{name: said.get(name, {}) for name in _COPIED},
        "taps": said.get("hops", []),
        "agent_says_also": {key: value for key, value in said.items() if key not in _SAID},
        "isolation": carried.isolation,
        "host": host.describe(),
        "resources": {
            "wall_s": carried.wall_s,
            "cpu_s": carried.cpu_s,
            "virtual_s": None if end_ns is None else end_ns / 1e9,
            "max_rss_bytes": carried.max_rss_bytes,
            "cpu": carried.cpu,
            "packets": packets,
        },
        "rows": rows,
        "warnings": warnings,
        "written_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }


def t0_unix_ns(plan: Plan, result: AgentResult | None) -> int | None:
    """When t was 0 by the clock that stamps captures and logs: a guest's is the plan's, a host's its own."""
    if result is None or result.epoch_monotonic_ns is None:
        return None
    return result.wall_epoch_ns or plan.wall_clock_ns + result.epoch_monotonic_ns


def stamp(unix_ns: int) -> str:
    """UTC with nanoseconds, as packet analysers show it."""
    seconds, rest = divmod(unix_ns, 10**9)
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{rest:09d} UTC"


def kernel_axis(kernel: Mapping[str, Any]) -> dict[str, str]:
    """The axis of a kernel with configuration of its own: another condition, and no repetition."""
    lines = (kernel.get("build") or {}).get("own_config") or []
    return {KERNEL_AXIS: ", ".join(line.removeprefix("CONFIG_") for line in lines)} if lines else {}


def write(directory: Path, manifest: dict[str, Any]) -> None:
    """Write it whole or not at all."""
    path = directory / layout.MANIFEST
    new = path.with_name(f"{path.name}.new")
    new.write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    os.replace(new, path)
