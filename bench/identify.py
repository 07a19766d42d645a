"""How often `narrows identify` is right: a sampled grid of known queues, and the confusion matrix.

    python bench/identify.py --size 100 --out results/identify [--conditions clean,cross] [--judge-only]
    python bench/identify.py --size clean=200,medium=50,uplink=25,home=50 --seed 7

Disciplines take turns; rate (3 to 900 Mbit/s), base RTT (5 to 300 ms) and the buffer of FIFOs (0.25 to 8
BDP; of the condition `tiny` 3 to 10 packets) are drawn evenly in their logarithms, and with the condition
`bucket` that of the shaper (2 to 200 ms of the rate). `medium` and `uplink` have Wi-Fi, LTE, NR, a satellite
or DOCSIS in the place of the rate, `home` a router that shapes below its ISP's rate, both with a queue of
their own, and `other` queues beyond the ten. Every second round of the disciplines is the half that
thresholds may be set on; the other half is what is judged. AQMs and queues of flows have Linux' own limits,
as they are deployed.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from narrows.runs.plans import read_plan
from narrows.store.command_run import read_text
from narrows.tools.identify import features, records, verdict

QUEUES = {
    verdict.FIFO: "bfifo(limit='{buffer} B')",
    verdict.HEAD_DROP: "pfifo_head_drop(limit={packets})",
    verdict.PFIFO_FAST: "pfifo_fast()",
    verdict.CODEL: "codel()",
    verdict.FQ_CODEL: "fq_codel()",
    verdict.SFQ: "sfq()",
    verdict.PIE: "pie()",
    verdict.FQ_PIE: "fq_pie()",
    verdict.CAKE: "cake()",
    verdict.DUALPI2: "dualpi2()",
}
PER_FLOW = {verdict.FQ_CODEL, verdict.SFQ, verdict.FQ_PIE, verdict.CAKE}
WITH_AQM = {
    verdict.CODEL,
    verdict.FQ_CODEL,
    verdict.PIE,
    verdict.FQ_PIE,
    verdict.CAKE,
    verdict.DUALPI2,
    verdict.RED,
    verdict.CHOKE,
    verdict.SFB,
}
CONDITIONS = (
    *("clean", "tiny", "bucket", "cross", "jitter", "cleared", "two"),
    *("medium", "uplink", "home", "other"),
)
RATES_MBIT, RTTS_MS, BUFFERS_BDP = (3.0, 900.0), (5.0, 300.0), (0.25, 8.0)
TINY_PACKETS, BUCKET_S = (3.0, 10.0), (0.002, 0.2)
TINY = {
    "FIFO in packets": (verdict.FIFO, "pfifo(limit={packets})"),
    "FIFO in bytes": (verdict.FIFO, "bfifo(limit='{buffer} B')"),
    "head drop": (verdict.HEAD_DROP, "pfifo_head_drop(limit={packets})"),
}
"""Short buffers that take turns; of other disciplines a short buffer is another queue than Linux'."""
MEDIA = {
    "medium": {
        "wifi(rate='{rate} Mbit/s', stations={n}, failure='{fails} %')": (20.0, 300.0),
        "lte(rate='{rate} Mbit/s', bler='{fails} %')": (5.0, 75.0),
        "nr(rate='{rate} Mbit/s', bler='{fails} %')": (20.0, 300.0),
        "satellite(rate='{rate} Mbit/s')": (20.0, 200.0),
    },
    "uplink": {
        "docsis(rate='{rate} Mbit/s')": (5.0, 50.0),
        "lte(rate='{rate} Mbit/s', bler='{fails} %')": (5.0, 50.0),
        "wifi(rate='{rate} Mbit/s', stations={n}, failure='{fails} %')": (20.0, 300.0),
    },
}
"""Media and their rates in Mbit/s. Of stations that contend there are up to three, of failures up to 15 %."""
HOME_RATES_MBIT, HOME_RTTS_MS, SHARES, FULL_SHARES = (8.0, 300.0), (10.0, 100.0), (0.7, 0.95), (0.9, 0.97)
AT_HOME = {
    verdict.CAKE: "cake(ingress=True)",
    verdict.FQ_CODEL: "fq_codel()",
    verdict.CODEL: "codel()",
    verdict.SFQ: "sfq()",
    verdict.FIFO: "bfifo(limit='{buffer} B')",
}
AT_THE_ISP = (verdict.FQ_CODEL, verdict.CODEL, verdict.PIE, verdict.CAKE, verdict.FIFO)
OTHER = {
    verdict.RED: "red(limit='{large} B', min='{small} B', max='{middle} B', burst={burst}, "
    "probability='{p} %')",
    verdict.CHOKE: "choke(limit={packets})",
    verdict.SFB: "sfb()",
    "HHF": "hhf()",
}
"""Queues beyond the ten. RED's bounds are 0.2 to 1 BDP and three times that, its limit thrice that again."""
FRAME, PACKET = 1264, 1250
Z = 1.96


