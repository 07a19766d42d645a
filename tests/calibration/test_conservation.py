"""sent = delivered + dropped + queued at every hop of every run, by counts that do not depend on each other;
where they disagree, or count nothing, the run does not count.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import lab
from narrows.engine.uml import UmlEngine
from narrows.store import results
from narrows.store.ingest import ingest
from narrows.store.tap import RECORD_BYTES

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

DROPPING = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=15))
down = bulk(cca="cubic", flows=3, duration="1500 ms")
up = bulk(cca="reno", direction="up", duration="1500 ms")
"""
MARKING = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=codel(ecn=True))
down = bulk(cca="cubic", flows=3, ecn=True, duration="1500 ms")
"""
QUEUES = (
    "pfifo(limit=20)",
    'bfifo(limit="30 KB")',
    "pfifo_head_drop(limit=20)",
    "codel()",
    "fq_codel(limit=30)",
    "sfq()",
    "pie()",
    "fq_pie(limit=30)",
    "cake()",
    "fq(limit=30)",
    'red(limit="60 KB", min="10 KB", max="30 KB", avpkt="1000 B", burst=20)',
    "dualpi2()",
)


def root(tc: dict[str, Any], iface: str, node: str = "router") -> dict[str, Any]:
    """The root qdisc of an interface."""
    found: dict[str, Any] = next(q for q in tc[node][iface]["qdisc"] if q.get("root"))
    return found


@pytest.mark.parametrize("shaper", ["htb()", 'tbf(burst="5 KB")'])
@pytest.mark.parametrize("queue", QUEUES)
def test_tap_tc_and_link_counters_agree_to_the_packet(tmp_path: Path, queue: str, shaper: str) -> None:
    text = DROPPING.replace("pfifo(limit=15)", f"{queue}, shaper={shaper}")
    raw = lab.carry(lab.plan(tmp_path, text), tmp_path / "run").ok()
    result = raw.result
    assert len(result["hops"]) == 2
    for hop in result["hops"]:
        tap = hop["tap"]
        other = next(h["iface"] for h in result["hops"] if h is not hop)
        after, before = (root(result[f"tc_{when}"], hop["iface"]) for when in ("after", "before"))
        assert tap["arrived_packets"] > 500, hop
        assert tap["arrived_packets"] == (
            tap["departed_packets"] + tap["dropped_packets"] + tap["queued_packets"]
        ), hop
        assert (tap["departed_packets"], tap["departed_bytes"]) == (after["packets"], after["bytes"]), hop
        assert (tap["dropped_packets"], tap["queued_packets"]) == (after["drops"], after["qlen"]), hop
        entered = [result[f"links_{when}"]["router"][other]["rx_packets"] for when in ("after", "before")]
        left = [q["packets"] + q["drops"] + q["qlen"] for q in (after, before)]
        assert entered[0] - entered[1] == left[0] - left[1], hop
        gone = [result[f"links_{when}"]["router"][hop["iface"]]["tx_packets"] for when in ("after", "before")]
        assert gone[0] - gone[1] == after["packets"] - before["packets"], hop


def test_the_manifest_holds_every_check_with_both_sides(tmp_path: Path) -> None:
    (made,) = lab.make([lab.plan(tmp_path, DROPPING)], tmp_path / "out")
    hops = made.ok().manifest["conservation"]
    assert [hop["direction"] for hop in hops] == ["down", "up"]
    for hop in hops:
        assert hop["ok"] is True
        assert len(hop["checks"]) >= 4
        for check in hop["checks"]:
            assert check["verdict"] == "ok", check
            assert check["left"] == check["right"], check
            assert any(check["left"].values()), check


def test_what_the_receivers_got_is_what_left_the_queue(tmp_path: Path) -> None:
    raw = lab.carry(lab.plan(tmp_path, DROPPING), tmp_path / "run").ok()
    result = raw.result
    # Beyond the bottleneck nothing is lost: a host received what the queue towards it sent, but for what is
    # still on the path, which lies behind the bottleneck only in the direction up.
    for iface, receiver, way in (("eth0", "client", None), ("eth1", "server", "eth1")):
        hop = next(h for h in result["hops"] if h["iface"] == iface)
        counters = [result[f"links_{when}"][receiver]["eth0"]["rx_packets"] for when in ("after", "before")]
        sent = [root(result[f"tc_{when}"], iface)["packets"] for when in ("after", "before")]
        on_path = 0 if way is None else root(result["tc_after"], way, "path")["qlen"]
        assert counters[0] - counters[1] == sent[0] - sent[1] - on_path, hop


def test_marks_are_counted_as_tc_counts_them(tmp_path: Path) -> None:
    raw = lab.carry(lab.plan(tmp_path, MARKING), tmp_path / "run").ok()
    tap = raw.result["hops"][0]["tap"]
    qdiscs = raw.result["tc_after"]["router"][raw.result["hops"][0]["iface"]]["qdisc"]
    codel = next(q for q in qdiscs if q["kind"] == "codel")
    assert tap["marked_packets"] == codel["ecn_mark"] > 0


def test_acks_that_cake_filters_are_drops_of_their_own_reason(tmp_path: Path) -> None:
    link = 'Link(rate="50 Mbit/s", rate_up="1 Mbit/s", base_rtt="20 ms", queue_up=cake(ack_filter=True))'
    plan = lab.plan(tmp_path, f'link = {link}\ndown = bulk(duration="3 s")\n')
    (made,) = lab.make([plan], tmp_path / "out")
    hops = made.ok().manifest["conservation"]
    assert all(check["verdict"] == "ok" for hop in hops for check in hop["checks"]), hops
    names = [pl.col(name).cast(pl.String) for name in ("event", "direction", "reason")]
    drops = pl.read_parquet(made.directory / "queue.parquet").with_columns(names)
    drops = drops.filter(pl.col("event") == "drop")
    filtered = drops.filter(pl.col("reason") == "ACK_FILTER")
    assert filtered.height > 1000
    assert set(filtered["direction"]) == {"up"}
    tc = json.loads((made.directory / "raw" / "result.json").read_text())["tc_after"]
    (cake,) = (q for each in tc["router"].values() for q in each["qdisc"] if q["kind"] == "cake")
    assert filtered.height == sum(tin["ack_drops"] for tin in cake["tins"])


# ---- what does not add up does not count ------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> lab.Raw:
    directory = tmp_path_factory.mktemp("whole")
    return lab.carry(lab.plan(directory, DROPPING), directory / "run").ok()


def spoil_tap_totals(result: dict[str, Any], _: Path) -> None:
    result["hops"][0]["tap"]["departed_packets"] += 1


def spoil_tc(result: dict[str, Any], _: Path) -> None:
    root(result["tc_after"], "eth0")["drops"] += 1


def spoil_links(result: dict[str, Any], _: Path) -> None:
    result["links_after"]["router"]["eth1"]["rx_packets"] += 1


def spoil_records(_: dict[str, Any], raw: Path) -> None:
    tap = raw / "tap.bin"
    tap.write_bytes(tap.read_bytes()[:-RECORD_BYTES])


def spoil_by_silence(result: dict[str, Any], raw: Path) -> None:
    (raw / "tap.bin").write_bytes(b"")
    for hop in result["hops"]:
        hop["tap"] = dict.fromkeys(hop["tap"], 0)


def lose_tap(_: dict[str, Any], raw: Path) -> None:
    (raw / "tap.bin").unlink()


def lose_tc(result: dict[str, Any], _: Path) -> None:
    result["tc_after"] = {}


def lose_hops(result: dict[str, Any], _: Path) -> None:
    result["hops"] = []


def lose_all_of_the_tap(result: dict[str, Any], raw: Path) -> None:
    lose_tap(result, raw)
    for hop in result["hops"]:
        hop["tap"] = None


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (spoil_tap_totals, "arrived = departed + dropped + queued"),
        (spoil_tc, "tc -s"),
        (spoil_links, "links"),
        (spoil_records, "records = totals"),
        (spoil_by_silence, "nothing to check"),
        (lose_tap, "no tap.bin"),
        (lose_tc, "tc_after"),
        (lose_hops, "no tap"),
        (lose_all_of_the_tap, "no tap"),
    ],
)
def test_a_run_that_does_not_add_up_is_marked_failed(
    tmp_path: Path, whole: lab.Raw, spoil: Callable[[dict[str, Any], Path], None], words: str
) -> None:
    directory = tmp_path / "run"
    shutil.copytree(whole.directory, directory)
    result = whole.result
    spoil(result, directory / "raw")
    (directory / "raw/result.json").write_text(json.dumps(result))
    plan = lab.Plan.read(directory / "plan.json")
    finished = ingest(directory, lab.facts(plan, whole, UmlEngine()))
    assert finished.error is not None
    assert finished.error.stage == "conservation", finished.error.line()
    assert words in finished.error.line()
    manifest = lab.manifest(directory)
    assert manifest["status"] == "failed"
    assert not (directory / "metrics.parquet").exists(), "numbers of a run that does not add up"


def checks_of(made: lab.Made) -> list[dict[str, Any]]:
    return [check for hop in made.ok().manifest["conservation"] for check in hop["checks"]]


def test_at_five_thousand_flows_no_packet_is_lost_from_sight(tmp_path: Path) -> None:
    text = """
    link = Dumbbell(rate="1 Gbit/s", queue=bfifo(limit="5 MB"), pairs=[pair("20 ms", senders=5)])
    flow = bulk(cca="reno", flows=5000, start_spread="200 ms", duration="500 ms")
    tap("drops")
    sample(tcp_info=None, qdisc=None, link=None)
    """
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "results")
    assert [check["verdict"] for check in checks_of(made)] == ["ok"] * 5
    (hop,) = made.manifest["taps"]
    assert hop["tap"]["dropped_packets"] > 0, "nothing was dropped: that is the easy half only"
    assert hop["tap"]["arrived_packets"] > 5000 * 10
    ran = results.open(tmp_path / "results").metrics(quantity="bulk_flows")["value"].sum()
    assert ran == 5000


@pytest.mark.parametrize("mode", ["packets", "summary", "drops"])
def test_super_packets_add_up_and_what_their_records_lack_is_told(tmp_path: Path, mode: str) -> None:
    text = f"""
    link = Link(rate="1 Gbit/s", base_rtt="2 ms", queue=pfifo(limit=30),
                offloads={{"tso": True, "gso": True, "gro": True}})
    flow = bulk(cca="cubic", flows=2, duration="300 ms")
    tap("{mode}")
    sample(tcp_info=None, qdisc=None, link=None)
    """
    (made,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "results")
    verdicts = [check["verdict"] for check in checks_of(made) if not check["check"].startswith("links")]
    assert verdicts == ["ok"] * len(verdicts)
    assert len(verdicts) >= 6
    balances = [check for check in checks_of(made) if check["check"].startswith("tap: arrived")]
    assert [set(balance["left"]) for balance in balances] == [{"packets", "bytes"}] * 2
    told = [warning for warning in made.manifest["warnings"] if "65535" in warning]
    assert len(told) == (0 if mode == "drops" else 1), made.manifest["warnings"]


def test_a_tap_that_is_cut_within_a_record_fails_the_run(tmp_path: Path, whole: lab.Raw) -> None:
    directory = tmp_path / "run"
    shutil.copytree(whole.directory, directory)
    tap = directory / "raw/tap.bin"
    tap.write_bytes(tap.read_bytes()[:-7])
    finished = ingest(directory, lab.facts(lab.Plan.read(directory / "plan.json"), whole, UmlEngine()))
    assert finished.error is not None
    assert "cut off" in finished.error.line()
