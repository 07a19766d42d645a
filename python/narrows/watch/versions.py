"""What an iteration is of: the kernel, the agent, and the programs and players that services are made of."""

import json
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from narrows.engine.types import EngineInfo
from narrows.plan.contents import PACKAGE
from narrows.plan.items import Command
from narrows.plan.model import Plan

FLAGS = {"nginx": "-v", "ffmpeg": "-version"}
NOT_ASKED = ("sh",)
PATIENCE_S = 30


def versions(info: EngineInfo, plans: Iterable[Plan]) -> dict[str, str]:
    """By name. A program that says nothing is "unknown"."""
    some = list(plans)
    found = {"kernel": info.kernel_id, "agent": info.agent_id}
    commands = [item for plan in some for item in plan.traffic if isinstance(item, Command)]
    programs = {name for item in commands for name in item.programs} - set(NOT_ASKED)
    programs |= {name for plan in some for content in plan.contents for name in content.programs}
    found |= {name.rpartition("/")[2]: _said(name) for name in sorted(programs)}
    for client in sorted({PACKAGE / "tools" / item.tool / "client" for item in commands}):
        found |= _packages(client)
    return found


def _said(program: str) -> str:
    place = shutil.which(program)
    if place is None:
        return "not installed"
    try:
        done = subprocess.run(
            [place, FLAGS.get(program, "--version")], capture_output=True, text=True, errors="replace",
            check=False, timeout=PATIENCE_S,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
    return lines[0].strip() if lines else "unknown"


def _packages(client: Path) -> dict[str, str]:
    """Packages of npm, as its lock file has them."""
    try:
        wanted = json.loads((client / "package.json").read_text())["dependencies"]
    except (OSError, ValueError, KeyError):
        return {}
    return {str(name): str(version) for name, version in wanted.items()}
