#!/bin/sh
# Prepares a checkout: system packages, Python environment, agent. Idempotent; a second call does nothing.
# It does not build the kernel (that is `narrows kernel build`) and changes nothing outside the checkout
# but the system packages named in scripts/apt-packages.txt; called with the word "tests", also those of
# scripts/apt-packages-tests.txt.
set -eu
cd "$(dirname "$0")/.."

say() { printf '%s\n' "$*" >&2; }

# ---- system packages -------------------------------------------------------------------------------------

is_installed() { dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed; }

# Cargo from anywhere will do when it is at least this version (the agent's lock file and dependencies).
cargo_minimum=1.85
cargo_is_usable() {
    command -v cargo >/dev/null 2>&1 || return 1
    found=$(cargo --version 2>/dev/null | sed 's/^cargo \([0-9.]*\).*/\1/')
    [ -n "$found" ] || return 1
    [ "$(printf '%s\n%s\n' "$cargo_minimum" "$found" | sort -V | head -n 1)" = "$cargo_minimum" ]
}

install_missing() {
    [ $# -gt 0 ] || return 0
    say "System packages needed: $*"
    if ! command -v apt-get >/dev/null 2>&1; then
        say "error: this is not a Debian system; install the equivalents of: $*"
        exit 1
    fi
    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null 2>&1; then
        as_root="sudo"
        say "Installing them with sudo (it may ask for your password)."
    else
        say "error: cannot install them: not root, and there is no sudo. Ask the administrator to run:"
        say "    apt-get install --no-install-recommends $*"
        exit 1
    fi
    say "Installing them: a minute or two."
    $as_root apt-get update -q
    # shellcheck disable=SC2086  # $as_root is empty or one word
    if ! $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; then
        say "error: apt-get failed. Install these, then call make again:"
        say "    apt-get install --no-install-recommends $*"
        exit 1
    fi
}

lists=scripts/apt-packages.txt
[ "${1:-}" != tests ] || lists="$lists scripts/apt-packages-tests.txt"
missing=""
if command -v dpkg-query >/dev/null 2>&1; then
    # shellcheck disable=SC2013,SC2086  # one word per line; a list of files
    for package in $(grep -hv '^#' $lists); do
        is_installed "$package" || missing="$missing $package"
    done
fi
# Debian 12's own cargo is too old; cargo-web and rustc-web are its current compilers.
cargo_is_usable || missing="$missing cargo-web rustc-web"
# M-Lab's own JavaScript client is one of the speed tests; any Node.js will do.
command -v node >/dev/null 2>&1 || missing="$missing nodejs"
command -v npm >/dev/null 2>&1 || missing="$missing npm"
# shellcheck disable=SC2086  # a list of words
install_missing $missing

if ! cargo_is_usable; then
    say "error: cargo $cargo_minimum or newer is needed, found: $(cargo --version 2>&1 || true)"
    say "       Put a newer one first on PATH, or on Debian 12: apt-get install cargo-web rustc-web"
    exit 1
fi

# ---- agent, in the background: the rest mostly waits for downloads -----------------------------------------

# Where nothing changed cargo says so in a second.
[ -x python/narrows/data/bin/narrows-agent ] ||
    say "Building the programs in Rust, beside what follows: two to four minutes on two cores."
(cd crates && exec cargo build --release --locked --quiet) &
agent=$!
trap 'kill "$agent" 2>/dev/null || true' EXIT

# ---- Python environment ----------------------------------------------------------------------------------

python=""
for candidate in python3.11 python3.12 python3.13 python3; do
    if command -v "$candidate" >/dev/null 2>&1 &&
        "$candidate" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    say "error: Python 3.11 or newer with venv is needed: apt-get install python3 python3-venv"
    exit 1
fi

stamp=.venv/.narrows-setup
wanted=$(scripts/environment-id.sh)
if [ "$(cat "$stamp" 2>/dev/null || true)" != "$wanted" ]; then
    say "Making the Python environment in .venv: about a minute."
    # An environment that was moved, copied or half made is made anew: its programs name where they were made.
    if ! { [ -f "$stamp" ] && .venv/bin/python -c '' && grep -qF "$(pwd -P)/.venv/bin/" .venv/bin/pip; } 2>/dev/null; then
        "$python" -m venv --clear .venv
    fi
    .venv/bin/pip install -q --require-hashes -r requirements.txt -r requirements-dev.txt
    .venv/bin/pip install -q --no-deps --no-build-isolation -e .
    printf '%s' "$wanted" >"$stamp"
fi

# ---- clients from npm ------------------------------------------------------------------------------------

# Speed tests whose own programs are JavaScript. Without them all others work, and a run that needs one says so.
# Without uPlot pages have Matplotlib's pictures alone.
# uPlot draws the time axis of a run; axe-core is for tests alone.
clients="python/narrows/report/client/package.json"
[ "${1:-}" != tests ] || clients="$clients tests/client/package.json"
for packages in python/narrows/tools/*/*/package.json $clients; do
    client=${packages%/package.json}
    installed=$client/node_modules/.package-lock.json
    if [ ! -e "$installed" ] || [ "$client/package-lock.json" -nt "$installed" ]; then
        say "Installing the packages of $client from npm: some seconds."
        (cd "$client" && npm ci --silent --no-audit --no-fund) ||
            say "warning: its packages could not be installed; later: cd $client && npm ci"
    fi
done

# ---- the agent's end -------------------------------------------------------------------------------------

if ! wait "$agent"; then
    say "error: the agent did not build (cd crates && cargo build --release)"
    exit 1
fi
trap - EXIT
