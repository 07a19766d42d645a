"""Links below IP: who is misled by turns, aggregates and gaps, and by how much."""
