"""The shape of `plan.json`: one run, flat, every default written out (docs/formats.md).

The agent reads the same JSON with `deny_unknown_fields`; a field added here is added there (crates/plan), or
tests/unit/test_one_schema.py fails. This module knows nothing of how a plan is made or carried out. All
models are frozen and refuse unknown keys.
"""

import json
import shlex
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer

from narrows.errors import PlanError
from narrows.plan.items import Composite, Content, OwnTool, TrafficItem
from narrows.plan.strict import Direction, Name, Strict

FORMAT = 2
LAST_READ_BY = {1: "commit 6f961c5 (2026-11-28)"}
"""Earlier formats, and the last narrows that read each."""
NAMES = ("experiment", "question", "key")
"""Parts of a plan that only name it: they change nothing of what happens."""

Tool = Literal["ip", "tc", "ethtool", "sysctl", "nft"]
Role = Literal["client", "home", "router", "path", "server"]
HOME_HOP, ISP_HOP, BOTTLENECK_HOP = "home", "isp", "bottleneck"
"""What queues are called: a Home has two places, every other link one."""
TapMode = Literal["packets", "summary", "drops", "off"]


class Node(Strict):
    """A network namespace."""

    name: str
    role: Role


class TimerLatency(Strict):
    """Timer interrupts of the machine arrive late by a seeded, uniform amount within these bounds."""

    min_ns: int = Field(ge=0)
    max_ns: int = Field(ge=0)


class Module(Strict):
    """A kernel module that is loaded before the set-up. Where it lies is not part of the run's identity."""

    name: Name
    path: str
    sha256: str
    parameters: str


class Machine(Strict):
    """The machine under the kernel."""

    memory_bytes: int = Field(gt=0)
    timer_latency: TimerLatency | None
    modules: tuple[Module, ...] = ()
    kernel: str | None = None
    """What the kernel is called that the run asks for ("6.12", "tree:/home/me/linux"); None: the one in use.
    No part of the run's id, which has the kernel's own."""


class Counted(Strict):
    """What a shaper makes of a packet's length: the overhead is added, the sum is at least `mpu_bytes`, and
    then it fills cells (ATM: whole ones, with 48 of 53 bytes; PTM: with 64 of 65)."""

    of: Literal["frame", "ip"]
    """What is counted before that: the packet with its Ethernet header, or the IP packet alone."""
    overhead_bytes: int
    mpu_bytes: int
    cells: Literal["none", "atm", "ptm"]


class DirectionChange(Strict):
    """How one direction of the bottleneck is from a time on: everything that a change can change, also what
    this one left as it was."""

    at_ns: int
    rate_bps: int | None
    ceil_bps: int | None
    burst_bytes: int | None
    cburst_bytes: int | None
    delay_ns: int
    jitter_ns: int
    loss_percent: float


class LinkDirection(Strict):
    """One direction of the bottleneck, as far as store, metrics and report need it."""

    queue: str
    """The qdisc's kind as `tc` names it ("fq_codel"), also when it shapes itself (cake)."""
    queue_options: dict[str, str]
    """The options as given to `tc`; an option that is not here has the kernel's default."""
    shaper: str | None
    """"htb", "tbf", "cake", or None where nothing shapes."""
    shaper_options: dict[str, str]
    rate_bps: int | None
    """What the shaper is set to (None: no shaper)."""
    ceil_bps: int | None
    """HTB's ceil; equals the rate unless asked otherwise."""
    burst_bytes: int | None
    cburst_bytes: int | None
    delay_ns: int
    """One-way base delay."""
    jitter_ns: int
    loss_percent: float
    peak_rate_bps: int | None
    """TBF's peakrate, None where there is none."""
    counted: Counted | None
    """What the shaper counts of a packet (None: no shaper)."""
    sets_own_rate: bool
    """The shaper follows what arrives (CAKE's autorate-ingress), so `rate_bps` is only its start."""
    limit_packets: int | None
    """The queue's limit where it counts packets; None: it counts otherwise, or has the kernel's default."""
    limit_bytes: int | None
    """The queue's limit where it counts bytes."""
    memory_limit_bytes: int | None
    """The most memory that the queue's packets may take, where that was set."""
    splits_super_packets: bool
    """The qdisc queues the segments of a super-packet, not the whole."""
    changes: tuple[DirectionChange, ...]
    """The direction's states after the start, in order of time; empty where it never changes."""


