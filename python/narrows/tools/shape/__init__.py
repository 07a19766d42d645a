"""The tool shape: the adaptive shaper of `narrows shape`, in a Home."""

CRATES = ("crates/shape",)
