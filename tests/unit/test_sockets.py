"""What the sockets of a run used is held against what its items say: another one fails the run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_up_trials
import polars as pl
import pytest
from store_fakes import AGENT, KERNEL, make_plan
from test_store_ingest import ingested

from lab import plans
from labels import said as named
from narrows.comparing.items import frame
from narrows.engine import outdir
from narrows.plan.identity import run_id
from narrows.plan.items import Command
from narrows.plan.lowering import CCA
from narrows.plan.model import Plan
from narrows.plan.uses import contradictions, fallbacks, said
from narrows.store import sockets
from narrows.store.parsers import tcp_info

HEAD = "t_ns,src,sport,dst,dport,cca,state,options,snd_mss,max_pacing_rate,bytes_acked\n"
SERVER, CLIENT = "10.0.2.1,8080,10.0.0.1,40000", "10.0.0.1,40000,10.0.2.1,8080"
CONTROL = "10.0.2.1,8080,10.0.0.1,40001"
LINK = 'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128))\n'
TWO = (
    'server = command("serve @server:8080", node="server", background=True{options})\n'
    'get = command("get @server:8080")\n'
)


def seen(plan: Plan, **rows: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Of lines of TCP_INFO, by node."""
    parts = []
    for node, lines in rows.items():
        (part,) = tcp_info.parse(HEAD + "\n".join(lines) + "\n").sockets
        parts.append(part.select(pl.lit(node).alias("node"), pl.all()))
    return sockets.seen(plan, parts, {})


def planned(tmp_path: Path, options: str = "") -> Plan:
    (plan,) = plans(tmp_path, LINK + TWO.format(options=options))
    return plan


def line(ends: str, cca: str, acked: int, t_ns: int = 1, options: int = 6, mss: int = 1448) -> str:
    return f"{t_ns},{ends},{cca},established,{options},{mss},18446744073709551615,{acked}"


def test_what_sent_the_data_counts_and_neither_requests_nor_a_control_connection(tmp_path: Path) -> None:
    plan = planned(tmp_path, ', cca="reno"')
    found = seen(
        plan,
        server=[line(SERVER, "reno", 100), line(SERVER, "reno", 900_000, 2), line(CONTROL, "cubic", 300)],
        client=[line(CLIENT, "cubic", 4000)],
    )
    assert [(kind["cca"], kind["bytes"], kind["connections"]) for kind in found["server"]] == [
        ("reno", 900_000, 1),
        ("cubic", 300, 1),
    ]
    assert "get" not in found
    assert not contradictions(plan, found)
    assert sockets.unseen(plan, found) == []
    (untold,) = sockets.unseen(plan, {})
    assert untold.startswith("server: no TCP socket of it was seen")


@pytest.mark.parametrize(
    ("options", "row", "message"),
    [
        ('cca="reno"', line(SERVER, "cubic", 9000), "says that it uses reno, its sockets used cubic"),
        ("ecn=True", line(SERVER, "cubic", 9000), "says that it uses ECN, its sockets used no ECN"),
        ("ecn=True", line(SERVER, "cubic", 9000, options=14), None),
        ('mss="1000 B"', line(SERVER, "cubic", 9000), "says an MSS of 1000 bytes, its sockets used 1448"),
        ('mss="1460 B"', line(SERVER, "cubic", 9000), None),
        ('pacing="5 Mbit/s"', line(SERVER, "cubic", 9000), "5000000 bit/s at most, its sockets had no limit"),
        ('pacing="5 Mbit/s"', line(SERVER, "cubic", 9000).replace("18446744073709551615", "625000"), None),
    ],
)
def test_another_thing_than_was_said_is_named(
    tmp_path: Path, options: str, row: str, message: str | None
) -> None:
    plan = planned(tmp_path, f", {options}")
    lines = contradictions(plan, seen(plan, server=[row]))
    assert [message in line for line in lines if message] == [True] * (message is not None)
    assert bool(lines) == (message is not None)


def test_a_socket_that_changes_its_mind_is_two_kinds_with_the_data_of_each(tmp_path: Path) -> None:
    plan = planned(tmp_path, ', cca="reno"')
    rows = [line(SERVER, "cubic", 1000), line(SERVER, "reno", 2000, 2), line(SERVER, "reno", 500_000, 3)]
    found = seen(plan, server=rows)
    assert {kind["cca"]: kind["bytes"] for kind in found["server"]} == {"reno": 498_000, "cubic": 1000}
    assert not contradictions(plan, found)


