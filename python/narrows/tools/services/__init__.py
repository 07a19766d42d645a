"""What services (video, page, download, call) share. It has no word of its own."""

WORDS = ()
CRATES = ("crates/tools/h3",)