@dataclass(frozen=True)
class Case:
    """One queue to be identified."""

    name: str
    discipline: str
    condition: str
    half: str
    """"set": thresholds may be set on it; "judged"."""
    rate_mbit: float
    rtt_ms: float
    buffer_bdp: float
    queue: str = ""
    """In the words of an experiment, if it is not the discipline's own."""
    packets: int = 0
    """What a tiny FIFO holds."""
    bucket_s: float = 0.0
    medium: str = ""
    """In the words of an experiment."""
    isp: str = ""
    """The discipline of a second queue, before this one."""
    share: float = 1.0
    """This queue's rate of that one's."""

    @property
    def way(self) -> str:
        """The one that is probed."""
        return "up" if self.condition == "uplink" else "down"

    def is_right(self, said: str) -> bool:
        """Whether the queue is among those that are named, or that there are two is said of two."""
        if said.startswith(verdict.TWO):
            return bool(self.isp) or (self.discipline == verdict.SFB and said.endswith(verdict.SFB))
        return self.discipline in verdict.names(said)

    def held_bytes(self) -> float:
        """What a FIFO holds: frames, as the kernel counts them."""
        if self.packets:
            return self.packets * FRAME
        bdp = self.rate_mbit * 1e6 * self.rtt_ms / 1e3 / 8
        return max(self.buffer_bdp * bdp, 3 * FRAME)

    def link(self) -> str:
        """The link, in the words of an experiment."""
        held = self.held_bytes()
        queue = (self.queue or QUEUES[self.discipline]).format(
            buffer=round(held), packets=max(round(held / FRAME), 3)
        )
        words = f"rate='{self.rate_mbit:.3f} Mbit/s', base_rtt='{self.rtt_ms:.3f} ms', queue={queue}"
        if self.condition == "home" and not self.isp:
            return f"Home({words})"
        if self.isp:
            first = QUEUES[self.isp].format(buffer=round(held), packets=round(held / FRAME))
            rate = f"rate='{self.rate_mbit / self.share:.3f} Mbit/s', base_rtt='{self.rtt_ms:.3f} ms'"
            router = f"home_router(share='{self.share:.1%}', ingress={queue}, egress={queue})"
            return f"Home({rate}, queue={first}, router={router})"
        if self.medium:
            side = "_up" if self.condition == "uplink" else ""
            rate = "rate='1 Gbit/s', " if side else ""
            rate += f"medium{side}={self.medium}, base_rtt='{self.rtt_ms:.3f} ms'"
            return f"Link({rate}, queue{side}={queue})"
        if self.condition == "jitter":
            words += f", jitter='{min(2.0, self.rtt_ms / 8):.3f} ms', line_rate='2 Gbit/s'"
        if self.bucket_s:
            burst = max(round(self.bucket_s * self.rate_mbit * 1e6 / 8), 2 * FRAME)
            words += f", shaper=htb(burst='{burst} B', cburst='{burst} B')"
        if self.condition == "two":
            second = f"ingress=bfifo(limit='{round(held)} B'), ingress_shaper=htb()"
            words += f", router=home_router({second}, ingress_rate='{1.25 * self.rate_mbit:.3f} Mbit/s')"
            return f"Home({words})"
        return f"Link({words})"


