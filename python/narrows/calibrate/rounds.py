"""Repeats runs in rounds until a rule holds for each condition: enough repetitions, and no more.

A condition is a point of all axes but the seed. The first round makes `at_least` repetitions of each; every
later one makes the next seeds of those that the rule (`narrows.metrics.statistics.sequential`) has not
resolved, in an order shuffled by seed, so that nothing that drifts can fall together with an axis. What the
rule found is written to DIR/stopping.json after each round; the rule itself stands beside it. "not resolved"
after `at_most` is an answer. A failed repetition uses up its seed and counts as missing.

It runs nothing itself: the caller makes each round's runs and asks again.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from narrows.comparing import named_figure
from narrows.comparing.repetitions import REMEDY, equal_runs
from narrows.errors import StoreError
from narrows.metrics.statistics.sequential import Decision, Rule, State, decide
from narrows.plan.expand import seed_of
from narrows.plan.model import Plan
from narrows.spec.axis import SEED
from narrows.spec.observe import ci, repeat
from narrows.store.results import Results
from narrows.units import Duration, Rate, Size

FILE = "stopping.json"
FORMAT = 1
DIRECTIONS = ("down", "up")
NS_PER = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
Condition = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Found:
    """What the rule says of one condition."""

    condition: Condition
    seeds: tuple[str, ...]
    unit: str
    decision: Decision


def condition_of(plan: Plan) -> Condition:
    """A plan's axes without its seed."""
    return tuple((axis, label) for axis, label in plan.key.items() if axis != SEED)


