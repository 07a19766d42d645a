"""`narrows tune` and `narrows shape`, the very commands, in a guest; and tune in this host's namespaces."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import lab

HOME = 'link = Home(rate="20 Mbit/s", rate_up="5 Mbit/s", base_rtt="20 ms", queue=bfifo(limit="250 KB"))'
SCRIPT = """
cd "$1"
gateway=$(ip route show dev eth1 | sed -n 's/.*via \\([0-9.]*\\).*/\\1/p' | head -n 1)
ip route add default via "$gateway" dev eth1
state() { tc qdisc show; tc filter show dev eth1 ingress; ip link; ip addr; }
tune() { PYTHONPATH=PATHS PYTHON -c 'from narrows.cli.main import main; main()' tune "$@"; }
state > before
tune --wan eth1 --server "iperf3://$2" --seconds 2 --page page.html --install --units . > out 2>&1
echo "$?" >> out
state > tuned
sed -i 's/"phase": "set"/"phase": "begun"/' /run/narrows-tune/eth1.json
tc qdisc del dev eth1 ingress
tune --wan eth1 --undo > undo 2>&1; echo "$?" >> undo
state > after
"""


def tune_in(namespace: str, state: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a namespace of this host."""
    command = ["ip", "netns", "exec", namespace, str(lab.NARROWS), "tune", *words]
    env = os.environ | {"NARROWS_TUNE_STATE": str(state)}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False, cwd=state)


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.skipif(
    str(lab.CHECKOUT).startswith("/tmp/"),
    reason="a guest has a /tmp of its own, so it cannot see this checkout",
)
def test_tune_moves_the_queue_home_and_undo_gives_back_every_byte_even_after_half_a_tune(
    tmp_path: Path,
) -> None:
    paths = os.pathsep.join(str(lab.CHECKOUT / name) for name in ("python",))
    folder = lab.CHECKOUT / "results" / ".tests" / tmp_path.name
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "tune.sh"
    script.write_text(SCRIPT.replace("PATHS", paths).replace("PYTHON ", f"{sys.executable} "))
    try:
        text = f"""
        {HOME}
        server = command("iperf3 -s", node="server", background=True, ready="@server:5201", ok_exits=(0, 1))
        tune = command(["/bin/sh", "{script}", "@out", "@server"], node="home", time_limit="90 s")
        ping = icmp_echo(stop="1 s")
        """
        (run,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    finally:
        script.unlink()
        folder.rmdir()
    raw = run.ok().directory / "raw"
    read = {name: (raw / name).read_text() for name in ("before", "tuned", "after", "out", "undo")}
    assert read["out"].endswith("0\n"), read["out"]
    assert "down: the queue is at home" in read["out"]
    assert "up: the queue is at home" in read["out"]
    assert read["tuned"].count("qdisc cake 4e00:") == 2
    assert "ifb4eth1" in read["tuned"]
    assert "the queue is at home" in (raw / "page.html").read_text()
    assert "cake bandwidth" in (raw / "narrows-tune-eth1.service").read_text()
    assert read["undo"] == "eth1: as it was\n0\n"
    assert read["before"] == read["after"]


@pytest.mark.kernel
@pytest.mark.slow
def test_shape_keeps_the_queue_at_home_after_the_rate_falls_and_finds_the_way_up(tmp_path: Path) -> None:
    text = """
    link = Home(
        rate=square("5 Mbit/s", "30 Mbit/s", "12 s"), rate_up="10 Mbit/s",
        base_rtt="20 ms", queue=bfifo(limit="1 MB"),
        router=home_router(egress=cake(), ingress=cake(ingress=True)),
    )
    ours = shape()
    load = bulk(cca="cubic", flows=4, duration="16 s")
    """
    (run,) = lab.make([lab.plan(tmp_path, text)], tmp_path / "out")
    run.ok()
    names = [pl.col(name).cast(pl.String) for name in ("hop", "direction", "event")]
    rows = pl.read_parquet(run.directory / "queue.parquet").with_columns(names)
    isp = rows.filter(
        (pl.col("hop") == "isp") & (pl.col("direction") == "down") & (pl.col("event") == "depart")
    )
    fallen = isp.filter(pl.col("t_ns").is_between(7_000_000_000, 12_000_000_000))
    assert fallen.height > 1000
    assert float(fallen["sojourn_ns"].quantile(0.95) or 1e12) < 40e6
    late = isp.filter(pl.col("t_ns").is_between(15_000_000_000, 16_000_000_000))
    assert late["bytes"].sum() * 8 > 0.8 * 30e6
    series = pl.read_parquet(run.directory / "samples.parquet").filter(
        pl.col("item").cast(pl.String) == "ours"
    )
    assert set(series["quantity"].cast(pl.String)) == {
        "shaper_rate",
        "shaper_capacity",
        "shaper_queue_beyond",
    }
    assert set(series["direction"].cast(pl.String)) == {"down", "up"}


@pytest.mark.root
def test_what_this_kernel_or_this_interface_cannot_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    name = f"tune{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        inside = ["ip", "netns", "exec", name]
        for words in (
            "link add wan0 type veth peer name lan0",
            "addr add 192.0.2.1/24 dev wan0",
            "link set wan0 up",
            "link set lan0 up",
        ):
            subprocess.run([*inside, "ip", *words.split()], check=True)
        rates = ("--down", "30 Mbit/s", "--up", "10 Mbit/s")
        before = subprocess.run([*inside, "tc", "qdisc"], capture_output=True, check=True).stdout
        done = tune_in(name, tmp_path, "--wan", "wan0", *rates)
        assert done.returncode == 1
        assert "not the interface of the default route" in done.stderr
        subprocess.run([*inside, "ip", "route", "add", "default", "dev", "wan0"], check=True)
        dry = tune_in(name, tmp_path, "--wan", "wan0", *rates, "--dry-run")
        assert dry.returncode == 0
        assert "cake bandwidth" in dry.stdout
        assert tune_in(name, tmp_path, "--wan", "wan0", "--undo").stdout == "wan0: nothing had been set\n"
        done = tune_in(name, tmp_path, "--wan", "wan0", *rates)
        if done.returncode:
            assert "this kernel has no CAKE" in done.stderr or "this kernel has no IFB" in done.stderr
        else:
            assert tune_in(name, tmp_path, "--wan", "wan0", "--undo").stdout == "wan0: as it was\n"
        after = subprocess.run([*inside, "tc", "qdisc"], capture_output=True, check=True).stdout
        assert before == after
        assert not list(tmp_path.glob("*.json"))
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def test_half_a_journal_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from narrows.errors import EngineError
    from narrows.line.tune import journal

    monkeypatch.setenv(journal.ENV, str(tmp_path))
    (tmp_path / "eth0.json").write_text('{"wan": ')
    with pytest.raises(EngineError, match=r"eth0\.json cannot be read"):
        journal.read("eth0")
    (tmp_path / "eth0.json").write_text(
        json.dumps({"wan": "eth0", "ifb": "i", "phase": "set", "qdiscs": "", "earlier": ["pfifo"]})
    )
    kept = journal.read("eth0")
    assert kept is not None
    assert kept.earlier == ("pfifo",)
