"""How fast packet logs are read: `narrows paths` beside tcptrace and tshark, on one log of our own.

The log is a capture of headers (96 bytes a packet) at the sender of 20 CUBIC flows at 1 Gbit/s, as pcap,
because tcptrace reads nothing else. All three are pinned to one core and take turns; then narrows reads
copies of the log with a job a core. What each does differs: tcptrace its statistics with RTT samples (-r),
tshark the one field of RTT samples, narrows all estimators and both tables.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict
from functools import partial
from pathlib import Path

import polars as pl
from clock_page import h3_get
from measure import BenchError, Cost, Spread, cost_of
from rows import Bench, Row

from narrows.engine import agent_binary
from narrows.paths import binary

PACKAGES = {"tcptrace": "tcptrace", "tshark": "tshark", "editcap": "wireshark-common"}
RATIO = 2.0
LINEAR = 0.8
"""Of so many times one core's packets a second as there are cores."""
COPIES = 4
SECONDS = 6
EXPERIMENT = f'''"""A log of many packets."""
from narrows.spec import Link, bfifo, bulk, capture, tap
link = Link(rate="1 Gbit/s", base_rtt="20 ms", queue=bfifo(limit="2500 KB"))
flow = bulk(cca="cubic", flows=20, duration="{SECONDS} s")
capture(at="server", snap="96 B")
tap("off")
'''
QUIC_MBIT, QUIC_SECONDS = 100, 4
QUIC = '''"""A QUIC download with its secrets."""
from narrows.spec import Link, bfifo, capture, command, tap
link = Link(rate="{rate} Mbit/s", base_rtt="20 ms", queue=bfifo(limit="1 BDP"))
server = command(
    "{agent} h3-server --listen 10.0.2.1:443 --places /file={file}",
    node="server", background=True, ready="udp://@server:443", ok_exits=(0, 1),
)
client = command(
    "{get} 10.0.2.1:443 /file {stop}", node="client", time_limit="60 s",
    env={{"SSLKEYLOGFILE": "@out/keys.txt"}},
)
capture("server", snap="2 KB")
tap("off")
'''


def _log(bench: Bench) -> Path:
    """The log, made once for a build directory."""
    log = bench.build_dir / "packet_log.pcap"
    if log.exists():
        return log
    with tempfile.TemporaryDirectory() as folder:
        experiment = Path(folder) / "packet_log.py"
        experiment.write_text(EXPERIMENT)
        _do([sys.executable, "-m", "narrows.cli.main", "run", str(experiment), "--out", f"{folder}/out"])
        (captured,) = Path(folder).glob("out/*/raw/*.pcapng")
        _do(["editcap", "-F", "pcap", str(captured), str(log)])
    return log


