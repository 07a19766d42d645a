"""Rewrites a plan from standard input, a line for each step, item and node: differences can be read."""

import json
import sys


def lines(value: object, depth: int = 0) -> str:
    """JSON of which lists and objects are opened down to the second level alone."""
    if depth == 2 or not isinstance(value, dict | list) or not value:
        return json.dumps(value, ensure_ascii=False)
    inner = " " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(name)}: {lines(each, depth + 1)}" for name, each in value.items()]
    else:
        parts = [lines(each, depth + 1) for each in value]
    signs = "{}" if isinstance(value, dict) else "[]"
    return f"{signs[0]}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * depth}{signs[1]}"


if __name__ == "__main__":
    print(lines(json.load(sys.stdin)))
