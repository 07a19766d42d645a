"""Checks what is to be changed, before anything is read or run."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from narrows.errors import NarrowsError, UsageError
from narrows.spec import parsers as p
from narrows.tools.quic.spec import quic
from narrows.units import Duration, Rate, Size
from narrows.whatif.written import Change, called


def checked(asked: Change, sysctls: Sequence[str] = ()) -> Change:
    """The change with its sysctls (`NAME=VALUE`). Raises UsageError for what cannot be, with the option's
    name."""
    cca, queue, stack = asked.cca, asked.queue, asked.stack
    if queue and asked.buffer:
        raise UsageError("--queue and --buffer are both of the queue", remedy="--queue 'codel(limit=100)'")
    if cca and not stack:
        _tried("--cca", p.cca, cca)
    for option, word in (("--queue", queue), ("--host-qdisc", asked.host_qdisc)):
        if word:
            _qdisc(option, word)
    if asked.rate and not _is_share("--rate", asked.rate):
        _above_zero("--rate", Rate.parse, asked.rate)
    if asked.buffer and not _is_share("--buffer", asked.buffer):
        _above_zero(
            "--buffer", Size.parse if asked.buffer.strip().endswith("B") else Duration.parse, asked.buffer
        )
    if asked.base_rtt:
        _above_zero("--rtt", Duration.parse, asked.base_rtt)
    settings = []
    for word in sysctls:
        name, equals, value = word.partition("=")
        if not equals or not value or not re.fullmatch(r"net\.[\w.\-]+", name):
            raise UsageError(f"--sysctl {word!r}", remedy="such as net.ipv4.tcp_notsent_lowat=16384")
        settings.append((name, value))
    if asked.kernel:
        from narrows import kernel as built

        built.named(asked.kernel)
    if stack:
        _tried("--stack", lambda name: quic(stack=name, cca=cca, bytes="1 MB", ecn=asked.ecn or None), stack)
    return replace(asked, sysctls=tuple(settings))


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
