"""Metrics of throughput, one per file."""
