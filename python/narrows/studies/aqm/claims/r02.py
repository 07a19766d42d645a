from narrows.judging.parts import Judge, Mark, Measure, Numbers, Share, Words, all_of, plain_of
from narrows.studies.aqm.claims.evidence import IN_LAN, TAIL, Paper, value

MAX_SPIKES_PER_MINUTE = 0
MAX_TAIL_MS = 5  # p99 - median of the test's RTT
SPIKES = Measure(
    "most spikes of the probe (20 ms)", "1/min", value("probe_spikes_per_minute"), take=plain_of("max")
)
"""A lost probe is not one."""
LOSS = Share("probes lost", read=value("probe_loss_ratio"))


def telling(found: Numbers) -> Numbers:
    """The largest of each kind: what the verdict turns on, without a row for every calm condition."""
    kinds = (all_of(found, one.name) for one in (TAIL, SPIKES, LOSS))
    return [each for kind in kinds for each in sorted(kind, key=lambda number: -number.value)[:3]]


def calm(*claim: *Words, under: str, bursts: tuple[str, ...]) -> Judge:
    """No excursion of the probe by 20 ms, and a small tail, under each condition and in each direction."""
    text = f"show no spike and a tail of at most {MAX_TAIL_MS} ms"
    made: Judge = Paper(
        *claim,
        by=("rate", "burst", "queue", "direction"),
        where={**IN_LAN, "burst": bursts, "cross": "no"},
        measures=(TAIL, SPIKES, LOSS),
        shows=telling,
        marks=(Mark(text, SPIKES.name, most=MAX_SPIKES_PER_MINUTE), Mark(text, TAIL.name, most=MAX_TAIL_MS)),
        under=under,
    )
    return made


judge = calm(
    "R2",
    "Without burst shaping and cross traffic, latency shows no spikes",
    "Figure 2",
    "r02_no_spikes_without_load.py",
    under="without burst shaping and cross traffic",
    bursts=("off",),
)
