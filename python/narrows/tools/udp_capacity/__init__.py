"""The tool udp_capacity."""

CRATES = ("crates/tools/udp_capacity",)
