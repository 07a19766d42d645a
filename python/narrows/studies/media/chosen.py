"""Which runs of a case are judged and drawn."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import NO_LABEL, Observed


def chosen(runs: Iterable[Observed], case: str) -> dict[tuple[str, str], list[Observed]]:
    """Good ones by program and queue; of the RFC's own pace where there are such, else of a faster one."""
    found: dict[tuple[str, str], list[Observed]] = {}
    good = [run for run in runs if run.ok and run.experiment == case]
    for run in sorted(good, key=lambda run: run.run_id):
        found.setdefault((run.key.get("program", NO_LABEL), run.key.get("queue", NO_LABEL)), []).append(run)
    return {
        condition: [run for run in own if run.key.get("pace") == "rfc"] or own
        for condition, own in sorted(found.items())
    }
