"""One tool per file: from an item of traffic to programs with all their arguments."""