def _over_a_medium(case: Case, n: int, draw: random.Random) -> Case:
    media = MEDIA[case.condition]
    words, bounds = list(media.items())[n % len(media)]
    rate = math.exp(draw.uniform(*map(math.log, bounds)))
    fails = draw.choice([0, 2, 5, 10, 15])
    medium = words.format(rate=f"{rate:.3f}", n=draw.choice([0, 0, 1, 3]), fails=fails)
    rtt = math.exp(draw.uniform(*map(math.log, HOME_RTTS_MS)))
    # A whole turn of the media meets each discipline.
    discipline = list(QUEUES)[(n + n // len(QUEUES)) % len(QUEUES)]
    return replace(case, discipline=discipline, medium=medium, rate_mbit=rate, rtt_ms=rtt)


def _at_home(case: Case, n: int, draw: random.Random) -> Case:
    rate, rtt = (math.exp(draw.uniform(*map(math.log, bounds))) for bounds in (HOME_RATES_MBIT, HOME_RTTS_MS))
    buffer = min(case.buffer_bdp, 4.0)
    case = replace(case, rate_mbit=rate, rtt_ms=rtt, buffer_bdp=buffer)
    if n % 5 == 4:  # nothing at home
        return replace(case, discipline=list(QUEUES)[n // 5 % len(QUEUES)])
    if n % 2:  # the ISP's queue is the one that is managed
        isp = AT_THE_ISP[n // 2 % len(AT_THE_ISP)]
        return replace(case, discipline=verdict.FIFO, isp=isp, share=draw.uniform(*FULL_SHARES))
    discipline = list(AT_HOME)[n // 2 % len(AT_HOME)]
    share = draw.uniform(*SHARES)
    return replace(case, discipline=discipline, queue=AT_HOME[discipline], isp=verdict.FIFO, share=share)


def _beyond(case: Case, n: int, draw: random.Random) -> Case:
    # RED twice for each of the rest.
    name = verdict.RED if n % 2 == 0 else list(OTHER)[1 + n // 2 % 3]
    least = draw.uniform(0.2, 1.0) * case.rate_mbit * 1e6 * case.rtt_ms / 8e3
    least = min(max(least, 10 * FRAME), 500e3)  # the kernel's filter takes no longer bursts
    queue = OTHER[name].format(
        small=round(least),
        middle=round(3 * least),
        large=round(9 * least),
        burst=round(5 * least / 3000),
        p=draw.choice([2, 5, 10]),
        packets=max(round(9 * least / FRAME), 30),
    )
    return replace(case, discipline=name, queue=queue)


def sampled(sizes: dict[str, int], seed: int) -> list[Case]:
    """So many cases of each condition; the same for the same seed, and the first ones of any longer list."""
    cases = []
    for condition, size in sizes.items():
        draw = random.Random(f"{seed} {condition}")
        for n in range(size):
            discipline = list(QUEUES)[n % len(QUEUES)]
            rate, rtt, buffer = (
                math.exp(draw.uniform(math.log(low), math.log(high)))
                for low, high in (RATES_MBIT, RTTS_MS, BUFFERS_BDP)
            )
            half = "set" if n // len(QUEUES) % 2 == 0 else "judged"
            case = Case(f"c{n:04}", discipline, condition, half, rate, rtt, buffer)
            if condition == "tiny":
                discipline, queue = list(TINY.values())[n % len(TINY)]
                packets = round(math.exp(draw.uniform(*map(math.log, TINY_PACKETS))))
                case = replace(case, discipline=discipline, queue=queue, packets=packets)
            elif condition == "bucket":
                case = replace(case, bucket_s=math.exp(draw.uniform(*map(math.log, BUCKET_S))))
            elif condition in MEDIA:
                case = _over_a_medium(case, n, draw)
            elif condition == "home":
                case = _at_home(case, n, draw)
            elif condition == "other":
                case = _beyond(case, n, draw)
            cases.append(case)
    return cases


def experiment(cases: list[Case], mode: str, options: str) -> str:
    """The text of one condition's experiment file."""
    links = "".join(f'    "{case.name}": {case.link()},\n' for case in cases)
    lines = [
        '"""Is the queue identified?"""',
        "from narrows.spec import *",
        f'link = axis("case", {{\n{links}}})',
        'tap("off")',
        f'test = identify(ways="{cases[0].way}", mode="{mode}"{options})',
    ]
    if cases[0].condition == "cross":
        lines.append('other = bulk(cca="cubic", stop=with_(test))')
    return "\n".join(lines) + "\n"


def carry_out(cases: list[Case], out: Path, mode: str, jobs: int) -> None:
    """Make the runs that are missing, one condition after the other."""
    for condition in dict.fromkeys(case.condition for case in cases):
        some = [case for case in cases if case.condition == condition]
        folder = out / condition
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{condition}.py"
        file.write_text(experiment(some, mode, ", cleared=True" if condition == "cleared" else ""))
        words = [sys.executable, "-m", "narrows.cli.main", "run", str(file), "--out", str(folder / "runs")]
        subprocess.run([*words, "--jobs", str(jobs)], check=False)


def judged(cases: list[Case], out: Path) -> list[dict[str, Any]]:
    """What is said of each case whose run is there."""
    rows: list[dict[str, Any]] = []
    for condition in dict.fromkeys(case.condition for case in cases):
        by_name = {case.name: case for case in cases if case.condition == condition}
        for path in sorted((out / condition / "runs").glob("*/plan.json")):
            run = path.parent
            case = by_name.get(read_plan(run).key["case"])
            if case is None or not (run / "manifest.json").exists():
                continue
            try:
                found = features.of(records.read(read_text(run / "raw", "test.stdout")), case.way)
                said = verdict.judge(found)
            except Exception as error:  # a run that failed has no output, and is counted as such
                rows.append({"case": asdict(case), "run": run.name, "failed": str(error)[:200]})
                continue
            rows.append(
                {
                    "case": asdict(case),
                    "run": run.name,
                    "said": said.discipline.value,
                    "sure": said.discipline.sure,
                    "why": said.discipline.why,
                    "per_flow": said.per_flow.value,
                    "aqm": said.aqm.value,
                    "features": asdict(found),
                    "is_outrun": found.is_outrun,
                }
            )
    return rows


def interval(right: int, of: int) -> str:
    """A share with its 95 % interval (Wilson)."""
    if not of:
        return "no cases"
    share = right / of
    middle = (share + Z**2 / (2 * of)) / (1 + Z**2 / of)
    half = Z * math.sqrt(share * (1 - share) / of + Z**2 / (4 * of**2)) / (1 + Z**2 / of)
    low, high = max(middle - half, 0.0), min(middle + half, 1.0)
    return f"{share:.1%} ({low:.1%} to {high:.1%}, n {of})"


def macro_f1(rows: list[dict[str, Any]]) -> float | None:
    """The mean over disciplines of F1; "cannot tell" is a miss."""
    scores = []
    for name in QUEUES:
        mine = [row for row in rows if row["case"]["discipline"] == name]
        if not mine:
            continue
        hit = sum(is_right(row) for row in mine)
        wrong = [row["said"] for row in rows if row["said"] is not None and not is_right(row)]
        said = hit + sum(name in verdict.names(each) for each in wrong)
        scores.append(2 * hit / (len(mine) + said) if len(mine) + said else 0.0)
    return sum(scores) / len(scores) if scores else None


def errors(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Relative errors of rate and of FIFOs' buffers: median and largest."""
    rates, buffers = [], []
    for row in rows:
        case, found = Case(**row["case"]), row["features"]
        if case.medium or case.isp:  # its rate is a schedule's, its buffer one of two
            continue
        truth = case.rate_mbit * 1e6 * PACKET / FRAME
        if found["rate_bps"] and not row["is_outrun"]:
            rates.append(abs(found["rate_bps"] / truth - 1))
        if found["buffer_s"] and case.discipline in (verdict.FIFO, verdict.HEAD_DROP):
            buffers.append(abs(found["buffer_s"] * case.rate_mbit * 1e6 / 8 / case.held_bytes() - 1))
    return {name: _spread(values) for name, values in (("rate, error", rates), ("buffer, error", buffers))}


def _spread(values: list[float]) -> str:
    if not values:
        return "no cases"
    values = sorted(values)
    return f"median {values[len(values) // 2]:.2%}, largest {values[-1]:.1%} (n {len(values)})"


def is_right(row: dict[str, Any]) -> bool:
    """Whether an answer that was told names the queue."""
    return row["said"] is not None and Case(**row["case"]).is_right(row["said"])


def summary(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The aims, each with its interval. Of two queues in a row neither's flows nor AQM are the answer."""
    told = [row for row in rows if row["said"] is not None]
    right = [row for row in told if is_right(row)]
    alone = [row for row in right if verdict.OR not in row["said"] or row["said"].startswith(verdict.TWO)]
    single = [row for row in rows if not row["case"]["isp"]]
    flows = [row for row in single if row["per_flow"] is not None]
    aqm = [row for row in single if row["aqm"] is not None]
    right_flows = sum((row["per_flow"] == "yes") == (row["case"]["discipline"] in PER_FLOW) for row in flows)
    right_aqm = sum((row["aqm"] == "yes") == (row["case"]["discipline"] in WITH_AQM) for row in aqm)
    f1 = macro_f1(rows)
    return {
        "per-flow scheduling, right of told": interval(right_flows, len(flows)),
        "per-flow scheduling, right of all": interval(right_flows, len(single)),
        "AQM, right of told": interval(right_aqm, len(aqm)),
        "AQM, right of all": interval(right_aqm, len(single)),
        "discipline, right of all": interval(len(right), len(rows)),
        "discipline, right and alone": interval(len(alone), len(rows)),
        "discipline, macro-F1": "no cases" if f1 is None else f"{f1:.3f}",
        "sure but wrong": interval(len(told) - len(right), len(rows)),
        "cannot tell": interval(len(rows) - len(told), len(rows)),
    }


def show(console: Console, rows: list[dict[str, Any]], title: str) -> None:
    """The confusion matrix, what is wrong or not told, and the aims."""
    counts = Counter((row["case"]["discipline"], row["said"]) for row in rows)
    said = sorted({row["said"] for row in rows}, key=lambda name: (name is None, str(name)))
    table = Table(title=title, title_justify="left")
    table.add_column("truth")
    for name in said:
        table.add_column(name or "cannot tell", justify="right")
    for truth in [*QUEUES, *OTHER]:
        if any(counts[truth, name] for name in said):
            table.add_row(truth, *(str(counts[truth, name] or "·") for name in said))
    console.print(table)
    for row in rows:
        if not is_right(row):
            case = Case(**row["case"])
            console.print(f"  {case.condition} {case.name} {case.link()}: {row['said']}: {row['why']}")
    for name, text in (summary(rows) | errors(rows)).items():
        console.print(f"  {name}: {text}")


def main() -> int:
    """Print the matrix; exit status 1 if nothing could be judged."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="40", help="cases of each condition, or clean=200,home=50")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conditions", default="clean", help=f"comma between; of {', '.join(CONDITIONS)}")
    parser.add_argument("--mode", choices=("whole", "quick"), default="whole")
    parser.add_argument("--jobs", type=int, default=1, help="guests at once")
    parser.add_argument("--out", type=Path, default=Path("results/identify"))
    parser.add_argument("--judge-only", action="store_true", help="make no runs")
    args = parser.parse_args()
    if "=" in args.size:
        sizes = {name: int(size) for name, _, size in (part.partition("=") for part in args.size.split(","))}
    else:
        sizes = dict.fromkeys(args.conditions.split(","), int(args.size))
    for name in sizes:
        if name not in CONDITIONS:
            parser.error(f"'{name}' is none of the conditions {', '.join(CONDITIONS)}")
    cases = sampled(sizes, args.seed)
    if not args.judge_only:
        carry_out(cases, args.out, args.mode, args.jobs)
    rows = judged(cases, args.out)
    failed = [row for row in rows if "failed" in row]
    rows = [row for row in rows if "failed" not in row]
    (args.out / "rows.json").write_text(json.dumps([*rows, *failed], indent=1))
    console = Console(soft_wrap=True, highlight=False, width=200)
    for condition in sizes:
        for half in ("set", "judged"):
            some = [r for r in rows if r["case"]["condition"] == condition and r["case"]["half"] == half]
            if some:
                show(console, some, f"{condition}, half: {half}, {args.mode} mode")
    if len(sizes) > 1:
        show(console, rows, f"all conditions, both halves, {args.mode} mode")
    for row in failed:
        console.print(f"failed: {row['run']} {row['case']['name']}: {row['failed']}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
