"""What acts on a real host and its network, outside of any experiment."""
