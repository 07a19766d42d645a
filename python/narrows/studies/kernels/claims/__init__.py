"""What a kernel update is said to change."""
