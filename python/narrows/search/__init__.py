"""Chooses the conditions of an experiment where behaviour changes most, run after run."""
