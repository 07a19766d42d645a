"""The store: raw files of a run become Parquet tables and a manifest; and the tables are read again.

`ingest` writes one run, `results` reads a directory of runs. Metrics that no tool reports itself are not here
but in `narrows.metrics`.
"""
