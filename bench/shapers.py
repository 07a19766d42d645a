"""`make shapers`: adaptive shapers against each other on rates that move, judged by the truth.

    python bench/shapers.py [--rates square,lte] [--media wifi,lte] [--opportunities FILE] [--trace FILE]
                            [--mixes cubic,bbr,mixed] [--repeats 3] [--length 60] [--out results/shapers]

Contestants: no queue at home; CAKE fixed at 95 % of the mean and of the 5th percentile; CAKE
autorate-ingress; narrows shape; oracles that know the rate (clairvoyant) or hear of it one round trip later
(causal), 95 % of it; and cake-autorate, an unmodified copy whose folder NARROWS_CAKE_AUTORATE names (it needs
bash and fping), with minimum, base and maximum set to the rate's 5th, 50th and 95th percentile. Only the way
down is shaped. What is judged is the sojourn time in the ISP's queue, packet by packet, and the aim is 90 %
of the causal oracle's goodput at no more than its 95th percentile. Links are those of `shaper_links.py`;
without `--rates`, `--media`, `--opportunities` and `--trace` it is all rates.

Runs that are there already are not made again. Prints a table of medians over the repetitions with their
range and both oracles beside each row, and draws the Pareto picture `shapers.png` into the folder of results.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from shaper_links import MEDIA, RATES, RTT_MS, UP, IspLink, as_measured, is_by_demand, of_medium, of_rate
from shaper_scores import CONTESTANTS, MIXES, Score, pareto, scored, table

from narrows.errors import NarrowsError, UsageError
from narrows.spec import trace
from narrows.spec.moving_rate import MovingRate

ENV = "NARROWS_CAKE_AUTORATE"
QUEUE = "1.5 MB"
ADAPTIVE = ("autorate-ingress", "cake-autorate", "narrows")
"""Contestants that set CAKE's rate by what they see."""
UNCHANGED = 1e-5
"""Of a rate: what tc rounds it by."""
STILL = 0.5
"""Where the rate does not move, cake-autorate's least and most are so much of it below and above."""
ACTIVE_KBPS = 2000
"""Below this cake-autorate takes a way for idle, by its default; it ends at once where its least is lower."""
MEDIUM = "medium_"
"""Before the names of media, which rates have too."""

TEXT = '''"""Which shaper keeps the queue out of the ISP's link while its rate moves?"""

from narrows.spec import *

rate = {rate}
down = cake(ingress=True)
routers = {{
    "none": home_router(),
    "fixed-mean": home_router(ingress=down),
    "fixed-p5": home_router(ingress=cake(), ingress_rate="{p5_95} kbit/s"),
    "autorate-ingress": home_router(ingress=cake(ingress=True, autorate_ingress=True)),
    "cake-autorate": home_router(ingress=down),
    "narrows": home_router(ingress=down),
    "causal": home_router(ingress=down, ingress_rate=follow(rate, delay="{lag} ms")),
    "clairvoyant": home_router(ingress=down, ingress_rate=follow(rate)),
}}
names = {names}
link = Home(
    {options}, base_rtt="{rtt} ms", queue=bfifo(limit="{queue}"), server_addresses=9,
    router=axis("shaper", {{name: routers[name] for name in names}}),
)
{items}
span = dict(start="1 s", start_jitter="100 ms", duration="{load} s")
load = axis("mix", {{{loads}}})
{more}
call = udp_probe(interval="20 ms", payload="200 B", stop="{length} s")
tap(detail="packets")
sample(tcp_info=None, qdisc=None, link=None)
repeat({repeats})
'''
OURS = 'ours = axis("shaper", {name: shape(ways="down") if name == "narrows" else None for name in names})'
THEIRS = """theirs = axis("shaper", {{name: command(
    ["ip", "netns", "exec", "home", "bash", "{copy}/cake-autorate.sh"], node="home",
    background=True, ok_exits=(), depends=["{copy}", "{config}"],
    env={{"CAKE_AUTORATE_SCRIPT_PREFIX": "{copy}", "CAKE_AUTORATE_CONFIG_PREFIX": "{config}"}},
) if name == "cake-autorate" else None for name in names}})"""
LOADS = {
    "cubic": 'bulk(cca="cubic", flows=4, **span)',
    "bbr": 'bulk(cca="bbr", flows=4, **span)',
    "mixed": 'bulk(cca="cubic", flows=2, **span)',
}
OTHER = (
    'other = axis("mix", {{name: bulk(cca="bbr", flows=2, **span) if name == "mixed" else None'
    " for name in {mixes}}})"
)
SHORT = (
    'short{n} = axis("mix", {{name: bulk(bytes="100 KB", start="{at} s", start_jitter="100 ms")'
    ' if name == "mixed" else None for name in {mixes}}})'
)
CONFIG = """dl_if=ifb4eth1
ul_if=eth1
adjust_dl_shaper_rate=1
adjust_ul_shaper_rate=0
min_dl_shaper_rate_kbps={p5}
base_dl_shaper_rate_kbps={p50}
max_dl_shaper_rate_kbps={p95}
min_ul_shaper_rate_kbps=5000
base_ul_shaper_rate_kbps=19000
max_ul_shaper_rate_kbps=19000
connection_active_thr_kbps={active}
reflectors=({reflectors})
randomize_reflectors=0
log_file_path_override="/tmp"
"""


