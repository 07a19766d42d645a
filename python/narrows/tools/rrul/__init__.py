"""The tool rrul."""
