"""The agent builds with the oldest Rust that set-up accepts: Debian's."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]


def version(text: str | None) -> tuple[int, ...]:
    """1.85 and 1.85.0 are the same."""
    parts = [int(part) for part in (text or "0").split(".")]
    return tuple(parts + [0] * (3 - len(parts)))


def test_no_locked_crate_asks_for_a_newer_rust_than_set_up_does() -> None:
    minimum = re.search(r"^cargo_minimum=([\d.]+)$", (CHECKOUT / "scripts/setup.sh").read_text(), re.M)
    assert minimum is not None
    shown = subprocess.run(
        ["cargo", "metadata", "--format-version", "1", "--locked"],
        cwd=CHECKOUT / "crates", capture_output=True, text=True, check=True,
    )  # fmt: skip
    packages = json.loads(shown.stdout)["packages"]
    own = next(package for package in packages if package["name"] == "narrows-agent")
    assert own["rust_version"] == minimum[1]
    newer = [
        f"{package['name']} {package['version']} asks for {package['rust_version']}"
        for package in packages
        if version(package["rust_version"]) > version(minimum[1])
    ]
    assert newer == []
