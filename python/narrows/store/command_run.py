"""What a tool's `parse.py` is handed: a command that ran, its output, and what its parser may need of the
run."""

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import polars as pl

from narrows.errors import StoreError
from narrows.plan.items import Command, Composite
from narrows.plan.model import Plan
from narrows.store.items import sending_direction
from narrows.store.parsers.common import read_json


def read_text(raw: Path, name: str) -> str:
    """A raw file as text, also where it has been compressed since."""
    with _opened(raw / name) as file:
        return io.TextIOWrapper(file, encoding="utf-8", errors="replace").read()


def read_pieces(raw: Path, name: str, most_bytes: int) -> Iterator[tuple[int, str]]:
    """A raw CSV in pieces of whole lines: how many lines lie before each, and the header with its lines."""
    with _opened(raw / name) as file:
        header, before = file.readline(), 0
        while lines := file.readlines(most_bytes):
            yield before, (header + b"".join(lines)).decode(errors="replace")
            before += len(lines)
        if not before:
            yield 0, header.decode(errors="replace")


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        with path.open("rb") if path.exists() else gzip.open(f"{path}.gz", "rb") as file:
            yield file  # type: ignore[misc]
    except FileNotFoundError:
        raise StoreError(
            f"raw/{path.name} is missing", remedy="see raw/agent.jsonl and console.log"
        ) from None
    except OSError as error:
        raise StoreError(f"raw/{path.name} cannot be read: {error.strerror}") from None


@dataclass(frozen=True)
class CommandRun:
    item: Command
    plan: Plan
    raw: Path
    start_ns: int | None
    flows: pl.DataFrame
    """From the tap: helps to time what has no clock."""
    epoch_ns: int
    """CLOCK_MONOTONIC at t = 0."""
    wall_epoch_ns: int
    """CLOCK_REALTIME at t = 0."""

    @property
    def where(self) -> str:
        """The file, for messages."""
        return f"raw/{self.item.id}.stdout"

    @property
    def direction(self) -> str:
        """Which way data goes that its node sends."""
        return sending_direction(self.plan, self.item.node)

    @property
    def composite(self) -> Composite:
        """The tool of several items that it is a part of."""
        return next(each for each in self.plan.composites if self.item.id in each.parts)

    def stdout(self) -> str:
        """What it printed."""
        return read_text(self.raw, f"{self.item.id}.stdout")

    def json(self) -> dict[str, Any]:
        """The one JSON object that it printed."""
        return read_json(self.stdout(), self.item.tool, where=self.where)
