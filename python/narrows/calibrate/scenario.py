"""Scenarios: a path and its cross traffic, with a place for the speed test. Files, built-in names, or
options.

Options and names become an experiment file of the usual kind, which is written beside the results: it says
what was run, and it can be edited and calibrated again. A file of one's own needs `test = under_test()`; a
light probe is added where it has none, because without a third party there is no third party's truth.
"""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from narrows import qdiscs
from narrows.errors import SpecError, UsageError, did_you_mean
from narrows.plan.build import plan_experiment
from narrows.plan.model import Plan
from narrows.spec.axis import Axis, label_of
from narrows.spec.load import Experiment, load
from narrows.spec.observe import repeat
from narrows.spec.traffic import with_
from narrows.spec.under_test import TOOL, selected
from narrows.tc.qdisc import own_qdisc
from narrows.tools.probes.spec import udp_probe

DEFAULT_SEEDS = 3
PROBE = "probe"
FILE = "scenario.py"
AQMS = ("pfifo", "codel", "fq_codel", "pie", "fq_pie", "red", "cake", "dualpi2")
QUEUES: Mapping[str, str] = {each.__name__: f"{each.__name__}({each.example})" for each in qdiscs.every()}
"""What a queue's bare name stands for, every queue of the spec: Linux' own defaults, where it has any."""
BURSTS: Mapping[str, str] = {"off": "htb()", "on": 'htb(ceil_factor=1.6, burst="15 KB", cburst="30 KB")'}
CROSS = re.compile(r"(?P<cca>[a-z0-9_]+)-(?P<way>down|up)")
NO = "no"


@dataclass(frozen=True)
class Settings:
    """What the options say; each is a list of values, swept where it has more than one."""

    queue: Sequence[str] = ("fq_codel",)
    rate: Sequence[str] = ("50 Mbit/s",)
    rate_up: Sequence[str] = ()
    base_rtt: Sequence[str] = ("20 ms",)
    loss: Sequence[str] = ()
    burst: Sequence[str] = ()
    cross: Sequence[str] = (NO,)
    seeds: int = DEFAULT_SEEDS
    own: Sequence[str] = ()
    """Folders of tools of a person's own."""

    def name(self) -> str:
        """Names the directory of the results."""
        parts = [
            part for values in (self.queue, self.rate, self.base_rtt) if len(values) <= 3 for part in values
        ]
        parts += [c for c in self.cross if c != NO]
        return re.sub(r"[^A-Za-z0-9_.-]+", "", "-".join(label_of(part) for part in parts)) or "scenario"


@dataclass(frozen=True)
class Built:
    """A built-in scenario."""

    question: str
    settings: Settings = field(default_factory=Settings)


BUILT_IN: Mapping[str, Built] = {
    "aqm": Built(
        "How wrong is each speed test under each AQM?",
        Settings(queue=AQMS, rate=("10 Mbit/s", "50 Mbit/s", "200 Mbit/s"), seeds=5),
    ),
    "cross": Built(
        "How wrong is each speed test beside other traffic?",
        Settings(
            queue=("pfifo", "codel", "fq_codel", "cake"), cross=(NO, "cubic-down", "bbr-down", "cubic-up")
        ),
    ),
    "rtt": Built(
        "Does the base RTT change how wrong each speed test is?",
        Settings(queue=("pfifo", "fq_codel", "pie", "cake"), base_rtt=("5 ms", "20 ms", "80 ms")),
    ),
    "loss": Built(
        "How wrong is each speed test where packets are lost at random?",
        Settings(queue=("fq_codel", "cake"), loss=("0 %", "0.1 %", "1 %")),
    ),
    "burst": Built(
        "Does burst shaping change what a speed test reads?",
        Settings(queue=("pfifo", "codel", "fq_codel", "pie"), burst=("off", "on")),
    ),
    "dsl": Built(
        "How wrong is each speed test on a DSL line?",
        Settings(queue=("pfifo", "fq_codel", "cake"), rate=("16 Mbit/s",), rate_up=("2 Mbit/s",)),
    ),
    "cable": Built(
        "How wrong is each speed test on a cable line?",
        Settings(queue=("pfifo", "pie", "dualpi2", "cake"), rate=("200 Mbit/s",), rate_up=("20 Mbit/s",)),
    ),
}


def own_tools(words: Sequence[str]) -> tuple[list[str], list[str] | None]:
    """The folders among the names of tools, and all names; None: all tools."""
    folders = [word for word in words if "/" in word]
    return folders, [Path(word).name if "/" in word else word for word in words] or None


