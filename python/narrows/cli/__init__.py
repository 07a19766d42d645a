"""The command line. One command per file; this is the only part of narrows that prints.

A command module has `register(app)`, which adds its command. `main` finds all modules by itself.
"""
