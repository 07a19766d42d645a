"""The course of a tune: refuse, measure, keep, set, measure again; and its way back. Prints nothing."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace

from narrows.headers import ETHERNET_MTU
from narrows.line.tune import journal, measure, refuse, setting, system
from narrows.line.tune.journal import Journal
from narrows.line.tune.measure import Echoes, Measured
from narrows.line.tune.setting import Lines, Setting

Say = Callable[[str], None]
MOVED_QUEUED = 0.5
"""Something waits at home in at least this share of the looks under load."""
MOVED_MS = 10.0
"""And the median round trip under load is at most so much above the idle one."""


@dataclass(frozen=True)
class Wish:
    """What the person asked for."""

    setting: Setting
    server: str | None
    seconds: int
    rates: tuple[float, float] | None
    """Down and up in bit/s at the IP layer, where the person knows them."""
    replace: bool


@dataclass(frozen=True)
class Tuned:
    """What came of it. Without a server nothing was measured."""

    wish: Wish
    down_bps: int
    up_bps: int
    lines: Lines
    before: Measured | None
    after: Measured | None

    def moved(self, way: str) -> bool | None:
        """Whether the queue is at home now; None: it was not measured, or the load cannot tell."""
        if self.after is None or self.wish.server is None:
            return None
        if way == "down" and measure.server(self.wish.server).tool == "udp":
            return None
        loaded = self.after.down if way == "down" else self.after.up
        iface = self.wish.setting.ifb if way == "down" else self.wish.setting.wan
        idle, busy = quantile(self.after.idle, 0.5), quantile(loaded.echoes, 0.5)
        if idle is None or busy is None:
            return None
        return loaded.queued.get(iface, 0.0) >= MOVED_QUEUED and busy - idle <= MOVED_MS


def quantile(echoes: Echoes, q: float) -> float | None:
    """A quantile of the round trips in ms, the nearest that was seen; None without any."""
    values = sorted(echoes.rtt_ms)
    return values[round(q * (len(values) - 1))] if values else None


def planned(wish: Wish, say: Say) -> Tuned:
    """What would be set; nothing is changed."""
    if wish.rates is None:
        refuse.root()
    return _worked_out(wish, _measured(wish, say, (), "alone"))


def tune(wish: Wish, say: Say) -> Tuned:
    """Set it, and check it. Whatever goes wrong behind the first change, what was there is given back."""
    refuse.root()
    wan, ifb = wish.setting.wan, wish.setting.ifb
    with journal.locked(wan):
        _begin_clean(wan, ifb, say)
        refuse.interface(wan)
        refuse.shaper(wan)
        nat = refuse.kernel()
        refuse.super_packets(wan)
        earlier = refuse.others(wan, ifb, replace=wish.replace)
        wish = replace(wish, setting=replace(wish.setting, nat=nat))
        tuned = _worked_out(wish, _measured(wish, say, (), "as it is"))
        kept = Journal(wan, ifb, "begun", system.qdiscs(wan), earlier)
        # The module would bring interfaces of its own, which nobody asked for.
        if shutil.which("modprobe"):
            system.call("modprobe", "ifb", "numifbs=0")
        journal.write(kept)
        try:
            for words in tuned.lines:
                system.do(words)
            after = _measured(wish, say, (ifb, wan), "behind CAKE")
            journal.write(replace(kept, phase="set"))
        except BaseException:
            say("giving back what was there")
            journal.undo(kept)
            raise
        return replace(tuned, after=after)


def undo(wan: str, ifb: str) -> bool:
    """Give back what was there; False: nothing had been set."""
    refuse.root()
    with journal.locked(wan):
        kept = journal.read(wan)
        if kept is not None:
            refuse.shaper(wan)
            journal.undo(kept)
            return True
        if not setting.is_ours(system.qdiscs(wan)):
            return False
        _clear(wan, ifb)
        return True


def _begin_clean(wan: str, ifb: str, say: Say) -> None:
    kept = journal.read(wan)
    if kept is not None:
        begun = kept.phase == "begun"
        say("an earlier tune was cut short: giving back what was there" if begun
            else "tuned before: giving back what was there, to measure the line as it is")  # fmt: skip
        refuse.shaper(wan)
        journal.undo(kept)
    elif setting.is_ours(system.qdiscs(wan)):
        say("tuned at boot: taking it away, to measure the line as it is")
        _clear(wan, ifb)


def _clear(wan: str, ifb: str) -> None:
    """Take away what a unit has set: what was before is the kernel's own choice."""
    for words in setting.undo_lines(wan, ifb, None):
        system.call(*words)


def _measured(wish: Wish, say: Say, looked_at: tuple[str, ...], what: str) -> Measured | None:
    if wish.server is None:
        return None
    at = measure.server(wish.server)
    say(f"measuring the line {what}: about {2 * wish.seconds + 10} s")
    return measure.measure(at, wish.seconds, looked_at)


def _worked_out(wish: Wish, before: Measured | None) -> Tuned:
    if wish.rates is not None:
        (down, up), packet_bytes = wish.rates, ETHERNET_MTU
    else:
        assert before is not None  # the command line asks for a server or for both rates
        assert wish.server is not None
        down, up = before.down.rate_bps, before.up.rate_bps
        packet_bytes = measure.server(wish.server).packet_bytes
    down_bps, up_bps = (wish.setting.bandwidth_bps(bps, packet_bytes) for bps in (down, up))
    return Tuned(wish, down_bps, up_bps, wish.setting.lines(down_bps, up_bps), before, None)
