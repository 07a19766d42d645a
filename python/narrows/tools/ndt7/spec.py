"""M-Lab's NDT7 speed test."""

from collections.abc import Sequence

from narrows.spec import parsers as p
from narrows.spec.base import option
from narrows.spec.traffic import DEFAULT_JITTER, Time, Traffic
from narrows.spec.under_test import UnderTest
from narrows.units import NS_PER_S, Rate

TEST_NS = 10 * NS_PER_S
TEST_SLACK_NS = 3 * NS_PER_S
"""NDT7 may use 13 s for a test of 10 s."""


class ndt7(Traffic):
    """M-Lab's speed test: download, then upload, 10 s each, over one WebSocket connection each."""

    tests: str | Sequence[str] = option(p.words("download", "upload"), default=("download", "upload"))
    client: str = option(p.choice("narrows", "ndt7-client", "js"), default="narrows")
    server: str = option(p.choice("narrows", "ndt-server"), default="narrows")
    tls: bool = option(p.flag, default=False)
    cca: str | None = option(
        p.optional(p.cca), default=None, doc="None: the server asks for BBR, as NDT7 says"
    )
    start_jitter: Time = option(p.duration, default=DEFAULT_JITTER)
    port: int | None = option(p.optional(p.port), default=None, doc="default: 80, with TLS 443")
    time_limit: Time = option(p.positive, default="60 s")

    def check(self) -> None:
        super().check()
        if self["cca"] is not None and self["server"] != "narrows":
            self.fail("cca works only with server='narrows'", "the official server has no such option")
        if self["cca"] is not None and self["client"] != "narrows" and "upload" in self["tests"]:
            self.fail(
                "cca works for uploads only with client='narrows': the official ones take their host's",
                'tests="download", or Link(sysctls={"client": {"net.ipv4.tcp_congestion_control": "…"}})',
            )

    def takes(self, rates: Sequence[Rate]) -> tuple[int, int] | None:
        tests = len(self["tests"])
        return tests * TEST_NS, max(self["time_limit"].ns, tests * (TEST_NS + TEST_SLACK_NS))


UNDER_TEST = {"ndt7": UnderTest(ndt7, variations={"cubic": {"cca": "cubic"}})}
