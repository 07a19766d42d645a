"""What a command imports before it does anything: a person waits for it."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "polars", "duckdb", "pydantic", "matplotlib", "narrows.plan", "narrows.store")


def test_the_help_imports_nothing_that_reads_runs_or_plans() -> None:
    code = (
        "import sys; from narrows.cli.main import build_app; build_app();"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
