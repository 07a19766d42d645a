"""The tool command."""
