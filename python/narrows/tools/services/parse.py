"""What clients of services write: lines of JSON, the last of which says how it ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from narrows.errors import StoreError
from narrows.store.command_run import CommandRun
from narrows.store.parsers.common import strict_json
from narrows.units import NS_PER_MS


@dataclass(frozen=True)
class ClientLog:
    """A client's lines: those of each kind in order, and the last."""

    lines: tuple[dict[str, Any], ...]
    end: dict[str, Any]
    wall_epoch_ns: int
    """The guest's wall clock at t = 0."""

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("kind") == kind]

    def t_ns(self, at_ms: float) -> int:
        """A time of the guest's wall clock as the run counts."""
        return round(at_ms * NS_PER_MS) - self.wall_epoch_ns

    def times(self, lines: Iterable[dict[str, Any]]) -> list[int]:
        return [self.t_ns(line["at_ms"]) for line in lines]


def client_log(text: str, *, wall_epoch_ns: int, where: str, who: str) -> ClientLog:
    """Every line; a StoreError if one is no JSON object, or if the client did not come to its end."""
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            value = strict_json(line)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise StoreError(f"{who} wrote what is no JSON object: {line[:120]}", where=f"{where}:{number}")
        lines.append(value)
    end = next((line for line in reversed(lines) if line.get("kind") == "end"), None)
    if end is None:
        raise StoreError(
            f"{who} did not come to its end: its last line is missing", where=where, remedy="see its stderr"
        )
    return ClientLog(tuple(lines), end, wall_epoch_ns)


def of_run(ran: CommandRun) -> ClientLog:
    return client_log(
        ran.stdout(), wall_epoch_ns=ran.wall_epoch_ns, where=ran.where, who=f"the client of {ran.item.tool}"
    )