def text_of(settings: Settings, question: str, directory: Path | None = None) -> str:
    """The experiment file; `directory` is where it will lie."""
    own = [os.path.relpath(Path(each).expanduser(), directory) for each in settings.own]
    tests = "".join(f"tool({_quoted(each)}), " for each in own)
    options = [
        f"    rate={_swept('rate', settings.rate)},",
        *([f"    rate_up={_swept('rate_up', settings.rate_up)},"] if settings.rate_up else []),
        f"    base_rtt={_swept('base_rtt', settings.base_rtt)},",
        f"    queue={_labelled('queue', {_label(q): _queue(q) for q in settings.queue})},",
    ]
    if settings.burst:
        options.append(f"    shaper={_labelled('burst', {b: _burst(b) for b in settings.burst})},")
    if settings.loss:
        options.append(f"    loss={_swept('loss', settings.loss)},")
    cross = {_label(c): _cross(c) for c in settings.cross}
    lines = [
        f'"""{question}"""',
        "",
        "from narrows.spec import *",
        "",
        "link = Link(",
        *options,
        ")",
        f'test = under_test({tests}start="4 s")  # every speed test in turn',
        'probe = udp_probe(interval="20 ms", stop=with_(test))  # a third party, which loads nothing',
    ]
    if set(cross) != {NO}:
        lines.append(f"cross = {_labelled('cross', cross)}")
    lines += [
        'tap("packets")',
        'sample(tcp_info="50 ms", qdisc=None, link=None)',
        f"repeat({settings.seeds})",
        "",
    ]
    return "\n".join(lines)


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _swept(name: str, values: Sequence[str]) -> str:
    if len(values) == 1:
        return _quoted(values[0])
    return f'axis("{name}", [{", ".join(map(_quoted, values))}])'


def _labelled(name: str, values: Mapping[str, str]) -> str:
    inside = ", ".join(f"{_quoted(label)}: {text}" for label, text in values.items())
    return f'axis("{name}", {{{inside}}})'


def _label(value: str) -> str:
    return re.sub(r"[\s,=\"'()]+", "_", value).strip("_")


def _queue(value: str) -> str:
    if value in QUEUES:
        return QUEUES[value]
    name, parenthesis, _ = value.partition("(")
    if parenthesis and name in (*QUEUES, own_qdisc.__name__):
        return value
    raise UsageError(f"--queue: there is no queue {name!r}", remedy=did_you_mean(name, QUEUES))


def _burst(value: str) -> str:
    if value not in BURSTS:
        raise UsageError(f"--burst: {value!r}", remedy=did_you_mean(value, BURSTS))
    return BURSTS[value]


def _cross(value: str) -> str:
    if value == NO:
        return "None"
    cross = CROSS.fullmatch(value)
    if cross is None:
        raise UsageError(f"--cross: {value!r} is no cross traffic", remedy="no, cubic-down, bbr-up, …")
    return f'bulk(direction="{cross["way"]}", cca="{cross["cca"]}", start="1 s", stop=with_(test))'


@dataclass(frozen=True)
class Ready:
    """A scenario, planned for the tools chosen: the item under test, all runs, and the rule that may end them
    early."""

    name: str
    question: str
    item: str
    plans: tuple[Plan, ...]
    rule: repeat | None = None


def plan_scenario(path: Path, tools: Sequence[str] | None, varied: bool, seeds: int | None = None) -> Ready:
    with selected(tools, varied):
        experiment = load(path)
        item = _item(experiment)
        test = experiment.items[item]
        known = test.labels if isinstance(test, Axis) else ()
        for name in tools or ():
            if name not in known:
                raise UsageError(f"no tool {name} in {path}", remedy=did_you_mean(name, known))
        if not any(isinstance(each, udp_probe) for each in experiment.items.values()):
            experiment.items[PROBE] = udp_probe(interval="20 ms", stop=with_(item=experiment.items[item]))
        if seeds is not None:
            experiment.repeat = repeat(n=seeds)
        plans = plan_experiment(experiment).plans
    for hop in plans[0].hops if plans else ():
        if hop.tap != "packets":
            raise UsageError(
                f'{path}: tap("{hop.tap}") keeps no packets, and what truly was is worked out of them',
                remedy='leave tap(…) out, or tap("packets")',
            )
    found = experiment.repeat
    rule = found if found is not None and found["until"] is not None else None
    return Ready(experiment.name, experiment.question, item, plans, rule)


def _item(experiment: Experiment) -> str:
    found = [name for name, item in experiment.items.items() if isinstance(item, Axis) and item.name == TOOL]
    if len(found) == 1:
        return found[0]
    raise SpecError(
        "the scenario has no speed test" if not found else "the scenario has two speed tests under test",
        where=experiment.path,
        remedy="test = under_test()   (from narrows.spec import under_test)",
    )


def written(settings: Settings, question: str, directory: Path) -> Path:
    """The scenario's file, in its directory of results."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / FILE
    path.write_text(text_of(settings, question, directory))
    return path


def changed(settings: Settings, **options: Sequence[str] | int | None) -> Settings:
    """The settings with those options that were given."""
    given = {name: value for name, value in options.items() if value}
    return replace(settings, **given)  # type: ignore[arg-type]


def _spelt(label: str) -> str:
    known = qdiscs.named(label)
    return label.upper().replace("_", "-") if known is None else known.title or label


def question_of(settings: Settings) -> str:
    """`How wrong is my speed test under CAKE?`"""
    names = [_spelt(label) for label in map(_label, settings.queue)]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"How wrong is my speed test under {listed}?"
