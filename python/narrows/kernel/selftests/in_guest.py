"""Runs one file of the kernel's tc-testing in a guest: python3 in_guest.py TESTS NAME OUT.

tdc.py stops at a test whose set-up or teardown fails and calls the rest skipped; these are tried again
without it. `OUT/results.json` has the outcome of each. The standard library alone: a guest has no narrows.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

LINE = re.compile(r"(ok|not ok) \d+ (\S+) - (.*?)(?: # skipped - (.*))?$")
AGAIN = "skipped - previous "


def outcomes(tap: str) -> dict[str, dict[str, str]]:
    """By test id: name, outcome and why."""
    found: dict[str, dict[str, str]] = {}
    last = ""
    for line in tap.splitlines():
        if match := LINE.match(line):
            last = match[2]
            outcome = "skipped" if match[4] else "passed" if match[1] == "ok" else "failed"
            found[last] = {"name": match[3], "outcome": outcome, "why": match[4] or ""}
        elif last and line.strip() and found[last]["outcome"] == "failed":
            found[last]["why"] = f"{found[last]['why']} {line.strip()}".strip()
    return found


def main(tests: str, name: str, out: str) -> None:
    work = Path("/tmp/tc-testing")
    shutil.copytree(tests, work)
    file = f"tc-tests/qdiscs/{name}.json"
    cases = {case["id"]: case["name"] for case in json.loads((work / file).read_text())}
    found: dict[str, dict[str, str]] = {}
    while left := [one for one in cases if one not in found]:
        (work / "one.tap").unlink(missing_ok=True)
        words = [sys.executable, "tdc.py", "--outfile", "one.tap", "-f", file, "-e", *left]
        done = subprocess.run(words, cwd=work, capture_output=True, text=True)
        tap = (work / "one.tap").read_text() if (work / "one.tap").exists() else ""
        now = {i: o for i, o in outcomes(tap).items() if i in left and not o["why"].startswith(AGAIN)}
        if not now:  # it did not get so far as to say anything: the first is to blame
            said = (done.stderr or done.stdout).strip().splitlines() or ["it said nothing"]
            now = {left[0]: {"name": cases[left[0]], "outcome": "failed", "why": said[-1]}}
        found |= now
    Path(out, "results.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main(*sys.argv[1:])
