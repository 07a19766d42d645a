"""What a plan carries for its readers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_plan import GOLDEN, plans_of

from narrows.errors import PlanError
from narrows.plan.identity import run_id
from narrows.plan.items import Command, Endpoint
from narrows.plan.model import Counted, Plan

HEAD = '"""Meaning?"""\nfrom narrows.spec import *\n'


def one(folder: Path, *lines: str) -> Plan:
    (plan,) = plans_of(folder, HEAD + "\n".join(lines)).plans
    return plan


def test_a_plan_of_an_earlier_format_names_the_narrows_that_reads_it(tmp_path: Path) -> None:
    old = json.loads((GOLDEN / "plan_example.json").read_text()) | {"format": 1, "shape": "of that time"}
    (tmp_path / "plan.json").write_text(json.dumps(old))
    with pytest.raises(PlanError) as refused:
        Plan.read(tmp_path / "plan.json")
    assert "plan of format 1, this narrows reads format 2" in str(refused.value)
    assert "commit 6f961c5" in str(refused.value)


def test_changes_are_carried_as_states_of_each_direction(tmp_path: Path) -> None:
    plan = one(
        tmp_path,
        'link = Link(rate="50 Mbit/s", rate_up="10 Mbit/s", base_rtt="20 ms", queue=fq_codel())',
        'link.at("4 s", rate="20 Mbit/s", loss="1 %")',
        'link.at("6 s", base_rtt="50 ms", jitter_up="1 ms")',
        'flow = bulk(duration="10 s")',
    )
    down = [(c.at_ns, c.rate_bps, c.delay_ns, c.loss_percent) for c in plan.link.down.changes]
    assert down == [(4 * 10**9, 20 * 10**6, 10 * 10**6, 1.0), (6 * 10**9, 20 * 10**6, 25 * 10**6, 1.0)]
    up = [(c.at_ns, c.rate_bps, c.jitter_ns) for c in plan.link.up.changes]
    assert up == [(4 * 10**9, 10 * 10**6, 0), (6 * 10**9, 10 * 10**6, 10**6)]


@pytest.mark.parametrize(
    ("options", "counted"),
    [
        ("queue=pfifo()", Counted(of="frame", overhead_bytes=0, mpu_bytes=0, cells="none")),
        ("queue=cake()", Counted(of="frame", overhead_bytes=0, mpu_bytes=0, cells="none")),
        (
            'queue=cake(atm="atm", overhead=44, mpu="96 B")',
            Counted(of="ip", overhead_bytes=44, mpu_bytes=96, cells="atm"),
        ),
        (
            'queue=pfifo(), shaper=htb(overhead=10, linklayer="adsl")',
            Counted(of="frame", overhead_bytes=10, mpu_bytes=0, cells="atm"),
        ),
        ("queue=pfifo(), shaper=no_shaper()", None),
    ],
)
def test_what_the_shaper_counts_is_carried(tmp_path: Path, options: str, counted: Counted | None) -> None:
    rate = "" if "no_shaper" in options else 'rate="8 Mbit/s", '
    plan = one(tmp_path, f"link = Link({rate}{options})", 'flow = bulk(duration="5 s")')
    assert plan.link.down.counted == counted


def test_a_commands_endpoint_is_what_narrows_filled_in_or_what_it_is_told(tmp_path: Path) -> None:
    plan = one(
        tmp_path,
        'link = Link(rate="8 Mbit/s", queue=pfifo())',
        'page = command("curl http://@server/x @client:90")',
        'told = command("mine @server", endpoint="@server:7000")',
        'none = command("ping @server")',
    )
    ends = {item.id: {(e.address, e.port) for e in item.endpoints} for item in plan.traffic}
    assert ends == {"page": {("10.0.2.1", 80), ("10.0.0.1", 90)}, "told": {("10.0.2.1", 7000)}, "none": set()}
    assert Endpoint(protocol="udp", address="10.0.2.1", port=7000) in plan.traffic[1].endpoints


def test_a_run_has_another_id_when_a_file_that_its_command_names_has_changed(tmp_path: Path) -> None:
    script = tmp_path / "mytest.py"

    def made(text: str, words: str) -> tuple[str, int]:
        script.write_text(text)
        plan = one(tmp_path, 'link = Link(rate="8 Mbit/s", queue=pfifo())', f"test = command({words})")
        (test,) = plan.traffic
        assert isinstance(test, Command)
        return run_id(plan, kernel="k", agent="a"), len(test.files)

    for words in (
        f'"sh {script}"',
        f'["sh", "-c", "exec sh {script} >/dev/null"]',
        f'"sh --config={script}"',
        f'"sh", env={{"SCRIPT": "{script}"}}',
    ):
        first, second = made("echo 1", words), made("echo 22", words)
        assert first[1] == 1, words
        assert first != second, words
    assert made("", '"sh -c true"')[1] == 0
