"""In which order the parts of a kernel start.

Within a level the linker puts initcalls in the order of objects, and what is optimised as one (patch
lab/0014) becomes one object before all others. Which part starts first decides who is told first of a new
interface, who draws the first random number, and so what packets say. So the table of a kernel is put into
the order of another one of the same source, whose objects come as Linux has them.
"""

import struct
import subprocess
from pathlib import Path

from narrows.errors import KernelError

BEGIN, END = "__initcall_start", "__initcall_end"
PT_LOAD = 1
ENTRY = 8
"""Bytes: an address."""
PROGRAM_HEADER = struct.Struct("<IIQQQQ")
"""Type, flags, place in the file, address, physical address, bytes in the file."""


def order(kernel: Path) -> list[str]:
    """Its initcalls by their symbols' names, in the order in which they are called."""
    return sorted((found := _entries(kernel)[1]), key=lambda name: found[name])


def put(kernel: Path, wanted: list[str]) -> None:
    """Put the initcalls of a kernel into the order that another of the same source has.

    KernelError where it has others, or its table is not what it should be."""
    begin, entries = _entries(kernel)
    if sorted(entries) != sorted(wanted) or sorted(entries.values()) != [
        begin + ENTRY * number for number in range(len(entries))
    ]:
        raise KernelError("its initcalls are not those of the kernel before it", where=str(kernel))
    image = bytearray(kernel.read_bytes())
    place = _place(image, begin)
    found = {name: image[(at := place + address - begin) : at + ENTRY] for name, address in entries.items()}
    image[place : place + ENTRY * len(wanted)] = b"".join(found[name] for name in wanted)
    kernel.write_bytes(image)


def _entries(kernel: Path) -> tuple[int, dict[str, int]]:
    """Where the table begins, and the address of each entry by its symbol's name."""
    shown = subprocess.run(["nm", str(kernel)], capture_output=True, text=True, check=True).stdout
    lines = [words for line in shown.splitlines() if len(words := line.split()) == 3]
    # Optimised as one, a symbol may be numbered anew.
    symbols = {name.partition(".lto_priv.")[0]: int(address, 16) for address, _, name in lines}
    begin, end = symbols[BEGIN], symbols[END]
    inside = {
        name: address
        for name, address in symbols.items()
        if begin <= address < end and name.startswith("__initcall_") and not name.endswith("_start")
    }
    return begin, inside


def _place(image: bytearray, address: int) -> int:
    """Where in an x86-64 program's file that lies which it has at an address."""
    (headers,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    for number in range(count):
        kind, _, offset, start, _, length = PROGRAM_HEADER.unpack_from(image, headers + number * size)
        if kind == PT_LOAD and start <= address < start + length:
            return int(offset + address - start)
    raise KernelError(f"nothing lies at {address:#x} in the kernel's file")