def test_some_connections_without_ecn_are_said_and_all_of_them_are_a_contradiction(tmp_path: Path) -> None:
    plan = planned(tmp_path, ", ecn=True")
    kinds = [
        {
            "cca": "cubic",
            "ecn": ecn,
            "mss_bytes": 1448,
            "max_pacing_bps": None,
            "bytes": 9000,
            "connections": n,
        }
        for ecn, n in ((True, 8), (False, 2))
    ]
    assert not contradictions(plan, {"server": kinds})
    assert fallbacks(plan, {"server": kinds}) == [
        "server: 2 of 10 connections used no ECN: a SYN sent again asks for none"
    ]
    (line,) = contradictions(plan, {"server": kinds[1:]})
    assert "says that it uses ECN, its sockets used no ECN" in line


def test_a_run_whose_sockets_used_another_congestion_control_fails_and_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    sampler = {"id": "tcp-server", "kind": "tcp_info", "node": "server", "interval_ns": 10_000_000}
    plan = make_plan(samplers=[sampler])
    text = HEAD + line("10.0.2.1,40000,10.0.0.1,5201", "reno", 90_000) + "\n"

    def sampled(raw: Path) -> None:
        (raw / "tcp-server.csv").write_text(text)

    directory, finished = ingested(tmp_path / "a", plan, edit=sampled)
    assert finished.error is not None
    assert finished.error.stage == "sockets"
    assert (
        "cross: says that it uses cubic, its sockets used reno (100 % of its data" in finished.error.message
    )
    text = text.replace("reno", "cubic")
    directory, finished = ingested(tmp_path / "b", plan, edit=sampled)
    assert finished.error is None
    (kind,) = json.loads((directory / "manifest.json").read_text())["sockets"]["cross"]
    assert (kind["cca"], kind["bytes"], kind["mss_bytes"], kind["max_pacing_bps"]) == (
        "cubic",
        90_000,
        1448,
        None,
    )
    assert not outdir.contradicts(directory, plan)
    bulk = plan.traffic[0].model_copy(update={"cca": "bbr"})
    assert outdir.contradicts(directory, plan.model_copy(update={"traffic": (bulk, *plan.traffic[1:])}))


def test_what_a_program_says_that_it_uses_is_no_part_of_its_run(tmp_path: Path) -> None:
    silent, tells = planned(tmp_path / "a"), planned(tmp_path / "b", ', cca="copa"')
    assert '"uses"' not in silent.to_json()
    assert '"uses"' in tells.to_json()
    ids = {run_id(plan, kernel=KERNEL, agent=AGENT) for plan in (silent, tells)}
    assert len(ids) == 1


def test_a_service_of_ones_own_has_the_congestion_control_it_is_given_whatever_its_lower_does(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "tilemap"
    folder.mkdir()
    (folder / "spec.py").write_text(
        "from narrows.tools.services.spec import Service\nclass tilemap(Service):\n    '''Tiles.'''\n"
    )
    (folder / "lower.py").write_text(
        "from narrows.plan.lowering import client_and_server\n"
        "def lower(item, item_id, state):\n"
        "    at = f'{state.server_address}:{state.port(item, item_id, state.server, 8080)}'\n"
        "    return client_and_server(item, item_id, state, at, server=('sh', at), client=('sh', at))\n"
    )
    (folder / "parse.py").write_text("")
    (folder / "readings.py").write_text("FIGURES = {}\n")
    (plan,) = plans(tmp_path, LINK + 'tiles = tool("tilemap", cca="reno", stop="9 s")\n')
    assert [(each.node, each.value) for each in plan.sysctls if each.name == CCA] == [("server", "reno")]
    server, client = plan.traffic
    assert isinstance(server, Command)
    assert (said(server), said(client)) == (server.uses, None)
    assert server.uses is not None
    assert server.uses.cca == "reno"


def test_the_items_table_has_what_was_said_else_what_was_seen(tmp_path: Path) -> None:
    text = LINK + 'a = iperf3(cca="reno", duration="5 s")\nb = ndt7()\n'
    (plan,) = plans(tmp_path, text)
    run = made_up_trials.trial(plan, {"seed": "0"}, [6.0, 2.0], settled_only=True)
    kind = {"cca": "bbr", "bytes": 5_000_000, "connections": 1}
    figures = {(item, "down", "speed_mbps"): 1.0 for item in "ab"}
    manifest = dict(run.manifest) | {"sockets": {"b-server": [kind]}}
    run = replace(run, manifest=manifest, figures=named(figures))
    assert dict(frame([run]).select("item", "cca").unique().iter_rows()) == {"a": "reno", "b": "bbr"}


def test_the_items_table_names_the_congestion_control_of_a_quic_server(tmp_path: Path) -> None:
    options = ', cca="copa", endpoint="@server:8080"'
    run = made_up_trials.trial(planned(tmp_path, options), {"seed": "0"}, [6.0], settled_only=True)
    figures = {("get", "down", "quic_rate"): 1.0}
    assert set(frame([replace(run, figures=named(figures))])["cca"]) == {"copa"}
