"""The tool cloudflare."""

CRATES = ("crates/tools/web",)
