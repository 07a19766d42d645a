"""What is wrong in an experiment file ends in one error with line, value and remedy; nothing starts."""

from __future__ import annotations

from pathlib import Path

import pytest

import lab

GOOD = 'link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=fq_codel())\nflow = bulk(duration="1 s")\n'
FIRST_LINE = 3  # after the question and the import


def good(*changes: tuple[str, str]) -> str:
    text = GOOD
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


CASES = {
    "a misspelt option": (good(("base_rtt", "base_rt")), 1, "base_rt", "base_rtt"),
    "a misspelt qdisc": (good(("fq_codel()", "fq_codle()")), 1, "fq_codle", "fq_codel"),
    "a misspelt qdisc option": (good(("fq_codel()", 'fq_codel(taget="5 ms")')), 1, "taget", "target"),
    "a misspelt unit": (good(("10 Mbit/s", "10 Mbits/s")), 1, "10 Mbits/s", "Mbit/s"),
    "a rate without a unit": (good(('"10 Mbit/s"', "10")), 1, "10", "unit"),
    "a time without a unit": (good(('"20 ms"', "20")), 1, "20", "unit"),
    "a time in text without a unit": (good(("1 s", "1")), 2, "1", "unit"),
    "a rate of zero": (good(("10 Mbit/s", "0 Mbit/s")), 1, "0 Mbit/s", "above zero"),
    "a negative rate": (good(("10 Mbit/s", "-10 Mbit/s")), 1, "-10 Mbit/s", ""),
    "a negative delay": (good(("20 ms", "-20 ms")), 1, "-20 ms", ""),
    "a negative one-way delay": (good(("fq_codel()", 'fq_codel(), delay_down="-1 ms"')), 1, "-1 ms", ""),
    "a burst under one MTU": (good(("fq_codel()", 'pfifo(), shaper=tbf(burst="1 KB")')), 1, "burst", "1514"),
    "a loss above 100 %": (good(("fq_codel()", 'fq_codel(), loss="120 %"')), 1, "120 %", ""),
    "a queue of nothing": (good(("fq_codel()", "pfifo(limit=0)")), 1, "0", ""),
    "an unknown congestion control": (good(("bulk(", 'bulk(cca="cubik", ')), 2, "cubik", "cubic"),
    "an unknown DSCP": (good(("bulk(", 'bulk(dscp="EFF", ')), 2, "EFF", "EF"),
    "a flow that never ends": (good(('duration="1 s"', "")), 2, "never end", "duration"),
    "a name that is not defined": (good(("bulk(", "bulkk(")), 2, "bulkk", "bulk"),
    "a syntax error": (good(("bulk(", "bulk((")), 2, "not Python", ""),
    "a file that raises": (GOOD + 'raise ValueError("too bad")\n', 3, "too bad", "raise ValueError"),
    "a division by zero": (GOOD + "x = 1 / 0\n", 3, "ZeroDivisionError", "1 / 0"),
    "a file that exits": (GOOD + "import sys\nsys.exit(3)\n", 4, "SystemExit", ""),
    "an axis that is never used": (GOOD + 'axis("rate", ["1 Mbit/s", "2 Mbit/s"])\n', 3, "never used", ""),
    "an option set on what was made": (GOOD + 'link.rate = "9 Mbit/s"\n', 3, "9 Mbit/s", "Link(rate=…)"),
    "an option set on an item": (GOOD + 'flow.duration = "5 s"\n', 3, "5 s", "bulk(duration=…)"),
    "a word that is assigned, not called": (GOOD + "repeat = 10\n", 3, "repeat = 10", "repeat(10)"),
    "a tap that is assigned": (GOOD + 'tap = "off"\n', 3, "has no effect", "tap('off')"),
    "a bandwidth under another shaper": (
        good(("fq_codel()", 'cake(bandwidth="8 Mbit/s"), shaper=htb()')), 1, "8 Mbit/s", "leave out"),
    "CAKE with a share for a rate": (
        good(("fq_codel()", 'cake(bandwidth="90 %")')), 1, "90 %", 'home_router(share="90 %"'),
    "a module that is not there": (GOOD + "import no_such_module\n", 3, "no_such_module", ""),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_experiment_gives_one_error_with_its_line(tmp_path: Path, case: str) -> None:
    text, line, value, remedy = CASES[case]
    lab.experiment(tmp_path, text)
    called = lab.narrows("run", "tiny.py", cwd=tmp_path).failed(2)
    assert called.out == ""
    head, *rest = called.err.splitlines()
    assert head.startswith(f"error: tiny.py:{FIRST_LINE - 1 + line}: "), called.err
    assert value in called.err
    assert remedy in called.err
    assert len(rest) <= 2, called.err
    assert rest == [] or rest[0].startswith("  → "), called.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["tiny.py"], "nothing may have been made"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("run", "no.py"), ("no.py", "cannot read")),
        (("run", "."), ("cannot",)),
        (("standard", "--cca", "bbr"), ("no standard is named", "rfc9743")),
        (("run", "tiny.py", "--only", "queu=fq_codel"), ("queu", "queue")),
        (("run", "tiny.py", "--only", "queue=fq_codle"), ("fq_codle", "fq_codel")),
        (("run", "tiny.py", "--engine", "uml2"), ("uml2", "uml")),
        (("run", "tiny.py", "--jobs", "0"), ("--jobs",)),
        (("run", "notes.txt"), ("notes.txt",)),
        (("show", "0123456789abcdef", "--dir", "nowhere"), ("nowhere",)),
        (("list", "nowhere"), ("nowhere",)),
        (("query", "nowhere", "select 1"), ("nowhere",)),
        (("report", "nowhere"), ("nowhere",)),
        (("diff", "0123456789abcdef", "0123456789abcdee"), ("0123456789abcdef",)),
    ],
)
def test_a_wrong_call_says_what_is_wrong(
    tmp_path: Path, words: tuple[str, ...], told: tuple[str, ...]
) -> None:
    swept = GOOD.replace("queue=fq_codel()", 'queue=axis("queue", [fq_codel(), pfifo()])')
    lab.experiment(tmp_path, swept)
    (tmp_path / "notes.txt").write_bytes(b"\xff\xfe notes")
    called = lab.narrows(*words, cwd=tmp_path).failed()
    for word in told:
        assert word in called.err, called.text
