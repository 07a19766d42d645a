"""Rows of the table `samples` that are too many for memory: they wait in files of their own."""

from pathlib import Path

import polars as pl

from narrows.store import parquet, schema


class Spill:
    """Parts of one run's `samples`, in the directory of its tables."""

    def __init__(self, directory: Path, run_id: str) -> None:
        self._directory, self._run_id = directory, run_id
        self._parts: list[Path] = []
        self._height = 0

    def with_run(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The rows with this run's id."""
        return schema.filled(frame, {"run_id": self._run_id})

    def add(self, frames: list[pl.DataFrame]) -> None:
        """Write rows of samples (without run_id) away."""
        if not frames:
            return
        frame = self.with_run(schema.concat(frames, "samples"))
        path = self._directory / f".samples-{len(self._parts):05}.parquet"
        schema.write(frame, path)
        self._parts.append(path)
        self._height += frame.height

    def whole(self, frame: pl.DataFrame, path: Path) -> pl.LazyFrame:
        """The table that was written, from memory where it was never in parts."""
        return parquet.scan(path) if self._height else frame.lazy()

    def write(self, frame: pl.DataFrame, path: Path) -> int:
        """Write the table: the rows of `frame`, then those that were written away. Returns its height."""
        if not self._parts:
            schema.write(frame, path)
            return frame.height
        first = self._directory / ".samples-first.parquet"
        schema.write(frame, first)
        parts = [first, *self._parts]
        schema.sink(parquet.scan(parts), path)
        for part in parts:
            part.unlink()
        self._parts = []
        return frame.height + self._height