def _do(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{words[0]} failed: {done.stderr.strip()[-500:]}")
    return done.stdout


def _keep(said: dict[str, str], who: str, words: list[str]) -> None:
    said[who] = _do(words)


def packet_logs(bench: Bench) -> list[Row]:
    """Packets a second of each, and whether they count the same retransmissions."""
    name, target = "narrows paths / tcptrace, packets a second", f"≥ {RATIO:.0f} ×"
    missing = [package for program, package in PACKAGES.items() if shutil.which(program) is None]
    if missing:
        return [Row(name, target, "skipped", None, f"apt-get install {' '.join(missing)}")]
    bench.say("a log of 20 flows at 1 Gbit/s")
    log = _log(bench)
    pinned = ["taskset", "-c", str(bench.cpu)]
    said: dict[str, str] = {}
    costs: dict[str, list[Cost]] = {"narrows": [], "tcptrace": []}
    with tempfile.TemporaryDirectory() as out:
        ours = [str(binary.find()), "read", str(log), "--out", out, "--again", "--min-duration-ns", "0"]
        theirs = {"narrows": ours, "tcptrace": ["tcptrace", "-r", "-l", "-n", str(log)]}
        for i in range(bench.repeats):
            for who, words in theirs.items():
                bench.say(f"{who} reads it, {i + 1} of {bench.repeats}")
                costs[who].append(cost_of(partial(_keep, said, who, [*pinned, *words])))
        bench.say("tshark reads it, once")
        field = ["-Y", "tcp.analysis.ack_rtt", "-T", "fields", "-e", "tcp.analysis.ack_rtt"]
        tshark = cost_of(partial(_do, [*pinned, "tshark", "-n", "-r", str(log), *field]))
        again = _ours_again(Path(out))
    packets = json.loads(said["narrows"].splitlines()[-1])["done"]["counts"]["packets"]
    rate = {who: Spread.of([packets / 1e6 / c.wall_s for c in some]) for who, some in costs.items()}
    # By wall time, as both are used; by CPU time beside it, which does not hold what others on the core took.
    cpu = {who: Spread.of([packets / 1e6 / c.cpu_s for c in some]) for who, some in costs.items()}
    by_cpu, ratio = (some["narrows"].median / some["tcptrace"].median for some in (cpu, rate))
    counted = _tcptrace_again(said["tcptrace"])
    return [
        Row(
            name,
            target,
            f"{ratio:.2f} × (by CPU time {by_cpu:.2f})",
            ratio >= RATIO,
            f"{packets} packets; millions a second of CPU time: {cpu['narrows'].text()} and "
            f"{cpu['tcptrace'].text()}, of wall time: {rate['narrows'].text()} and "
            f"{rate['tcptrace'].text()}, "
            f"tshark {packets / 1e6 / tshark.wall_s:.3f} (n = 1); data packets sent again: "
            f"{again} and {counted}",
            {
                "packets": packets,
                "tshark": asdict(tshark),
                "retransmitted": {"narrows": again, "tcptrace": counted},
                **{who: [asdict(c) for c in some] for who, some in costs.items()},
            },
        ),
        _over_cores(bench, log, packets),
        _of_quic(bench),
    ]


def _of_quic(bench: Bench) -> Row:
    """A QUIC download opened with its secrets, beside tshark with the same key log: by CPU time."""
    file = bench.build_dir / "zeros.bin"
    if not file.exists():
        file.write_bytes(bytes(QUIC_MBIT * QUIC_SECONDS * 125_000))
    costs: dict[str, list[Cost]] = {"narrows": [], "tshark": []}
    with tempfile.TemporaryDirectory(dir=bench.build_dir) as folder:
        experiment = Path(folder) / "quic_log.py"
        words = {"agent": agent_binary.find()[0], "get": h3_get(), "file": file}
        experiment.write_text(QUIC.format(**words, rate=QUIC_MBIT, stop=QUIC_SECONDS))
        _do([sys.executable, "-m", "narrows.cli.main", "run", str(experiment), "--out", f"{folder}/out"])
        (log,) = Path(folder).glob("out/*/raw/*.pcapng")
        keys = log.parent / "keys.txt"
        said: dict[str, str] = {}
        ours = [
            str(binary.find()),
            "read",
            str(log),
            "--out",
            f"{folder}/read",
            "--again",
            "--keys",
            str(keys),
        ]
        frames = ["-Y", "quic.frame_type == 2", "-T", "fields", "-e", "quic.ack.largest_acknowledged"]
        theirs = ["tshark", "-n", "-r", str(log), "-o", f"tls.keylog_file:{keys}", *frames]
        for i in range(bench.repeats):
            for who, call in {"narrows": ours, "tshark": theirs}.items():
                bench.say(f"{who} opens a QUIC download, {i + 1} of {bench.repeats}")
                pinned = ["taskset", "-c", str(bench.cpu), *call]
                costs[who].append(cost_of(partial(_keep, said, who, pinned)))
        (row,) = pl.read_parquet(f"{folder}/read/udp/*.parquet").to_dicts()
    if not row["opened_packets"] or row["closed_packets"]:
        raise BenchError(f"{row['closed_packets']} packets of the QUIC download stayed closed")
    datagrams = row["datagrams"] + row["datagrams_back"]
    cpu = {who: Spread.of([datagrams / 1e6 / c.cpu_s for c in some]) for who, some in costs.items()}
    ratio = cpu["narrows"].median / cpu["tshark"].median
    return Row(
        "narrows paths / tshark, opened QUIC datagrams a second of CPU time",
        "≥ 1 ×",
        f"{ratio:.1f} ×",
        ratio >= 1,
        f"{datagrams} datagrams, {row['rtt_samples']} RTT samples; millions a second:"
        f" {cpu['narrows'].text()} and {cpu['tshark'].text()}",
        {who: [asdict(c) for c in some] for who, some in costs.items()},
    )


def _over_cores(bench: Bench, log: Path, packets: int) -> Row:
    """Packets a second with a job a core beside one job, and whether a packet costs the same CPU time."""
    cores = min(len(os.sched_getaffinity(0)), COPIES)
    costs: dict[int, list[Cost]] = {jobs: [] for jobs in sorted({1, cores})}
    with tempfile.TemporaryDirectory(dir=log.parent) as folder:
        copies = [Path(folder) / f"{n}.pcap" for n in range(COPIES)]
        for copy in copies:
            os.link(log, copy)
        words = [str(binary.find()), "read", *map(str, copies), "--out", f"{folder}/out", "--again"]
        for i in range(bench.repeats):
            for jobs, some in costs.items():
                bench.say(f"narrows reads {COPIES} logs with {jobs} jobs, {i + 1} of {bench.repeats}")
                some.append(cost_of(partial(_do, [*words, "--min-duration-ns", "0", "--jobs", str(jobs)])))
    wall = {jobs: Spread.of([c.wall_s for c in some]) for jobs, some in costs.items()}
    cpu = {
        jobs: Spread.of([c.cpu_s * 1e9 / (COPIES * packets) for c in some]) for jobs, some in costs.items()
    }
    ratio = wall[1].median / wall[cores].median
    return Row(
        f"narrows paths, {cores} jobs / one, packets a second",
        f"≥ {LINEAR * cores:.1f} ×",
        f"{ratio:.2f} ×",
        ratio >= LINEAR * cores if cores > 1 else None,
        f"{COPIES} copies of the log; ns of CPU time a packet: {cpu[cores].text(0)} and {cpu[1].text(0)}",
        {str(jobs): [asdict(c) for c in some] for jobs, some in costs.items()},
    )


def _ours_again(out: Path) -> int:
    from narrows.paths import tables

    return int(tables.load(out, "connections")["retransmitted_segments"].sum())


def _tcptrace_again(text: str) -> int:
    """Both directions of every connection: `rexmt data pkts: N  rexmt data pkts: M`."""
    lines = [line.split() for line in text.splitlines() if "rexmt data pkts:" in line]
    return sum(int(words[3]) + int(words[7]) for words in lines)
