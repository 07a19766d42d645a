"""Figures: drawn from data; computes no metric of its own."""
