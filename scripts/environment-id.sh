#!/bin/sh
# Prints what the Python environment of this checkout must be made from, as one line: the requirements and
# where the checkout is (an environment cannot be moved). scripts/setup.sh keeps it beside the environment;
# ./narrows compares.
set -eu
cd "$(dirname "$0")/.."
printf '%s %s\n' "$(cat requirements.txt requirements-dev.txt pyproject.toml | sha256sum | cut -d' ' -f1)" "$(pwd -P)"
