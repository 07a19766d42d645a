"""Engines before anything starts: command lines, and refusals that name what is missing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from store_fakes import make_plan, plan_dict

from made_up_plans import whole
from narrows import kernel
from narrows.engine import agent_binary, netns, uml
from narrows.engine.choose import make_engine
from narrows.engine.netns import NetnsEngine, ccas, lacking_ccas, lacking_qdiscs
from narrows.engine.ssh import parts
from narrows.engine.uml import UmlEngine
from narrows.errors import EngineError, KernelError, NarrowsError
from narrows.plan.model import Plan


def program(path: Path) -> Path:
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> UmlEngine:
    linux = program(tmp_path / "linux")
    tools = tmp_path / "tools"
    tools.mkdir()
    image = SimpleNamespace(path=linux, id="k1", tools_dir=tools, info={"release": "7.2"})
    monkeypatch.setattr(kernel, "find", lambda: image)
    monkeypatch.setenv("NARROWS_AGENT", str(program(tmp_path / "agent")))
    return UmlEngine()


def test_the_guests_command_line_is_the_contracts(engine: UmlEngine, tmp_path: Path) -> None:
    argv = engine.argv(make_plan(), tmp_path, Path("/dev/shm/x"))
    for word in (
        "mem=262144K", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "ro", f"init={tmp_path}/agent",
        "time-travel=inf-cpu", "time-travel-start=1767225600000000000", "seccomp=on", "con=null",
        "con0=fd:0,fd:1", "panic=1", "random-seed=1", f"hostfs-writable={tmp_path}",
        f"queue-tap={tmp_path}/raw/tap.bin", f"narrows_tools={tmp_path}/tools", "uml_dir=/dev/shm/x/",
    ):  # fmt: skip
        assert word in argv
    assert argv[-3:] == ("--", "guest", str(tmp_path))
    assert not [word for word in argv if word.startswith("timer-latency")]


def test_late_timers_are_handed_to_the_machine_with_the_seed(engine: UmlEngine, tmp_path: Path) -> None:
    machine = {"memory_bytes": 2**28, "timer_latency": {"min_ns": 10, "max_ns": 5000}}
    plan = Plan.from_json(json.dumps(plan_dict(seed=7) | {"machine": machine}))
    assert "timer-latency=10,5000,7" in engine.argv(plan, tmp_path, tmp_path)


def test_without_tapped_hops_the_machine_has_no_tap(engine: UmlEngine, tmp_path: Path) -> None:
    argv = engine.argv(make_plan(tap="off"), tmp_path, tmp_path)
    assert not [word for word in argv if word.startswith("queue-tap")]


def test_a_shell_is_in_real_time_and_has_no_tap(engine: UmlEngine, tmp_path: Path) -> None:
    argv = engine.argv(make_plan(), tmp_path, tmp_path, mode="shell")
    assert not [word for word in argv if word.startswith(("time-travel", "queue-tap"))]
    assert argv[-2] == "shell"


def test_the_guest_may_write_only_its_run_and_its_private_directory(
    engine: UmlEngine, tmp_path: Path
) -> None:
    job = engine.job(make_plan(), tmp_path / "run", tmp_path / "private", 0)
    assert job.writable_dirs == (str(tmp_path / "run"), str(tmp_path / "private"))
    assert job.env["HOME"] == job.env["TMPDIR"] == str(tmp_path / "private")


def test_a_path_with_a_space_is_refused_before_the_kernel_misreads_it(
    engine: UmlEngine, tmp_path: Path
) -> None:
    with pytest.raises(EngineError, match="space"):
        engine.job(make_plan(), tmp_path / "my results", tmp_path, 0)


def command(argv: list[str]) -> Plan:
    programs = [word for word in argv if not word.startswith(("@", "-"))][:1] if argv[0] != "@agent" else []
    programs += argv[argv.index("--") + 1 :][:1] if "--" in argv else []
    item: dict[str, Any] = {
        "id": "speed", "item": "speed", "kind": "command", "tool": "iperf3", "node": "client", "argv": argv,
        "env": {}, "stop_signal": "INT", "ok_exits": [0], "background": False, "ready": None,
        "endpoints": [], "programs": programs, "files": [], "memory_bytes": 0, "start": {"at_ns": 0},
        "stop": None,
    }  # fmt: skip
    return Plan.from_json(json.dumps(plan_dict() | {"traffic": [item]}))


def test_a_tool_that_is_not_installed_is_named_with_its_item(engine: UmlEngine) -> None:
    with pytest.raises(EngineError, match=r"no-such-tool \(for speed\)"):
        engine.check([command(["no-such-tool", "-c", "10.0.2.1"])])


def test_a_program_that_the_agent_becomes_must_be_there_and_go_programs_have_their_remedy(
    engine: UmlEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_path", "/usr/sbin:/usr/bin:/sbin:/bin")
    plan = command(["@agent", "certified", "--name", "10.0.2.1", "--", "ndt-server", "-a"])
    with pytest.raises(EngineError, match=r"ndt-server \(for speed\)") as raised:
        engine.check([plan])
    assert "go install github.com/m-lab/ndt-server@v" in str(raised.value)


def test_every_guests_command_line_is_equally_long_wherever_its_directory_is(
    engine: UmlEngine, tmp_path: Path
) -> None:
    lengths = {
        len(" ".join(engine.argv(make_plan(), tmp_path / name, tmp_path)[1:])) for name in ("a", "b" * 200)
    }
    assert lengths == {uml.COMMAND_LINE_STEP - 1}


def test_of_the_users_path_the_guest_knows_only_where_the_plans_programs_are(
    engine: UmlEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    for place in (mine, other):
        place.mkdir()
    program(mine / "my-client")
    program(other / "sh")  # the system has one
    monkeypatch.setattr(engine, "_path", f"{other}:{mine}:/usr/bin:/bin")
    words = engine.argv(command(["my-client", "-x"]), tmp_path, tmp_path)
    assert f"narrows_programs={mine}" in words
    words = engine.argv(command(["sh", "-c", "true"]), tmp_path, tmp_path)
    assert not any(str(place) in word for place in (mine, other) for word in words)


def test_the_agents_own_programs_need_no_installation(engine: UmlEngine) -> None:
    engine.check([command(["@agent", "ndt7-client"])])


def test_more_memory_than_there_is_is_refused_with_both_numbers(engine: UmlEngine) -> None:
    plan = Plan.from_json(
        json.dumps(plan_dict() | {"machine": {"memory_bytes": 2**50, "timer_latency": None}})
    )
    with pytest.raises(EngineError, match="1073741888 MiB"):
        engine.check([plan])


def test_guests_get_one_core_each(engine: UmlEngine) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    assert sorted(slot.cpu for slot in engine.slots(None) if slot.cpu is not None) == cpus
    assert len(engine.slots(1)) == 1


def test_a_missing_agent_is_an_error_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NARROWS_AGENT", raising=False)
    monkeypatch.setattr("narrows.data.HERE", tmp_path)
    with pytest.raises(EngineError, match="make agent"):
        agent_binary.find()
    monkeypatch.setenv("NARROWS_AGENT", str(tmp_path / "nothing"))
    with pytest.raises(EngineError, match="NARROWS_AGENT names"):
        agent_binary.find()


def test_a_missing_kernel_is_an_error_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NARROWS_KERNEL", raising=False)
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path))
    with pytest.raises(NarrowsError, match="narrows kernel build"):
        UmlEngine()


def test_another_agent_has_another_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = program(tmp_path / "one"), program(tmp_path / "two")
    two.write_text("#!/bin/sh\n# another\n")
    ids = []
    for path in (one, two, one):
        monkeypatch.setenv("NARROWS_AGENT", str(path))
        ids.append(agent_binary.find()[1])
    assert ids[0] == ids[2] != ids[1]


def test_the_congestion_controls_of_a_plan_are_found() -> None:
    assert ccas(make_plan()) == {"cubic"}


def test_the_netns_engine_wants_root(engine: UmlEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(EngineError, match="--engine uml"):
        NetnsEngine().check([make_plan()])


@pytest.fixture
def as_root(engine: UmlEngine, monkeypatch: pytest.MonkeyPatch) -> NetnsEngine:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(netns, "lacking_qdiscs", lambda probes, path: {})
    monkeypatch.setattr(netns, "lacking_ccas", lambda wanted: set())
    return NetnsEngine()


def test_real_hosts_refuse_a_medium(as_root: NetnsEngine) -> None:
    medium = {
        "node": "router", "iface": "eth1", "direction": "down", "model": "lte", "air": 0, "by_demand": False,
        "splits": True, "overhead_bytes": 5, "ring_bytes": 1, "retries": 0, "grant_turns": 0,
        "repeat_ns": 1000, "unit_ns": 1000, "turns": "1/1500",
    }  # fmt: skip
    plan = Plan.from_json(json.dumps(plan_dict() | {"media": [medium]}))
    for check in (lambda: as_root.check([plan]), lambda: parts.refuse(plan)):
        with pytest.raises(EngineError, match="a medium is a device of narrows' own kernel"):
            check()


def test_the_netns_engine_refuses_late_timers(as_root: NetnsEngine) -> None:
    machine = {"memory_bytes": 2**28, "timer_latency": {"min_ns": 0, "max_ns": 5}}
    with pytest.raises(EngineError, match="timer_latency"):
        as_root.check([Plan.from_json(json.dumps(plan_dict() | {"machine": machine}))])


def test_the_netns_engine_names_every_qdisc_and_cca_that_is_missing(
    as_root: NetnsEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        netns, "lacking_qdiscs", lambda probes, path: {"codel": "unknown", "fq_codel": "unknown"}
    )
    monkeypatch.setattr(netns, "lacking_ccas", lambda wanted: {"bbr"})
    with pytest.raises(EngineError, match=r"codel \(unknown\); fq_codel \(unknown\).*bbr"):
        as_root.check([make_plan()])


def test_the_netns_engine_makes_one_run_at_a_time(as_root: NetnsEngine) -> None:
    assert len(as_root.slots(None)) == 1
    with pytest.raises(EngineError, match="--jobs 1"):
        as_root.slots(2)


@pytest.mark.root
def test_this_kernels_missing_qdiscs_are_found_by_trying() -> None:
    path = uml.guest_path(None)
    lacking = lacking_qdiscs({("pfifo", "limit", "100"), ("no_such_qdisc",)}, path)
    assert set(lacking) == {"no_such_qdisc"}
    assert lacking_ccas({"reno", "no_such_cca"}) == {"no_such_cca"}


def test_a_program_that_is_missing_is_named_before_a_kernel_that_is_not_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path))
    monkeypatch.delenv("NARROWS_KERNEL", raising=False)
    monkeypatch.setattr("narrows.kernel.image.packaged", lambda: None)
    video = {"id": "dash", "kind": "command", "tool": "video", "programs": ["no-such-browser"]}
    with pytest.raises(EngineError, match=r"not installed: no-such-browser \(for dash\)"):
        make_engine("uml", plans=[whole({"traffic": [video]})])
    with pytest.raises(KernelError, match="has not been built"):
        make_engine("uml", plans=[whole({})])
