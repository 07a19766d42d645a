"""A video, watched in a real player in headless Chromium."""

from typing import Any

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.parsers import Wrong
from narrows.tools.services.spec import HttpService
from narrows.units import Rate

RUNGS_MBPS = (0.4, 0.8, 1.5, 3.0, 5.0, 8.0)
"""Below the top. Heights go with them (`narrows.tools.video.lower`)."""
LOWEST_TOP_MBPS, HIGHEST_TOP_MBPS = 1.0, 60.0


def _top(value: Any) -> Rate:
    rate = p.rate(value)
    if not LOWEST_TOP_MBPS * 10**6 <= rate.bps <= HIGHEST_TOP_MBPS * 10**6:
        raise Wrong(
            f"{value} is no top of a ladder here", f"{LOWEST_TOP_MBPS:g} to {HIGHEST_TOP_MBPS:g} Mbit/s"
        )
    return rate


class video(HttpService):
    """A video on a ladder of rungs: the player's own rate adaptation chooses, at whatever the link gives."""

    player: str = option(p.choice("dash.js", "hls.js", "shaka"), default="dash.js")
    top: str | Rate = option(_top, default="8 Mbit/s", doc="of the highest rung")
    flows: int = option(
        p.count(1, 6), default=1, doc="connections that each segment is fetched over in parallel"
    )

    def check(self) -> None:
        super().check()
        if self["flows"] > 1 and self["http"] == "3":
            self.fail("over HTTP/3 all is fetched over one connection", "leave flows out")
        if self["flows"] > 1 and self["player"] == "dash.js":
            self.fail(
                "dash.js fetches over one connection", 'player="hls.js" or player="shaka" fetch over several'
            )