def percentiles_kbps(rate: MovingRate) -> dict[str, int]:
    """The rate's percentiles over time, in kbit/s; at least 500."""
    end_ns = rate.period_ns or rate.steps[-1][0] + 1
    ends = [at for at, _ in rate.steps[1:]] + [end_ns]
    spans = np.array([end - at for (at, _), end in zip(rate.steps, ends, strict=True)], dtype=float)
    values = np.array([bps for _, bps in rate.steps], dtype=float)
    order = np.argsort(values)
    share = np.cumsum(spans[order]) / spans.sum()
    found = {q: values[order][np.searchsorted(share, q / 100)] for q in (5, 50, 95)}
    return {f"p{q}": max(int(bps / 1000), 500) for q, bps in found.items()}


def bounds_kbps(rate: MovingRate) -> dict[str, int]:
    """The percentiles that cake-autorate is given; it needs some room even where the rate stays."""
    found = percentiles_kbps(rate)
    if found["p5"] < found["p95"]:
        return found
    return found | {"p5": int(found["p50"] * (1 - STILL)), "p95": int(found["p50"] * (1 + STILL))}


def experiment(name: str, isp: IspLink, args: argparse.Namespace, names: list[str]) -> Path:
    """The experiment file of one link, in the folder of results."""
    folder: Path = args.out / "experiments"
    folder.mkdir(parents=True, exist_ok=True)
    known = percentiles_kbps(isp.truth)
    copy, config = os.environ.get(ENV, ""), args.out / "configs" / name
    items = [OURS] if "narrows" in names else []
    if "cake-autorate" in names:
        config.mkdir(parents=True, exist_ok=True)
        reflectors = " ".join(f'"10.0.3.{n}"' for n in range(11, 19))
        bounds = bounds_kbps(isp.truth)
        (config / "config.primary.sh").write_text(
            CONFIG.format(**bounds, active=min(bounds["p5"], ACTIVE_KBPS), reflectors=reflectors)
        )
        items.append(THEIRS.format(copy=copy, config=config))
    mixes = tuple(args.mixes)
    more = []
    if "mixed" in mixes:
        at_s = range(3, args.length - 3, 2)
        more = [
            OTHER.format(mixes=mixes),
            *(SHORT.format(n=n, at=at, mixes=mixes) for n, at in enumerate(at_s)),
        ]
    values = {
        "p5_95": int(0.95 * known["p5"]),
        "loads": ", ".join(f'"{mix}": {LOADS[mix]}' for mix in mixes),
        "items": "\n".join(items),
        "more": "\n".join(more),
        "load": args.length - 1,
        "length": args.length,
        "repeats": args.repeats,
    }
    path = folder / f"shapers_{name}.py"
    head = {"rate": isp.rate, "options": isp.options, "lag": isp.lag_ms}
    path.write_text(TEXT.format(**head, rtt=RTT_MS, queue=QUEUE, names=names, **values))
    return path


def idle(directory: Path, base_kbps: int) -> str | None:
    """Why a run of an adaptive shaper says nothing of it; None: it acted, or is none. `base_kbps`: what
    cake-autorate sets before it has measured anything."""
    plan = json.loads((directory / "plan.json").read_text())
    shaper, home = plan["key"]["shaper"], plan["link"]["home"]
    if shaper not in ADAPTIVE:
        return None
    after = json.loads((directory / "manifest.json").read_text())["tc_after"]["home"][home["ifb"]]["qdisc"]
    set_to = next((each["options"].get("bandwidth") for each in after if each["kind"] == "cake"), None)
    if not isinstance(set_to, int):
        return f"CAKE has no rate at its end: {set_to}"
    was = [home["down"]["rate_bps"], *([1000 * base_kbps] if shaper == "cake-autorate" else [])]
    if any(abs(8 * set_to - each) <= max(8, UNCHANGED * each) for each in was):
        return f"CAKE's rate is at its end {8 * set_to / 1e6:g} Mbit/s, as before any load: it did not act"
    return None


def chosen(text: str, known: tuple[str, ...], what: str) -> list[str]:
    """Names of a list with commas."""
    names = text.split(",")
    for name in names:
        if name not in known:
            raise UsageError(f"{what} {name!r} is not known", remedy=f"of {', '.join(known)}")
    return names


