"""A video call: two headless Chromiums, directly or through an SFU, or another program's two ends."""

from pathlib import Path

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import Time
from narrows.tools.call import program as programs
from narrows.tools.recipe import check_switches
from narrows.tools.services.spec import Service
from narrows.units import Rate

CODECS = ("VP8", "VP9", "H264", "AV1")
DEGRADATIONS = ("maintain-framerate", "maintain-resolution", "balanced")
WAYS = ("both", "down", "up")
SWITCHES: dict[str, tuple[str, ...]] = {
    "most": ("most",),
    "height": ("height", "camera"),
    "sends": ("sends",),
    "audio": ("audio",),
    "pause": ("pause",),
    "sample": ("sample",),
    "initial": (),
    "degradation": (),
}
"""Options that a program which is no browser needs a word for, and the words that are one."""


class call(Service):
    """A WebRTC call: one end at the client, the other at the server."""

    program: str = option(
        p.text, default="chromium", doc="narrows service list, or a folder with a program.toml"
    )
    through: str | None = option(
        p.optional(p.text), default=None, doc="an SFU at the server: narrows service list, or a folder"
    )
    most: str | Rate = option(p.rate, default="2.6 Mbit/s", doc="that each end's video may take")
    initial: str | Rate | None = option(
        p.optional(p.rate),
        default=None,
        doc="what an end sends before it knows the path; None: the browser's own, 300 kbit/s",
    )
    height: int = option(p.count(180, 1080), default=720, doc="of the camera's picture, 16:9")
    codec: str | None = option(
        p.optional(p.choice(*CODECS)), default=None, doc="of video; None: what the two ends agree on"
    )
    degradation: str | None = option(
        p.optional(p.choice(*DEGRADATIONS)),
        default=None,
        doc="what the browser gives up first; None: its own",
    )
    sends: str = option(p.choice(*WAYS), default="both", doc="which way media go")
    audio: bool = option(p.flag, default=True)
    pause: Time = option(
        p.optional(p.positive), default=None, doc="since the end began: no video from then on"
    )
    resume: Time = option(p.optional(p.positive), default=None, doc="until then")
    sample: Time = option(
        p.optional(p.positive), default="2 s", doc="how often a shown frame is held against the camera's"
    )

    def check(self) -> None:
        super().check()
        if self["cca"] is not None:
            self.fail("a call's congestion control is the program's own", "leave cca out")
        pause, resume = self["pause"], self["resume"]
        if (pause is None) != (resume is None) or (pause is not None and resume <= pause):
            self.fail("a pause is from a time until a later one", 'pause="40 s", resume="60 s"')
        ends, sfu = self.ends()
        if ends is not None:
            if sfu is not None:
                self.fail(f"{ends.name} joins no SFU", "leave program or through out")
            check_switches(self, ends, SWITCHES)
            if self["codec"] is not None and self["codec"] not in ends.codecs:
                self.fail(f"{ends.name} has no {self['codec']}", f"codec: one of {', '.join(ends.codecs)}")
        elif sfu is not None and self["initial"] is not None:
            self.fail(f"behind {sfu.name} the browser starts as it likes", "leave initial out")

    def ends(self) -> tuple[programs.Program | None, programs.Program | None]:
        """The recipe of the ends (None: the browser), and that of the SFU."""
        beside = Path(self.where.rpartition(":")[0]).absolute().parent
        ends = None
        if self["program"] != programs.BROWSER:
            ends = programs.find(self["program"], "ends", beside, self.where)
        sfu = None if self["through"] is None else programs.find(self["through"], "sfu", beside, self.where)
        return ends, sfu
