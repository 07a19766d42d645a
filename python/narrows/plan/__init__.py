"""Plans: flat runs with every default written out and the exact commands that make them.

`expand` takes an experiment apart into runs, `linux`, `topology` and `traffic` lower one run to commands,
`model` is the shape of `plan.json`, `select` is the filter of `--only`. Nothing here executes anything.
"""
