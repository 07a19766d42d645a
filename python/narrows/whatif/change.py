"""Checks what is to be changed, before anything is read or run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from narrows.errors import NarrowsError, UsageError
from narrows.spec import parsers as p
from narrows.tools.quic.spec import quic
from narrows.units import Duration, Rate, Size
from narrows.whatif.written import Change, called


def checked(
    cca: str | None,
    queue: str | None,
    buffer: str | None,
    rate: str | None,
    rtt: str | None,
    ecn: bool,
    sysctl: Sequence[str],
    host_qdisc: str | None,
    kernel: str | None,
    stack: str | None,
) -> Change:
    """The change of the command line's words. Raises UsageError for what cannot be, with the option's
    name."""
    if queue and buffer:
        raise UsageError("--queue and --buffer are both of the queue", remedy="--queue 'codel(limit=100)'")
    if cca:
        _tried("--cca", p.cca, cca)
    for option, word in (("--queue", queue), ("--host-qdisc", host_qdisc)):
        if word:
            _qdisc(option, word)
    if rate and not _is_share("--rate", rate):
        _above_zero("--rate", Rate.parse, rate)
    if buffer and not _is_share("--buffer", buffer):
        _above_zero("--buffer", Size.parse if buffer.strip().endswith("B") else Duration.parse, buffer)
    if rtt:
        _above_zero("--rtt", Duration.parse, rtt)
    settings = []
    for word in sysctl:
        name, equals, value = word.partition("=")
        if not equals or not value or not re.fullmatch(r"net\.[\w.\-]+", name):
            raise UsageError(f"--sysctl {word!r}", remedy="such as net.ipv4.tcp_notsent_lowat=16384")
        settings.append((name, value))
    if kernel:
        from narrows import kernel as built

        built.named(kernel)
    if stack:
        _tried("--stack", lambda name: quic(stack=name, cca=cca, bytes="1 MB", ecn=ecn or None), stack)
    return Change(cca, queue, buffer, rate, rtt, ecn, tuple(settings), host_qdisc, kernel, stack)


def was_cca(text: str | None) -> str | None:
    """The CCA of `--was cca=cubic`."""
    if text is None:
        return None
    name, _, value = text.partition("=")
    if name.strip() != "cca" or not value:
        raise UsageError(f"--was {text!r}", remedy="--was cca=cubic")
    _tried("--was", p.cca, value.strip())
    return value.strip()


def _is_share(option: str, text: str) -> bool:
    if not text.strip().endswith("%"):
        return False
    share = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*%\s*", text)
    if share is None or not 0 < float(share[1]) <= 10_000:
        raise UsageError(f"{option} {text!r} is no share", remedy=f"{option} '90 %'")
    return True


def _qdisc(option: str, word: str) -> None:
    """Try the words as an experiment would, in which nothing but queues has a name."""
    from narrows import qdiscs

    name = word.partition("(")[0].strip()
    if name not in qdiscs.names():
        raise UsageError(f"{option}: no queue {name!r}", remedy=f"one of {', '.join(sorted(qdiscs.names()))}")
    try:
        eval(called(word), {"__builtins__": {}, name: qdiscs.named(name)})
    except NarrowsError as error:
        raise UsageError(f"{option}: {error.message}", remedy=error.remedy) from None
    except Exception as error:
        raise UsageError(
            f"{option} {word!r}: {error}", remedy=f"{option} 'codel(target=\"20 ms\")'"
        ) from None


def _tried(option: str, parse: Callable[[str], Any], text: str) -> Any:
    try:
        return parse(text)
    except (p.Wrong, NarrowsError) as error:
        raise UsageError(f"{option}: {error.message}", remedy=error.remedy) from None


def _above_zero(option: str, parse: Callable[[str], Duration | Rate | Size], text: str) -> None:
    value = _tried(option, parse, text)
    if value == type(value)(0):
        raise UsageError(f"{option} {text!r}", remedy="a value above zero")
