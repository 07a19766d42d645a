"""Metrics of what a queue did, one per file."""
