"""Reads packet logs into tables by the Rust core. It looks at no packet itself.

A directory of results holds `connections/`, `sessions/` and, on request, `acks/` with one Parquet file a log,
`snapshots/` with one for each file of snapshots of TCP_INFO,
and `logs/` with one JSON file a log that says what the log held. Logs that were read before with the same
settings are not read again; one that cannot be read costs only itself.
"""

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from narrows.errors import EngineError, NarrowsError, UsageError
from narrows.paths import binary, tables

SERVICES = ("port", "server", "all")
STDIN = "-"
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")
"""What a shell's `<(…)` is called."""


@dataclass(frozen=True)
class Settings:
    """How logs are read. Times in nanoseconds.

    `session_gap_ns`: a connection of the same client and service that begins within this of another's end is
    of the same session. `min_duration_ns`: shorter sessions are counted and not written (Philip 2025, section
    5.3: two minutes). `service`: what makes servers one service, their "port", their address and port
    ("server"), or "all". `idle_ns`: a connection without packets for this long is over. `connections`: how
    many are kept at once. `joined`: all files are pieces of one capture; else those are whose names say so,
    as of dumpcap's and tcpdump -C's rotated files. `keys`: a key log (SSLKEYLOGFILE) that opens QUIC's
    packets, beside those that a pcapng itself holds. `qlog`: write a qlog of each connection that was opened.
    """

    session_gap_ns: int = 30_000_000_000
    min_duration_ns: int = 120_000_000_000
    service: str = "port"
    idle_ns: int = 600_000_000_000
    connections: int = 1_000_000
    acks: bool = False
    again: bool = False
    joined: bool = False
    keys: Path | None = None
    qlog: bool = False

    def __post_init__(self) -> None:
        if self.service not in SERVICES:
            raise UsageError(f"no service {self.service!r}", remedy=f"one of {', '.join(SERVICES)}")
        if self.keys is not None and "TRAFFIC_SECRET" not in readable(self.keys):
            raise UsageError(
                f"{self.keys} holds no secret of TLS 1.3",
                remedy="the file that SSLKEYLOGFILE named when it ran",
            )

    def arguments(self) -> list[str]:
        """The core's options."""
        given = [
            *("--session-gap-ns", str(self.session_gap_ns)),
            *("--min-duration-ns", str(self.min_duration_ns)),
            *("--service", self.service),
            *("--idle-ns", str(self.idle_ns)),
            *("--connections", str(self.connections)),
        ]
        if self.keys is not None:
            given += ["--keys", str(self.keys)]
        flags = {"--qlog": self.qlog, "--acks": self.acks, "--again": self.again, "--joined": self.joined}
        return given + [flag for flag, wanted in flags.items() if wanted]


def readable(file: Path) -> str:
    """The text of a file that was named on the command line. Raises UsageError where there is none."""
    try:
        return file.read_text(errors="replace")
    except OSError as error:
        raise UsageError(
            f"{file} cannot be read: {error.strerror}", remedy="name a file that is there"
        ) from error


@dataclass(frozen=True)
class Outcome:
    """What became of one log: a `summary`, `skipped` when that was done before, or an `error`.

    `files`: the places, among those that were named, of the files that it is made of.
    """

    log: str
    files: tuple[int, ...] = (0,)
    summary: dict[str, Any] | None = None
    skipped: bool = False
    error: NarrowsError | None = None

    @property
    def name(self) -> str:
        """What the tables call the log."""
        return str(self.summary["log"]) if self.summary else tables.full_name(self.log)

    @property
    def is_of_packets(self) -> bool:
        """False of snapshots of TCP_INFO; true also where that is not known now."""
        return self.summary is None or self.summary["container"]["format"] in ("pcap", "pcapng")

    @property
    def counts(self) -> dict[str, Any]:
        """What the log held, by name; empty unless it was read now."""
        counts: dict[str, Any] = self.summary["counts"] if self.summary else {}
        return counts

    @property
    def has_datagrams(self) -> bool:
        """Whether UDP conversations are in its tables; true also where that is not known now."""
        return self.is_of_packets and self.error is None and self.counts.get("udp", 1) > 0

    @property
    def unused(self) -> dict[str, int]:
        """Packets that were not used, by the reason."""
        return dict(self.counts.get("not_tcp", {}))

    @property
    def damage(self) -> str | None:
        """Why the log ended early, or None."""
        return self.summary["container"]["damage"] if self.summary else None


def read(
    logs: Sequence[str | Path],
    out: Path,
    settings: Settings | None = None,
    *,
    jobs: int = 1,
    progress: Callable[[Outcome], None] = lambda _: None,
) -> list[Outcome]:
    """Read `logs` (files, or "-" for standard input) into the directory `out`; outcomes in their order, one
    for all pieces of a capture.

    Raises EngineError when the core is missing or breaks; a log that cannot be read is an outcome.
    """
    if not logs:
        raise UsageError("no packet log is named", remedy="narrows paths FILES… --out DIR")
    names = [str(log) for log in logs]
    if doubles := sorted({name for name in names if names.count(name) > 1}):
        raise UsageError(f"{doubles[0]} is named twice", remedy="name each log once")
    # A name that begins with a dash would be an option.
    names = [f"./{name}" if name.startswith("-") and name != STDIN else name for name in names]
    command = [*core(), "read", *names, "--out", str(out), "--jobs", str(max(jobs, 1))]
    done: list[Outcome] = []
    inherited = [int(match[1]) for name in names if (match := _DESCRIPTOR.fullmatch(name))]
    for outcome in _run([*command, *(settings or Settings()).arguments()], inherited):
        done.append(outcome)
        progress(outcome)
    accounted = {place for outcome in done for place in outcome.files}
    if missing := [name for place, name in enumerate(names) if place not in accounted]:
        raise EngineError(
            "narrows-paths ended without a word about it",
            where=missing[0],
            remedy="this is a defect; please report it",
        )
    return sorted(done, key=lambda outcome: outcome.files)


def core() -> list[str]:
    """How the core is called."""
    return [str(binary.find())]


def _run(command: list[str], inherited: list[int]) -> Iterator[Outcome]:
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=inherited
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for line in process.stdout:
            yield outcome_of(line)
        complaint = process.stderr.read().strip()
    # 1: some log could not be read, which its outcome says.
    if process.returncode not in (0, 1):
        message = complaint or f"it ended with status {process.returncode}"
        raise EngineError(f"narrows-paths failed: {message}", remedy=binary.REMEDY)


def outcome_of(line: str) -> Outcome:
    """What one line of the core says."""
    said: dict[str, Any] = json.loads(line)
    log, files = said["log"], tuple(said["files"])
    if "error" in said:
        error = said["error"]
        return Outcome(
            log,
            files,
            error=NarrowsError(
                error["message"], where=error["where"] or None, remedy=error["remedy"] or None
            ),
        )
    return Outcome(log, files, summary=said.get("done"), skipped="skipped" in said)
