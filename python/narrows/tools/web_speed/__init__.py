"""The tool web_speed."""

CRATES = ("crates/tools/web",)
