"""The tool ndt7."""

CRATES = ("crates/tools/ndt7",)
