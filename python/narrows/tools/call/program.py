"""What a program of calls is to narrows: the words that start it, and what it is built of.

It is a file `experiments/call_programs/NAME/program.toml`, or one in any folder of a person's own. One of
kind "ends" is both ends of a call, each started with its role; one of kind "sfu" is a server that two
browsers join by its `join.mjs`. In the words narrows fills in what `FILLED` says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from narrows.errors import SpecError, did_you_mean
from narrows.tools.recipe import Kind, Recipe, check_choice, check_words, failing, recipes, table_in

FILE = "program.toml"
FOLDER = "call_programs"
BROWSER = "chromium"
KINDS = ("ends", "sfu")
FILLED = {
    "at": "where the callee, or the SFU, listens: ADDRESS:PORT",
    "host": "the address of it alone",
    "port": "the port of it alone",
    "mine": "the end's own address",
    "role": "caller or callee",
    "sends": "1 or 0: whether the end sends",
    "audio": "1 or 0",
    "camera": "the camera's picture, a y4m that is played over and over",
    "height": "its lines",
    "most": "bit/s that an end's video may take",
    "codec": "VP8, VP9, H264 or AV1",
    "pause": "FROM-UNTIL in s, or -",
    "sample": "ms between two frames that are held against the camera's; 0: none",
    "here": "where the program was built",
}
"""The words that narrows fills in, as `@at`."""
_FILE = Kind(
    "program",
    texts=("program", "kind", "control"),
    lists=("argv", "codecs"),
    needed={"program": '"…"', "kind": '"…"', "argv": '["…"]'},
)


@dataclass(frozen=True, kw_only=True)
class Program(Recipe):
    """One program."""

    program: str
    """What it is, with its version."""
    kind: str
    argv: tuple[str, ...]
    control: str = ""
    """Whose congestion control decides, in words."""
    codecs: tuple[str, ...] = ("VP8",)
    """The first is its own choice."""

    def words(self) -> tuple[str, ...]:
        """The words of either end, or of the server."""
        return self.argv


def names(kind: str | None = None) -> tuple[str, ...]:
    """The names of the recipes."""
    return tuple(each.name for each in every() if kind in (None, each.kind))


def every() -> Iterator[Program]:
    """The recipes."""
    for path in recipes(FOLDER, FILE):
        yield read(path)


def find(name: str, kind: str, beside: Path, where: str) -> Program:
    """By its name, or by a folder as seen from a directory."""
    own = [path for path in recipes(FOLDER, FILE) if path.parent.name == name]
    path = own[0] if own else (beside / Path(name).expanduser()).resolve() / FILE
    if not path.is_file():
        known = (*((BROWSER,) if kind == "ends" else ()), *names(kind))
        raise SpecError(
            f"call: there is no {name}, and no {path}", where=where, remedy=did_you_mean(name, known)
        )
    found = read(path)
    if found.kind != kind:
        raise SpecError(f"call: {name} is of the kind {found.kind}", where=where, remedy=f"wanted: {kind}")
    return found


@cache
def read(path: Path) -> Program:
    """A program's file; a SpecError says what is wrong in it."""
    table, fail = table_in(path, _FILE), failing(path)
    if table["kind"] not in KINDS:
        raise fail(f"kind: {table['kind']!r}", did_you_mean(table["kind"], KINDS))
    check_words(table["argv"], FILLED, fail)
    if table["kind"] == "ends":
        check_choice("codecs", table.get("codecs", ()), table["argv"], "codec", fail)
    return Program(name=path.parent.name, folder=path.parent, **table)
