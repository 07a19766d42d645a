"""Metrics of how flows share a bottleneck, one per file."""