class Pair(Strict):
    """A class of flows of a Dumbbell: its sender nodes and their base RTT."""

    name: str
    senders: tuple[str, ...]
    base_rtt_ns: int


class HomeHost(Strict):
    """A host at home, and its own way from the home router, in the direction down."""

    node: str
    delay_ns: int
    jitter_ns: int
    loss_percent: float


class HomeSummary(Strict):
    """The home router: its queue each way, and the hosts behind it."""

    down: LinkDirection | None
    """The queue on the IFB; None: there is none."""
    up: LinkDirection | None
    ifb: str | None
    hosts: tuple[HomeHost, ...]


class RateStep(Strict):
    """What a shaper is set to from a time on. A bucket of 0 bytes lets one frame pass at a time."""

    at_ns: int = Field(ge=0)
    rate_bps: int = Field(gt=0)
    burst_bytes: int = Field(ge=0)


class MovingShaper(Strict):
    """A shaper whose rate the agent changes by itself, without a program."""

    node: str
    iface: str
    shaper: Literal["htb", "cake"]
    quantum_bytes: int
    """HTB's; 0 for CAKE."""
    steps: tuple[RateStep, ...] = Field(min_length=1)


class CapacityStep(Strict):
    """What the link carries from a time on; 0 is an outage."""

    at_ns: int = Field(ge=0)
    rate_bps: int = Field(ge=0)


class MovingRates(Strict):
    """A link whose rate is not the same throughout: what the agent sets its shapers to, and the truth, also
    of what `link.at` changes by a command. Without steps a direction keeps its rate."""

    shapers: tuple[MovingShaper, ...]
    down: tuple[CapacityStep, ...]
    up: tuple[CapacityStep, ...]


class Medium(Strict):
    """What is below IP one way: the interface serves its queue at the turns of a schedule from t = 0 on
    (kernel/src, medium.c)."""

    node: str
    iface: str
    direction: Direction
    model: str
    """What it is, in words."""
    air: int = Field(ge=0, lt=16)
    """Media by demand with the same number share the air."""
    by_demand: bool
    """A turn's wait counts from when the air is free and something waits; else from the turn before."""
    splits: bool
    """A packet may go in parts, over several turns."""
    overhead_bytes: int
    """What a turn's bytes count of a packet beyond the IP packet."""
    ring_bytes: int = Field(gt=0)
    """From so much on the device takes no more from the queue."""
    retries: int = Field(ge=0)
    """How often a packet that fails is sent again before it is lost."""
    grant_turns: int = Field(ge=0, le=256)
    """A turn carries what was asked for so many turns before; 0: whatever is there."""
    repeat_ns: int = Field(ge=0)
    """The schedule begins again after this; 0: nothing is sent after its last turn."""
    unit_ns: int = Field(gt=0)
    turns: str
    """One word a turn: wait/bytes/hold/kbit/s/packets/lost/fails*count (docs/links.md, The format)."""


