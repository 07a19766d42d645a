"""A person's own tool as a run keeps it: the copy of its folder, which reads the output beside it."""

from pathlib import Path

from narrows.engine import layout
from narrows.errors import StoreError
from narrows.plan.items import OwnTool
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import Parsed
from narrows.tools import folder as folders
from narrows.tools import registry
from narrows.tools.folder import Folder


def kept(tool: OwnTool, directory: Path) -> Folder:
    """The folder that a run in this directory was made with."""
    path = directory.resolve() / layout.TOOLS / tool.tool
    if not path.is_dir():
        raise StoreError(f"the copy of the tool {tool.tool} is missing", where=str(path))
    found = folders.read(path, StoreError)
    if found.files != tool.files:
        raise StoreError(
            f"the copy of the tool {tool.tool} was changed after the run",
            where=str(path),
            remedy="change the folder beside the experiment, and run it again",
        )
    return found


def read(tool: OwnTool, ran: CommandRun) -> Parsed:
    """What the tool's own `parse.py` says; nothing where it has none."""
    own = kept(tool, ran.raw.parent)
    module = own.part(registry.PARSE)
    if module is None:
        return Parsed()
    parse = getattr(module, "read", None)
    if not callable(parse):
        raise own.fail(registry.PARSE, "it has no function read", "def read(ran): …   (docs/tools.md)")
    parsed = own.guard(registry.PARSE, parse, ran)
    if not isinstance(parsed, Parsed):
        raise own.fail(
            registry.PARSE,
            f"read returns {type(parsed).__name__}, not Parsed",
            "from narrows.store.parsers.common import Parsed",
        )
    return parsed
