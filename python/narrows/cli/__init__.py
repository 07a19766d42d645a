"""The command line. One command per file; this is the only part of narrows that prints.

A command module has a function of its own name. `main` finds all modules by itself.
"""