class LinkSummary(Strict):
    """What store, metrics and report need to know of the bottleneck. The commands are in `setup`."""

    rate_down_bps: int | None
    rate_up_bps: int | None
    base_rtt_ns: int
    mtu_bytes: int
    line_rate_bps: int | None
    """Rate of the edge links (netem on the path node), None where they are unlimited."""
    queue: str
    """The downstream queue as the experiment calls it: tc's kind of it, or docsis_pie."""
    queue_up: str
    shaper: str | None
    shaper_up: str | None
    down: LinkDirection
    up: LinkDirection
    changes: tuple[str, ...]
    """The link's changes during the run in words, in order of time."""
    offloads: dict[str, bool]
    """What `ethtool -K` switches on and off at every interface, by ethtool's names."""
    pairs: tuple[Pair, ...] = ()
    """The pairs of a Dumbbell, whose `base_rtt_ns` is the longest of them; empty for a Link."""
    home: HomeSummary | None = None
    """The home router of a Home; the rest is then the ISP's link."""

    def queue_at(self, hop: str, direction: Direction) -> LinkDirection:
        """What stands at a hop: the home router's queue, or the link's own."""
        if self.home is not None and hop == HOME_HOP:
            queue = self.home.down if direction == "down" else self.home.up
            assert queue is not None
            return queue
        return self.down if direction == "down" else self.up

    @model_serializer(mode="wrap")
    def _without_home(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only a Home's plan has a home: other plans keep their ids."""
        return {k: v for k, v in handler(self).items() if k != "home" or v is not None}


class Sysctl(Strict):
    """A setting of a node that is not the one which every run pins."""

    node: str
    name: str
    value: str


class Needs(Strict):
    """What the run needs of a kernel."""

    qdiscs: tuple[tuple[str, ...], ...]
    """Every qdisc that is ever set up: its kind, then its options as `tc` takes them."""
    default_ccas: tuple[str, ...]
    """Congestion controls that are the default of some node."""


class Step(Strict):
    """One command of the set-up, run inside its node."""

    node: str
    tool: Tool
    args: tuple[str, ...]

    def command(self) -> str:
        """The command as a person would type it."""
        return shlex.join((self.tool, *self.args))


class Asked(Strict):
    """What the kernel is to keep of a qdisc, class or filter that the set-up makes: it is read back and
    compared (`narrows.store.kept`, which has the names and units of the options)."""

    node: str
    iface: str
    what: Literal["qdisc", "class", "filter"]
    at: str
    """Its handle, `1:` or `1:11`; of a filter that of its qdisc."""
    kind: str
    options: dict[str, int | float | str]


class Change(Strict):
    """A command that is run while traffic flows."""

    at_ns: int
    node: str
    tool: Tool
    args: tuple[str, ...]

    def command(self) -> str:
        return shlex.join((self.tool, *self.args))


class Hop(Strict):
    """A queue whose truth is recorded. Its position in the plan is its number in the tap."""

    hop: str
    direction: Direction
    node: str
    iface: str
    ingress: tuple[str, ...]
    """Interfaces of the same node through which its packets come in (for conservation)."""
    tap: TapMode
    tap_interval_ns: int = Field(default=10_000_000, gt=0, le=1_000_000_000)
    """The length of the aggregates' intervals in the mode "drops"."""


USUAL_ECHOES = 20


class CalibrationPath(Strict):
    """The way to one more server."""

    server: str
    server_address: str
    rtt_ns: int


class Calibration(Strict):
    """What the rig must show before a number counts."""

    client: str
    server: str
    server_address: str
    client_address: str
    rtt_ns: int
    rtt_tolerance_ns: int
    rate_down_bps: int | None
    """IP layer; None: not checked."""
    rate_up_bps: int | None
    rate_tolerance: float
    rate_is_upper_bound: bool
    """The rate must not be exceeded, but need not be reached (as with late timers)."""
    others: tuple[CalibrationPath, ...] = ()
    """More servers, whose base RTT is checked too."""
    echoes: int = USUAL_ECHOES
    """How many are sent at most, until half of the usual ones have come back."""

    @model_serializer(mode="wrap")
    def _without_usual_echoes(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only where much is lost there are more: other plans keep their ids."""
        return {k: v for k, v in handler(self).items() if k != "echoes" or v != USUAL_ECHOES}


class _Sampler(Strict):
    id: Name
    node: str
    interval_ns: int = Field(gt=0)


class TcpInfoSampler(_Sampler):
    """Every TCP socket of the node, by inet_diag."""

    kind: Literal["tcp_info"] = "tcp_info"


class QdiscSampler(_Sampler):
    """All qdiscs and classes of the interface."""

    kind: Literal["qdisc"] = "qdisc"
    iface: str


class LinkSampler(_Sampler):
    """The interface's counters."""

    kind: Literal["link"] = "link"
    iface: str


class FlowWatch(Strict):
    """TCP sockets of a node with this port at either end; None: all."""

    node: str
    port: int | None


class FlowWindow(Strict):
    """The measuring window of the flow tap; stop None: when the bulk items are stopped."""

    start_ns: int
    stop_ns: int | None


class FlowTap(Strict):
    """What TCP senders did, counted in the kernel (docs/formats.md, Flow tap)."""

    watch: tuple[FlowWatch, ...] = Field(min_length=1)
    window: FlowWindow | None
    sample_interval_ns: int | None = Field(gt=0)


class UntilSettled(Strict):
    """The bulk items are stopped once every metric of what their flows delivered since `start_ns` moved less
    than `within` of its value over the last `window_ns`, but not before `not_before_ns`; their own `stop` is
    the limit (docs/formats.md, Until settled)."""

    metrics: tuple[Literal["jain", "shares", "goodput"], ...] = Field(min_length=1)
    within: float = Field(gt=0, lt=1)
    window_ns: int = Field(gt=0)
    start_ns: int
    interval_ns: int = Field(gt=0)
    """Looked at on each multiple of it on CLOCK_MONOTONIC, as the flow tap samples."""
    not_before_ns: int


Sampler = Annotated[TcpInfoSampler | QdiscSampler | LinkSampler, Field(discriminator="kind")]


class Capture(Strict):
    """A pcapng file of one interface."""

    id: Name
    node: str
    iface: str
    snap_bytes: int = Field(gt=0)
    start_ns: int
    stop_ns: int | None


class Uplink(Strict):
    """A way from a node to the host and the Internet: the node's interface, its address and the host's."""

    node: str
    iface: str
    address: str
    host_address: str


class Plan(Strict):
    """One run."""

    format: Literal[2] = 2
    experiment: str
    question: str
    key: dict[str, str]
    seed: int = Field(ge=0, lt=2**64)
    wall_clock_ns: int
    epoch_monotonic_ns: int = Field(gt=0)
    limit_ns: int = Field(gt=0)
    machine: Machine
    nodes: tuple[Node, ...]
    link: LinkSummary
    sysctls: tuple[Sysctl, ...]
    """Set otherwise than in every run, because the experiment or an item asked for it (ECN)."""
    needs: Needs
    setup: tuple[Step, ...]
    asked: tuple[Asked, ...] = ()
    """What the set-up asks of the kernel; no part of the run's id, as `setup` says the same."""
    changes: tuple[Change, ...]
    moving: MovingRates | None = None
    media: tuple[Medium, ...] = ()
    hops: tuple[Hop, ...]
    flow_tap: FlowTap | None = None
    until_settled: UntilSettled | None = None
    calibration: Calibration
    traffic: tuple[TrafficItem, ...]
    composites: tuple[OwnTool | Composite, ...] = ()
    samplers: tuple[Sampler, ...]
    captures: tuple[Capture, ...]
    contents: tuple[Content, ...] = ()
    uplink: Uplink | None = None
    """Where a live service reaches the Internet."""

    @model_serializer(mode="wrap")
    def _without_what_is_not_there(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only a plan whose rate moves says how, and only one with content names it: other plans keep their
        ids."""
        absent: dict[str, Any] = {"moving": None, "media": [], "contents": [], "uplink": None, "asked": []}
        return {k: v for k, v in handler(self).items() if k not in absent or v not in (absent[k], ())}

    def to_dict(self) -> dict[str, Any]:
        """The plan as in the JSON file, with every field present."""
        data: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        return data

    def to_json(self) -> str:
        """The text of `plan.json`, for people."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes, *, where: str | None = None) -> "Plan":
        """Read `plan.json`; unknown or missing keys are errors."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            at = ".".join(str(part) for part in first["loc"])
            if at == "format" and first["input"] in LAST_READ_BY:
                raise PlanError(
                    f"plan of format {first['input']}, this narrows reads format {FORMAT}",
                    where=where,
                    remedy=f"read it with narrows as of {LAST_READ_BY[first['input']]}, or run it again",
                ) from None
            raise PlanError(
                f"not a plan of this version of narrows: {at or 'document'}: {first['msg']}",
                where=where,
                remedy="run the experiment again; plans are only ever written by narrows",
            ) from None

    @classmethod
    def read(cls, path: Path) -> "Plan":
        try:
            text = path.read_bytes()
        except OSError as error:
            raise PlanError(f"cannot read the plan: {error.strerror}", where=str(path)) from None
        return cls.from_json(text, where=str(path))
