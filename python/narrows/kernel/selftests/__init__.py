"""The kernel's own tests of its qdiscs (tools/testing/selftests/tc-testing), made ready to run in a guest.

They come from the source that the kernel was built of. Each file of them becomes a run; tests that a guest
cannot carry out are left out, with the reason. In the guest `in_guest.py` calls their runner, tdc.py.
"""

import importlib.util
import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from narrows.errors import KernelError, UsageError, did_you_mean
from narrows.kernel.image import KernelImage
from narrows.kernel.source import Source
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec import Link, axis, command, icmp_echo, machine
from narrows.spec.load import made

PLACE = "tools/testing/selftests/tc-testing"
IN_GUEST = Path(__file__).with_name("in_guest.py")
NAMES = {"TC": "/run/narrows-tools/tc", "IP": "/run/narrows-tools/ip"}
"""Commands of the tests have no PATH; these are the ones that were built with the kernel."""
DISTRIBUTIONS = ("/usr/lib/tc", "/usr/lib/x86_64-linux-gnu/tc", "/usr/share/tc")
"""Where iproute2's packages put netem's tables."""


@dataclass(frozen=True)
class Tests:
    """What is ready: where, which files, and why of others not."""

    directory: Path
    files: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    """Test ids, as FILE/ID, or files that are not run, with the reason."""


def prepare(source: Source, image: KernelImage, out: Path, only: Iterable[str] = ()) -> Tests:
    """Lay the tests into `out/tc-testing`; `only` names files (`fq_codel`)."""
    tests = out / "tc-testing"
    shutil.rmtree(tests, ignore_errors=True)
    _bring(source, tests)
    known = sorted(file.stem for file in (tests / "tc-tests/qdiscs").glob("*.json"))
    for name in only:
        if name not in known:
            raise UsageError(f"the kernel has no tests of {name}", remedy=did_you_mean(name, known))
    asked = set(only) or set(known)
    lacks = _lacking(image)
    left_out = {name: "this kernel is built without it" for name in known if name in lacks & asked}
    files = []
    for name in sorted(asked - set(left_out)):
        place = tests / f"tc-tests/qdiscs/{name}.json"
        cases = json.loads(place.read_text())
        why = {case["id"]: reason for case in cases if (reason := _cannot(case, tests))}
        left_out |= {f"{name}/{one}": reason for one, reason in why.items()}
        kept = [case for case in cases if case["id"] not in why]
        place.write_text(json.dumps(kept, indent=1))
        files += [name] if kept else []
    tables = [folder for folder in DISTRIBUTIONS if Path(folder, "normal.dist").is_file()]
    environment = {"TC_LIB_DIR": tables[0]} if tables else {}
    (tests / "tdc_config_local.py").write_text(f"EXTRA_NAMES = {NAMES!r}\nENVIR = {environment!r}\n")
    return Tests(tests, tuple(files), left_out)


def plans(tests: Tests, kernel: str | None) -> list[Plan]:
    """The runs, one a file of tests; `kernel` as `machine(kernel=…)` has it."""
    place = str(tests.directory.resolve())

    def one(name: str) -> Any:
        words = f"python3 {IN_GUEST} {place} {name} @own"
        return command(words, node="server", tool="tc-testing", depends=[place], time_limit="30 min")

    def parts() -> dict[str, Any]:
        machine(kernel=kernel)
        return {
            "link": Link(rate="100 Mbit/s", base_rtt="2 ms"),
            "test": axis("qdisc", {name: one(name) for name in tests.files}),
            "proof": icmp_echo(stop="1 s"),  # that the rig carries packets
        }

    experiment = made("selftest", "Do the kernel's own tests of its qdiscs pass?", parts)
    return list(plan_experiment(experiment).plans)


def _bring(source: Source, tests: Path) -> None:
    """From a source tree or tarball."""
    tests.parent.mkdir(parents=True, exist_ok=True)
    if source.path.is_dir():
        if not (source.path / PLACE).is_dir():
            raise KernelError(f"this tree has no {PLACE}", where=str(source.path))
        shutil.copytree(source.path / PLACE, tests)
        return
    whole = tests.with_name(".tc-testing")
    shutil.rmtree(whole, ignore_errors=True)
    whole.mkdir()
    words = ["tar", "-xf", str(source.path), "--strip-components=1", "--wildcards", f"*/{PLACE}/*"]
    done = subprocess.run(words, cwd=whole, capture_output=True, text=True)
    if done.returncode:
        raise KernelError(f"no {PLACE} in it: {done.stderr.strip()[-300:]}", where=str(source.path))
    (whole / PLACE).rename(tests)
    shutil.rmtree(whole)


def _lacking(image: KernelImage) -> set[str]:
    """Qdiscs that Linux has an option for and this kernel was built without, by the names of test files."""
    text = (image.directory / "config").read_text()
    return {name.lower() for name in re.findall(r"(?m)^# CONFIG_NET_SCH_(\w+) is not set$", text)}


def _cannot(case: dict[str, Any], tests: Path) -> str | None:
    """Why a guest cannot carry a test out; None: it can."""
    text = json.dumps(case)
    for script in re.findall(r"\./(scripts/[\w.]+)", text):
        text += (tests / script).read_text() if (tests / script).is_file() else ""
    for module, sign in {"scapy": "scapy", "pyroute2": "import IPRoute"}.items():
        if sign in text and importlib.util.find_spec(module) is None:
            return f"it needs Python's {module}"
    if "netdevsim" in text:
        return "it needs netdevsim, a device that this kernel is built without"
    if "$DEV2" in text:
        return "it needs a network card"
    return None
