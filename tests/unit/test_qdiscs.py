"""A qdisc is one file: by what it declares go plan, read-back, figures, calibrate and the agent."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import narrows
from narrows import qdiscs
from narrows.tc.qdisc import Qdisc

ROOT = Path(__file__).parents[2]
FOR_THE_AGENT = ROOT / "crates/agent/qdiscs.json"
NAMED = {
    "python/narrows/calibrate/scenario.py": "the queues of its built-in scenarios",
    "python/narrows/cli/claims.py": "the colour red",
    "python/narrows/cli/diff.py": "the colour red",
    "python/narrows/engine/ssh/doctor.py": "what a host has by default",
    "python/narrows/line/tune/refuse.py": "tune sets up CAKE on a real router",
    "python/narrows/line/tune/setting.py": "tune sets up CAKE on a real router",
    "python/narrows/plan/bottleneck.py": "a policer hangs on a prio, TBF has a bfifo of its own",
    "python/narrows/plan/model.py": "the shapers that follow a rate that moves",
    "python/narrows/plan/moving.py": "the shapers that follow a rate that moves",
    "python/narrows/spec/link.py": "the default queue",
    "python/narrows/spec/path_profile.py": "the queue of a measured path",
    "python/narrows/spec/profiles.py": "the queues of access profiles",
    "python/narrows/tools/identify/verdict.py": "what it says of three bands",
    "python/narrows/tools/quic/spec.py": "what a QUIC host may have",
    "python/narrows/tools/shape/lower.py": "shape drives CAKE",
    "python/narrows/whatif/fit.py": "the queues that a capture may have met",
    "python/narrows/whatif/written.py": "a buffer by its bytes",
    "crates/agent/src/moving.rs": "the shapers that follow a rate that moves",
    "crates/shape/src/cake.rs": "shape drives CAKE",
    "crates/shape/src/daemon.rs": "shape drives CAKE",
}
"""The files that name a qdisc because they use that one, and what for."""

MADE_UP = '''
"""made_up: nobody has it."""

from typing import ClassVar

from narrows.tc import options as tc
from narrows.tc.options import QueuePackets, Time
from narrows.tc.qdisc import Qdisc


class made_up(Qdisc):
    """Made up."""

    title, colour, marker, order = "Made-Up", "#123456", "*", 3.5
    tells: ClassVar = {"marks": (4,)}

    limit: QueuePackets = tc.packets(100, 1)
    wait: Time = tc.time("3 ms", 2, highest=5000)
    lazy: bool = tc.flag(False, 3, on="is_lazy", off="is_not_lazy")
'''
USED = """
import struct
import lab, sys
from pathlib import Path
import narrows.spec
from narrows.calibrate.scenario import QUEUES, Settings, question_of
from narrows.comparing.conditions import Queue, queue_rank
from narrows.errors import NarrowsError
from narrows.figures.style import colour, marker, queue_name
from narrows.plan.model import Asked
from narrows.store import kept

folder, text = Path(sys.argv[1]), 'flow = bulk(duration="1 s")'
link = 'link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue={})'
# 1 BDP = 10 Mbit/s * 20 ms = 25,000 B, which are 17 frames of 1514 B
plan = lab.plan(folder, link.format('made_up(limit="1 BDP", lazy=True)') + "\\n" + text)
commands = [step.command() for step in plan.setup]
assert any(c.endswith("110: made_up limit 17 wait 3ms is_lazy") for c in commands), commands
for given in ("wait='6 ms'", "weight=3"):
    try:
        lab.plan(folder, link.format(f"made_up({given})") + "\\n" + text)
    except NarrowsError as error:
        print(error)
