"""`tool("my_service", …)`: a speed test or service of a person's own, from a folder beside the experiment.

The folder has the parts of a tool (docs/tools.md). Here its `spec.py` is loaded, its class found and called
with the options; the other parts are read where they are needed.
"""

from pathlib import Path
from typing import Any

from narrows.errors import SpecError, did_you_mean
from narrows.spec.parsers import Wrong, identifier
from narrows.spec.traffic import Traffic
from narrows.spec.where import caller
from narrows.tools import folder as folders
from narrows.tools import registry

REQUIRED = (registry.SPEC, registry.LOWER)


def tool(name: str, **options: Any) -> Traffic:
    """The item of a tool whose folder lies beside this file, or at a path from there."""
    where = caller()
    if not isinstance(name, str) or not name.strip():
        raise SpecError(f"tool: {name!r} names no folder", where=where, remedy='tool("my_service")')
    beside = Path(where.rpartition(":")[0]).absolute().parent
    path = (beside / Path(name).expanduser()).resolve()
    _check(path, name, beside, where)
    found = folders.read(path, SpecError)
    for part in REQUIRED:
        if f"{part}.py" not in found.files:
            raise SpecError(
                f"the tool {path.name} has no {part}.py",
                where=str(path),
                remedy="docs/tools.md has an example",
            )
    kind = getattr(found.part(registry.SPEC), path.name, None)
    if not (isinstance(kind, type) and issubclass(kind, Traffic)):
        said = "has no class" if kind is None else "has another thing than a class of Traffic called"
        raise found.fail(registry.SPEC, f"it {said} {path.name}", f"class {path.name}(Traffic): its options")
    if not any(word in kind.options for word in ("duration", "time_limit")) and kind.takes is Traffic.takes:
        raise found.fail(
            registry.SPEC,
            f"nothing says how long {path.name} takes",
            'an option: time_limit: Time = option(p.positive, default="60 s")',
        )
    item: Traffic = found.guard(registry.SPEC, kind, **options)
    return item


def _check(path: Path, name: str, beside: Path, where: str) -> None:
    if path.name in registry.words():
        raise SpecError(
            f"tool: {path.name} comes with narrows", where=where, remedy=f"{path.name}(…), or another name"
        )
    try:
        identifier(path.name)
        valid = path.name.isidentifier()
    except Wrong:
        valid = False
    if not valid:
        raise SpecError(
            f"tool: {path.name!r} cannot name a tool", where=where, remedy="letters, digits and '_'"
        )
    if not path.is_dir():
        raise SpecError(
            f"tool: there is no folder {name} beside the experiment",
            where=where,
            remedy=did_you_mean(name, sorted(each.parent.name for each in beside.glob("*/spec.py"))),
        )
