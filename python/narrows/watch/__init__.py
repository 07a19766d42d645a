"""Going through pairs of services again and again: what is to be run next, and what has changed since.

Nothing is run here; the command line does that.
"""