asked = [each for each in plan.asked if each.kind == "made_up"]
assert [each.options for each in asked] == [{"limit": 17, "wait": 3_000_000, "lazy": 1}] * 2
raw = b"".join(struct.pack("=HHI", 8, n, value) for n, value in ((1, 17), (2, 4000), (3, 1)))
row = {"what": "qdisc", "kind": "made_up", "handle": asked[0].at, "options": raw.hex()}
compared, others = kept._of_one(asked[0], [row])
print(compared, [each.line().partition(": ")[2] for each in others])
print(colour("made_up"), marker("made_up"), queue_name("made_up"))
queues = ["fq", "made_up", "codel", "pfifo_fast"]
print(sorted(queues, key=queue_rank), QUEUES["made_up"], question_of(Settings(queue=("made_up",))))
print("made_up" in narrows.spec.__all__)
"""


def test_a_made_up_qdisc_needs_one_file_and_nothing_else(tmp_path: Path) -> None:
    package = Path(narrows.__file__).parent
    copy = tmp_path / "python/narrows"
    (copy / "qdiscs").mkdir(parents=True)
    for here, there in ((package, copy), (package / "qdiscs", copy / "qdiscs")):
        for each in here.iterdir():
            if each.name not in ("qdiscs", "__pycache__"):
                (there / each.name).symlink_to(each)
    (copy / "qdiscs/made_up.py").write_text(MADE_UP)
    paths = os.pathsep.join((str(copy.parent), str(ROOT / "tests")))
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "-c", USED, str(tmp_path)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert re.search(r"made_up: wait: tc takes no 6 ms, or the kernel keeps another$", lines[0])
    assert lines[1] == "  → from 0 s to 5 ms: the nearest is 5 ms"
    assert lines[2].endswith("unknown argument 'weight'")
    assert lines[4:] == [
        "4 ['qdisc 110: made_up: wait: asked 3 ms, the kernel kept 4 ms']",
        "#123456 * Made-Up",
        "['pfifo_fast', 'made_up', 'codel', 'fq'] made_up() How wrong is my speed test under Made-Up?",
        "True",
    ]


def test_no_other_file_names_a_qdisc_but_one_that_uses_it() -> None:
    names = set(qdiscs.names())
    found: dict[str, set[str]] = {}
    for path in [*ROOT.glob("python/narrows/**/*.py"), *ROOT.glob("crates/**/*.rs")]:
        inside = path.relative_to(ROOT)
        # An experiment, a study and a standard choose queues.
        if {"node_modules", "target", "qdiscs", "studies", "standards", "experiments"} & set(inside.parts):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".rs":
            said = set(re.findall(r'"([a-z_0-9]+)(?:\\0)?"', text.partition("#[cfg(test)]")[0]))
        else:
            nodes = list(ast.walk(ast.parse(text)))
            said = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
            modules = [n.module or "" for n in nodes if isinstance(n, ast.ImportFrom)]
            said |= {each.rpartition(".")[2] for each in modules if each.startswith("narrows.qdiscs.")}
        found[str(inside)] = said & names
    assert {path for path, said in found.items() if said} == set(NAMED)


def test_every_qdisc_has_its_own_colour_and_place() -> None:
    shown = [each for each in qdiscs.every() if each.order < Qdisc.order]
    assert len(shown) == 16
    assert len({each.order for each in shown}) == len({each.colour for each in shown}) == 16
    assert Qdisc.names() == [each.__name__ for each in qdiscs.every()] + ["own_qdisc"]


def test_the_agent_goes_by_what_is_declared() -> None:
    declared = {
        each.__name__: {
            "has_filters": each.classes is not Qdisc.classes,
            "keeps_time": each.keeps_time,
            "tells": {name: list(parts) for name, parts in each.tells.items()},
        }
        for each in sorted(qdiscs.every(), key=lambda each: each.__name__)
    }
    lines = (f'  "{name}": {json.dumps(each, sort_keys=True)}' for name, each in declared.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    was = FOR_THE_AGENT.read_text(encoding="utf-8") if FOR_THE_AGENT.exists() else ""
    if was != text:
        FOR_THE_AGENT.write_text(text, encoding="utf-8")
    assert was == text, f"{FOR_THE_AGENT} was of other qdiscs. It is written anew: commit it"
