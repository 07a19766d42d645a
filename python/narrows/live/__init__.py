"""What acts on a real host, outside the lab."""
