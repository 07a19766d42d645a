"""Scores: every metric on every series of a run, and on what its queue really did. The table `score`."""
