"""The kernel's own tests of its qdiscs: which are run, why others are not, and what their runner said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from narrows.errors import KernelError, UsageError
from narrows.kernel import selftests
from narrows.kernel.image import KernelImage
from narrows.kernel.selftests.in_guest import outcomes
from narrows.kernel.source import Source

CASES = [
    {"id": "0001", "name": "plain", "setup": [], "plugins": {"requires": "nsPlugin"}},
    {"id": "0002", "name": "packets", "setup": [], "plugins": {"requires": ["nsPlugin", "scapyPlugin"]}},
    {"id": "0003", "name": "card", "setup": ["$TC qdisc add dev $DEV2 root fq"]},
    {"id": "0004", "name": "device", "setup": ["echo 1 > /sys/bus/netdevsim/new_device"]},
    {"id": "0005", "name": "script", "setup": ["./scripts/one.py"]},
]


@pytest.fixture
def source(tmp_path: Path) -> Source:
    place = tmp_path / "linux" / selftests.PLACE
    (place / "tc-tests/qdiscs").mkdir(parents=True)
    (place / "scripts").mkdir()
    (place / "scripts/one.py").write_text("from pyroute2 import IPRoute\n")
    for name in ("codel", "taprio"):
        (place / f"tc-tests/qdiscs/{name}.json").write_text(json.dumps(CASES))
    return Source(tmp_path / "linux", "tree-1")


@pytest.fixture
def image(tmp_path: Path) -> KernelImage:
    (tmp_path / "config").write_text("CONFIG_NET_SCH_CODEL=y\n# CONFIG_NET_SCH_TAPRIO is not set\n")
    return KernelImage(tmp_path / "linux", "id", None, {})


def test_what_a_guest_cannot_carry_out_is_left_out_with_the_reason(
    tmp_path: Path, source: Source, image: KernelImage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    tests = selftests.prepare(source, image, tmp_path / "out")
    assert tests.files == ("codel",)
    assert tests.left_out == {
        "taprio": "this kernel is built without it",
        "codel/0002": "it needs Python's scapy",
        "codel/0003": "it needs a network card",
        "codel/0004": "it needs netdevsim, a device that this kernel is built without",
        "codel/0005": "it needs Python's pyroute2",
    }
    kept = json.loads((tests.directory / "tc-tests/qdiscs/codel.json").read_text())
    assert [one["id"] for one in kept] == ["0001"]
    with pytest.raises(UsageError, match="no tests of codle"):
        selftests.prepare(source, image, tmp_path / "out", ["codle"])


def test_a_tree_without_them_is_said(tmp_path: Path, image: KernelImage) -> None:
    with pytest.raises(KernelError, match="has no tools/testing"):
        selftests.prepare(Source(tmp_path, "tree-2"), image, tmp_path / "out")


def test_each_file_is_a_run(tmp_path: Path, source: Source, image: KernelImage) -> None:
    tests = selftests.prepare(source, image, tmp_path / "out")
    (plan,) = selftests.plans(tests, "6.12")
    assert plan.key["qdisc"] == "codel"
    assert plan.machine.kernel == "6.12"


def test_what_the_runner_says_of_each_is_read() -> None:
    tap = (
        "1..4\nok 1 0001 - Create CODEL\n\nnot ok 2 0002 - Change CODEL\n\tCould not match.\n\tOutput: x\n\n"
        "ok 3 0003 - Show # skipped - requires DEV2\n\n"
        "ok 4 0004 - Del # skipped - skipped - previous setup failed 2 0002\n"
    )
    found = outcomes(tap)
    assert [(one["outcome"], one["why"]) for one in found.values()] == [
        ("passed", ""),
        ("failed", "Could not match. Output: x"),
        ("skipped", "requires DEV2"),
        ("skipped", "skipped - previous setup failed 2 0002"),
    ]
    assert found["0003"]["name"] == "Show"
