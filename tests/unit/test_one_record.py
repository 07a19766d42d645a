"""The records that taps and media write are declared where they are written (the kernel's C, and crates/tap
for a host) and where they are read (Python): the same fields at the same places."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from narrows.store import flow_tap, media, tap

ROOT = Path(__file__).parents[2]
DRIVERS = ROOT / "kernel" / "src" / "arch" / "um" / "drivers"
RUST = (ROOT / "crates" / "tap" / "src" / "lib.rs").read_text()
C_BYTES = {"u8": 1, "char": 1, "u16": 2, "u32": 4, "u64": 8}
RUST_BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8}

Field = tuple[str, int, int]
"""Name, offset and length in bytes."""


def placed(fields: list[tuple[str, int]], at: int = 0) -> list[Field]:
    """Fields one behind the other; what only fills a record up does not count."""
    found = []
    for name, size in fields:
        if name != "zero":
            found.append((name, at, size))
        at += size
    return found


def of_c(file: str, struct: str) -> list[Field]:
    """The fields of a packed struct of one of the kernel's files."""
    text = re.sub(r"/\*.*?\*/", "", (DRIVERS / file).read_text(), flags=re.S)
    body = re.search(rf"struct {struct} {{\n(.*?)\n}}", text, re.S)
    assert body, struct
    fields = []
    for kind, names in re.findall(r"^\t(struct \w+|\w+) ([^;]+);", body[1], re.M):
        if kind.startswith("struct"):
            fields += [(name, size) for name, _, size in of_c(file, kind.split()[1])]
            continue
        each = C_BYTES[re.sub(r"__[lb]e", "u", kind)]
        for name, count in re.findall(r"(\w+)(?:\[(\d+)\])?", names):
            fields.append((name, each * int(count or 1)))
    return placed(fields)


def of_python(dtype: np.dtype[np.void]) -> list[Field]:
    fields = dtype.fields or {}
    return [(name, at, kind.itemsize) for name, (kind, at, *_) in fields.items() if name != "zero"]


def of_rust(struct: str) -> list[Field]:
    """The fields in the order in which `from` takes them out of a record; the crate's own test holds
    `to_bytes` against it. A pair is called as in C: `found` is the backlog, `left` that behind the packet."""
    said = re.search(rf"pub struct {struct} {{(.*?)\n}}", RUST, re.S)
    taken = re.search(rf"impl {struct} {{.*?fn from\(.*?{struct} {{\n.*?\n    }}\n}}", RUST, re.S)
    assert said
    assert taken
    lengths = {name: int(size) for name, size in re.findall(r"(\w+): \[u8; (\d+)\]", said[1])}
    fields: list[tuple[str, int]] = []
    for name, how in re.findall(r"(?:(\w+): (?:match )?)?get\.(\w+)\(\)", taken[0].partition("fn from")[2]):
        if how == "backlog":
            after = {"found": "", "left": "_after"}[name]
            fields += [(f"backlog_bytes{after}", 4), (f"backlog_packets{after}", 4)]
        elif how == "count":
            fields += [(f"{name}_packets", 4), (f"{name}_bytes", 4)]
        else:
            fields.append((name or "zero", lengths[name] if how == "all" else RUST_BYTES[how]))
    return [("type", 0, 1), ("hop", 1, 1), *placed(fields, at=2)]


@pytest.mark.parametrize("name", ["flow", "packet", "traffic", "levels"])
def test_a_record_of_tap_bin_is_the_same_in_c_rust_and_python(name: str) -> None:
    fields = of_c("queue_tap_records.h", f"{name}_record")
    assert len(fields) > 8
    dtype = getattr(tap, f"{name.upper()}_DTYPE")
    assert of_python(dtype) == fields
    assert of_rust(name.capitalize()) == fields
    assert dtype.itemsize == tap.RECORD_BYTES


def test_what_a_record_of_tap_bin_is_has_one_number_in_c_rust_and_python() -> None:
    header = (DRIVERS / "queue_tap_records.h").read_text()
    for name, number in re.findall(r"RECORD_([A-Z]+) = (\d)", header):
        assert getattr(tap, name) == int(number)
        assert f"const {name}: u8 = {number};" in RUST
    outcomes = re.findall(r"OUT_([A-Z]+) = (\d)", header)
    assert len(outcomes) == 3
    for name, number in outcomes:
        assert getattr(tap, name) == int(number)
        assert re.search(rf"    {name.capitalize()} = {number},", RUST)
    (size,) = re.findall(r"#define RECORD_BYTES (\d+)", header)
    assert int(size) == tap.RECORD_BYTES
    assert f"RECORD_BYTES: usize = {size};" in RUST


@pytest.mark.parametrize("name", ["flow", "event", "sample"])
def test_a_record_of_flow_tap_bin_is_the_same_in_c_and_python(name: str) -> None:
    dtype = getattr(flow_tap, f"{name.upper()}_DTYPE")
    assert of_python(dtype) == of_c("flow_tap.c", f"{name}_record")


def test_the_parts_of_a_snapshot_are_filled_in_c_where_python_reads_them() -> None:
    """`r->wide[n]` lies 8 n bytes behind the head, `r->narrow[n]` 4 n."""
    text = (DRIVERS / "flow_tap.c").read_text()
    body = text.partition("static void snapshot(")[2].partition("\n}\n")[0]
    parts = body.split("r = new_record(")[1:]
    assert len(parts) == len(flow_tap.PART_DTYPES) == flow_tap.SNAPSHOT_PARTS
    head = of_c("flow_tap.c", "head")
    behind = sum(size for _, _, size in head)
    for part, dtype in zip(parts, flow_tap.PART_DTYPES, strict=True):
        filled = [
            (behind + int(n) * {"wide": 8, "narrow": 4}[kind], {"wide": 8, "narrow": 4}[kind])
            for kind, n in re.findall(r"r->(wide|narrow)\[(\d)\]", part)
        ]
        assert [(at, size) for _, at, size in of_python(dtype)[len(head) :]] == filled


def test_a_record_of_media_bin_is_the_same_in_c_and_python() -> None:
    assert of_python(media.DTYPE) == of_c("medium_control.c", "medium_record")
    outcomes = re.findall(r"(ARRIVED|LOST|HELD) = (\d)", (DRIVERS / "medium.h").read_text())
    assert [(name, getattr(media, name)) for name, _ in outcomes] == [(name, int(n)) for name, n in outcomes]
    assert len(outcomes) == 3
