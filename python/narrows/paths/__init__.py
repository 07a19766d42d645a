"""Packet logs → the properties of the paths that they show.

The Rust core in `crates/paths` reads the packets; this package calls it, joins what is known besides,
and judges what many sessions show together.
"""
