"""Statistics that the other metrics are made of."""
