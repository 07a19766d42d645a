"""Metrics: pure functions over stored samples, one metric per file.

Each file's docstring gives the definition, the unit and the source. Values come in as arrays, Polars series
or frames and go out as numbers or small frozen dataclasses; a metric of no samples is None, never 0.
Nothing here reads files, knows directories or draws.
"""
