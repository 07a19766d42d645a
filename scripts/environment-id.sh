#!/bin/sh
# Prints what the Python environment of this checkout must be made from, as one line: the requirements, what
# is installed by which name, and where the checkout is (an environment cannot be moved). scripts/setup.sh
# keeps it beside the environment; ./narrows compares.
set -eu
cd "$(dirname "$0")/.."
digest=$({ cat requirements.txt requirements-dev.txt && sed -n '/^\[project/,/^\[tool/p' pyproject.toml; } | sha256sum)
printf '%s %s\n' "${digest%% *}" "$(pwd -P)"
