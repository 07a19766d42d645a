"""A home's rig is what its plan says, at both places and both ways; a moving rate is followed."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import lab

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

S = 1_000_000_000
FRAME_BITS = 1514 * 8
LOADS = """
down = bulk(flows=2, duration="1500 ms")
up = bulk(direction="up", duration="1500 ms", host=2)
"""
ROUTERS = (
    "home_router(egress=cake(), ingress=cake(ingress=True))",
    "home_router(egress=fq_codel(limit=30), ingress=pfifo(limit=15))",
    'home_router(ingress=bfifo(limit="30 KB"), ingress_shaper=tbf(burst="5 KB"), ifb="ifb4wan")',
    "home_router(egress=pie())",
)
ISPS = (
    "queue=pfifo(limit=20)",
    "queue=pfifo_head_drop(limit=20)",
    'queue=pfifo(), shaper=policer(burst="20 KB")',
    'queue=prio({"CS5": 0}, bands=[pfifo(limit=10), pfifo(limit=10)])',
)


def made(folder: Path, text: str) -> lab.Made:
    (one,) = lab.make([lab.plan(folder, text)], folder / "out")
    return one.ok()


def departures(run: lab.Made, hop: str, direction: str) -> pl.DataFrame:
    text = [pl.col(name).cast(pl.String) for name in ("hop", "direction", "event")]
    rows = pl.read_parquet(run.directory / "queue.parquet").with_columns(text)
    return rows.filter(
        (pl.col("hop") == hop) & (pl.col("direction") == direction) & (pl.col("event") == "depart")
    ).sort("t_ns")


@pytest.mark.parametrize("isp", ISPS)
@pytest.mark.parametrize("router", ROUTERS)
def test_no_packet_is_lost_from_sight_at_either_place(tmp_path: Path, router: str, isp: str) -> None:
    hosts = 'hosts=[host(), host(delay="2 ms", jitter="1 ms", loss="0.5 %")]'
    rates = 'rate="10 Mbit/s", rate_up="5 Mbit/s", base_rtt="20 ms"'
    run = made(tmp_path, f"link = Home({rates}, {isp}, {hosts}, router={router})\n{LOADS}")
    found = run.manifest["conservation"]
    places = {(hop["hop"], hop["direction"]) for hop in found}
    assert {("isp", "down"), ("isp", "up")} < places
    assert ("home", "down" if "ingress" in router else "up") in places
    for hop in found:
        assert hop["ok"], hop
        assert [check["verdict"] for check in hop["checks"]] == ["ok"] * 4, hop


def test_the_queue_is_at_the_isp_without_a_router_and_at_home_with_one(tmp_path: Path) -> None:
    medians = {}
    for name, router in (("none", "home_router()"), ("cake", ROUTERS[0])):
        link = f'Home(rate="10 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="150 KB"), router={router})'
        run = made(tmp_path / name, f'link = {link}\nflow = bulk(duration="4 s")')
        for hop in ("isp", "home"):
            sojourn = departures(run, hop, "down").filter(pl.col("t_ns") > 2 * S)["sojourn_ns"]
            medians[name, hop] = None if sojourn.is_empty() else float(np.median(sojourn.to_numpy())) / 1e6
    assert medians["none", "home"] is None
    isp_alone, isp, home = medians["none", "isp"], medians["cake", "isp"], medians["cake", "home"]
    assert isp_alone is not None
    assert isp is not None
    assert home is not None
    assert isp_alone > 50  # 150 KB at 10 Mbit/s are 120 ms
    assert isp < 1.3  # a frame's own time is 1.2 ms
    assert 1 < home < 20


def test_a_marked_flow_passes_a_prio_that_best_effort_has_filled(tmp_path: Path) -> None:
    bands = 'prio({"CS5": 0}, bands=[pfifo(limit=50), bfifo(limit="150 KB")])'
    run = made(
        tmp_path,
        f'link = Home(rate="10 Mbit/s", base_rtt="20 ms", queue={bands})\n'
        'flow = bulk(duration="4 s")\n'
        'marked = udp_probe(interval="20 ms", dscp="CS5", start="2 s", duration="2 s")\n'
        'plain = udp_probe(interval="20 ms", start="2 s", duration="2 s")\n',
    )
    samples = pl.read_parquet(run.directory / "samples.parquet").with_columns(
        pl.col("item").cast(pl.String), pl.col("quantity").cast(pl.String)
    )

    def rtt_ms(source: str) -> float:
        rows = samples.filter((pl.col("item") == source) & (pl.col("quantity") == "rtt"))[
            "value"
        ].drop_nulls()
        assert len(rows) >= 50
        return float(np.median(rows.to_numpy())) / 1e6

    assert rtt_ms("marked") < 20 + 4
    assert rtt_ms("plain") > 20 + 40


def test_the_server_answers_on_all_its_addresses(tmp_path: Path) -> None:
    ping = 'command("ping -n -q -c 1 -W 1 10.0.3.{}")'
    text = 'link = Home(rate="10 Mbit/s", server_addresses=3)\n'
    made(tmp_path, text + "".join(f"p{n} = {ping.format(n)}\n" for n in (1, 11, 12)))


@pytest.mark.parametrize(("nat", "share"), [(True, 0.5), (False, 0.2)])
def test_behind_nat_only_a_cake_that_looks_behind_it_tells_hosts_apart(
    tmp_path: Path, nat: bool, share: float
) -> None:
    if shutil.which("nft") is None:
        pytest.skip("nft is not installed (nftables)")
    router = f'home_router(egress=cake(flow_isolation="dual-srchost", nat={nat}), nat=True)'
    run = made(
        tmp_path,
        f'link = Home(rate="20 Mbit/s", rate_up="5 Mbit/s", base_rtt="20 ms", hosts=2, router={router})\n'
        'one = bulk(direction="up", duration="6 s", host=1)\n'
        'four = bulk(direction="up", flows=4, duration="6 s", host=2)\n',
    )
    assert all(hop["ok"] for hop in run.manifest["conservation"])
    text = [pl.col(name).cast(pl.String) for name in ("hop", "direction", "item", "src")]
    flows = pl.read_parquet(run.directory / "flows.parquet").with_columns(text)
    flows = flows.filter((pl.col("direction") == "up") & pl.col("item").is_in(["one", "four"]))
    assert flows["src"].n_unique() == 1  # the home's one address, at the ISP and at home
    home = flows.filter(pl.col("hop") == "home")
    sent = {item: home.filter(pl.col("item") == item)["departed_bytes"].sum() for item in ("one", "four")}
    assert sent["one"] / (sent["one"] + sent["four"]) == pytest.approx(share, abs=0.06)


RATES = {
    "square": 'square("2 Mbit/s", "20 Mbit/s", "1 s")',
    "lte": 'lte_drive(mean="8 Mbit/s", seed=2)',
    "slow": 'sine("500 kbit/s", "450 kbit/s", "4 s")',
}


@pytest.mark.parametrize("name", RATES)
def test_htb_never_sends_more_than_a_moving_rate_carries_and_falls_behind_by_little(
    tmp_path: Path, name: str
) -> None:
    rate = RATES[name]
    run = made(
        tmp_path,
        f'link = Link(rate={rate}, rate_up="10 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="200 KB"))\n'
        'flow = bulk(flows=4, duration="8 s")',
    )
    plan = lab.plan(tmp_path / "again", (tmp_path / "tiny.py").read_text().split("\n", 2)[2])
    assert plan.moving is not None
    steps = [(s.at_ns, s.rate_bps) for s in plan.moving.down]
    at, bps = np.array([a for a, _ in steps] + [30 * S]), np.array([b for _, b in steps])
    carried = np.concatenate(([0.0], np.cumsum(bps * np.diff(at) / S)))
    left = departures(run, "bottleneck", "down").filter((pl.col("t_ns") > S) & (pl.col("t_ns") < 8 * S))
    t, bits = left["t_ns"].to_numpy().astype(float), np.cumsum(left["bytes"].to_numpy() * 8.0)
    assert t.size > 200
    could = np.interp(t, at, carried) - np.interp(t[0], at, carried)
    ahead = bits - could
    # Over no span of time more than the rate carries: the frame that leaves, the one that is charged, and
    # HTB's bucket of one more.
    assert (ahead - np.minimum.accumulate(ahead)).max() < 4 * FRAME_BITS
    assert bits[-1] == pytest.approx(could[-1], rel=0.02, abs=4 * FRAME_BITS)


def test_an_outage_lets_one_frame_pass_and_ends_when_it_ends(tmp_path: Path) -> None:
    run = made(
        tmp_path,
        'link = Link(rate=outage("10 Mbit/s", "2 s", "1 s"), base_rtt="20 ms", queue=bfifo(limit="200 KB"))\n'
        'flow = bulk(flows=2, duration="4 s")',
    )
    t = departures(run, "bottleneck", "down")["t_ns"].to_numpy()
    assert np.count_nonzero((t > 1 * S) & (t < 2 * S)) > 700
    assert np.count_nonzero((t > 2 * S) & (t < 3 * S)) <= 1
    assert 0 <= t[t >= 3 * S][0] - 3 * S < 10_000_000
