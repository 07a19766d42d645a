"""A video call between two headless Chromiums."""

from __future__ import annotations

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.tools.services.spec import Service
from narrows.units import Rate


class call(Service):
    """A WebRTC call, video and audio both ways: one end at the client, the other at the server."""

    most: str | Rate = option(p.rate, default="2.6 Mbit/s", doc="that each end's video may take")
    height: int = option(p.count(180, 1080), default=720, doc="of the camera's picture, 16:9")

    def check(self) -> None:
        super().check()
        if self["cca"] is not None:
            self.fail("a call's congestion control is the browser's own", "leave cca out")
