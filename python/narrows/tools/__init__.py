"""Tools: one folder for each speed test, probe or service, which says everything about it; nothing else
names a tool.

- `__init__.py`: `WORDS`, its names in an experiment, where they are not the folder's own; `CRATES`, where its
  Rust parts lie, for tools whose programs the agent is;
- `client/`: its programs that are scripts or pages, and the packages of theirs;
- `spec.py`: its options, a class for each word; `UNDER_TEST`, what `narrows calibrate` runs of it;
- `lower.py`: `lower(item, item_id, state)`, the items of the plan that it becomes;
- `parse.py`: `read(ran)`, what its output says, for tools that are commands; `read_parts(composite, parts)`,
  what its parts say together, for tools that become several items;
- `readings.py`: `FIGURES`, what each of its figures reads; `LOAD`, which of them is its rate.

`registry` finds them by these names. A person's own tool is such a folder beside the experiment
(`narrows.spec.own_tool`).
"""
