"""What a QUIC stack is to narrows: the words that start its two ends, and what they have switches for.

A stack is a file `stack.toml`: of those that come with narrows `stacks/NAME.toml` here, of the recipes
`experiments/quic_stacks/NAME/stack.toml`, of a person's own any folder with one. In its words narrows fills
in what `FILLED` says; a word that is not there is a switch that the stack has not.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from narrows.errors import SpecError, did_you_mean
from narrows.tools.recipe import Kind, Recipe, check_choice, check_words, failing, recipes, table_in

FILE = "stack.toml"
OURS = Path(__file__).parent / "stacks"
FOLDER = "quic_stacks"
WAYS = ("down", "up", "both")
MOST_FILE_BYTES = 976_562 * 512
"""The most that any one file of an end may have, its qlog too: half a gigabyte, in the blocks of `ulimit`."""

NOT_TO_BE_HAD = {
    "picoquic": "no registry has its source; the wheel that has it, aiopquic, is for CPython 3.13 alone",
    "neqo": "it is in no registry",
}
"""Stacks that a person may look for, and why there is no recipe of them."""

FILLED = {
    "at": "where the server listens, ADDRESS:PORT",
    "host": "the address of it alone",
    "port": "the port of it alone",
    "way": "down, up or both",
    "cca": "the congestion control",
    "bytes": "of each connection and way; 0: until SIGINT",
    "size": "the same for who must be told a size: 10^12 for until SIGINT",
    "part": "@size over @streams, rounded up: what each stream asks for",
    "flows": "connections",
    "streams": "of each connection and way",
    "pause": "ms of silence between two transfers of @bytes on the connection; 0: there is one transfer",
    "window": "flow control, in bytes, of streams and connections",
    "ecn": "on or off",
    "pacing": "on or off",
    "qlog": "the directory for its qlog",
    "cert": "a certificate, made for the run",
    "key": "the key to it",
    "here": "where the stack was built",
}
"""The words that narrows fills in, as `@at`."""
_FILE = Kind(
    "stack",
    texts=("stack", "protocol"),
    lists=("server", "client", "qlog", "ccas", "ways"),
    needed={"stack": '"mine 1.0"', "server": '["…"]', "client": '["…"]'},
)


@dataclass(frozen=True, kw_only=True)
class Stack(Recipe):
    """One stack."""

    stack: str
    """What it is, with its version."""
    server: tuple[str, ...]
    client: tuple[str, ...]
    protocol: str = "perf"
    """What its two ends speak above QUIC: ends of one protocol can be of two stacks."""
    qlog: tuple[str, ...] = ()
    """Words more for a qlog."""
    ccas: tuple[str, ...] = ()
    """The first is its own choice; none: it has no switch, or nobody said."""
    ways: tuple[str, ...] = WAYS

    def words(self) -> tuple[str, ...]:
        """The words of both ends."""
        return (*self.server, *self.client, *self.qlog)


def _files() -> dict[str, Path]:
    """The files of the stacks that come with narrows and of the recipes, by name."""
    own = {path.stem: path for path in sorted(OURS.glob("*.toml"))}
    return own | {path.parent.name: path for path in recipes(FOLDER, FILE)}


def names() -> tuple[str, ...]:
    """The names of the stacks that come with narrows, and of the recipes."""
    return tuple(_files())


def find(name: str, beside: Path, where: str) -> Stack:
    """By its name, or by a folder as seen from a directory."""
    if known := _files().get(name):
        return read(known)
    folder = (beside / Path(name).expanduser()).resolve()
    if (folder / FILE).is_file():
        return read(folder / FILE)
    why = NOT_TO_BE_HAD.get(name)
    raise SpecError(
        f"quic: there is no stack {name}, and no {folder / FILE}" + (f": {why}" if why else ""),
        where=where,
        remedy="server=… and client=… with programs of your own" if why else did_you_mean(name, names()),
    )


@cache
def read(path: Path) -> Stack:
    """A stack's file; a SpecError says what is wrong in it."""
    table, fail = table_in(path, _FILE), failing(path)
    for way in table.get("ways", ()):
        if way not in WAYS:
            raise fail(f"ways: {way!r}", did_you_mean(way, WAYS))
    for key in ("server", "client", "qlog"):
        check_words(table.get(key, ()), FILLED, fail)
    check_choice("ccas", table.get("ccas", ()), (*table["server"], *table["client"]), "cca", fail)
    if path.parent == OURS:
        return Stack(name=path.stem, **table)
    return Stack(name=path.parent.name, folder=path.parent, **table)


def every() -> Iterator[Stack]:
    """Those that come with narrows, and the recipes."""
    return map(read, _files().values())
