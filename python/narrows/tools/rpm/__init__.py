"""The tool rpm."""

CRATES = ("crates/tools/rpm",)
