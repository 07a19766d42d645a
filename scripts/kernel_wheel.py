"""Lays out the package narrows-kernel (GPL-2.0) for pip wheel: the built kernel and all it was made of.

    python scripts/kernel_wheel.py build/narrows-kernel

It holds the kernel, the iproute2 that goes with it, the whole configuration, our C files, patches and
training, the exact versions of both sources, and a written offer. It builds nothing: `narrows kernel build`
comes before.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from narrows.kernel import image

GPL = Path("/usr/share/common-licenses/GPL-2")
"""Debian's base-files has it on every machine."""
VERSION = "0.1.0"
PYPROJECT = f"""[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "narrows-kernel"
version = "{VERSION}"
description = "The kernel under test of narrows: User-Mode Linux in virtual time, built"
requires-python = ">=3.11"
license = "GPL-2.0-only"
license-files = ["COPYING"]
readme = "README.md"

[tool.setuptools]
packages = ["narrows_kernel"]

[tool.setuptools.package-data]
narrows_kernel = ["**"]
"""
OFFER = """# narrows-kernel

The kernel under test of narrows, as a program: Linux {release} as User-Mode Linux, from Debian's source
package `linux` {source}, with the patches and files in `source/`. With it come `ip` and `tc` of iproute2
{iproute2}. Both are under the GNU General Public License, version 2 (COPYING).

| to make it again | is here |
|---|---|
| Linux, upstream's tarball with Debian's changes | version {source} of Debian's source package `linux` |
| iproute2 | version {iproute2} |
| our changes, in the order of application | `source/patches`, `source/src`; `info.json` has the order |
| configuration | `config`, made from `source/narrows.config` |
| profile | `source/training` exercises a kernel that counts its branches |
| compiler | {compiler} |
| steps | `narrows kernel build`, of the package narrows of the same version |

**Written offer.** For at least three years from the day on which you received this package, whoever gave
it to you under this offer will give any third party, for no more than the cost of performing the
distribution, a complete machine-readable copy of the corresponding source code of the kernel and of
iproute2, on a medium customarily used for software interchange. Ask where narrows is published.
"""


def lay_out(place: Path) -> None:
    """Fill the directory."""
    found = image.find()
    package = place / "narrows_kernel"
    shutil.rmtree(place, ignore_errors=True)
    package.mkdir(parents=True)
    (place / "pyproject.toml").write_text(PYPROJECT)
    (place / "setup.cfg").write_text("[bdist_wheel]\nplat_name = linux_x86_64\n")
    (package / "__init__.py").write_text(
        '"""The built kernel of narrows, as data: see README.md beside this file."""\n'
    )
    shutil.copy(GPL, place / "COPYING")
    for name in ("linux", "config"):
        shutil.copy(found.directory / name, package / name)
    if found.tools_dir is not None:
        shutil.copytree(found.tools_dir, package / "tools")
    info = {**found.info, "made_of": image.made_of()}
    (package / "info.json").write_text(json.dumps(info, indent=2) + "\n")
    source = package / "source"
    for room in ("src", "patches", "training"):
        shutil.copytree(image.KERNEL_DIR / room, source / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(image.FRAGMENT, source / image.FRAGMENT.name)
    offer = OFFER.format(**info)
    (place / "README.md").write_text(offer)
    (package / "README.md").write_text(offer)


if __name__ == "__main__":
    lay_out(Path(sys.argv[1]))
