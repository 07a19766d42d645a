"""Studies: what a paper claims, the experiments that decide it, and the judgement."""
