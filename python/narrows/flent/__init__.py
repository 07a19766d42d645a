"""Flent's data files: our runs as `.flent.gz` for Flent's own GUI, and theirs as runs that can be queried."""
