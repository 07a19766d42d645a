"""What `make bench` keeps of an hour's work; its rows themselves need guests."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import rows
import run
import scale
from measure import BenchError, Cost

from narrows.engine.uml import UmlEngine


def interrupted(*_: object) -> Iterator[tuple[str, rows.Row]]:
    """Two rows, then Ctrl-C."""
    yield "ns3", rows.Row("4 s", "", "10 ×", True)
    yield "ns3", rows.Row("10 s", "", "12 ×", True)
    raise KeyboardInterrupt


def test_rows_measured_before_an_interruption_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results.json"
    elder = [{"row": name, "measured_at": "before", "name": name} for name in ("ns3", "boot")]
    results.write_text(json.dumps({"conditions": {"before": {"kernel": "old"}}, "rows": elder}))
    monkeypatch.setattr(run, "RESULTS", results)
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "UmlEngine", lambda: None)
    monkeypatch.setattr(run, "conditions", lambda *_: {"date": "now", "kernel": "new"})
    monkeypatch.setattr(run, "measure", interrupted)
    monkeypatch.setattr("sys.argv", ["run.py"])

    assert run.main() == 130

    kept = json.loads(results.read_text())
    assert [(row["name"], row["measured_at"]) for row in kept["rows"]] == [
        ("4 s", "now"),
        ("10 s", "now"),
        ("boot", "before"),
    ]
    assert set(kept["conditions"]) == {"before", "now"}
    assert "the 2 rows above are kept" in capsys.readouterr().out


def test_a_row_too_short_for_lines_of_progress_is_missed_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_ns3(_: rows.Bench) -> Path:
        raise BenchError("none here")

    short = scale.Ours(Cost(2.0, 1.5), 1000, 0, None, None, None)
    monkeypatch.setattr(scale, "ns3_program", no_ns3)
    monkeypatch.setattr(scale, "run", lambda *_, **__: short)
    bench = rows.Bench(UmlEngine(), 0, 3, print, Path())

    made = scale.beside_ns3(bench, scale.cases(0.01)["flows-1000-reno"], ns3_repeats=1, ns3_limit_s=60)

    assert [(row.measured, row.ok) for row in made] == [
        ("not measured: too short", False),
        ("not measured", False),
    ]
    assert "none here" in made[0].note
