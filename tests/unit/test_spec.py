"""Experiment files: what they may say, and the one clear error for each thing they may not."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from narrows.errors import SpecError
from narrows.plan.build import Plans, plan_file
from narrows.spec.load import load

HEAD = '"""Does it work?"""\nfrom narrows.spec import *\n'
LINK = 'link = Link(rate="100 Mbit/s", queue=fq_codel())\n'
FLOW = 'flow = bulk(duration="5 s")\n'


def write(folder: Path, text: str, name: str = "study.py") -> Path:
    file = folder / name
    file.write_text(textwrap.dedent(text), encoding="utf-8")
    return file


def plans_of(folder: Path, body: str) -> Plans:
    return plan_file(write(folder, HEAD + body))


def error_of(folder: Path, text: str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        plan_file(write(folder, text))
    return caught.value


def test_the_experiment_of_the_style_guide_works_literally(tmp_path: Path) -> None:
    file = write(
        tmp_path,
        '''\
        """Does FQ-CoDel keep working latency low when the bottleneck slows down?"""
        from narrows.spec import Link, bulk, fq_codel
        link = Link(rate="50 Mbit/s", base_rtt="80 ms", queue=fq_codel())
        link.at("40 s", rate="10 Mbit/s")
        flow = bulk(cca="bbr", duration="120 s")
        ''',
    )
    (plan,) = plan_file(file).plans
    assert plan.question == "Does FQ-CoDel keep working latency low when the bottleneck slows down?"
    assert plan.link.rate_down_bps == 50_000_000
    assert plan.link.base_rtt_ns == 80_000_000
    assert [change.at_ns for change in plan.changes] == [40_000_000_000] * 2
    assert all("10Mbit" in change.args for change in plan.changes)
    (flow,) = plan.traffic
    assert (flow.id, flow.kind) == ("flow", "tcp_bulk")


def test_variables_names_become_ids_and_lists_are_numbered(tmp_path: Path) -> None:
    body = LINK + 'flows = [bulk(duration="5 s"), bulk(duration="6 s")]\nping = icmp_echo(duration="5 s")\n'
    (plan,) = plans_of(tmp_path, body).plans
    assert [item.id for item in plan.traffic] == ["flows-0", "flows-1", "ping"]


def test_names_that_begin_with_an_underscore_are_not_part_of_the_experiment(tmp_path: Path) -> None:
    body = LINK + FLOW + '_spare = bulk(duration="9 s")\n_other = Link(rate="1 Mbit/s")\n'
    (plan,) = plans_of(tmp_path, body).plans
    assert [item.id for item in plan.traffic] == ["flow"]


def test_a_file_beside_the_experiment_can_be_imported_and_is_read_anew(tmp_path: Path) -> None:
    helper = tmp_path / "shared_parts.py"
    text = HEAD + "from shared_parts import rate\nlink = Link(rate=rate)\n" + FLOW
    helper.write_text('rate = "10 Mbit/s"\n')
    assert plan_file(write(tmp_path, text)).plans[0].link.rate_down_bps == 10_000_000
    helper.write_text('rate = "2000 Mbit/s"\n')
    assert plan_file(write(tmp_path, text)).plans[0].link.rate_down_bps == 2_000_000_000


WRONG_LINES = [
    # (the wrong line, part of the message, part of the remedy)
    ('x = codel(targt="5 ms")', "unknown argument 'targt'", "did you mean target?"),
    ("x = codel(target=5)", "target: 5 has no unit", '"5 ms"'),
    ('x = codel(target="-5 ms")', "must not be negative", ""),
    ('x = codel(target="5 ns")', "whole microseconds", ""),
    ('x = codel(target="200 ms")', "target (200 ms) must be below interval (100 ms)", "RFC 8289"),
    ("x = pfifo(100)", "100 needs a name", "limit=…"),
    ('x = pfifo(limit="100 KB")', "counts packets, not bytes", "bfifo counts bytes"),
    ("x = pfifo(limit=0)", "out of range", ""),
    ("x = bfifo()", "limit is missing", "limit=…"),
    ('x = bfifo(limit="0 BDP")', "a queue of nothing", ""),
    ("x = bfifo(limit=5000)", "5000 has no unit", '"5000 KB"'),
    ("x = sfq(divisor=1000)", "not a power of two", "1024"),
    ("x = sfq(ecn=True)", "only with redflowlimit", ""),
    ('x = cake(diffserv="diffserve4")', "'diffserve4' is not known", "did you mean diffserv4?"),
    ('x = cake(flow_isolation="hostz")', "'hostz' is not known", "did you mean hosts?"),
    ("x = fq_codel(ecn=1)", "neither True nor False", ""),
    ('x = bulk(cca="cubik", duration="5 s")', "unknown congestion control 'cubik'", "did you mean cubic?"),
    ('x = bulk(duration="5 s", dscp="CS9")', "unknown DSCP 'CS9'", "CS0"),
    ('x = bulk(duration="5 s", flows=0)', "out of range", ""),
    ("x = bulk()", "would never end", 'duration="10 s"'),
    ("x = udp_probe()", "would never end", "with_"),
    ('x = bulk(start="10 s", stop="5 s")', "stops at 5 s, but starts at 10 s", "after start"),
    ('x = bulk(stop="5 s", duration="5 s")', "say the same twice", ""),
    ('x = bulk(direction="downn", duration="5 s")', "'downn'", "did you mean down?"),
    ('x = bulk(duration="0 s")', "duration of '0 s'", "above zero"),
    ("x = bulk(stop=after(flow))", "after() is for start", "with_(other)"),
    ("x = bulk(start=with_(flow))", "with_() is for stop", "after(other"),
    ('x = bulk(stop=with_("flow"))', "'flow' is not traffic", "variable"),
    ('x = iperf3(duration="1.5 s")', "only whole seconds", '"10 s"'),
    ('x = iperf3(duration="5 s", udp_rate="1 Mbit/s", cca="bbr")', "UDP has no congestion control", ""),
    ('x = ndt7(tests="ping")', "'ping' is not known", ""),
    ('x = ndt7(client="go")', "'go' is not known", "ndt7-client"),
    ('x = command("")', "is not a command", ""),
    ('x = command("sleep 5", ready="server")', "not an address with a port", "@server:80"),
    ('link.at("5 s", rat="1 Mbit/s")', "unknown argument 'rat'", "did you mean rate?"),
    ('link.at("5 s", rate="0 Mbit/s")', "nothing would ever be sent", ""),
    ("link.at('5 s')", "nothing changes", ""),
    ('x = axis("Rate", ["1 Mbit/s"])', "'Rate' cannot name an axis", ""),
    ('x = axis("rate", [])', "no values", ""),
    ('x = axis("seed", [1])', "made by repeat()", "repeat(10)"),
    ('x = axis("queue", [codel(), codel()])', "two values would be labelled 'codel'", "label"),
    ('x = axis("rate", ["1 Mbit/s", "2 Mbit/s"])', "the axis rate is never used", ""),
    ('for each in axis("n", [1, 2]): pass', "cannot be looped over", ""),
    ("repeat(0)", "out of range", ""),
    ('tap("all")', "'all' is not known", "packets"),
    ('tap("off", interval="1 s")', "off has no interval of its own", "drops"),
    ('tap("drops", interval="3 ms")', "an interval of 3 ms does not divide a second", "10 ms"),
    ("capture('servr')", "'servr' is not known", "did you mean server?"),
    ('machine(memory="1 MB")', "too little", "64 MiB"),
    ('machine(timer_latency=("5 us", "1 us"))', "is more than", ""),
    ("machine(timer_latency=5)", "not a range of two times", ""),
    ("1 / 0", "raised ZeroDivisionError: division by zero", "the line is: 1 / 0"),
    ("raise SystemExit(3)", "raised SystemExit: 3", ""),
    ("fq_codell()", "fq_codell is not defined", "did you mean fq_codel?"),
    ("import no_such_module_here", "ModuleNotFoundError", ""),
    ("from narrows.spec import fq_cobalt", "narrows.spec has no fq_cobalt", "did you mean fq_codel?"),
    ("x = ndt7(start='0 s'", "not Python", ""),
]


@pytest.mark.parametrize(("line", "message", "remedy"), WRONG_LINES, ids=[w[0] for w in WRONG_LINES])
def test_a_wrong_line_is_named_with_its_value_and_the_remedy(
    tmp_path: Path, line: str, message: str, remedy: str
) -> None:
    error = error_of(tmp_path, HEAD + LINK + FLOW + line + "\n")
    assert error.where == f"{tmp_path / 'study.py'}:5"
    assert message in error.message
    assert remedy in (error.remedy or "")


WRONG_LINKS = [
    ("Link()", "rate is missing", '"100 Mbit/s"'),
    ("Link(rate=100)", "100 has no unit", '"100 Mbit/s"'),
    ('Link(rate="0 Mbit/s")', "nothing would ever be sent", ""),
    ('Link(rate="-1 Mbit/s")', "must not be negative", ""),
    ('Link(rate="100 Mbit/s", qeue=codel())', "unknown argument 'qeue'", "did you mean queue?"),
    ('Link(rate="100 Mbit/s", queue="codel")', "'codel' is not one of", "codel() without quotes"),
    ('Link(rate="100 Mbit/s", queue=codel)', "codel is not called", "codel()"),
    ('Link(rate="100 Mbit/s", base_rtt="0 ms")', "duration of '0 ms'", "above zero"),
    ('Link(rate="100 Mbit/s", base_rtt="-5 ms")', "negative", ""),
    ('Link(rate="100 Mbit/s", base_rtt="10 ms", delay_down="20 ms")', "more than the base RTT", ""),
    ('Link(rate="100 Mbit/s", base_rtt="10 ms", jitter="6 ms")', "jitter (6 ms) is more than", "raise"),
    ('Link(rate="100 Mbit/s", loss="101 %")', "not between 0 % and 100 %", ""),
    ('Link(rate="100 Mbit/s", loss=1)', "has no unit", '"1 %"'),
    ('Link(rate="100 Mbit/s", shaper=htb(burst="1000 B"))', "less than one frame of 1514 bytes", "1514 B"),
    ('Link(rate="100 Mbit/s", shaper=htb(cburst="1000 B"))', "cburst of 1000 bytes", ""),
    ('Link(rate="100 Mbit/s", shaper=tbf(burst="1 KB"))', "less than one frame", ""),
    ('Link(rate="100 Mbit/s", shaper=htb(ceil="50 Mbit/s"))', "below the rate", "ceil_factor"),
    ('Link(rate="100 Mbit/s", shaper=htb(ceil_factor=0.5))', "out of range", ""),
    ('Link(rate="100 Mbit/s", shaper=own_shaper())', "pfifo cannot shape by itself", "cake"),
    ('Link(rate="100 Mbit/s", mtu=100)', "out of range", ""),
    ('Link(rate="100 Mbit/s", offloads={"lro": True})', "unknown offload 'lro'", "gro"),
    ('Link(rate="100 Mbit/s", sysctls={"host": {}})', "'host' is no role", "server"),
]


@pytest.mark.parametrize(("link", "message", "remedy"), WRONG_LINKS, ids=[w[0] for w in WRONG_LINKS])
def test_an_impossible_link_is_named_with_its_value_and_the_remedy(
    tmp_path: Path, link: str, message: str, remedy: str
) -> None:
    error = error_of(tmp_path, HEAD + f"link = {link}\n" + FLOW)
    assert error.where == f"{tmp_path / 'study.py'}:3"
    assert message in error.message
    assert remedy in (error.remedy or "")


def test_an_error_that_shows_only_in_some_runs_is_found_before_anything_starts(tmp_path: Path) -> None:
    body = 'rtt = axis("rtt", ["20 ms", "2 ms"])\nlink = Link(rate="9 Mbit/s", base_rtt=rtt, jitter="3 ms")\n'
    error = error_of(tmp_path, HEAD + body + FLOW)
    assert error.where is not None
    assert error.where.endswith(":4")
    assert "jitter (3 ms) is more than the one-way delay (1 ms)" in error.message


def test_a_wrong_value_inside_an_axis_is_found_at_the_line_that_uses_it(tmp_path: Path) -> None:
    error = error_of(tmp_path, HEAD + 'link = Link(rate=axis("rate", ["1 Mbit/s", "7"]))\n' + FLOW)
    assert error.where is not None
    assert error.where.endswith(":3")
    assert "'7' has no unit" in error.message


def test_a_multi_line_constructor_is_named_at_its_call(tmp_path: Path) -> None:
    error = error_of(tmp_path, HEAD + '\nlink = Link(\n    rate="1 Mbit/s",\n    mtu=3,\n)\n' + FLOW)
    assert error.where is not None
    assert error.where.endswith(":4")


def test_an_experiment_without_a_question_is_refused(tmp_path: Path) -> None:
    assert "no question" in error_of(tmp_path, "from narrows.spec import *\n" + LINK + FLOW).message


def test_an_experiment_needs_one_link_and_some_traffic(tmp_path: Path) -> None:
    assert "no link" in error_of(tmp_path, HEAD + FLOW).message
    assert "no traffic" in error_of(tmp_path, HEAD + LINK).message
    error = error_of(tmp_path, HEAD + LINK + 'second = Link(rate="1 Mbit/s")\n' + FLOW)
    assert "two links: link and second" in error.message


def test_traffic_that_is_made_but_not_kept_is_an_error(tmp_path: Path) -> None:
    error = error_of(tmp_path, HEAD + LINK + FLOW + 'bulk(duration="5 s")\n')
    assert "made but never used" in error.message
    assert error.where is not None
    assert error.where.endswith(":5")


def test_two_items_of_one_id_are_an_error(tmp_path: Path) -> None:
    error = error_of(tmp_path, HEAD + LINK + FLOW + 'other = bulk(id="flow", duration="5 s")\n')
    assert "two items have the id flow" in error.message


def test_an_item_cannot_take_the_name_of_a_sampler(tmp_path: Path) -> None:
    error = error_of(tmp_path, HEAD + LINK + 'x = bulk(id="tcp-server", duration="5 s")\n')
    assert "tcp-server is the name of" in error.message


def test_items_that_wait_for_each_other_are_an_error(tmp_path: Path) -> None:
    # Only by changing an object afterwards can a circle be made.
    body = (
        LINK + "a = bulk(stop='5 s')\nb = bulk(start=after(a), bytes='1 MB')\na.values['start'] = after(b)\n"
    )
    error = error_of(tmp_path, HEAD + body)
    assert "wait for each other: a → b → a" in error.message


def test_a_reference_to_an_item_that_is_absent_in_some_runs_is_an_error(tmp_path: Path) -> None:
    body = 'cross = axis("cross", {"no": None, "yes": bulk(duration="5 s")})\n'
    body += "ping = icmp_echo(stop=with_(cross))\n"
    error = error_of(tmp_path, HEAD + LINK + body)
    assert "stop refers to an item that is absent" in error.message
    assert error.where is not None
    assert error.where.endswith(":5")


def test_two_axes_of_one_name_need_the_same_labels(tmp_path: Path) -> None:
    body = 'link = Link(rate=axis("x", ["1 Mbit/s"]), base_rtt=axis("x", ["1 ms"]))\n'
    assert "two axes are called x" in error_of(tmp_path, HEAD + body + FLOW).message


def test_an_unreadable_file_suggests_the_nearest_one(tmp_path: Path) -> None:
    write(tmp_path, HEAD)
    with pytest.raises(SpecError, match="No such file") as caught:
        load(tmp_path / "studdy.py")
    assert "study.py" in (caught.value.remedy or "")


def test_a_file_whose_name_cannot_name_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot name results"):
        load(write(tmp_path, HEAD, name="my study.py"))


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "study.py"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SpecError, match="not a text file"):
        load(file)


def test_every_option_of_every_constructor_has_a_default_that_reads() -> None:
    import narrows.spec as spec
    from narrows.spec.base import SpecObject

    needed = {
        "bfifo": {"limit": "9 KB"},
        "red": {"limit": "9 KB"},
        "tbf": {"burst": "9 KB"},
        "repeat": {"n": 1},
    }
    checked = 0
    for name in spec.__all__:
        kind = getattr(spec, name)
        if (
            isinstance(kind, type)
            and issubclass(kind, SpecObject)
            and name in ("pfifo", *needed, "cake", "fq")
        ):
            assert kind(**needed.get(name, {})).values.keys() == kind.options.keys()
            checked += 1
    assert checked >= 7
