"""Writes wheels again so that equal contents are equal bytes, whoever built them, when and under which umask.

    python scripts/even_wheel.py dist/*.whl

A wheel's RECORD holds names, sizes and hashes of contents, which stay as they are. Bytes can still differ
between versions of zlib, which compresses.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

LONG_AGO = (1980, 1, 1, 0, 0, 0)
"""The first time that a zip file can hold."""
PROGRAM, FILE = 0o100755, 0o100644


def even(wheel: Path) -> None:
    """Replace the wheel by its even form, at once or not at all."""
    made = wheel.with_name(f"{wheel.name}.tmp")
    try:
        with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
            for entry in sorted(old.infolist(), key=lambda one: one.filename):
                info = zipfile.ZipInfo(entry.filename, LONG_AGO)
                info.compress_type = zipfile.ZIP_DEFLATED
                runs = entry.external_attr >> 16 & 0o100
                info.external_attr = (PROGRAM if runs else FILE) << 16
                new.writestr(info, old.read(entry), compresslevel=9)
        os.replace(made, wheel)
    finally:
        made.unlink(missing_ok=True)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        even(Path(name))
