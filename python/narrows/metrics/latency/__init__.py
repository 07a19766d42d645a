"""Metrics of delay and its variation, one per file."""
