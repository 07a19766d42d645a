"""The parts of a kernel that is linked in another order start in the first one's order."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from narrows.errors import KernelError
from narrows.kernel import initcalls

NET, MM, LATE = (
    "__initcall__kmod_core__1_10_net4",
    "__initcall__kmod_slub__2_20_mm4",
    "__initcall__kmod_rtc__3_30_rtc7",
)
CALLED = {NET: 11, MM: 22, LATE: 33}
"""What stands in the table for each: the address of its function."""


def linked(directory: Path, *names: str) -> Path:
    """A program with a table of these initcalls, the last one alone at its level."""
    entries = [f"{name}: .quad {CALLED[name]}" for name in names]
    lines = [
        '.section initcalls, "aw"', "__initcall_start:", "__initcall4_start:", *entries[:-1],
        "__initcall7_start:", entries[-1], "__initcall_end:", ".text", ".globl _start", "_start: ret",
    ]  # fmt: skip
    source, made = directory / f"{names[0]}.s", directory / names[0]
    source.write_text("\n".join(lines) + "\n")
    subprocess.run(["gcc", "-nostdlib", "-no-pie", "-o", str(made), str(source)], check=True)
    return made


def table(kernel: Path) -> tuple[int, ...]:
    """Whom it calls, in order."""
    out = kernel.with_suffix(".table")
    words = ["objcopy", "-O", "binary", "--only-section=initcalls", str(kernel), str(out)]
    subprocess.run(words, check=True)
    return struct.unpack("<3Q", out.read_bytes())


def test_the_table_of_one_is_put_into_the_order_of_the_other(tmp_path: Path) -> None:
    first, second = linked(tmp_path, MM, NET, LATE), linked(tmp_path, NET, MM, LATE)
    assert (table(first), table(second)) == ((22, 11, 33), (11, 22, 33))
    assert initcalls.order(first) == [MM, NET, LATE]
    initcalls.put(second, initcalls.order(first))
    assert table(second) == (22, 11, 33)


def test_a_kernel_with_other_initcalls_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KernelError, match="not those of the kernel before it"):
        initcalls.put(linked(tmp_path, MM, NET, LATE), [MM, LATE])
