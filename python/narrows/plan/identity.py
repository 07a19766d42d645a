"""What a run and a plan are called by: hashes of what is run."""

import hashlib
import json
from typing import Any

from narrows.plan.model import NAMES, Plan

RUN_ID_HEX_DIGITS = 16


def canonical_json(value: Any) -> str:
    """JSON with sorted keys and no spaces: equal data, equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def run_id(plan: Plan, *, kernel: str, agent: str) -> str:
    """The run's id: what was run, on which kernel, by which agent.

    SHA-256 over canonical JSON of the three; the first 16 hex digits (64 bits: no collision in any sweep we
    can afford). What a run is called (`NAMES`) is left out: the same run in two experiments is one run. So is
    where a module, a file of a command or a person's own tool lies: its content counts; and what the
    experiment calls the kernel.
    """
    what = {name: value for name, value in plan.to_dict().items() if name not in (*NAMES, "asked")}
    del what["machine"]["kernel"]
    for module in what["machine"]["modules"]:
        del module["path"]
    for item in what["traffic"]:
        item.pop("uses", None)
        for file in item.get("files", ()):
            del file["path"]
    for composite in what["composites"]:
        composite.pop("path", None)
    identity = {"plan": what, "kernel": kernel, "agent": agent}
    return hashlib.sha256(canonical_json(identity).encode("ascii")).hexdigest()[:RUN_ID_HEX_DIGITS]


def plan_hash(plan: Plan) -> str:
    """The same over the plan alone, with all its names, to say whether two plans are equal."""
    what = {name: value for name, value in plan.to_dict().items() if name != "asked"}
    if what["machine"]["kernel"] is None:
        del what["machine"]["kernel"]
    for item in what["traffic"]:
        item.pop("uses", None)
    return hashlib.sha256(canonical_json(what).encode("ascii")).hexdigest()[:RUN_ID_HEX_DIGITS]
