"""Writes a fitted path and its traffic as the text of an experiment: one that a person reads, or one of many
cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from narrows.tools.quic.stack import find
from narrows.units import Duration
from narrows.whatif.capacity import Value
from narrows.whatif.fit import FittedPath, Kind, Transfer

WAS, CHANGED = "was", "changed"
UNSEEN_RATE_BPS = 1e9
DEEP_S = 0.2
DEEPER = 3.0
"""A queue that was never full holds up to so much more than it was seen to hold."""


@dataclass(frozen=True)
class Change:
    """The one thing that is changed; None and empty stay as they were. Texts as in an experiment."""

    cca: str | None = None
    queue: str | None = None
    buffer: str | None = None
    """A time at the rate, a size, or a share of what it was."""
    rate: str | None = None
    """A rate, or a share of what it was."""
    base_rtt: str | None = None
    ecn: bool = False
    sysctls: tuple[tuple[str, str], ...] = ()
    host_qdisc: str | None = None
    kernel: str | None = None
    stack: str | None = None
    """A QUIC stack in the place of TCP."""

    def words(self) -> str:
        """What is changed, as it was asked for: `cca bbr, host-qdisc fq`."""
        said = [
            f"{name.replace('_', '-')} {value}"
            for name, value in vars(self).items()
            if isinstance(value, str)
        ]
        said += ["ecn"] if self.ecn else []
        return ", ".join(said + [f"{name}={value}" for name, value in self.sysctls])

    def changes(self, case: Case) -> bool:
        """False where the case has it already: BBR of what was BBR."""
        same = replace(self, cca=None if self.cca == case.cca else self.cca)
        is_it = same.queue is not None and called(same.queue) == case.kind.queue
        return bool(replace(same, queue=None if is_it else same.queue).words())


@dataclass(frozen=True)
class Case:
    """One run: which queue and CCA it has, and where in the intervals its numbers lie (0 to 1)."""

    label: str
    kind: Kind
    cca: str
    rate: float = 0.5
    base_rtt: float = 0.5
    buffer: float = 0.5
    loss: float = 0.5
    change: Change | None = None
    """None: as it was."""

    @property
    def cca_now(self) -> str:
        """The CCA of its flows, changed or not; of a stack that has not what there was, its own."""
        if self.change and self.change.stack and not self.change.cca:
            known = find(self.change.stack, Path(), "--stack").ccas
            return self.cca if self.cca in known or not known else known[0]
        return (self.change and self.change.cca) or self.cca


def _at(value: Value | None, part: float) -> float | None:
    return None if value is None else value.at(part)


def _share(text: str) -> float | None:
    return float(text.strip()[:-1]) / 100 if text.strip().endswith("%") else None


def link(path: FittedPath, case: Case) -> str:
    """`Link(…)` of one case."""
    change = case.change or Change()
    share = _share(change.rate) if change.rate else None
    bps = (_at(path.rate_bps, case.rate) or UNSEEN_RATE_BPS) * (share or 1.0)
    rate = f'"{bps / 1e6:.4f} Mbit/s"'
    if change.rate and share is None:
        rate = repr(change.rate)
    elif path.turns and not case.kind.others:
        called_by = "opportunities" if path.turns.together else "trace"
        rate = f'{called_by}("{turns_file(share)}")'
    was_bytes = _at(path.buffer_bytes, case.buffer) or DEEP_S * bps / 8
    if case.kind.deep:
        was_bytes *= 1 + DEEPER * case.buffer
    queue, policer = _queue(case, change, was_bytes, bps), ""
    if path.policer is not None and not queue:
        policer = f', shaper=policer(burst="{path.policer.burst_bytes.at(case.buffer):.0f} B")'
    base = change.base_rtt or f"{path.base_rtt_s.at(case.base_rtt) * 1e3:.3f} ms"
    medium = rate.startswith("opportunities")
    words = f'{"medium" if medium else "rate"}={rate}, rate_up="1 Gbit/s", base_rtt="{base}"{policer}'
    words += f", queue={queue}, queue_up=pfifo()" if queue else ""
    words += ", shaper_up=htb()" if policer else ""
    if path.random_loss is not None and case.kind.lossy:
        words += f', loss="{100 * path.random_loss.at(case.loss):.4f} %", loss_up="0 %"'
    sysctls = {"server": dict(change.sysctls)} if change.sysctls else {}
    if case.kind.others:
        words += ", services=2"
    if path.receiver_window:
        sysctls["client"] = {"net.ipv4.tcp_rmem": f"4096 131072 {2 * path.receiver_window}"}
    words += f", sysctls={sysctls!r}" if sysctls else ""
    if change.host_qdisc:
        words += f", host_queue={called(change.host_qdisc)}"
    return f"Link({words})"


def _queue(case: Case, change: Change, was_bytes: float, bps: float) -> str:
    if change.queue:
        return called(change.queue)
    if change.buffer is not None:
        share = _share(change.buffer)
        if share is not None:
            return f'bfifo(limit="{max(was_bytes * share, 3100):.0f} B")'
        text = change.buffer.replace(" ", "")
        if text.endswith("B"):
            return f'bfifo(limit="{change.buffer}")'
        return f'bfifo(limit="{max(Duration.parse(change.buffer).ns * bps / 8e9, 3100):.0f} B")'
    if case.kind.queue == "policer":
        return ""
    if case.kind.queue == "bfifo":
        return f'bfifo(limit="{max(was_bytes, 3100):.0f} B")'
    return case.kind.queue


def called(word: str) -> str:
    """`cake` and `cake()` are the same."""
    return word if word.endswith(")") else f"{word}()"


def turns_file(share: float | None) -> str:
    """What the file of the link's turns, or of its rate over time, is called."""
    return "turns.csv" if share is None else f"turns-{share:g}.csv"


