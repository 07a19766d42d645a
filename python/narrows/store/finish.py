"""Reads raw files in processes of their own, so that reading neither stops the views nor shares memory
with them.

A reader that dies (out of memory) fails its run, not the others. Readers end when their parent does.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from narrows.engine.types import Finished, RunFacts, RunFault
from narrows.store.ingest import fail, ingest

PARENT_CHECK_S = 1.0


def _watch_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)


def _prepare(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    threading.Thread(target=_watch_parent, args=(parent,), daemon=True).start()


def _ready() -> None:
    """Does nothing; to answer, a reader must have imported this module."""


class FinishPool:
    """`finish` for the runner. Use as a context manager."""

    def __init__(self, workers: int) -> None:
        self._workers = max(1, workers)
        self._lock = threading.Lock()
        # Readers of Polars stand beside guests that are pinned to cores: one thread each.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        self._pool = self._new()

    def _new(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_prepare,
            initargs=(os.getpid(),),
        )

    def __enter__(self) -> FinishPool:
        self._pool.submit(_ready)  # the reader's imports take a second: let it begin beside the first guest
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(cancel_futures=True)

    def __call__(self, directory: Path, facts: RunFacts) -> Finished:
        """Ingest one run; blocks."""
        pool = self._pool
        try:
            return pool.submit(ingest, directory, facts).result()
        except BrokenProcessPool:
            with self._lock:
                if self._pool is pool:
                    self._pool = self._new()
            fault = RunFault("store", "the reader of this run's files died; out of memory?")
            return fail(directory, facts, fault)
