"""Standards that run: what a document asks of a congestion control or a queue, as small experiments."""
