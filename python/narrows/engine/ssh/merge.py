"""What the hosts' agents left, made one: raw files and result.json as of a run on one machine. Reads no
measurement but where two hosts each saw one end of the same flow or probe.
"""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

from narrows.engine import layout
from narrows.engine.ssh.parts import owner
from narrows.engine.ssh.session import Agent, Clocks
from narrows.plan.items import TcpBulk, UdpProbe
from narrows.plan.model import Plan

LOG = "agent.jsonl"
BY_NODE = (
    "tools", "sysctls", "kept", "tc_before", "tc_after", "links_before", "links_after", "ip_before",
    "ip_after", "captures",
)  # fmt: skip
"""Parts of result.json that have an entry for each node (or program): hosts' parts are put together."""


def merge(plan: Plan, agents: list[Agent], clocks: Clocks, calibration: dict[str, Any], raw: Path) -> None:
    """Fill `raw` from the directories of the agents, and write result.json last."""
    results = {one.part.role: _read(one.directory / layout.RESULT) for one in agents}
    two_ended = {
        f"{item.id}.flows.csv" if isinstance(item, TcpBulk) else f"{item.id}.csv": item
        for item in plan.traffic
        if isinstance(item, TcpBulk | UdpProbe)
    }
    for one in agents:
        for path in sorted(one.directory.iterdir()):
            if path.name in (layout.RESULT, LOG) or path.name in two_ended:
                continue
            shutil.move(path, raw / path.name)
    _logs(agents, raw / LOG)
    for name, item in two_ended.items():
        ends = (item.sender, item.receiver) if isinstance(item, TcpBulk) else (item.client, item.server)
        paths = [_with(agents, node).directory / name for node in ends]
        if not paths[0].exists():
            continue
        header, sent = _rows(paths[0])
        _, got = _rows(paths[1]) if paths[1].exists() else ([], [])
        whole = _flows(sent, got) if isinstance(item, TcpBulk) else _probes(sent, got, clocks.are_one)
        with (raw / name).open("w", newline="") as file:
            writer = csv.DictWriter(file, header, lineterminator="\n")
            writer.writeheader()
            writer.writerows(whole)
    result = _result(plan, agents, results, clocks, calibration)
    (raw / layout.RESULT).write_text(json.dumps(result, indent=1))


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_bytes())
    return value


def _with(agents: list[Agent], node: str) -> Agent:
    return next(one for one in agents if node in one.part.nodes)


Rows = list[dict[str, str]]


def _rows(path: Path) -> tuple[list[str], Rows]:
    with path.open(newline="") as file:
        reader = csv.DictReader(file)
        return list(reader.fieldnames or ()), list(reader)


def _flows(sent: Rows, got: Rows) -> Rows:
    """The sender's flows, each with what its receiver counted: they are the same by the sender's port."""
    received = {row["sport"]: row["bytes_received"] for row in got if row["sport"]}
    return [{**row, "bytes_received": received.get(row["sport"], "")} for row in sent]


def _probes(sent: Rows, got: Rows, clocks_are_one: bool) -> Rows:
    """The client's probes, each with the server's stamp where that is of the same clock."""
    stamps = {row["seq"]: row["server_ns"] for row in got} if clocks_are_one else {}
    return [{**row, "server_ns": stamps.get(row["seq"], "")} for row in sent]


def _logs(agents: list[Agent], path: Path) -> None:
    """All agents' events in the order of their times."""
    lines = []
    for one in agents:
        log = one.directory / LOG
        for text in log.read_text().splitlines() if log.exists() else ():
            lines.append({**json.loads(text), "host": one.part.role})
    lines.sort(key=lambda line: int(line["t_ns"]))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _result(
    plan: Plan,
    agents: list[Agent],
    results: dict[str, dict[str, Any]],
    clocks: Clocks,
    calibration: dict[str, Any],
) -> dict[str, Any]:
    whole: dict[str, Any] = dict(results["router"])
    for name in BY_NODE:
        whole[name] = {}
        for result in results.values():
            whole[name] |= {key: value for key, value in (result[name] or {}).items() if value is not None}
    whole["hops"] = [hop for result in results.values() for hop in result["hops"]]
    whole["items"] = {}
    for item in plan.traffic:
        of_owner = results[_with(agents, owner(plan, item.id)).part.role]["items"][item.id]
        if isinstance(item, TcpBulk):
            at_receiver = results[_with(agents, item.receiver).part.role]["items"][item.id]["details"] or {}
            details = of_owner["details"] or {}
            details |= {key: at_receiver.get(key) for key in ("bytes_received", "read_by")}
            of_owner = {**of_owner, "details": details}
        whole["items"][item.id] = of_owner
    # A host that was stopped because another failed is not the reason.
    errors = [result["error"] for result in results.values() if result["error"] is not None]
    errors.sort(key=lambda error: str(error["message"]).startswith("stopped: "))
    whole["error"] = errors[0] if errors else None
    whole["status"] = "failed" if errors else "ok"
    whole["end_ns"] = max(result["end_ns"] or 0 for result in results.values())
    kernels = {one.part.role: one.hello.get("kernel") for one in agents}
    whole["kernel"] = (
        next(iter(kernels.values()))
        if len(set(kernels.values())) == 1
        else "; ".join(f"{role}: {kernel}" for role, kernel in kernels.items())
    )
    whole["calibration"] = calibration
    whole["hosts"] = {
        one.part.role: {
            "host": one.host,
            "kernel": kernels[one.part.role],
            "boot_id": one.hello.get("boot_id"),
            "clock_offset_ns": clocks.offsets_ns[one.part.role],
            "clock_within_ns": clocks.within_ns[one.part.role],
            "not_restored": one.restored,
        }
        for one in agents
    }
    whole["clocks_are_one"] = clocks.are_one
    return whole
