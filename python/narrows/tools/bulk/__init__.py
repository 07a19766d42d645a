"""The tool bulk."""
