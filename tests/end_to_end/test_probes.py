"""Probes from 1 ms to 1 s, UDP and ICMP, of several DSCPs: each meets the queue that its packets really use.

In a FIFO that is the load's own queue, behind fair queueing another one, behind CAKE its class'.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab

pytestmark = pytest.mark.kernel

S, MS = 1_000_000_000, 1e6
PROBES = {"dense": 0.001, "sparse": 1.0, "bulk_class": 0.01, "voice": 0.01, "icmp": 0.01}
LOADED = 8.0
TRAFFIC = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue={queue})
load = bulk(direction="down", cca="cubic", flows=4, start="1 s", duration="9 s", start_jitter="0 s")
dense = udp_probe(interval="1 ms", payload="32 B", duration="10 s")
sparse = udp_probe(interval="1 s", duration="10 s")
bulk_class = udp_probe(interval="10 ms", dscp="CS1", duration="10 s")
voice = udp_probe(interval="10 ms", dscp="EF", duration="10 s")
icmp = icmp_echo(interval="10 ms", duration="10 s")
sample(qdisc=None, link=None)
"""


def sojourn_ms(rows: pl.DataFrame, flows: pl.DataFrame, item: str) -> float:
    """Median of an item's packets down while the load ran, by the tap."""
    down = pl.col("direction") == "down"
    mine = flows.filter(down & (pl.col("item").cast(pl.String) == item))["flow"].implode()
    met = rows.filter(down & (pl.col("event") == "depart") & (pl.col("t_ns") >= 2 * S))
    return float(met.filter(pl.col("flow").is_in(mine))["sojourn_ns"].median()) / MS  # type: ignore[arg-type]


def waits_ms(directory: Path, queue: str) -> dict[str, float]:
    """Median of what each probe's round trip and the load's packets waited while the load ran."""
    (made,) = lab.make([lab.plan(directory, TRAFFIC.format(queue=queue))], directory / "out")
    folder = made.ok().directory
    samples, rows, flows = (
        pl.read_parquet(folder / f"{name}.parquet") for name in ("samples", "queue", "flows")
    )
    text = pl.col("item", "quantity", "direction").cast(pl.String)
    samples = samples.with_columns(text)
    found = {}
    for probe, interval_s in PROBES.items():
        sent = samples.filter((pl.col("item") == probe) & (pl.col("quantity") == "rtt")).sort("t_ns")
        assert sent.height == pytest.approx(10 / interval_s, abs=2)
        steps = sent["t_ns"].diff().drop_nulls()
        assert steps.min() == pytest.approx(interval_s * S, abs=20_000), "isochronous"
        assert steps.max() == pytest.approx(interval_s * S, abs=20_000), "isochronous"
        loaded = sent.filter((pl.col("t_ns") >= 2 * S) & pl.col("value").is_not_null())
        assert loaded.height > 0.8 * LOADED / interval_s
        found[probe] = float(loaded["value"].median()) / MS - 20  # type: ignore[arg-type]
        if probe != "icmp":
            ways = samples.filter((pl.col("item") == probe) & (pl.col("quantity") == "owd"))
            down, up = (
                ways.filter(pl.col("direction") == way).select("t_ns", "value") for way in ("down", "up")
            )
            both = down.join(up, on="t_ns").join(loaded.select("t_ns", rtt="value"), on="t_ns")
            assert (both["value"] + both["value_right"] - both["rtt"]).abs().max() == 0
        seen = sojourn_ms(rows, flows, probe)
        assert found[probe] == pytest.approx(seen, abs=0.6 + 0.05 * seen), "what the tap saw of it"
    return found | {"load": sojourn_ms(rows, flows, "load")}


def test_in_a_fifo_every_probe_waits_in_the_loads_own_queue(tmp_path: Path) -> None:
    # 100 packets of 1514 bytes are 121 ms at 10 Mbit/s
    waits = waits_ms(tmp_path, "pfifo(limit=100)")
    assert waits["load"] > 30
    for probe in ("dense", "bulk_class", "voice", "icmp"):
        assert waits[probe] == pytest.approx(waits["load"], rel=0.15), probe
    assert waits["sparse"] == pytest.approx(waits["load"], rel=0.5)  # ten samples


def test_behind_fair_queueing_probes_use_another_queue_than_the_load(tmp_path: Path) -> None:
    waits = waits_ms(tmp_path, "fq_codel()")
    assert waits["load"] > 4
    # at most one packet of each of four flows before them, 1.2 ms each
    assert max(waits[probe] for probe in PROBES) < 4


def test_behind_cake_a_probe_meets_the_class_of_its_dscp(tmp_path: Path) -> None:
    # a load of the bulk class alone would not hurt it; best effort beside it does
    waits = waits_ms(tmp_path, 'cake(diffserv="diffserv4")')
    assert waits["voice"] < waits["bulk_class"]
    assert waits["load"] > 4 > waits["voice"]