class Rounds:
    """The rounds of one experiment in one directory."""

    def __init__(
        self, plans: Sequence[Plan], rule: repeat, directory: Path, at_once: int = 1, item: str | None = None
    ) -> None:
        """`item` is the load that figures of `score` are of; None: the only one of each run."""
        self.directory, self.rule, self.at_once, self.item = directory, rule, at_once, item
        self.until: ci = rule["until"]
        self._by: dict[Condition, list[Plan]] = {}
        for plan in plans:
            self._by.setdefault(condition_of(plan), []).append(plan)
        self._made = dict.fromkeys(self._by, 0)
        self.found: list[Found] = []
        self.number = 0
        self._equal: set[str] = set()
        """Conditions whose repetitions are equal to the last digit."""

    def __iter__(self) -> Iterator[list[Plan]]:
        """Each round's plans; the caller has made them when it asks for the next."""
        batch = self._next({condition: int(self.rule["at_least"]) for condition in self._by})
        while batch:
            self.number += 1
            yield batch
            self.found = self.judge()
            self.write()
            open_ = [one.condition for one in self.found if one.decision.state is State.CONTINUE]
            more = max(1, self.at_once // len(open_)) if open_ else 0
            batch = self._next(dict.fromkeys(open_, more))

    def _next(self, wanted: Mapping[Condition, int]) -> list[Plan]:
        batch: list[Plan] = []
        for condition, number in wanted.items():
            made = self._made[condition]
            batch += self._by[condition][made : made + number]
            self._made[condition] = min(made + number, len(self._by[condition]))
        first = self._by[next(iter(self._by))][0].key[SEED] if self._by else "0"
        random.Random(seed_of(f"{first} round {self.number}")).shuffle(batch)
        return batch

    def judge(self) -> list[Found]:
        """The rule's decision for every condition, from what is stored."""
        table, unit = self._values()
        bounds = _bounds(self.until["within"], unit)
        found = []
        for condition, plans in self._by.items():
            made = plans[: self._made[condition]]
            seeds = tuple(plan.key[SEED] for plan in made)
            key = dict(condition)
            values = [table.get((condition_key(key), seed)) for seed in seeds]
            rule = Rule(
                at_least=int(self.rule["at_least"]),
                at_most=int(self.rule["at_most"]),
                quantile=float(self.until["of"]),
                confidence=float(self.until["confidence"]) / 100.0,
                **bounds,
            )
            decision = decide(values, rule)
            if condition_key(key) in self._equal:
                # more of them would be equal too: there is one sample, and its interval was never asked for
                reason = f"{len(made)} repetitions are equal to the last digit and count as one: {REMEDY}"
                alone = replace(decision, n=1, interval=None, reach=None)
                decision = replace(alone, state=State.NOT_RESOLVED, reason=reason)
            elif decision.state is State.CONTINUE and len(made) == len(plans):
                # failed repetitions have used up seeds: there are no more, and the rule does not hold
                reason = f"no seeds are left, {len(made) - decision.n} repetitions failed; {decision.reason}"
                decision = replace(decision, state=State.NOT_RESOLVED, reason=reason)
            found.append(Found(condition, seeds, unit, decision))
        return found

    def _values(self) -> tuple[dict[tuple[str, str], float], str]:
        """The figure by condition and seed, and its unit."""
        results = Results(self.directory)
        rows = named_figure.rows(
            results,
            self.until["figure"],
            direction=self.until["direction"],
            source=self.until["source"],
            test=self._test,
            workers=self.at_once,
            where=self.until.where,
        )
        units = rows["unit"].unique().to_list()
        values = {}
        for run, value in rows.select("run_id", "value").iter_rows():
            key = results.manifest(run).get("key", {})
            values[condition_key({a: b for a, b in key.items() if a != SEED}), key[SEED]] = value
        self._equal = self._all_equal(results, values)
        return values, str(units[0]) if units else ""

    def _all_equal(self, results: Results, values: Mapping[tuple[str, str], float]) -> set[str]:
        """The conditions of which all repetitions are one."""
        found = set()
        for group in equal_runs(results):
            key = results.manifest(group[0]).get("key", {})
            condition = condition_key({a: b for a, b in key.items() if a != SEED})
            if len(group) == sum(of == condition for of, _ in values):
                found.add(condition)
        return found

    def _test(self, plan: Plan) -> str | None:
        return named_figure.lone_test(plan) if self.item is None else test_of(plan, self.item)

    def write(self) -> None:
        """The rule and what it found, beside the runs."""
        document = {
            "format": FORMAT,
            "rule": {
                "figure": self.until["figure"], "direction": self.until["direction"],
                "source": self.until["source"], "quantile": self.until["of"],
                "within": str(self.until["within"]), "confidence": self.until["confidence"] / 100.0,
                "at_least": self.rule["at_least"], "at_most": self.rule["at_most"],
            },
            "rounds": self.number,
            "conditions": [_row(one) for one in self.found],
        }  # fmt: skip
        (self.directory / FILE).write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def condition_key(labels: Mapping[str, str]) -> str:
    """One text per condition, whatever the order of its axes."""
    return json.dumps(dict(sorted(labels.items())))


def test_of(plan: Plan, item: str) -> str | None:
    """The item where the plan has it or parts of it."""
    return item if any(each.item == item for each in plan.traffic) else None


def _bounds(within: Any, unit: str) -> dict[str, float]:
    if isinstance(within, float):
        return {"relative": within}
    if isinstance(within, Rate) and unit == "bit/s":
        return {"absolute": float(within.bps)}
    if isinstance(within, Size) and unit == "bytes":
        return {"absolute": float(within.bytes)}
    if isinstance(within, Duration) and unit in NS_PER:
        return {"absolute": within.ns / NS_PER[unit]}
    if not unit:
        return {"absolute": 1.0}  # no value yet: no decision but to go on
    raise StoreError(
        f"the bound {within} does not fit a figure in {unit}", remedy='a share always does: "5 %"'
    )


def _row(one: Found) -> dict[str, Any]:
    d = one.decision
    return {
        "key": dict(one.condition), "state": d.state.value, "n": d.n, "seeds": list(one.seeds),
        "estimate": d.estimate, "low": d.interval.low if d.interval else None,
        "high": d.interval.high if d.interval else None, "reach": d.reach, "bound": d.bound,
        "unit": one.unit, "reason": d.reason,
    }  # fmt: skip
