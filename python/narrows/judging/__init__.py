"""Claims as data and the one judge of them: which runs, which conditions, which measure, which mark."""
