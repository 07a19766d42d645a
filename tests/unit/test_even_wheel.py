"""Wheels of equal contents are equal bytes, whoever built them and when."""

import subprocess
import sys
import zipfile
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts/even_wheel.py"
CONTENTS = {"narrows/a.py": (b"a = 1\n" * 50, False), "narrows/bin/agent": (b"\x7fELF" * 9, True)}


def wheel(path: Path, names: list[str], year: int, mask: int) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name in names:
            text, runs = CONTENTS[name]
            info = zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0))
            info.external_attr = (0o100000 | (0o777 if runs else 0o666) & ~mask) << 16
            made.writestr(info, text)
    return path


def test_time_order_and_umask_leave_no_trace_and_programs_stay_programs(tmp_path: Path) -> None:
    one = wheel(tmp_path / "one.whl", list(CONTENTS), 2020, 0o022)
    other = wheel(tmp_path / "other.whl", list(reversed(CONTENTS)), 2024, 0o077)
    assert one.read_bytes() != other.read_bytes()
    subprocess.run([sys.executable, SCRIPT, one, other], check=True)
    assert one.read_bytes() == other.read_bytes()
    with zipfile.ZipFile(one) as made:
        assert {name: made.read(name) for name in made.namelist()} == {n: t for n, (t, _) in CONTENTS.items()}
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in made.infolist()}
    assert modes == {"narrows/a.py": 0o644, "narrows/bin/agent": 0o755}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.whl", "other.whl"]
