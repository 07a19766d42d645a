"""Runs: finding stored runs, loading their tables, and giving them types.

`scoring`, `comparing`, figures, studies and the calibrator ask here; metrics never do.
"""
