"""Models of web speed tests whose own clients cannot run here: real HTTP, their documented arithmetic."""

from collections.abc import Sequence

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest
from narrows.units import Duration


class web_speed(Traffic):
    """A model of Ookla's or LibreSpeed's test over several HTTP connections. Not their programs: what they
    document is kept, the rest is ours (docs/spec.md)."""

    model: str = option(p.choice("ookla", "librespeed"))
    tests: str | Sequence[str] = option(p.words("download", "upload"), default=("download", "upload"))
    test_length: Time = option(
        p.optional(p.positive), default=None, doc="of one direction; None: the model's own, 10 or 15 s"
    )
    tls: bool = option(p.flag, default=False, doc="https, with a certificate that the server makes")
    cca: str | None = option(p.optional(p.cca), default=None, doc="of both ends; None: the hosts'")
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 80, with TLS 443")
    time_limit: Time = option(p.positive, default="120 s")

    def check(self) -> None:
        super().check()
        length = self["test_length"]
        if length is not None and not Duration(1_000_000_000) <= length <= Duration(600_000_000_000):
            self.fail(f"test_length: from 1 s to 600 s, not {length}")


_VARIATIONS = {"5s": {"test_length": "5 s"}, "bbr": {"cca": "bbr"}}
UNDER_TEST = {
    "ookla_model": UnderTest(web_speed, {"model": "ookla"}, _VARIATIONS),
    "librespeed_model": UnderTest(web_speed, {"model": "librespeed"}, _VARIATIONS),
}