def write_turns(path: FittedPath, folder: Path, change: Change | None) -> None:
    """What the link carries when, beside the experiment."""
    if path.turns is not None:
        for share in {None, _share(change.rate) if change and change.rate else None}:
            (folder / turns_file(share)).write_text(path.turns.scaled(share or 1.0))


def cases(path: FittedPath, several: Sequence[Case]) -> str:
    """An experiment with one run for each case; the n-th case has the n-th seed of its arm."""

    def by(of: dict[str, str]) -> str:
        if len(set(of.values())) == 1:
            return next(iter(of.values()))
        return 'axis("case", {' + ", ".join(f'"{label}": {value}' for label, value in of.items()) + "})"

    lines = [
        f'"""What if, on the path that {Path(path.log).name} shows?"""',
        "from narrows.spec import *",
        'link = axis("case", {',
        *(f'    "{case.label}": {link(path, case)},' for case in several),
        "})",
        *(
            f"flow_{n} = " + by({case.label: _flow(piece, case) for case in several})
            for n, piece in enumerate(path.transfers)
        ),
    ]
    if path.others is not None and any(case.kind.others for case in several):
        beside = by({case.label: _beside(path, case) for case in several})
        lines.append(f"others = {beside}")
    kernels = {case.label: repr(case.change.kernel if case.change else None) for case in several}
    if set(kernels.values()) != {"None"}:
        lines.append(f"machine(kernel={by(kernels)})")
    seeds = [seed_of(case.label) for case in several]
    lines.append(f"repeat({max(seeds) - min(seeds) + 1}, first={min(seeds)})")
    return "\n".join([*lines, *_recorded()]) + "\n"


def seed_of(label: str) -> int:
    """The seed that a case is run with; both arms of a draw have the same."""
    return int(label.rpartition("-")[2])


def _flow(piece: Transfer, case: Case) -> str:
    change = case.change or Change()
    kind = f'quic(stack="{change.stack}", ' if change.stack else "bulk("
    more = ", ecn=True" if change.ecn else ""
    more += ", qlog=True" if change.stack and find(change.stack, Path(), "--stack").qlog else ""
    return f'{kind}cca="{case.cca_now}", bytes="{piece.bytes} B", start="{piece.start_s:.3f} s"{more})'


def _beside(path: FittedPath, case: Case) -> str:
    """The other flows of a case, at hosts of their own."""
    others = path.others
    if others is None or case.kind.others is None:
        return "None"
    until = f'duration="{others.until_s:.2f} s"'
    if others.until_s > 0.95 * path.length_s:  # until the end: of what ends last, as far as is known
        last = max(range(len(path.transfers)), key=lambda n: (path.transfers[n].start_s, n))
        until = f"stop=with_(flow_{last})"
    return f'bulk(cca="{case.kind.others}", flows={case.kind.flows}, {until}, host=2)'


def _recorded() -> list[str]:
    return ['sender = capture("server", snap="96 B")', 'tap("off")']


def readable(path: FittedPath, case: Case) -> str:
    """The path as an experiment that a person can read and edit; each value with its interval and what shows
    it."""
    kinds = ", ".join(kind.words() for kind in path.kinds())
    lines = [
        f'"""How does the path of {Path(path.log).name} carry other traffic?',
        "",
        f"Fitted from the packets that {path.sender} sent to {path.receiver} in {path.length_s:.1f} s.",
        *known(path),
        f"queue: {kinds} could be; narrows whatif runs each and keeps those that fit",
        *path.notes,
        '"""',
        "",
        "from narrows.spec import *",
        "",
        f"link = {link(path, case)}",
        *(f"flow_{n} = {_flow(piece, case)}" for n, piece in enumerate(path.transfers)),
        *([f"others = {_beside(path, case)}"] if case.kind.others else []),
        *_recorded(),
        "repeat(1)",
    ]
    return "\n".join(lines) + "\n"


def known(path: FittedPath) -> list[str]:
    """Each value of a path with its interval and what shows it, or that it is not known."""
    values = [
        ("base RTT", path.base_rtt_s, 1e3, "ms"),
        ("rate", path.rate_bps, 1e-6, "Mbit/s"),
        ("buffer", path.buffer_bytes, 1e-3, "KB"),
        *([("policer, bucket", path.policer.burst_bytes, 1e-3, "KB")] if path.policer else []),
        ("random loss", path.random_loss, 100.0, "%"),
    ]
    others = "none show"
    if path.others is not None:
        others = f"about as many as {path.others.flows} long ones, until {path.others.until_s:.0f} s"
    more = [f"other flows in the queue: {others}"]
    if path.turns is not None:
        more.append("packets leave at turns, as below IP" if path.turns.together else "the rate moves")
    return [*(_said(*value) for value in values), *more]


def _said(name: str, value: Value | None, scale: float, unit: str) -> str:
    if value is None:
        return f"{name}: not known"
    low, middle, high = (f"{x * scale:.5g}" for x in (value.low, value.value, value.high))
    return f"{name}: {middle} {unit} ({low} to {high}): {value.why}"
