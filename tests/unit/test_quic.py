"""QUIC stacks as flows: what an experiment may say of them, the commands that they become, what their ends
and their qlogs say.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.engine import elf
from narrows.errors import NarrowsError, SpecError, StoreError
from narrows.plan.items import Command
from narrows.store.command_run import CommandRun
from narrows.tools import recipe
from narrows.tools.quic import parse, qlog
from narrows.tools.quic import stack as stacks

LINK = 'link = Link(rate="10 Mbit/s", base_rtt="40 ms", queue=pfifo())\n'
CLOCKS = qlog.Clocks(
    epoch_ns=5_000_000_000, wall_epoch_ns=1_767_225_605_000_000_000, first_ns=20_000_000, base_rtt_ms=40
)


def commands(tmp_path: Path, item: str) -> dict[str, Command]:
    plan = lab.plan(tmp_path, LINK + f"mine = {item}\n")
    return {each.id: each for each in plan.traffic if isinstance(each, Command)}


# ---- what an experiment may say


@pytest.mark.parametrize(
    ("item", "told"),
    [
        ('quic(stack="quin", duration="1 s")', ("no stack quin", "did you mean quinn")),
        ('quic(stack="picoquic", duration="1 s")', ("CPython 3.13 alone", "server=… and client=…")),
        ('quic(duration="1 s")', ("stack, or server and client",)),
        ('quic(server="srv @at", duration="1 s")', ("server is one end of two",)),
        ('quic(stack="quinn")', ("would never end",)),
        ('quic(stack="quinn", cca="vegas", duration="1 s")', ("quinn has no vegas", "cubic, reno, bbr")),
        ('quic(stack="quinn", pacing=False, duration="1 s")', ("quinn has no switch for pacing", "@pacing")),
        ('quic(stack="ngtcp2", flows=2, duration="1 s")', ("ngtcp2 has no switch for flows",)),
        ('quic(stack="ngtcp2", direction="up", duration="1 s")', ("ngtcp2 goes down only",)),
        ('quic(stack="quinn", peer="ngtcp2", duration="1 s")', ("speaks perf", "h3")),
        (
            'quic(server="s @att", client="c @at", duration="1 s")',
            ("nothing fills in @att", "did you mean at"),
        ),
        ('quic(server="s", client="c", bytes="1 MB")', ("no switch for bytes", "@bytes")),
        ('quic("quinn", pause="1 s", duration="9 s")', ("a pause stands between two transfers of bytes",)),
        ('quic("quinn", pause="1 s", bytes="1 MB", direction="up")', ("between two downloads",)),
        ('quic("ngtcp2", pause="1 s", bytes="1 MB")', ("ngtcp2 has no switch for pause", "@pause")),
        ('quic("quic-go", peer="aioquic", flows=2, duration="1 s")', ("aioquic has no switch for flows",)),
        ('quic("quic-go", cca="cubic", peer="quinn", duration="1 s")', ("quic-go has no cubic", "reno")),
        ('quic("quinn", cca="bbr", peer="aioquic", direction="up", duration="1 s")', ("aioquic has no bbr",)),
        ('quic(server="s", client="c", depends=["x.so"], duration="1 s")', ("there is no x.so",)),
    ],
)
def test_what_a_stack_cannot_do_is_refused_with_its_line(
    tmp_path: Path, item: str, told: tuple[str, ...]
) -> None:
    with pytest.raises(SpecError) as caught:
        commands(tmp_path, item)
    assert "tiny.py:" in str(caught.value.where)
    for word in told:
        assert word in f"{caught.value.message} {caught.value.remedy}"


def test_every_stack_that_comes_along_can_be_read_and_planned(tmp_path: Path) -> None:
    names = [one.name for one in stacks.every()]
    assert {"quinn", "ngtcp2", "aioquic", "quic-go", "s2n-quic", "quiche", "quinn-0.11.9"} <= set(names)
    for one in stacks.every():
        for way in one.ways:
            made = commands(
                tmp_path,
                f'quic(stack="{one.name}", direction="{way}", duration="1 s", qlog={one.has("qlog")})',
            )
            assert not [w for each in made.values() for word in each.argv for w in recipe.WORD.findall(word)
                        if w not in recipe.AGENTS_OWN], one.name  # fmt: skip
        assert one.build == () or one.files


# ---- what it becomes


def test_the_two_ends_of_a_stack_of_ones_own(tmp_path: Path) -> None:
    made = commands(
        tmp_path,
        'quic(server="srv --listen @at --qlog @qlog --cert @cert", client="cli --cc @cca https://@at/@size", '
        'cca="mine", host_qdisc="fq", duration="2 s")',
    )
    server, client = made["mine-server"], made["mine"]
    bounded = ("sh", "-c", 'trap "" XFSZ; ulimit -f 976562; exec "$@"', "sh")
    certified = (
        "@agent",
        "certified",
        "--name",
        "10.0.2.1",
        "--cert",
        "@own/cert.pem",
        "--key",
        "@own/key.pem",
        "--",
    )
    words = ("srv", "--listen", "10.0.2.1:4433", "--qlog", "@own", "--cert", "@own/cert.pem")
    assert server.argv == (*bounded, *certified, *words)
    assert client.argv == (*bounded, "cli", "--cc", "mine", "https://10.0.2.1:4433/1000000000000")
    assert server.ready is not None
    assert server.ready.udp == "10.0.2.1:4433"
    assert (server.programs, client.programs) == (("sh", "srv"), ("sh", "cli"))
    assert server.uses is not None
    assert server.uses.cca == "mine"
    assert client.uses is None, "what acknowledges has no say"
    assert client.ok_exits == (), "without a number of bytes it is stopped"
    assert [(end.protocol, end.port) for end in client.endpoints] == [("udp", 4433)]
    assert {made[f"mine-qdisc-{node}"].argv[:4] for node in ("server", "client")} == {
        ("tc", "qdisc", "replace", "dev")
    }


def test_two_flows_have_two_ports_and_a_size_ends_by_itself(tmp_path: Path) -> None:
    plan = lab.plan(
        tmp_path,
        LINK
        + 'a = quic("quinn", bytes="1 MB", flows=2)\nb = quic("quinn", direction="up", duration="1 s")\n',
    )
    made = {each.id: each for each in plan.traffic if isinstance(each, Command)}
    assert "10.0.2.1:4433" in made["a"].argv
    assert "10.0.2.1:4434" in made["b"].argv
    assert made["a"].ok_exits == (0,)
    assert made["a"].argv[made["a"].argv.index("--bytes") + 1] == "1000000"
    assert made["b"].uses is not None
    assert made["b-server"].uses is None


# ---- a folder of one's own


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('stack = "a"', "server is missing"),
        ('stack = "a"\nserver = ["s"]\nclient = ["c", "@here/x", "@wat"]', "nothing fills in @wat"),
        ('stack = "a"\nserver = "s"\nclient = ["c"]', "server = 's' is not a list of words"),
        ('stack = "a"\nserver = ["s"]\nclient = ["c"]\nccs = ["x"]', "unknown: ccs"),
        ('stack = "a"\nserver = ["s"]\nclient = ["c"]\nways = ["left"]', "ways: 'left'"),
        (
            'stack = "a"\nserver = ["s"]\nclient = ["c"]\nccas = ["x", "y"]',
            "nothing in its words chooses one",
        ),
        ("stack = ", "no stack can be read"),
    ],
)
def test_what_is_wrong_in_a_stacks_file_is_named_with_it(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "stack.toml").write_text(text)
    with pytest.raises(SpecError, match=told.split("'")[0]) as caught:
        stacks.find("mine", tmp_path, "here:1")
    assert str(caught.value.where).endswith("mine/stack.toml")


def test_the_name_of_a_congestion_control_is_a_choice_or_is_known(tmp_path: Path) -> None:
    """A folder that does not say what it has cannot be called anything."""
    (tmp_path / "mine").mkdir()
    file = tmp_path / "mine" / "stack.toml"
    words = 'stack = "mine 1"\nserver = ["s", "@at"]\nclient = ["c", "@at"]\n'
    for text, told in (
        (words, "mine does not say which congestion control it has"),
        (f'{words}ccas = ["ours"]\n', None),
        (words.replace('"s", "@at"', '"s", "@at", "@cca"'), None),
    ):
        file.write_text(text)
        stacks.read.cache_clear()
        if told is None:
            assert commands(tmp_path, 'quic("mine", cca="ours", duration="1 s")')["mine-server"].uses
        else:
            with pytest.raises(SpecError, match=told):
                commands(tmp_path, 'quic("mine", cca="ours", duration="1 s")')


def test_the_memory_of_many_connections_follows_their_windows(tmp_path: Path) -> None:
    """48 MiB, a node's 4 MiB for each of four, and what programs write ahead: 20 connections, both ways, with
    windows of 16 MB are 640 MB (611 MiB), so 675 MiB and the path, which the next 256 MiB hold."""
    item = 'q = quic(stack="quinn", cca="cubic", flows=20, direction="both", {})'
    assert lab.plan(tmp_path, LINK + item.format('duration="1 s"')).machine.memory_bytes == 768 * 2**20
    # 40 times 1 MB, as no more is ever written, fit into what every machine has
    assert lab.plan(tmp_path, LINK + item.format('bytes="1 MB"')).machine.memory_bytes == 512 * 2**20
    given = 'machine(memory="512 MiB")\n'
    with pytest.raises(SpecError, match=r"may keep 610 MiB .* need 768 MiB, and has 512 MiB"):
        lab.plan(tmp_path, given + LINK + item.format('duration="1 s"'))


def test_a_link_that_carries_no_datagram_of_quic_whole_is_refused(tmp_path: Path) -> None:
    """1,200 bytes and the headers of IPv4 and UDP are 1,228."""
    link = LINK.replace("base_rtt", "mtu={}, base_rtt")
    for item in (
        'q = quic(stack="quinn", duration="1 s")',
        'd = download(http="3", client="browser", duration="5 s")',
    ):
        with pytest.raises(SpecError, match=r"QUIC sends .* 1200 bytes .* mtu=1227"):
            lab.plan(tmp_path, link.format(1227) + item)
        lab.plan(tmp_path, link.format(1228) + item)


def test_a_host_has_one_qdisc_of_its_own(tmp_path: Path) -> None:
    one = 'quic("quinn", host_qdisc="{}", duration="1 s")\n'
    two = f"a = {one.format('fq')}b = {one}"
    assert lab.plan(tmp_path, LINK + two.format("fq"))
    with pytest.raises(SpecError, match="has one qdisc of its own, and a says fq"):
        lab.plan(tmp_path, LINK + two.format("pfifo"))


def test_streams_of_one_size_and_a_pause_are_words_of_the_client(tmp_path: Path) -> None:
    made = commands(tmp_path, 'quic("ngtcp2", bytes="1 MB", streams=3)')
    assert made["mine"].argv[-1].endswith("/333334")
    made = commands(
        tmp_path, 'quic("quic-go", peer="quinn", bytes="1 MB", pause="1500 ms", streams=2, flows=2)'
    )
    words = made["mine"].argv
    assert [words[words.index(f"--{name}") + 1] for name in ("pause", "flows")] == ["1500", "2"]
    assert "--pause" not in made["mine-server"].argv


def test_a_stack_of_ones_own_is_built_again_when_its_source_changes(tmp_path: Path) -> None:
    from narrows.plan import contents

    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "stack.toml").write_text(
        'stack = "mine 1"\nfiles = ["main.go"]\nbuild = [["go", "build"]]\n'
        'server = ["@here/end", "@at"]\nclient = ["@here/end", "@at"]\n'
    )
    words = set()
    for text in ("one", "other"):
        (folder / "main.go").write_text(text)
        contents.of.cache_clear()
        words.add(commands(tmp_path, 'quic("mine", duration="1 s")')["mine"].argv)
    assert len(words) == 2
    assert all(word[4].startswith("@content/") for word in words)


# ---- qlog


def log(tmp_path: Path, name: str, *lines: object) -> Path:
    path = tmp_path / name
    path.write_text("".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in lines))
    return path


def metrics(time: float, **data: float) -> dict[str, object]:
    return {"time": time, "name": "recovery:metrics_updated", "data": data}


def test_a_sequence_with_the_guests_monotonic_clock_whose_rtts_are_seconds(tmp_path: Path) -> None:
    """As quinn-proto 0.11.19 writes it."""
    trace = qlog.read(
        log(
            tmp_path, "server-1.sqlog", {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}},
            metrics(5025.0, min_rtt=0.04, smoothed_rtt=0.05, congestion_window=12000, ssthresh=2**64 - 1),
            {"time": 5026.0, "name": "transport:packet_sent", "data": {"header": {}}},
            {"time": 5357.4, "name": "recovery:packet_lost", "data": {"header": {}}},
            {"time": 5357.4, "name": "recovery:congestion_state_updated", "data": {"new": "recovery"}},
        ),
        CLOCKS,
    )  # fmt: skip
    assert trace.series["tcp_info.rtt", "us"] == {20_000_000: pytest.approx(50_000)}
    assert trace.series["tcp_info.snd_cwnd_bytes", "bytes"] == {20_000_000: 12000}
    assert ("tcp_info.snd_ssthresh_bytes", "bytes") not in trace.series
    assert trace.series["tcp_info.ca_state", "1"] == {350_000_000: 3}
    assert (trace.sent, trace.lost, trace.is_whole) == (1, 1, True)
    assert trace.warnings == [
        "server-1.sqlog: its RTTs are seconds, where qlog has ms; they are read as such"
    ]


def test_a_window_is_read_by_aioquics_word_too(tmp_path: Path) -> None:
    trace = qlog.read(log(tmp_path, "a.sqlog", {"trace": {}}, metrics(5025.0, cwnd=12000)), CLOCKS)
    assert trace.series["tcp_info.snd_cwnd_bytes", "bytes"] == {20_000_000: 12000}


def test_a_sequence_with_a_wall_clock_and_one_with_none(tmp_path: Path) -> None:
    """As quic-go 0.65.0 and ngtcp2 0.12.1 write them."""
    at = {"wall_clock_time": "2026-01-01T00:00:05.025025527Z", "clock_type": "monotonic"}
    walled = log(
        tmp_path,
        "a.sqlog",
        {"trace": {"common_fields": {"reference_time": at}}},
        metrics(5.0, smoothed_rtt=40),
    )
    assert list(qlog.read(walled, CLOCKS).series["tcp_info.rtt", "us"]) == [30_000_000]
    common = {"time_format": "relative", "reference_time": 0}
    bare = log(
        tmp_path,
        "b.sqlog",
        "\x1e",
        {"trace": {"common_fields": common}},
        "\x1e",
        metrics(10, smoothed_rtt=40),
    )
    assert list(qlog.read(bare, CLOCKS).series["tcp_info.rtt", "us"]) == [20_000_000]


def test_a_json_document_with_objects_and_with_draft_01s_arrays(tmp_path: Path) -> None:
    wall_ms = CLOCKS.wall_epoch_ns / 1e6
    whole = log(
        tmp_path,
        "a.qlog",
        {"qlog_version": "0.3", "traces": [{"events": [metrics(wall_ms + 55, pacing_rate=8e6)]}]},
    )
    assert qlog.read(whole, CLOCKS).series["tcp_info.pacing_rate", "bytes/s"] == {50_000_000: 1e6}
    events = [[0, "recovery", "metrics_updated", {"bytes_in_flight": 7}], [1, "recovery", "packet_lost", {}]]
    old = {"event_fields": ["relative_time", "category", "event", "data"], "events": events}
    trace = qlog.read(log(tmp_path, "b.qlog", {"traces": [old]}), CLOCKS)
    assert trace.series["tcp_info.bytes_in_flight", "bytes"] == {20_000_000: 7}
    assert trace.lost == 1


def test_a_log_that_breaks_off_or_is_none_says_so_and_keeps_what_was_whole(tmp_path: Path) -> None:
    broken = log(
        tmp_path,
        "a.sqlog",
        {"trace": {}},
        metrics(5030, smoothed_rtt=40),
        '{"time": 5031, "name": "recovery:metrics_up',
    )
    assert qlog.read(broken, CLOCKS).is_whole, "a line without its event's name is no event"
    broken = log(
        tmp_path,
        "a.sqlog",
        {"trace": {}},
        metrics(5030, smoothed_rtt=40),
        '{"name": "recovery:packet_lost", ',
    )
    trace = qlog.read(broken, CLOCKS)
    assert trace.series["tcp_info.rtt", "us"]
    assert (trace.is_whole, trace.warnings) == (False, ["a.sqlog: it breaks off"])
    none = qlog.read(log(tmp_path, "b.json", '{"traces": [{"events": ['), CLOCKS)
    assert (none.is_whole, none.warnings) == (False, ["b.json: no JSON, or it breaks off"])


# ---- what the ends say


def ran(tmp_path: Path, client: str, server: str, *, dropped: int = 3) -> CommandRun:
    plan = lab.plan(tmp_path, LINK + 'mine = quic(stack="quinn", cca="bbr", duration="2 s")\n')
    raw = tmp_path / "raw"
    raw.mkdir(exist_ok=True)
    (raw / "mine.stdout").write_text(client)
    (raw / "mine-server.stdout").write_text(server)
    flow = {"hop": "bottleneck", "item": "mine", "protocol": "udp", "sport": 4433, "label": "udp a>b"}
    flows = pl.DataFrame([
        flow | {"direction": "down", "arrived_packets": 100, "departed_packets": 97,
                "dropped_packets": dropped, "departed_bytes": 97 * 1014, "first_ns": 0,
                "last_ns": 1_000_000_000},
        flow | {"direction": "up", "arrived_packets": 9, "departed_packets": 9, "dropped_packets": 0,
                "departed_bytes": 9 * 64, "first_ns": 0, "last_ns": 1_000_000_000},
    ])  # fmt: skip
    item = next(each for each in plan.traffic if each.id == "mine")
    assert isinstance(item, Command)
    return CommandRun(item, plan, raw, 0, flows, 5_000_000_000, 0)


def end(**more: object) -> str:
    return (
        "listening\n"
        + json.dumps({"kind": "end", "cca": "bbr", "received_bytes": 0, "seconds": 0.0, **more})
        + "\n"
    )


def figures(one: CommandRun) -> dict[str, float]:
    return {each.name: each.value for each in parse.read(one).metrics}


def test_goodput_is_the_receivers_word_and_losses_are_held_against_the_queue(tmp_path: Path) -> None:
    found = figures(
        ran(tmp_path, end(received_bytes=250_000, seconds=2.0), end(sent_packets=100, lost_packets=8))
    )
    assert found["quic_goodput_bps"] == 1e6
    assert (found["quic_lost_packets"], found["quic_spurious_packets"], found["quic_unnoticed_packets"]) == (
        8,
        5,
        0,
    )
    assert "quic_tap_bps" not in found


def test_where_no_end_says_anything_the_tap_does_under_another_name(tmp_path: Path) -> None:
    found = figures(ran(tmp_path, "hello\n{not json\n", ""))
    assert found == {"quic_tap_bps": 97 * 1000 * 8}


def test_another_congestion_control_than_was_asked_for_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="mine-server is to use bbr, and says that it used cubic"):
        parse.read(ran(tmp_path, end(received_bytes=1, seconds=1.0), end(cca="cubic")))


def test_data_that_goes_another_way_than_it_is_to_is_no_result(tmp_path: Path) -> None:
    one = ran(tmp_path, end(), end(received_bytes=250_000, seconds=2.0))
    with pytest.raises(StoreError, match="mine is to go down, and no data went that way"):
        parse.read(one)


def test_a_flow_that_sent_nothing_is_no_result(tmp_path: Path) -> None:
    one = ran(tmp_path, end(), end())
    with pytest.raises(StoreError, match="mine sent nothing that passed the bottleneck"):
        parse.read(one)


# ---- programs that cannot be started


def elf_file(path: Path, machine: int) -> Path:
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    head[18:20] = machine.to_bytes(2, "little")
    path.write_bytes(head)
    path.chmod(0o755)
    return path


def test_a_program_of_another_machine_is_named_with_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elf.platform, "machine", lambda: "x86_64")
    lacks = elf.lacks(elf_file(tmp_path / "srv", 183), {})
    assert lacks is not None
    assert lacks.what == "is a program for aarch64, and this is x86_64"
    assert elf.lacks(elf_file(tmp_path / "own", 62), {}) is None
    (tmp_path / "script").write_text("#!/bin/sh\n")
    assert elf.lacks(tmp_path / "script", {}) is None


def test_a_library_that_is_not_there_is_named_by_the_loader(tmp_path: Path) -> None:
    """A program of this system that asks for libq in place of libc."""
    program = shutil.which("env")
    assert program is not None
    (tmp_path / "srv").write_bytes(Path(program).read_bytes().replace(b"libc.so.6\0", b"libq.so.6\0"))
    (tmp_path / "srv").chmod(0o755)
    lacks = elf.lacks(tmp_path / "srv", {})
    assert lacks is not None
    assert lacks.what == "needs libq.so.6, which the loader does not find"
    assert "LD_LIBRARY_PATH" in lacks.remedy
    shutil.copy(program, tmp_path / "own")
    assert elf.lacks(tmp_path / "own", {}) is None


def test_no_stack_is_found_where_there_is_none(tmp_path: Path) -> None:
    with pytest.raises(NarrowsError, match=r"there is no stack mine, and no .*mine/stack\.toml"):
        stacks.find("mine", tmp_path, "here:1")
