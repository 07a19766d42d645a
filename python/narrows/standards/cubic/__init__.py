"""RFC 9438: CUBIC, from what its window does."""
