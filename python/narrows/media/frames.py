"""Turns of one length in a row: where nothing can be sent the next turn's wait is longer."""

from narrows.media.schedule import Turn


def without_empty(turns: list[Turn], length_ns: int) -> tuple[tuple[Turn, ...], int]:
    """The same without turns of no bytes, and how long the whole is."""
    kept, wait_ns = [], 0
    for turn in turns:
        wait_ns += turn.wait_ns
        if turn.bytes:
            kept.append(turn._replace(wait_ns=wait_ns))
            wait_ns = 0
    return tuple(kept), length_ns
