"""The tool capacity_test."""
