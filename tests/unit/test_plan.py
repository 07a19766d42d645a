"""Plans: the golden one, expansion of axes, seeds, and that nothing depends on the machine."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from math import prod
from pathlib import Path

import pytest

from narrows.errors import NarrowsError, PlanError, SelectError, SpecError
from narrows.plan.build import Plans, plan_experiment, plan_file
from narrows.plan.expand import drawn_ns, seed_of
from narrows.plan.identity import canonical_json, plan_hash, run_id
from narrows.plan.model import Plan
from narrows.plan.select import select
from narrows.spec.load import keep_labels, load
from narrows.spec.named import named

LARGE = 1000
"""Cells of a grid."""
GOLDEN = Path(__file__).parent.parent / "golden"
REPOSITORY = Path(__file__).parent.parent.parent

GRID = '''"""A grid?"""
from narrows.spec import *
rate = axis("rate", ["100 Mbit/s", "1 Gbit/s"])
target = axis("target", ["5 ms", "20 ms"])
queue = axis("queue", [pfifo(limit=100), codel(target=target), fq_codel()])
link = Link(rate=rate, queue=queue)
test = ndt7(start="5 s")
cross = axis("cross", {"no": None, "yes": iperf3(cca="cubic", stop=with_(test))})
repeat(3)
'''


def plans_of(folder: Path, text: str, name: str = "grid.py") -> Plans:
    file = folder / name
    file.write_text(text)
    return plan_file(file)


@pytest.fixture
def grid(tmp_path: Path) -> Plans:
    return plans_of(tmp_path, GRID)


def test_the_golden_plan_has_not_changed() -> None:
    """After a wanted change, and a look at the difference: narrows plan tests/golden/plan_example.py --json |
    python tests/golden/as_lines.py. Every stored run of before then has another id."""
    (plan,) = plan_file(GOLDEN / "plan_example.py").plans
    wanted = json.loads((GOLDEN / "plan_example.json").read_text())
    assert plan.to_dict() == wanted


def test_a_plan_reads_back_from_its_json_as_itself() -> None:
    (plan,) = plan_file(GOLDEN / "plan_example.py").plans
    assert Plan.from_json(plan.to_json()) == plan


def test_an_unknown_or_missing_key_of_a_plan_is_an_error() -> None:
    (plan,) = plan_file(GOLDEN / "plan_example.py").plans
    data = plan.to_dict()
    with pytest.raises(PlanError, match="surprise"):
        Plan.from_json(json.dumps({**data, "surprise": 1}))
    data.pop("hops")
    with pytest.raises(PlanError, match="hops"):
        Plan.from_json(json.dumps(data))


def test_the_same_file_gives_the_same_plan_from_every_directory(tmp_path: Path) -> None:
    here = plan_file(GOLDEN / "plan_example.py").plans
    copy = tmp_path / "elsewhere"
    copy.mkdir()
    (copy / "plan_example.py").write_text((GOLDEN / "plan_example.py").read_text())
    program = (
        "from narrows.plan.build import plan_file; print(plan_file('plan_example.py').plans[0].to_json())"
    )
    out = subprocess.run(
        [sys.executable, "-c", program], cwd=copy, capture_output=True, text=True, check=True
    )
    assert Plan.from_json(out.stdout) == here[0]


def test_a_plan_names_no_place_of_this_machine(grid: Plans) -> None:
    for plan in (*grid.plans, *plan_file(GOLDEN / "plan_example.py").plans):
        assert str(REPOSITORY) not in plan.to_json()
        for part in (word for item in plan.traffic for word in getattr(item, "argv", ())):
            assert not part.startswith("/")


def test_runs_are_the_product_of_axes_and_an_inner_axis_sweeps_only_where_it_is_used(grid: Plans) -> None:
    keys = [plan.key for plan in grid.plans]
    # target is used by codel only: (1 + 2 + 1) queues × 2 rates × 2 cross × 3 seeds
    assert len(keys) == 4 * 2 * 2 * 3
    assert {k["target"] for k in keys if k["queue"] == "codel"} == {"5ms", "20ms"}
    assert {k["target"] for k in keys if k["queue"] != "codel"} == {"-"}
    assert len({canonical_json(k) for k in keys}) == len(keys)


def test_the_order_of_runs_is_that_of_the_file_with_seeds_innermost(grid: Plans) -> None:
    keys = [plan.key for plan in grid.plans]
    assert list(keys[0]) == ["rate", "target", "queue", "cross", "seed"]
    assert [k["seed"] for k in keys[:4]] == ["0", "1", "2", "0"]
    assert [rate for rate, _ in itertools.groupby(k["rate"] for k in keys)] == ["100Mbit", "1Gbit"]


def test_a_repetition_has_the_plan_that_it_would_have_alone(grid: Plans, tmp_path: Path) -> None:
    settled = '''"""Many?"""
from narrows.spec import *
link = Dumbbell(rate="100 Mbit/s", queue=bfifo(limit="1 MB"), pairs=[pair("20 ms", senders=2), pair("50 ms")])
flows = bulk(flows=9, start_jitter="1 s", start_spread="10 s", duration="5 min")
flow_tap(warm_up="1 min", interval="1 s")
until_settled("jain", window="1 min")
repeat(3)
'''
    for text, planned in ((GRID, grid), (settled, plans_of(tmp_path, settled))):
        alone = plans_of(tmp_path, text.replace("repeat(3)", "repeat(1, first=2)"))
        of_three = [n for n, plan in enumerate(planned.plans) if plan.key["seed"] == "2"]
        assert [planned.plans[n] for n in of_three] == list(alone.plans)
        assert [planned.expected_end_ns[n] for n in of_three] == list(alone.expected_end_ns)
        starts = [plan.traffic for plan in planned.plans[:3]]
        assert starts[0] != starts[1] != starts[2]


def test_all_ids_differ_and_depend_on_kernel_and_agent(grid: Plans) -> None:
    ids = {run_id(plan, kernel="k", agent="a") for plan in grid.plans}
    assert len(ids) == len(grid.plans)
    assert all(len(i) == 16 for i in ids)
    assert ids.isdisjoint(run_id(plan, kernel="k2", agent="a") for plan in grid.plans)
    assert ids.isdisjoint(run_id(plan, kernel="k", agent="a2") for plan in grid.plans)


def test_making_the_plans_again_gives_the_same_ones(tmp_path: Path, grid: Plans) -> None:
    assert [plan_hash(p) for p in plans_of(tmp_path, GRID).plans] == [plan_hash(p) for p in grid.plans]


def test_a_repetition_has_the_same_seed_in_every_cell_and_another_start_offset(grid: Plans) -> None:
    by_seed: dict[str, set[int]] = {}
    starts: dict[str, set[str]] = {}
    for plan in grid.plans:
        by_seed.setdefault(plan.key["seed"], set()).add(plan.seed)
        test = next(item for item in plan.traffic if item.id == "test")
        starts.setdefault(plan.key["seed"], set()).add(test.start.model_dump_json())
    assert all(len(seeds) == 1 for seeds in by_seed.values())
    assert len(set.union(*by_seed.values())) == 3
    assert all(len(values) == 1 for values in starts.values())
    assert len(set.union(*starts.values())) == 3


def test_start_offsets_stay_within_the_jitter_and_cover_it() -> None:
    span = 10_000_000
    draws = [drawn_ns(seed_of(str(n)), "start of x", span) for n in range(2000)]
    assert 0 <= min(draws) < span // 100
    assert span - span // 100 < max(draws) <= span
    assert abs(sum(draws) / len(draws) - span / 2) < span / 50
    assert drawn_ns(1, "a", 0) == 0


def test_the_other_axes_do_not_move_a_runs_seed(tmp_path: Path, grid: Plans) -> None:
    wider = GRID.replace('["100 Mbit/s", "1 Gbit/s"]', '["50 Mbit/s", "100 Mbit/s"]')
    seeds = {p.key["seed"]: p.seed for p in plans_of(tmp_path, wider).plans}
    assert seeds == {p.key["seed"]: p.seed for p in grid.plans}


def test_only_keeps_what_every_word_allows(grid: Plans) -> None:
    kept = select(grid.plans, "queue=fq_codel,pfifo rate=100Mbit seed=0,2 cross=yes")
    assert len(kept) == 2 * 1 * 2 * 1
    assert {p.key["queue"] for p in kept} == {"fq_codel", "pfifo"}
    assert select(grid.plans, None) == list(grid.plans)
    assert select(grid.plans, "") == list(grid.plans)


@pytest.mark.parametrize("text", ['rate="1000 Mbit/s"', "rate=1Gbit/s", "rate=1Gbps", "rate=1Gbit"])
def test_only_takes_a_quantity_in_any_spelling(grid: Plans, text: str) -> None:
    assert {p.key["rate"] for p in select(grid.plans, text)} == {"1Gbit"}


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("que=codel", "no axis 'que'", "did you mean queue?"),
        ("queue=codle", "queue is never 'codle'", "did you mean codel?"),
        ("queue", "not of the form axis=label", "axes: rate"),
        ("queue=", "not of the form axis=label", ""),
        ("queue='codel", "No closing quotation", ""),
        ("queue=pfifo target=5ms", "keeps no run", ""),
        ("queue=pfifo queue=codel", "keeps no run", ""),
    ],
)
def test_a_wrong_filter_says_what_is_right(grid: Plans, text: str, message: str, remedy: str) -> None:
    with pytest.raises(SelectError, match=message) as caught:
        select(grid.plans, text)
    assert remedy in (caught.value.remedy or "")


def test_every_example_and_study_of_the_repository_has_plans() -> None:
    assert {"hello", "aqm_study", "c1_one_connection", "t01_mathis_constant"} <= set(named())
    for file in named().values():
        experiment = load(file)
        experiment.repeat = None  # repetitions differ in their seeds alone
        if prod(len(one.labels) for one in experiment.axes) > LARGE:  # every label, but not with every other
            longest = max(experiment.axes, key=lambda one: len(one.labels))
            keep_labels(
                experiment, {one.name: one.labels[:2] for one in experiment.axes if one is not longest}
            )
        assert plan_experiment(experiment).plans, file


def test_the_layers_import_only_downward() -> None:
    program = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run(
        [program, "--no-cache"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('link.at("3 s", rate="5 Mbit/s")', r":3: Change: a change at 3 s, but all has ended at 2\.0\d* s"),
        (
            'ping = icmp_echo(start="3 s", stop=with_(flow))',
            "icmp_echo: starts at 3.* and stops with flow, which",
        ),
        (
            "ping = icmp_echo(start=after(flow), stop=with_(flow))",
            "icmp_echo: starts at 2.* and stops with flow",
        ),
        (
            'link.at("1 s", rate="5 Mbit/s"); link.at("1 s", rate="6 Mbit/s")',
            ":3: Change: two changes at 1 s",
        ),
        ('trace = capture("server", start="3 s")', r"capture: starts at 3 s, but all has ended at 2\.0\d* s"),
        ('sample(tcp_info="1 min")', r"sample: tcp_info: nothing would be read every 60 s, as all has ended"),
        (
            'flow_tap(warm_up="1 s", interval="2 s")',
            r"flow_tap: no interval of 2 s ends after the warm-up and before all flows have, at 2\.0\d* s",
        ),
        ('test = ndt7(time_limit="1 s")', "ndt7: time_limit: 1 s is less than the 20 s that it takes"),
        ('test = rpm(tests=["download"], time_limit="1 s")', "rpm: time_limit: 1 s is less than the 55 s"),
        (
            'test = rrul(duration="5 s", delay="5 s", step="6 s")',
            r"rrul: step \(6 s\) is more than delay \(5 s\)",
        ),
    ],
)
def test_what_would_never_happen_is_refused(tmp_path: Path, lines: str, words: str) -> None:
    head = "from narrows.spec import *\n"
    link = 'link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=9)); '
    flow = 'flow = bulk(cca="cubic", duration="2 s"); '
    with pytest.raises(SpecError, match=words):
        plans_of(tmp_path, f'"""Q?"""\n{head}{link}{flow}{lines}\n')


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('rate="10 Mbit/s", loss="100 %"', "loss: of 100 % nothing would ever arrive"),
        ('rate="10 Mbit/s", loss_up="100 %"', "loss_up: of 100 % nothing would ever arrive"),
        ('rate="1 bit/s"', "the rate down is 0 bit/s at the IP layer; calibration needs 1000"),
        (
            'rate="10 Mbit/s", queue=bfifo(limit="1513 B")',
            r"limit of bfifo \(down\) is 1513 bytes, less than one frame of 1514",
        ),
        (
            'rate="10 Mbit/s", mtu=600, queue_up=bfifo(limit="613 B")',
            r"limit of bfifo \(up\) is 613 bytes, less than one frame of 614",
        ),
    ],
)
def test_a_link_that_nothing_passes_is_refused(tmp_path: Path, options: str, words: str) -> None:
    flow = 'flow = bulk(cca="cubic", duration="2 s")'
    with pytest.raises(NarrowsError, match=words):
        plans_of(tmp_path, f'"""Q?"""\nfrom narrows.spec import *\nlink = Link({options})\n{flow}\n')


def test_an_outage_in_a_run_and_the_smallest_queue_are_allowed(tmp_path: Path) -> None:
    link = 'link = Link(rate="2 kbit/s", queue=bfifo(limit="1514 B")); link.at("1 s", loss="100 %")'
    text = f'"""Q?"""\nfrom narrows.spec import *\n{link}\nflow = bulk(cca="cubic", duration="2 s")\n'
    assert plans_of(tmp_path, text).plans