def asked_links(args: argparse.Namespace) -> dict[str, IspLink]:
    """The links by name; all rates where none is asked for."""
    folder = args.out / "experiments"
    asked = args.rates or args.media or args.opportunities or args.trace
    rates = chosen(args.rates or ",".join(RATES), tuple(RATES), "rate") if args.rates or not asked else []
    media = chosen(args.media, tuple(MEDIA), "medium") if args.media else []
    links = {name: of_rate(*RATES[name]) for name in rates}
    for file in args.trace:
        absolute = str(file.resolve())
        links[file.stem.replace("-", "_")] = of_rate(f"trace({absolute!r})", trace(absolute))
    options = {MEDIUM + name: f"medium={MEDIA[name]}" for name in media}
    for file in args.opportunities:
        name = MEDIUM + file.stem.replace("-", "_")
        options[name] = f"medium=opportunities({str(file.resolve())!r}), {UP}"
    return links | {name: of_medium(name, text, folder, args.length) for name, text in options.items()}


def run(path: Path, out: Path) -> bool:
    """Whether all runs of an experiment are there afterwards."""
    command = [str(Path(sys.executable).with_name("narrows")), "run", str(path), "--out", str(out)]
    return not subprocess.run(command, check=False).returncode


def runs(out: Path, name: str, shaper: str | None = None) -> Iterator[Path]:
    """The directories of the runs of an experiment, of one contestant if it is named."""
    for file in sorted(out.glob("*/plan.json")):
        plan = json.loads(file.read_text())
        if plan["experiment"] == f"shapers_{name}" and shaper in (None, plan["key"]["shaper"]):
            yield file.parent


def main() -> int:
    """The whole program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rates", default="")
    parser.add_argument("--media", default="", help=f"of {', '.join(MEDIA)}")
    parser.add_argument("--mixes", default=",".join(MIXES))
    parser.add_argument("--contestants", default=",".join(CONTESTANTS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--length", type=int, default=60, help="virtual seconds")
    for option, what in (("--opportunities", "these opportunities"), ("--trace", "this trace of the rate")):
        parser.add_argument(option, type=Path, action="append", default=[], help=f"also {what} down")
    parser.add_argument("--out", type=Path, default=Path("results/shapers"))
    args = parser.parse_args()
    args.out = args.out.resolve()
    args.mixes = chosen(args.mixes, MIXES, "mix")
    names = chosen(args.contestants, CONTESTANTS, "contestant")
    console = Console()
    copy = os.environ.get(ENV)
    if "cake-autorate" in names and not copy:
        console.print(f"cake-autorate is left out: {ENV} names no copy of it")
        names.remove("cake-autorate")
    elif copy and not (Path(copy) / "cake-autorate.sh").is_file():
        raise UsageError(f"{ENV}={copy} holds no cake-autorate.sh", remedy="the folder of a checkout of it")
    for what, place in (("--out", args.out), (ENV, Path(copy or "/").resolve())):
        if "cake-autorate" in names and Path("/tmp") in place.parents:
            raise UsageError(
                f"{what} {place} lies below /tmp, which a guest has of its own", remedy="another place"
            )
    scores: list[Score] = []
    failed = False
    links = asked_links(args)
    for name, isp in links.items():
        folder = args.out / "experiments"
        if name.startswith(MEDIUM) and is_by_demand(folder, name):
            failed |= not run(experiment(name, isp, args, ["none"]), args.out)
            seen = [scored(each, isp.truth).goodput_bps for each in runs(args.out, name, "none")]
            if not seen:
                console.print(f"{name}: no run says what it carries")
                continue
            isp = links[name] = as_measured(name, isp.options, folder, median(seen))
        # Of a rate that stays both oracles know the same.
        apart = [each for each in names if each != "clairvoyant" or len(isp.truth.steps) > 1]
        if not run(experiment(name, isp, args, apart), args.out):
            console.print(f"{name}: some runs failed; the table is of the others")
            failed = True
        for directory in runs(args.out, name):
            if (why := idle(directory, percentiles_kbps(isp.truth)["p50"])) is not None:
                console.print(f"{name}: run {directory.name} is not judged: {why}")
                failed = True
                continue
            score = scored(directory, isp.truth)
            if score.shaper in names and score.mix in args.mixes:
                scores.append(Score(**(asdict(score) | {"rate": name})))
    if not scores:
        console.print("no run to judge")
        return 1
    order = {name: n for n, name in enumerate(CONTESTANTS)}
    scores.sort(key=lambda score: (list(links).index(score.rate), score.mix, order[score.shaper], score.seed))
    Console(width=280).print(table(scores))
    pareto(scores, args.out / "shapers.png")
    (args.out / "shapers.json").write_text(json.dumps([asdict(score) for score in scores], indent=1))
    console.print(f"{args.out}/shapers.png, shapers.json")
    return int(failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NarrowsError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
