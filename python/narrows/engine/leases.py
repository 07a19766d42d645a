"""Leases in a shared folder: who works on what, without a server.

A lease is a file that is made whole by one link, renewed while its holder lives, and taken over when it was
not renewed for a while. What is leased is idempotent: if two ever hold one lease (a machine that slept), work
is done twice and nothing else. Needs of the file system only that link and rename are atomic, as NFS has it.
"""

import json
import os
import platform
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

BEAT_S = 15.0
STALE_S = 90.0
"""Six beats: an NFS client may hold attributes back for a minute at most (acregmax)."""


def _here() -> str:
    """This boot of this machine and its process numbers: where a number says whether its process lives."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {os.readlink('/proc/self/ns/pid')}"


@dataclass(frozen=True)
class Lease:
    """What one worker holds. `deaths`: how many holders were gone before without a word."""

    name: str
    deaths: int


class Leases:
    """All leases of one worker in one folder. Use as a context manager: it renews them while it is open."""

    def __init__(self, folder: Path, *, beat_s: float = BEAT_S, stale_s: float = STALE_S) -> None:
        self._folder, self._beat_s, self._stale_s = folder, beat_s, stale_s
        self._worker, self._here = uuid.uuid4().hex, _here()
        self._held: set[str] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._beat = threading.Thread(target=self._renew, daemon=True, name="leases")

    def __enter__(self) -> "Leases":
        self._folder.mkdir(parents=True, exist_ok=True)
        self._beat.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._beat.join()
        for name in list(self._held):
            self.release(name)

    def take(self, name: str) -> Lease | None:
        """The lease, or None while another worker that lives has it. OSError if the folder is gone."""
        deaths = 0
        if (self._folder / name).exists():
            gone = self._remove_stale(name)
            if gone is None:
                return None
            deaths = gone + 1
        new = self._folder / f".new-{self._worker}-{name}"
        new.write_text(
            json.dumps(
                {
                    "worker": self._worker, "host": platform.node(), "pid": os.getpid(), "here": self._here,
                    "deaths": deaths,
                }
            )
        )  # fmt: skip
        try:
            os.link(new, self._folder / name)
        except FileExistsError:
            return None
        finally:
            new.unlink(missing_ok=True)
        with self._lock:
            self._held.add(name)
        return Lease(name, deaths)

    def release(self, name: str) -> None:
        """Give it back, unless another worker took it over."""
        with self._lock:
            self._held.discard(name)
        path = self._folder / name
        with suppress(OSError):
            if self._read(path).get("worker") == self._worker:
                path.unlink()

    def _remove_stale(self, name: str) -> int | None:
        """Take away a lease whose holder is gone; its count of deaths, None if it is not ours to take."""
        path = self._folder / name
        try:
            seen = self._read(path)
            if not self._is_gone(seen) and self._now() - path.stat().st_mtime < self._stale_s:
                return None
            aside = self._folder / f".gone-{self._worker}-{name}"
            os.rename(path, aside)
        except FileNotFoundError:
            return None  # another was quicker; at the next look there is more to see
        # Between reading and renaming another worker may have taken it over: that one is alive.
        found = self._read(aside)
        if found.get("worker") != seen.get("worker"):
            with suppress(FileExistsError):
                os.link(aside, path)
            aside.unlink(missing_ok=True)
            return None
        aside.unlink(missing_ok=True)
        deaths = found.get("deaths")
        return deaths if isinstance(deaths, int) else 0

    def _is_gone(self, lease: dict[str, object]) -> bool:
        """Certain only of processes of this machine."""
        return lease.get("here") == self._here and not Path(f"/proc/{lease.get('pid')}").exists()

    def _now(self) -> float:
        """The folder's own clock: machines' clocks differ."""
        clock = self._folder / f".clock-{self._worker}"
        clock.write_bytes(b"")
        try:
            return clock.stat().st_mtime
        finally:
            clock.unlink(missing_ok=True)

    def _renew(self) -> None:
        while not self._closed.wait(self._beat_s):
            with self._lock:
                held = list(self._held)
            for name in held:
                with suppress(OSError):
                    os.utime(self._folder / name)

    @staticmethod
    def _read(path: Path) -> dict[str, object]:
        text = path.read_text()
        try:
            value = json.loads(text)
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}
