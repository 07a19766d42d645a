"""Standards on the kernel under test: a contestant of every kind, those that are none, and planted faults."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

import lab
from narrows.kernel import find

MODULES = Path(lab.__file__).parent / "modules"
MUTATIONS = tomllib.loads((MODULES / "mutations/mutations.toml").read_text())["mutation"]

pytestmark = pytest.mark.kernel


def test_cubic_of_the_kernel_holds_what_its_document_says(tmp_path: Path) -> None:
    done = lab.narrows("standard", "cubic", "--quick", "--format", "json", cwd=tmp_path)
    done.ok()
    verdicts = {one["id"]: one["verdict"] for one in json.loads(done.out)["verdicts"]}
    assert {verdicts.pop("U10"), *verdicts.values()} == {"cannot be measured here", "holds"}
    assert (tmp_path / "results/standard/cubic/cubic/report/report.html").is_file()


@pytest.mark.parametrize(
    ("module", "said"),
    [
        # 20 packets of 1514 bytes in 40 ms, and what one packet takes at 20 Mbit/s: 6 Mbit/s.
        ("tcp_fixed", "fixed never grows: from 0.5 s on its window is 20 packets, which carry 6.06 of 20"),
        ("tcp_panics", "panics carries no flow: ended without a result"),
    ],
)
def test_a_module_that_is_no_congestion_control_is_refused_by_one_line(
    module: str, said: str, tmp_path: Path
) -> None:
    source = MODULES / module / f"{module}.c"
    done = lab.narrows("standard", "cubic", "--quick", "--cca", source, cwd=tmp_path)
    assert done.code == 1
    assert said in done.err
    if module == "tcp_panics":
        assert "Kernel panic - not syncing" in done.err
        assert "panics_cong_avoid" in done.err


def test_a_file_that_is_no_module_and_a_source_that_is_none_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tcp_mine.ko").write_bytes(b"not a module")
    done = lab.narrows("standard", "cubic", "--cca", "tcp_mine.ko", cwd=tmp_path)
    assert done.code == 1
    assert "mine carries no flow: loading the module tcp_mine failed" in done.err
    (tmp_path / "tcp_mine.c").write_text("int x = ;\n")
    done = lab.narrows("standard", "cubic", "--cca", "tcp_mine.c", cwd=tmp_path)
    assert done.code == 2
    assert "tcp_mine.c cannot be built: tcp_mine.c:1:9: error:" in done.err


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each["name"])
def test_every_planted_fault_is_one_edit_of_the_kernels_own_file(mutation: dict[str, str]) -> None:
    text = (find().tree / f"net/ipv4/tcp_{mutation['of']}.c").read_text()
    assert text.count(mutation["old"]) == 1
    assert mutation["old"] != mutation["new"]
