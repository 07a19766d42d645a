"""Finds the kernel that an experiment names."""

import contextlib
from pathlib import Path

from narrows.errors import KernelError
from narrows.kernel import image, source


def named(name: str) -> image.KernelImage:
    """The kernel of a version ("6.12") or of a source tree ("tree:DIR") as its files are now."""
    is_tree = name.startswith(source.TREE)
    version = source.tree_source(Path(name.removeprefix(source.TREE))).version if is_tree else f"{name}."
    with contextlib.suppress(KernelError):  # the one in use first: it has its own version's name too
        if str(image.find().info.get("source", "")).startswith(version):
            return image.find()
    for one in image.whole_builds():
        of = str(one.info.get("source", ""))
        if (of == version or of.startswith(version)) and image.is_of_today(one):
            return one
    how = f"--tree {name.removeprefix(source.TREE)}" if is_tree else name
    raise KernelError(
        f"the kernel {name} has not been built" + (", or its files have changed since" if is_tree else ""),
        remedy=f"narrows kernel build {how}   (5 to 9 minutes on two cores, once)",
    )
