"""Tools: one folder for each speed test, probe or service."""
