"""The tool rpm."""
