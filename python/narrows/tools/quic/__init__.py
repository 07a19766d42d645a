"""The tool quic: a QUIC stack as a flow, one of those that come with narrows or a person's own."""

CRATES = ("crates/tools/quic",)
