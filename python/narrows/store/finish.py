"""Reads raw files in processes of their own, so that reading neither stops the views nor shares memory
with them.

A reader that dies (out of memory) fails its run, not the others. Readers end when their parent does.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

from narrows.engine import guest_disk, landlock, layout, readable
from narrows.engine.types import Finished, RunFacts, RunFault

PARENT_CHECK_S = 1.0


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)


def _prepare(parent: int, only_in: Path | None) -> None:
    if only_in is not None:  # a tool of one's own is read by its own Python
        package = str(Path(__file__).parents[1])
        may_read = (*readable.SYSTEM, *readable.INTERPRETER, package, *guest_disk.DEVICES)
        landlock.restrict([str(only_in)], guest_disk.DEVICES, may_read)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _ready() -> None:
    """Imports what reading needs."""
    import narrows.store.ingest  # noqa: F401


def _ingest(directory: Path, facts: RunFacts) -> Finished:
    """Imports what reading needs where it is read: whoever asks does without."""
    from narrows.store.ingest import ingest

    return ingest(directory, facts)


@contextmanager
def _deaf() -> Iterator[None]:
    """Processes started in here inherit a blocked SIGINT: Ctrl-C while they still import would end them with
    a traceback. Once prepared they ignore it anyway."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class FinishPool:
    """`finish` for the runner. Use as a context manager. `only_in`: readers reach no file of this user but
    below this directory."""

    def __init__(
        self, workers: int, read: Callable[[Path, RunFacts], Finished] = _ingest, only_in: Path | None = None
    ) -> None:
        self._read = read
        self._only_in = only_in
        self._workers = max(1, workers)
        self._lock = threading.Lock()
        self._alone = threading.Lock()
        # Readers of Polars stand beside guests that are pinned to cores: one thread each.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        self._pool = self._new(self._workers)

    def _new(self, workers: int) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare,
            initargs=(os.getpid(), self._only_in),
        )

    def __enter__(self) -> "FinishPool":
        return self

    def warm(self) -> None:
        """Start a reader: its imports take a second, which passes beside the first guest."""
        with _deaf():
            self._pool.submit(_ready)

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __call__(self, directory: Path, facts: RunFacts) -> Finished:
        """Ingest one run; blocks. When a reader dies, all runs that were being read lose theirs, and nobody
        knows whose it was: each is read once more, alone, and only one that kills its reader again fails.
        """
        pool = self._pool
        try:
            with _deaf():
                reading = pool.submit(self._read, directory, facts)
            return reading.result()
        except BrokenProcessPool:
            with self._lock:
                if self._pool is pool:
                    self._pool = self._new(self._workers)
        try:
            with self._alone, self._new(1) as alone:
                with _deaf():
                    reading = alone.submit(self._read, directory, facts)
                return reading.result()
        except BrokenProcessPool:
            from narrows.store.ingest import fail

            return fail(
                directory, facts, RunFault("store", f"the reader of this run's files died: {_why(directory)}")
            )


def _why(directory: Path) -> str:
    """The likeliest cause, with the file and what to set."""
    files = [path for path in (directory / layout.RAW).iterdir() if path.is_file()]
    largest = max(files, key=lambda path: path.stat().st_size, default=None)
    if largest is None:
        return "out of memory?"
    size_mb = largest.stat().st_size / 1e6
    return (
        f"out of memory? the largest is raw/{largest.name} with {size_mb:.0f} MB "
        f'→ record less: sample(tcp_info="1 s") or sample(tcp_info=None), tap("summary") or tap("drops")'
    )
