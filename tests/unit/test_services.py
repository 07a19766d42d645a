"""Services: their items in a plan, the nodes they get, and how what their clients write is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lab
from narrows.errors import NarrowsError, SpecError, StoreError
from narrows.plan.build import plan_file
from narrows.plan.items import Command
from narrows.plan.model import Plan
from narrows.store.parsers.common import Parsed
from narrows.studies.find import experiments
from narrows.tools.call import parse as call
from narrows.tools.download import parse as download
from narrows.tools.live import parse as live
from narrows.tools.page import parse as page
from narrows.tools.services.parse import ClientLog, client_log
from narrows.tools.video import parse as video
from narrows.tools.video.lower import ladder, rungs

LINK = 'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=128), services=2)\n'
EPOCH_MS = 1_000.0


def commands(plan: Plan) -> dict[str, Command]:
    return {item.id: item for item in plan.traffic if isinstance(item, Command)}


def said(*lines: dict[str, Any]) -> ClientLog:
    text = "\n".join(json.dumps({"at_ms": EPOCH_MS, **line}) for line in lines)
    return client_log(text, wall_epoch_ns=round(EPOCH_MS * 1e6), where="raw/x.stdout", who="the client")


def figures(parsed: Parsed) -> dict[str, float]:
    return {m.name: m.value for m in parsed.metrics}


def test_each_of_two_services_has_a_client_and_a_server_of_its_own(tmp_path: Path) -> None:
    text = LINK + 'a = download(stop="9 s")\nb = download(host=2, stop="9 s")\nc = bulk(host=2, stop="9 s")'
    plan = lab.plan(tmp_path, text)
    made = commands(plan)
    assert [made[name].node for name in ("a", "a-server", "b", "b-server")] == [
        "client1", "server1", "client2", "server2",
    ]  # fmt: skip
    (bulk,) = (item for item in plan.traffic if item.id == "c")
    assert (bulk.sender, bulk.receiver) == ("server2", "client2")  # type: ignore[union-attr]
    assert [node.name for node in plan.nodes if node.role == "path"] == ["access", "path"]


def test_a_link_has_nodes_for_as_many_services_as_it_says(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="host=3, but the link has nodes for 2") as caught:
        lab.plan(tmp_path, LINK + 'a = download(host=3, stop="9 s")')
    assert "services" in (caught.value.remedy or "")


@pytest.mark.parametrize("kind", ["Home", "Dumbbell"])
def test_services_are_those_of_a_link(tmp_path: Path, kind: str) -> None:
    with pytest.raises(SpecError, match="services"):
        lab.plan(tmp_path, f'link = {kind}(rate="8 Mbit/s", services=2)\na = bulk(stop="9 s")')


def test_the_cca_of_a_service_is_the_sysctl_of_its_servers_node(tmp_path: Path) -> None:
    text = LINK + 'a = video(cca="bbr", stop="9 s")\nb = download(cca="reno", host=2, stop="9 s")'
    plan = lab.plan(tmp_path, text)
    name = "net.ipv4.tcp_congestion_control"
    assert {(s.node, s.name, s.value) for s in plan.sysctls} == {
        ("server1", name, "bbr"), ("server2", name, "reno"),
    }  # fmt: skip
    assert plan.needs.default_ccas == ("bbr", "cubic", "reno")


def test_two_services_of_one_server_cannot_have_two_ccas(tmp_path: Path) -> None:
    text = LINK + 'a = video(cca="bbr", stop="9 s")\nb = download(cca="reno", stop="9 s")'
    with pytest.raises(SpecError, match="at the server1, a bbr") as caught:
        lab.plan(tmp_path, text)
    assert "host=2" in (caught.value.remedy or "")


def test_a_video_is_nginx_with_a_ladder_and_a_browser(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, LINK + 'v = video(player="shaka", flows=4, top="8 Mbit/s", stop="90 s")')
    made = commands(plan)
    (content,) = plan.contents
    server, client = made["v-server"], made["v"]
    assert f"alias @content/{content.id}/;" in server.env["CONFIGURATION"]
    assert "listen 10.0.4.1:80;" in server.env["CONFIGURATION"]
    assert "shaka-player.compiled.js" in server.env["CONFIGURATION"]
    assert client.argv[:4] == ("node", "@checkout/tools/video/client/run.mjs", "--url", "http://10.0.4.1:80/")
    assert client.programs == ("node", "chromium")
    # 90 s and what a player may have fetched ahead, in whole minutes
    assert content.about == "a video of 180 s with rungs up to 8 Mbit/s"
    assert content.programs == ("ffmpeg",)


def test_equal_recipes_are_one_content_and_others_are_not(tmp_path: Path) -> None:
    def ids(text: str) -> list[str]:
        return [content.id for content in lab.plan(tmp_path, LINK + text).contents]

    two = ids('a = video(stop="70 s")\nb = video(host=2, player="hls.js", stop="80 s")')
    assert len(two) == 1
    assert ids('a = video(stop="70 s", top="9 Mbit/s")') != two


def test_a_plan_without_content_says_nothing_of_it(tmp_path: Path) -> None:
    assert "contents" not in lab.plan(tmp_path, lab.SMALL).to_dict()


def test_a_ladder_ends_at_its_top_and_leaves_out_what_is_near_it() -> None:
    assert [rate for _, rate in rungs(8.0)] == [0.4, 0.8, 1.5, 3.0, 5.0, 8.0]
    assert [rate for _, rate in rungs(1.0)] == [0.4, 1.0]
    encode, pack, clean = ladder(1.0, 60)
    assert encode.count("libx264") == 2
    assert pack[3:5] == ("-stream_loop", "1")  # 30 s twice
    assert clean == ("rm", "240.mp4", "1080.mp4")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("video()", "would never end"),
        ('video(top="80 Mbit/s", stop="9 s")', "no top of a ladder"),
        ('video(flows=2, stop="9 s")', "dash.js fetches over one connection"),
        ('download(batches=True, stop="9 s")', "are of chunks"),
        ('page(duration="9 s")', "loads × every"),
        ('call(cca="bbr", stop="9 s")', "the program's own"),
        ('video(player="vlc", stop="9 s")', "player"),
    ],
)
def test_what_a_service_cannot_be_is_one_line_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(SpecError, match=message) as caught:
        lab.plan(tmp_path, f"{LINK}a = {line}")
    assert (caught.value.where or "").endswith("tiny.py:4")


def test_pairs_are_every_service_alone_and_beside_every_other(tmp_path: Path) -> None:
    text = LINK + 'a, b = pairs({"x": bulk(cca="bbr", stop="9 s"), "y": bulk(cca="reno", stop="9 s")})'
    plans = {plan.key["pair"]: plan for plan in lab.plans(tmp_path, text)}
    assert list(plans) == ["x", "y", "x+x", "x+y", "y+y"]
    assert [item.id for item in plans["y"].traffic] == ["a"]
    both = plans["x+y"].traffic
    assert [(item.sender, item.cca) for item in both] == [("server1", "bbr"), ("server2", "reno")]  # type: ignore[union-attr]


def test_pairs_of_two_lists_meet_across_them(tmp_path: Path) -> None:
    text = LINK + (
        'a, b = pairs({"x": bulk(cca="bbr", stop="9 s")},'
        ' {"y": bulk(cca="reno", stop="9 s"), "z": bulk(cca="cubic", stop="9 s")})'
    )
    assert [plan.key["pair"] for plan in lab.plans(tmp_path, text)] == ["x", "y", "z", "x+y", "x+z"]


def test_services_that_have_names_run_only_as_the_pair_says(tmp_path: Path) -> None:
    text = LINK + (
        'every = {"x": bulk(cca="bbr", stop="9 s"), "y": bulk(cca="reno", stop="9 s")}\n'
        'a, b = pairs({"x": every["x"]}, {"y": every["y"]})'
    )
    plans = {plan.key["pair"]: [item.id for item in plan.traffic] for plan in lab.plans(tmp_path, text)}
    assert plans == {"x": ["a"], "y": ["a"], "x+y": ["a", "b"]}


@pytest.mark.parametrize("name", experiments("prudentia"))
def test_every_trial_of_the_study_is_of_its_pair_alone(name: str) -> None:
    for plan in plan_file(experiments("prudentia")[name]).plans:
        ids = {item.id.partition("-")[0] for item in plan.traffic}
        assert ids == ({"first", "second"} if "+" in plan.key["pair"] else {"first"}), plan.key


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("a, b = pairs({})", "are no services"),
        ('a, b = pairs({"x": 3})', "no service"),
        ('a, b = pairs({"x+y": bulk(stop="9 s")})', "cannot name a service"),
        ('a, b = pairs({"x": bulk(host=2, stop="9 s")})', "leave host out|gives each"),
    ],
)
def test_what_pairs_cannot_be_is_one_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        lab.plan(tmp_path, LINK + line)


STATE = {
    "played_s": 1.0, "frames": 30, "dropped": 0, "height": 240, "buffer_s": 4.0, "rung_bps": 4e5,
    "stalled_ms": 0.0,
}  # fmt: skip
ABLE = {"kind": "able", "supported": True, "smooth": True, "width": 3840, "height": 2073}


def test_a_video_says_rungs_switches_stalls_and_what_makes_it_valid() -> None:
    lines = [
        ABLE,
        {"kind": "started", "after_ms": 812.5},
        {"kind": "state", **STATE, "at_ms": 2_000.0},
        {"kind": "state", **STATE, "at_ms": 3_000.0, "rung_bps": 8e5},
        {"kind": "stalled", "for_ms": 200.0},
        {"kind": "state", **STATE, "at_ms": 4_000.0, "rung_bps": 8e5},
        {"kind": "end", "state": {**STATE, "played_s": 3.5, "frames": 90, "dropped": 1, "stalled_ms": 50.0},
         "browser": "Chrome/1", "processes_gone": []},
    ]  # fmt: skip
    parsed = video.parse(said(*lines), "v")
    found = figures(parsed)
    assert found["video_start_ms"] == 812.5
    assert found["video_mean_rung_bps"] == pytest.approx(2e6 / 3)  # of 0.4, 0.8, 0.8
    assert found["video_switches"] == 1
    assert (found["video_stalls"], found["video_stalled_ms"]) == (2, 250.0)  # one over, one that goes on
    assert (found["video_frames"], found["video_frames_dropped"]) == (90, 1)
    assert found["video_top_rung_playable"] == 1
    rows = [s for s in parsed.samples if s["quantity"][0] == "video_rung"]
    assert rows[0]["t_ns"].to_list() == [10**9, 2 * 10**9, 3 * 10**9]
    assert parsed.warnings == []


def test_a_browser_that_cannot_play_the_top_or_lost_a_process_is_warned_of() -> None:
    end = {"kind": "end", "state": STATE, "browser": "Chrome/1", "processes_gone": ["renderer 7"]}
    parsed = video.parse(said({**ABLE, "smooth": False}, {"kind": "state", **STATE}, end), "v")
    assert figures(parsed)["video_top_rung_playable"] == 0
    assert figures(parsed)["browser_processes_gone"] == 1
    assert len(parsed.warnings) == 2


def test_a_picture_that_stands_still_with_more_in_the_buffer_is_a_browser_that_hangs() -> None:
    def states(*told: tuple[float, float]) -> list[dict[str, Any]]:
        return [
            {"kind": "state", **STATE, "at_ms": 1000.0 * second, "played_s": played, "buffer_s": buffer}
            for second, (played, buffer) in enumerate(told)
        ]

    def frozen_ms(*told: tuple[float, float]) -> float:
        end = {"kind": "end", "state": STATE, "browser": "Chrome/1", "processes_gone": []}
        return figures(video.parse(said(*states(*told), end), "v"))["video_frozen_ms"]

    assert frozen_ms((0, 8), (0, 8), (1, 8), (2, 8)) == 0  # it had not begun
    assert video.frozen_ms(states((1, 8))) is None
    assert frozen_ms((1, 2), (2, 1), (2.5, 0.2), (2.5, 0.1), (2.5, 0.4), (3.5, 4)) == 0  # nothing to show
    assert frozen_ms((1, 8), (2, 8), (2, 8), (2, 8), (3, 8), (3, 8)) == 2000
    end = {"kind": "end", "state": STATE, "browser": "Chrome/1", "processes_gone": []}
    parsed = video.parse(said(*states((1, 8), (1, 8), (1, 8), (1, 8)), end), "v")
    assert "stood still for 3 s" in parsed.warnings[0]


def test_a_player_that_failed_is_an_error_with_its_words() -> None:
    with pytest.raises(StoreError, match="the player failed: no such codec"):
        video.parse(said({"kind": "fault", "message": "no such codec"}, {"kind": "end"}), "v")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "did not come to its end"),
        ('{"kind": "opened", "at_ms": 1}', "did not come to its end"),
        ("Segmentation fault", "no JSON object"),
        ("[1]", "no JSON object"),
    ],
)
def test_a_client_that_broke_off_is_an_error(text: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        client_log(text, wall_epoch_ns=0, where="raw/v.stdout", who="the client of video")


def test_a_pages_times_are_medians_and_a_load_that_was_not_over_counts_as_endless() -> None:
    def load(number: int, ms: float) -> dict[str, Any]:
        times = dict.fromkeys(("load_ms", "visual_ms", "first_paint_ms", "last_byte_ms"), ms)
        return {
            "kind": "load",
            "number": number,
            "begun_ms": EPOCH_MS + 1000 * number,
            "requests": 12,
            **times,
        }

    failed = {"kind": "unloaded", "number": 3, "begun_ms": 4000.0, "message": "not loaded within 40 s"}
    end = {"kind": "end", "browser": "Chrome/1"}
    parsed = page.parse(said(load(0, 100.0), load(1, 300.0), load(2, 200.0), failed, end), "p")
    # of 100, 200, 300 and an endless one
    assert figures(parsed)["page_load_ms"] == 250.0
    assert (figures(parsed)["page_loads"], figures(parsed)["page_loads_failed"]) == (3, 1)
    assert "1 of 4 loads" in parsed.warnings[0]
    parsed = page.parse(said(load(0, 100.0), failed, failed, end), "p")
    assert "page_load_ms" not in figures(parsed)
    with pytest.raises(StoreError, match="the page never loaded: not loaded within 40 s"):
        page.parse(said(failed, end), "p")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (
            [{"kind": "opened", "at_ms": EPOCH_MS + 3500.0, "browser": "Chrome/1"}],
            "browser was up after 3.5 s",
        ),
        ([], "browser never came up"),
    ],
)
def test_a_live_page_that_never_loaded_says_how_far_its_browser_came(
    lines: list[dict[str, Any]], words: str
) -> None:
    end = {"kind": "end", "browser": None, "processes_gone": []}
    with pytest.raises(StoreError, match=words):
        live.parse(said(*lines, end), "p")


def test_a_download_says_its_goodput_and_what_its_batches_waited() -> None:
    def state(received: int, at_ms: float) -> dict[str, Any]:
        return {
            "kind": "state",
            "at_ms": at_ms,
            "received": received,
            "chunks": 5,
            "batches": 1,
            "waited_ms": 300.0,
        }

    end = {"kind": "end", "at_ms": 3_000.0, "client": "Node.js", "state": state(2_000_000, 3_000.0)}
    parsed = download.parse(said(state(500_000, 2_000.0), state(1_500_000, 3_000.0), end), start_ns=0)
    assert figures(parsed)["download_goodput_bps"] == pytest.approx(8e6)  # 2 MB in 2 s
    assert figures(parsed)["download_barrier_share"] == pytest.approx(0.15)  # 300 ms of 2 s
    (rate,) = parsed.samples
    assert rate["value"].to_list() == [8e6]  # 1 MB in 1 s
    with pytest.raises(StoreError, match="the download failed: the server answered 404"):
        download.parse(said({"kind": "fault", "message": "the server answered 404"}, end), start_ns=0)


def test_a_call_says_height_frames_and_freezes() -> None:
    def state(at_ms: float, height: int, freezes: int) -> dict[str, Any]:
        got = {
            "height": height,
            "frame_rate": 30.0,
            "decoded": 0.03 * at_ms,
            "bytes": 1,
            "lost": 2,
            "freezes": freezes,
        }
        sent = {"target_bps": 1e6, "limited_s": {"cpu": 0.0, "none": 2.0}}
        return {"kind": "state", "at_ms": at_ms, "received": got, "sent": sent}

    connected = {"kind": "connection", "state": "connected"}
    end = {"kind": "end", "state": None, "browser": "Chrome/1"}
    states = [state(2_000.0, 360, 0), state(3_000.0, 720, 0), state(32_000.0, 720, 2)]
    found = figures(call.parse(said(connected, *states, end), None, "c"))
    assert (found["call_height"], found["call_frame_rate"]) == (720, 30.0)
    assert found["call_freezes_per_min"] == pytest.approx(4.0)  # 2 in 30 s
    assert found["call_cpu_limited_s"] == 0.0
    with pytest.raises(StoreError, match="never connected"):
        call.parse(said(*states, end), None, "c")


def test_a_camera_and_pages_are_made_from_a_seed(tmp_path: Path) -> None:
    text = LINK + 'c = call(stop="9 s")\np = page(kind="domains", loads=2, every="9 s", host=2)'
    plan = lab.plan(tmp_path, text)
    assert [content.about for content in plan.contents] == [
        "a camera's picture of 720 lines", "the page of domains",
    ]  # fmt: skip
    made = commands(plan)
    assert made["c-callee"].node == "server1"
    assert {end.protocol for end in made["c"].endpoints} == {"tcp", "udp"}
    assert made["p"].argv[-8:-4] == ("--loads", "2", "--every", "9000")


def test_content_that_cannot_be_made_is_one_error_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from narrows.engine import contents
    from narrows.plan.contents import of

    monkeypatch.setenv("NARROWS_CACHE", str(tmp_path))
    broken = of("a broken thing", (("truncate", "-s", "5", "x"), ("ls", "/no/such/place")), ("ls",))
    with pytest.raises(NarrowsError, match=r"the content a broken thing cannot be made: ls: .*No such file"):
        contents.make(broken, "/usr/bin:/bin")
    assert [path.name for path in (tmp_path / "content").iterdir()] == [f".lock-{broken.id}"]
    whole = of("five bytes", (("truncate", "-s", "5", "x"),), ("truncate",))
    contents.make(whole, "/usr/bin:/bin")
    made = json.loads((tmp_path / "content" / whole.id / "content.json").read_text())
    assert made["files"]["x"]["bytes"] == 5
    assert made["programs"]["truncate"].startswith("truncate (GNU coreutils)")


LIVE = 'a = live("https://www.example.org/", recipe=["wait 2 s", "wait #go", "play"], stop="9 s")'


def test_a_live_page_makes_a_way_out_of_the_path_and_a_guest_refuses_it(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, LINK + LIVE)
    assert plan.uplink is not None
    assert plan.uplink.node == "path"
    assert ("path", "nft") in {(step.node, step.tool) for step in plan.setup}
    made = commands(plan)["a"]
    assert json.loads(made.argv[made.argv.index("--recipe") + 1]) == ["pause 2000", "wait #go", "play"]
    assert "uplink" not in lab.plan(tmp_path / "other", LINK + 'b = download(stop="9 s")').to_dict()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ('"ftp://example.org"', "no address of a page"),
        ('"https://example.org", recipe=["hover #a"]', "no step of a recipe"),
        ('"https://example.org", recipe=["click"]', "says too little"),
        ('"https://example.org", recipe="play"', "is no recipe"),
        ('"https://example.org", addresses="192.0.2.1"', "not a mapping"),
    ],
)
def test_a_live_page_that_makes_no_sense_is_refused(tmp_path: Path, options: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        lab.plan(tmp_path, LINK + f'a = live({options}, stop="9 s")')


def test_a_live_pages_way_out_does_not_follow_a_path_that_changes(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="the path changes"):
        lab.plan(tmp_path, LINK + 'link.at("3 s", base_rtt="90 ms")\n' + LIVE)


def test_a_live_pages_figures_are_null_without_a_video() -> None:
    video_ = {"height": 720, "played_s": 3.0, "frames": 90, "dropped": 1, "buffer_s": 9.0, "stalls": 1,
              "stalled_ms": 40.0}  # fmt: skip
    for shown in (None, video_):
        parsed = live.parse(
            said(
                {"kind": "loaded", "after_ms": 120, "url": "https://www.example.org/"},
                {"kind": "state", "bytes": 1000, "http3_bytes": 250, "video": shown},
                {"kind": "end", "browser": "x", "processes_gone": []},
            ),
            "a",
        )
        found = figures(parsed)
        assert (found["live_bytes"], found["live_http3_share"]) == (1000, 0.25)
        assert found.get("live_video_height") == (720 if shown else None)
        assert found.get("live_video_stalls") == (1 if shown else None)


def test_over_quic_the_server_is_ours_its_cca_its_own_and_the_browser_trusts_it(tmp_path: Path) -> None:
    second = 'b = download(http="3", client="browser", host=2, stop="9 s")'
    text = LINK + 'a = video(http="3", cca="bbr", stop="9 s")\n' + second
    plan = lab.plan(tmp_path, text)
    made = commands(plan)
    for name, cca in (("a", "bbr"), ("b", "cubic")):
        server = made[f"{name}-server"].argv
        assert server[:2] == ("@agent", "h3-server")
        assert server[server.index("--cca") + 1] == cca
        trusted = made[name].argv[made[name].argv.index("--trust") + 1]
        assert trusted == server[server.index("--write-cert") + 1]
        assert {end.protocol for end in made[name].endpoints} == {"udp"}
    assert plan.sysctls == ()


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ('download(http="3", stop="9 s")', "HTTP/3 is the browser's"),
        ('download(http="3", client="browser", connections=2, chunk="1 MB", stop="9 s")', "one connection"),
        ('download(http="3", client="browser", server_rate="5 Mbit/s", stop="9 s")', "one connection"),
        ('video(http="3", player="shaka", flows=4, stop="9 s")', "one connection"),
        ('video(http="3", cca="westwood", stop="9 s")', "no westwood"),
    ],
)
def test_what_quic_cannot_is_refused(tmp_path: Path, item: str, said: str) -> None:
    with pytest.raises(SpecError, match=said):
        lab.plan(tmp_path, LINK + f"a = {item}")
