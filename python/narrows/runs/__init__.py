"""Runs: finding stored runs, loading their tables, and giving them types. Figures, studies and the calibrator
ask here; metrics never do."""
