"""The tool identify: what the bottleneck's queue is, seen from outside.

`records` reads what the agent's client wrote, `features` computes what has a physical reason, `verdict`
concludes. All three are pure, and `narrows identify` on a real host uses them as an experiment does.
"""

CRATES = ("crates/tools/identify",)
