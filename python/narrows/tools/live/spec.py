"""A page of the Internet, used in headless Chromium as a recipe says."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from narrows.errors import UnitError
from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.parsers import Wrong
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic, duration_needs_time
from narrows.units import Duration

VERBS = {
    "wait": 'wait "2 s", or wait for an element: "wait .player"',
    "click": '"click button.start"',
    "play": '"play" starts the page\'s first video, "play SELECTOR" another',
    "scroll": '"scroll 2000": so many pixels down',
    "type": '"type #search cats": into an element',
    "press": '"press Enter"',
}


def _url(value: Any) -> str:
    if (
        not isinstance(value, str)
        or urlsplit(value).scheme not in ("http", "https")
        or not urlsplit(value).hostname
    ):
        raise Wrong(f"{value!r} is no address of a page", '"https://www.example.org/"')
    return value


def _step(value: Any) -> str:
    verb, _, rest = str(value).strip().partition(" ")
    rest = rest.strip()
    if not isinstance(value, str) or verb not in VERBS:
        raise Wrong(f"{value!r} is no step of a recipe", "; ".join(VERBS.values()))
    if verb == "wait" and (is_time := _milliseconds(rest)) is not None:
        return f"pause {is_time}"
    enough = {
        "wait": bool(rest),
        "click": bool(rest),
        "play": True,
        "scroll": bool(re.fullmatch(r"-?\d+", rest)),
        "type": len(rest.split(" ", 1)) == 2,
        "press": bool(rest),
    }
    if not enough[verb]:
        raise Wrong(f"{value!r} says too little", VERBS[verb])
    return f"{verb} {rest}".strip()


def _milliseconds(text: str) -> int | None:
    try:
        return Duration.parse(text).ns // 10**6
    except UnitError:
        return None


def _recipe(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise Wrong(f"{value!r} is no recipe", 'recipe=["wait .player", "play", "scroll 800"]')
    return tuple(_step(each) for each in value)


def _addresses(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise Wrong(f"{value!r} is not a mapping", 'addresses={"www.example.org": "192.0.2.7"}')
    return p.text_map(value)


class live(Traffic):
    """A page of the Internet, used as the recipe says and left open until the end: `--engine netns` as root
    only, whose path has a way out. Each has a client of its own: `Link(services=2)`."""

    needs_end = True
    is_stopped = True
    positional = ("url",)

    url: str = option(_url)
    recipe: Sequence[str] = option(
        _recipe, default=(), doc='"wait .player", "play", "click #ok", "scroll 800"'
    )
    patience: Time = option(
        p.positive, default="30 s", doc="for the page, and for each element of the recipe"
    )
    quic: bool = option(p.flag, default=True, doc="whether the browser may use HTTP/3")
    addresses: Mapping[str, str] = option(
        _addresses, default={}, doc="of host names, instead of asking the host's resolver"
    )
    duration: Time = option(p.optional(p.positive), default=None, doc="how long it is used")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)

    def check(self) -> None:
        super().check()
        duration_needs_time(self)
