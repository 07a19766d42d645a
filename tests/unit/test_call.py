"""A call: what its two ends say becomes figures of both directions; the picture's number, and how like two
pictures are; programs as recipes; what is wrong is one line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import lab
import narrows
from narrows.errors import NarrowsError, SpecError, StoreError
from narrows.plan.items import AtTime
from narrows.runs import phases
from narrows.runs.observed import Series
from narrows.store.parsers.common import Parsed
from narrows.studies.prudentia.claims.t13 import given_up
from narrows.tools.call import parse as call
from narrows.tools.call import program
from narrows.tools.services.parse import ClientLog

CLIENT = Path(narrows.__file__).parent / "tools/call/client"
LINK = 'link = Link(rate="8 Mbit/s", base_rtt="50 ms", queue=pfifo(limit=64), services=2)\n'
BITS = "import json, make_camera as m; print(json.dumps([m.bits(n) for n in range(m.FRAMES)]))"
CONNECTED = {"kind": "connection", "state": "connected", "at_ms": 900.0}
CAMERA = {"kind": "camera", "height": 720, "at_ms": 500.0}


def told(*lines: dict[str, Any]) -> ClientLog:
    return ClientLog(lines, {}, 0)


def state(at_ms: float, *, received: dict[str, Any] | None = None, sent: dict[str, Any] | None = None) -> Any:
    return {"kind": "state", "at_ms": at_ms, "received": received, "sent": sent, "heard": None}


def got(**more: Any) -> dict[str, Any]:
    usual = {
        "height": 360,
        "frame_rate": 30.0,
        "bytes": 0,
        "packets": 0,
        "lost": 0,
        "freezes": 0,
        "frozen_s": 0.0,
    }
    return usual | more


def figures(parsed: Parsed, way: str) -> dict[str, float]:
    return {each.name: each.value for each in parsed.metrics if each.direction == way}


def test_rates_losses_and_freezes_are_between_the_first_and_the_last_report() -> None:
    later = got(height=720, bytes=1_250_000, packets=900, lost=100, freezes=3, frozen_s=1.0, nacks=4, plis=1)
    caller = told(CAMERA, CONNECTED, state(1000.0, received=got()), state(11_000.0, received=later))
    sender = {"bytes": 0, "target_bps": 1e6, "qp_sum": 0, "encoded": 0}
    callee = told(
        state(1000.0, sent=sender),
        state(11_000.0, sent=sender | {"bytes": 2_500_000, "qp_sum": 900, "encoded": 30}),
    )
    found = figures(call.parse(caller, callee, "c"), "down")
    assert found["call_received_bps"] == pytest.approx(1e6)  # 1.25 MB in 10 s
    assert found["call_sent_bps"] == pytest.approx(2e6)
    assert found["call_loss_ratio"] == pytest.approx(0.1)
    assert found["call_freezes_per_min"] == pytest.approx(18.0)
    assert found["call_frozen_share"] == pytest.approx(0.1)
    assert found["call_quantiser"] == pytest.approx(30.0)
    assert (found["call_nacks"], found["call_plis"]) == (4, 1)
    assert "call_jitter_buffer_ms" not in found, "nobody said anything of it"


def test_a_frame_is_timed_by_the_number_in_it_and_the_number_counts_240() -> None:
    shown = [[7, 1100.0, 360], [None, 1130.0, 360], [8, 1250.0, 720], [7, 9080.0, 720]]
    shown += [[8, 9150.0, 720]]  # taken at 9050 ms, when the other end had stopped
    frames = {"kind": "frames", "at_ms": 10_000.0, "shown": shown, "taken": []}
    like = {"kind": "quality", "at_ms": 1100.0, "number": 7, "height": 360, "ssim": 0.9}
    taken = [[7, 1000.0], [8, 1050.0], [7, 9000.0]]
    caller = told(CAMERA, CONNECTED, frames, like)
    callee = told({"kind": "frames", "at_ms": 10_000.0, "shown": [], "taken": taken})
    parsed = call.parse(caller, callee, "c")
    found = figures(parsed, "down")
    assert found["call_frame_delay_p50_ms"] == 100.0  # of 80, 100 and 200
    assert found["call_frame_delay_p95_ms"] == 200.0
    assert found["call_whole_after_ms"] == 150.0
    assert found["call_ssim"] == 0.9
    assert found["call_longest_gap_ms"] == 7830.0, "from 1250 ms to 9080 ms; the last stood 850 ms"
    assert figures(parsed, "up") == {}


def test_a_call_that_never_connects_says_how_far_ice_came() -> None:
    caller = told({"kind": "ice", "state": "checking", "at_ms": 1.0})
    with pytest.raises(StoreError, match="ICE at the client: checking; ICE at the server: not begun"):
        call.parse(caller, told(), "c")


def test_a_fault_says_at_which_end() -> None:
    fault = {"kind": "fault", "message": "this browser has no H264: it has VP8, VP9, AV1", "at_ms": 1.0}
    with pytest.raises(StoreError, match="the call's end at the server failed: this browser has no H264"):
        call.parse(told(CONNECTED), told(fault), "c")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('call(program="nobody", stop="9 s")', "there is no nobody"),
        ('call(through="aiortc", stop="9 s")', "is of the kind ends"),
        ('call(program="aiortc", codec="AV1", stop="9 s")', "has no AV1"),
        ('call(program="aiortc", initial="1 Mbit/s", stop="9 s")', "no switch for initial"),
        ('call(through="livekit", initial="1 Mbit/s", stop="9 s")', "starts as it likes"),
        ('call(program="aiortc", through="livekit", stop="9 s")', "joins no SFU"),
        ('call(pause="4 s", stop="9 s")', "a pause is from a time until a later one"),
        ('call(codec="H265", stop="9 s")', "H265"),
    ],
)
def test_what_a_program_cannot_do_is_refused(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NarrowsError, match=says):
        lab.plan(tmp_path, LINK + f"c = {text}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('program = "x"\nkind = "ends"', "argv is missing"),
        ('program = "x"\nkind = "both"\nargv = ["x"]', "kind: 'both'"),
        ('program = "x"\nkind = "sfu"\nargv = ["x", "@att"]', "nothing fills in @att"),
        ('program = "x"\nkind = "sfu"\nargv = "x"', "is not a list of words"),
        (
            'program = "x"\nkind = "ends"\nargv = ["x"]\ncodecs = ["VP8", "VP9"]',
            "nothing in its words chooses",
        ),
        ('prog = "x"', "unknown: prog"),
        ("program", "no program can be read"),
    ],
)
def test_a_recipe_that_is_wrong_is_one_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / program.FILE
    file.write_text(text)
    with pytest.raises(SpecError, match=says):
        program.read(file)


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ('pause="4 s", resume="6 s"', "pause"), ("audio=False", "audio"), ('most="1 Mbit/s"', "most"),
        ("height=360", "height"), ("sample=None", "sample"), ('degradation="balanced"', "degradation"),
    ],
)  # fmt: skip
def test_an_option_that_no_word_tells_a_program_of_ones_own_is_refused(
    tmp_path: Path, option: str, name: str
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / program.FILE).write_text(
        'program = "mine"\nkind = "ends"\nargv = ["sh", "@role", "@at", "@sends"]'
    )
    lab.plan(tmp_path, LINK + 'c = call(program="mine", sends="down", stop="9 s")')
    with pytest.raises(NarrowsError, match=f"mine has no switch for {name}"):
        lab.plan(tmp_path, LINK + f'c = call(program="mine", {option}, stop="9 s")')


def test_both_ends_of_a_program_get_their_roles_and_one_sends() -> None:
    kinds = {each.name: each.kind for each in program.every()}
    assert kinds == {"aiortc": "ends", "livekit": "sfu"}


def test_the_words_of_a_program_are_filled_in(tmp_path: Path) -> None:
    plan = lab.plan(tmp_path, LINK + 'c = call(program="aiortc", sends="down", most="1 Mbit/s", stop="9 s")')
    ends = {item.id: " ".join(getattr(item, "argv", ())) for item in plan.traffic}
    assert "--role caller" in ends["c"]
    assert "--sends 0" in ends["c"]
    assert "--role callee" in ends["c-callee"]
    assert "--sends 1" in ends["c-callee"]
    assert "--most 1000000 --audio 1" in ends["c"]
    assert "@here" not in ends["c"]


@pytest.mark.needs("node")
def test_the_number_of_every_frame_is_read_back_by_the_page() -> None:
    made = subprocess.run(
        [sys.executable, "-c", BITS],
        cwd=CLIENT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    script = (
        f"import {{numberOf}} from '{CLIENT}/stamp.mjs';"
        f"const read = (cells) => numberOf((n) => 40 + 150 * cells[n]), cells = {made.stdout};"
        "console.log(JSON.stringify(cells.map(read)));"
        "console.log(numberOf(() => 128), read([1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    numbers, others = done.stdout.splitlines()
    assert json.loads(numbers) == list(range(240))
    assert others == "null null", "grey is no number, and a wrong count of ones neither"


@pytest.mark.needs("node", "ffmpeg")
def test_likeness_is_what_ffmpeg_says(tmp_path: Path) -> None:
    dice = np.random.default_rng(1)
    a = dice.integers(0, 256, (48, 64), dtype=np.uint8)
    b = np.clip(a.astype(int) + dice.integers(-40, 40, a.shape), 0, 255).astype(np.uint8)
    for name, picture in (("a", a), ("b", b)):
        (tmp_path / name).write_bytes(picture.tobytes())
    inputs = [
        word for name in "ab" for word in ("-f", "rawvideo", "-pix_fmt", "gray", "-s", "64x48", "-i", name)
    ]
    done = subprocess.run(
        ["ffmpeg", *inputs, "-lavfi", "ssim", "-f", "null", "-"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = float(done.stderr.rpartition("Y:")[2].split()[0])
    script = (
        f"import {{ssim}} from '{CLIENT}/ssim.mjs'; import {{readFileSync}} from 'node:fs';"
        "console.log(ssim(readFileSync('a'), readFileSync('b'), 64, 48));"
    )
    ours = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert float(ours.stdout) == pytest.approx(expected, abs=2e-4)


@pytest.mark.needs("node")
def test_what_an_end_may_begin_with_stands_at_every_codec_of_the_picture() -> None:
    sdp = (
        "v=0\\r\\nm=audio 9 X 111\\r\\n"
        "a=rtpmap:111 opus/48000/2\\r\\na=fmtp:111 minptime=10\\r\\n"
        "m=video 9 X 96 97 98\\r\\na=rtpmap:96 VP8/90000\\r\\n"
        "a=rtpmap:97 rtx/90000\\r\\na=fmtp:97 apt=96\\r\\n"
        "a=rtpmap:98 VP9/90000\\r\\na=fmtp:98 profile-id=0\\r\\n"
    )
    page = f"import {{withInitial}} from '{CLIENT}/direct.mjs';"
    script = f"{page} console.log(withInitial('{sdp}', 2e6));"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True
    )
    lines = [line.strip() for line in done.stdout.splitlines() if "fmtp" in line]
    assert lines == [
        "a=fmtp:111 minptime=10",
        "a=fmtp:96 x-google-start-bitrate=2000",
        "a=fmtp:97 apt=96",
        "a=fmtp:98 profile-id=0;x-google-start-bitrate=2000",
    ]


def made_up(**rates_bps: float) -> Any:
    """Calls from 0 to 20 s, the second from 8 s on; the link's rate changes at 12 s."""
    t_ns = 1e7 * np.arange(2000)
    items = [
        SimpleNamespace(
            id=name, item=name, tool="call", kind="command", background=False,
            start=AtTime(at_ns=0 if n == 0 else 8_000_000_000), stop=AtTime(at_ns=20_000_000_000),
        )
        for n, name in enumerate(rates_bps)
    ]  # fmt: skip
    truth = SimpleNamespace(
        throughput_bps={
            n: Series(t_ns, np.where(t_ns < 16e9, rate / 2, rate)) for n, rate in rates_bps.items()
        }
    )
    down = SimpleNamespace(changes=(SimpleNamespace(at_ns=12_000_000_000, rate_bps=1_000_000),))
    return SimpleNamespace(
        plan=SimpleNamespace(traffic=items),
        link=SimpleNamespace(down=down),
        truth=lambda way: truth,
        figure=lambda name, way, whose: {"a": 300.0, "b": 5000.0}[whose.item],
        rate_bps=lambda: 3e6,
    )


