"""Groups of runs against each other: pass marks, shares of pairs, repetitions, a figure by its name."""
