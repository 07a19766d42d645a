"""The part of a plan that is traffic: what runs, when it starts and stops, and what belongs to it."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from narrows.plan.strict import Direction, Inside, Name, Strict


class AtTime(Strict):
    at_ns: int


class AfterItem(Strict):
    """When another item has ended."""

    after: str
    delay_ns: int = Field(ge=0)


class WithItem(Strict):
    """When another item ends."""

    with_: str = Field(alias="with")

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, populate_by_name=True)


Start = AtTime | AfterItem
Stop = AtTime | WithItem | None


class Endpoint(Strict):
    """The listening end of flows: packets from it and to it are those of the item that has it."""

    protocol: Literal["tcp", "udp", "icmp"]
    address: str
    port: int | None
    """None: the protocol has no ports."""


class TcpBulk(Strict):
    """Long TCP flows from one node to another."""

    id: Name
    item: str
    """The item of the experiment that this is, or is a part or the server of. So in all kinds."""
    kind: Literal["tcp_bulk"] = "tcp_bulk"
    sender: str
    receiver: str
    receiver_address: str
    port: int
    flows: int = Field(ge=1)
    cca: str | None
    dscp: int = Field(ge=0, le=63)
    ecn: bool
    bytes: int | None
    start_spread_ns: int = Field(ge=0)
    sample_interval_ns: int | None
    io: Literal["batched", "plain_receiver", "plain"] = "batched"
    """How bytes reach TCP and leave it: `plain` is send() and read() of each socket, to compare with."""
    start: Start
    stop: Stop

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The receiver's port."""
        return (Endpoint(protocol="tcp", address=self.receiver_address, port=self.port),)


class _Probe(Strict):
    id: Name
    item: str
    client: str
    server: str
    server_address: str
    interval_ns: int = Field(gt=0)
    payload_bytes: int
    dscp: int = Field(ge=0, le=63)
    start: Start
    stop: Stop


class UdpProbe(_Probe):
    """Isochronous UDP probes, echoed by the server with its own stamp."""

    kind: Literal["udp_probe"] = "udp_probe"
    port: int

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The server's port."""
        return (Endpoint(protocol="udp", address=self.server_address, port=self.port),)


class IcmpEcho(_Probe):
    """Isochronous ICMP echo requests."""

    kind: Literal["icmp_echo"] = "icmp_echo"

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The server's address."""
        return (Endpoint(protocol="icmp", address=self.server_address, port=None),)


class Ready(Strict):
    """When the item counts as started; one of these."""

    tcp: str | None = None
    """This address accepts."""
    udp: str | None = None
    """A socket is bound to this address."""
    line: str | None = None
    """The program has printed this text, on either output."""

    @model_serializer(mode="wrap")
    def _the_one(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {k: v for k, v in handler(self).items() if v is not None}


class File(Strict):
    """A file that a command names. Where it lies is not part of the run's identity, its content is."""

    path: str
    sha256: str


class Uses(Strict):
    """What the TCP sockets through which a program sends are said to use; None: nothing is said. What the
    kernel says of them is held against it (`narrows.plan.uses`)."""

    cca: str | None = None
    """Also of a program that has a transport of its own, whose word it then is."""
    ecn: bool | None = None
    mss_bytes: int | None = None
    """As TCP_MAXSEG sets it, with the options of TCP."""
    max_pacing_bps: int | None = None


class Command(Strict):
    """An outside program. `@agent` is the agent's own binary, `@out` the run's raw directory."""

    id: Name
    item: str
    kind: Literal["command"] = "command"
    tool: Name
    """What the program is to the store and metrics: ndt7, ndt7-server, iperf3, iperf3-server, command."""
    node: str
    argv: tuple[str, ...] = Field(min_length=1)
    env: dict[str, str]
    stop_signal: Literal["INT", "TERM", "KILL", "HUP", "QUIT", "USR1", "USR2"]
    ok_exits: tuple[int, ...]
    background: bool
    ready: Ready | None
    endpoints: tuple[Endpoint, ...]
    """Where its flows are received. A server whose client is in the plan has none: they are the client's."""
    programs: tuple[str, ...]
    """Outside programs that it starts, as PATH finds them: itself, a browser, what the agent becomes."""
    files: tuple[File, ...]
    """Files that it names (`narrows.plan.files`), without those of the system's own directories."""
    memory_bytes: int = Field(ge=0)
    """What its programs need of the guest's memory beyond the usual; 0: nothing."""
    uses: Uses | None = None
    """Left out of the run's id: it changes nothing of what happens, and is checked of kept runs too."""
    start: Start
    stop: Stop

    @model_serializer(mode="wrap")
    def _without_uses(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only a command that says what it uses has it: other plans keep their bytes."""
        return {k: v for k, v in handler(self).items() if k != "uses" or v is not None}


class Composite(Strict):
    """A tool that is made of several items. The agent runs the items; the store reads them as one tool."""

    id: Name
    """The item of the experiment; its parts are called `<id>.<part>`."""
    tool: Name
    parts: tuple[str, ...]
    """Its items that make traffic, in order."""
    in_turn: dict[Direction, str]
    """Where one loads after the other: the part of each direction. Empty where all load at once."""
    options: dict[str, int | float | str | None]
    """What the tool's own reading depends on."""


class Content(Strict):
    """Files that a service serves, made once by commands and kept (`narrows.engine.contents`). In a command's
    words they are `@content/<id>`."""

    id: Name
    """A digest of the commands and the files they name: another recipe is another content."""
    about: str
    """What it is, in a few words, for people."""
    commands: tuple[tuple[str, ...], ...] = Field(min_length=1)
    """Carried out in turn in the content's own directory. A word that begins with `@checkout/` is a file of
    the package."""
    programs: tuple[str, ...]
    """Outside programs that the commands start."""


class OwnTool(Composite):
    """A tool of a person's own. The engine copies its folder into the run's directory; the agent does not
    look at it."""

    path: str
    """The folder on the machine that plans; the run's id does not cover it."""
    files: dict[Inside, str]
    """Name in the folder → SHA-256 (hex)."""


TrafficItem = Annotated[TcpBulk | UdpProbe | IcmpEcho | Command, Field(discriminator="kind")]