def test_a_phase_is_between_changes_and_its_rate_is_that_of_its_second_half() -> None:
    run = made_up(a=4e5, b=6e5)
    assert [(begun / 1e9, ended / 1e9) for begun, ended in phases.phases(run)] == [(0, 8), (8, 12), (12, 20)]
    assert [phases.capacity_bps(run, n) for n in (1, 2, 3)] == [3e6, 3e6, 1e6]
    assert phases.rate_bps(run, "a phase 3") == pytest.approx(4e5)
    assert phases.rate_bps(run, "b phase 3") == pytest.approx(6e5)
    assert phases.rate_bps(run, "b phase 2") is None, "its ends were connected 5 s after it began"
    assert phases.rate_bps(run, "b phase 1") is None, "it was not there yet"


def test_programs_give_up_what_they_have_less_of_beside_a_rival() -> None:
    alone = {"lines": 720.0, "frames a second": 30.0, "freezes a minute": 0.0}
    assert given_up(alone, alone | {"lines": 360.0}) == {"lines"}
    assert given_up(alone, alone | {"frames a second": 26.0, "freezes a minute": 5.0}) == {
        "frames a second", "freezes a minute",
    }  # fmt: skip
    assert given_up(alone, alone | {"freezes a minute": 1.0}) == frozenset()
