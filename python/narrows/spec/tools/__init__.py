"""One tool per file: what a person may put on the link."""
