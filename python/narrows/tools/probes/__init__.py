"""The tool probes."""
