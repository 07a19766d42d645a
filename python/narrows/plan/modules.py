"""The kernel modules that an experiment brings, as its plan states them. Loads nothing."""

import contextlib
import hashlib
import os
import re
from pathlib import Path

from narrows.errors import did_you_mean
from narrows.plan.model import Module
from narrows.spec.observe import machine


def asked_kernel(made: machine) -> str | None:
    """What the kernel is called that the run asks for; a tree is looked up beside the experiment file."""
    kind, colon, name = (made["kernel"] or "").partition(":")
    if not colon:
        return kind or None
    tree = (Path(made.where.rpartition(":")[0]).absolute().parent / Path(name).expanduser()).resolve()
    if not (tree / "Makefile").is_file() or not (tree / "arch/um").is_dir():
        made.fail(f"kernel: {tree} is no source tree of Linux with arch/um", 'such as kernel="tree:../linux"')
    return f"{kind}:{tree}"


def modules(made: machine) -> tuple[Module, ...]:
    """Every module with the digest of its file; a name is looked up beside the experiment file."""
    beside = Path(made.where.rpartition(":")[0]).absolute().parent
    return tuple(_module(made, beside, *words.split(maxsplit=1)) for words in made["modules"])


def _module(made: machine, beside: Path, file: str, parameters: str = "") -> Module:
    path = beside / Path(file).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        made.fail(f"modules: {path}: {error.strerror}", "kernel/README.md tells how to build a module")
    if stale := _newer(path):
        made.fail(
            f"modules: {path.name} is older than {stale}: it was not built since, or could not be",
            f'make -C "$(narrows kernel info --tree)" ARCH=um M={path.parent} modules',
        )
    _check_parameters(made, path.name, content, parameters)
    digest = hashlib.sha256(content).hexdigest()
    return Module(name=path.stem, path=str(path), sha256=digest, parameters=parameters)


def _newer(module: Path) -> str | None:
    """A file beside it that it was made of and that was changed after it was built. What it was made of its
    build has left there (`.mod` has the objects, `.OBJECT.cmd` the files of each); else it is the file of its
    name. A module alone has nothing to be held against."""
    folder, built_ns = module.parent, module.stat().st_mtime_ns
    objects, sources = [module.with_suffix(".o").name], {module.with_suffix(".c").name}
    with contextlib.suppress(OSError):
        objects += [Path(word).name for word in module.with_suffix(".mod").read_text().split()]
    for each in objects:
        with contextlib.suppress(OSError):
            words = (folder / f".{each}.cmd").read_text().split()
            sources |= {word for word in words if word.endswith((".c", ".h", ".S"))}
    for name in sorted(sources):
        path = Path(os.path.normpath(folder / name))
        with contextlib.suppress(OSError):
            if path.is_relative_to(folder) and path.stat().st_mtime_ns > built_ns:
                return str(path.relative_to(folder))
    return None


def _check_parameters(made: machine, file: str, content: bytes, parameters: str) -> None:
    """Refuse a parameter that the module does not have: the kernel would load it all the same and ignore it.
    What it has stands in its own description; a file without one is no module, and the guest says so."""
    if b"vermagic=" not in content:
        return
    known = sorted({name.decode() for name in re.findall(rb"\0?parmtype=(\w+):", content)})
    for word in parameters.split():
        name = word.partition("=")[0].replace("-", "_")  # as the kernel reads it
        if name not in known:
            remedy = did_you_mean(name, known) if known else "it takes none"
            made.fail(f"modules: {file} has no parameter {name!r}", remedy)
