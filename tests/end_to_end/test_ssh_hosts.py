"""`narrows doctor --hosts`: three sshd in network namespaces stand for three hosts."""

from __future__ import annotations

from pathlib import Path

import pytest

from narrows.engine.ssh import doctor
from narrows.engine.ssh.hosts import INTERFACES, Host, read
from narrows.errors import UsageError
from three_hosts import GOOD, Lab


@pytest.mark.root
def test_three_hosts_that_are_right_are_found_so_and_left_as_they_were(lab: Lab) -> None:
    before = lab.state()
    found = lab.doctor()
    changed = [(old, new) for old, new in zip(before, lab.state(), strict=True) if old != new]
    assert changed == []
    assert {one.name for one in found.values()} >= {
        f"{role}: {what}" for role in INTERFACES for what in ("reached", "rights", "clock", "data0")
    }
    # Which qdiscs and tools there are is this machine's matter.
    bad = [one for one in found.values() if one.ok is False and "qdiscs" not in one.name]
    assert [one for one in bad if "tools" not in one.name] == []
    assert found["router: data1"].found == "up, no qdisc of anyone's"


@pytest.mark.root
def test_interfaces_that_are_wrong_are_named_with_what_is_wrong(lab: Lab) -> None:
    lab.inside("server", "ip", "route", "add", "default", "dev", "data0")
    lab.inside("router", "ip", "link", "set", "data1", "down")
    try:
        found = lab.doctor(
            GOOD.replace('host = "client"\ninterfaces = ["data0"]', 'host = "client"\ninterfaces = ["mgmt"]')
        )
        assert "default route" in found["server: data0"].found
        assert "down" in found["router: data1"].found
        assert "this very connection" in found["client: mgmt"].found
        assert (
            lab.doctor(GOOD.replace('"data0", ', '"other", '))["router: other"].found == "no such interface"
        )
    finally:
        lab.inside("server", "ip", "route", "del", "default")
        lab.inside("router", "ip", "link", "set", "data1", "up")


@pytest.mark.root
def test_a_host_whose_key_is_not_known_and_one_that_does_not_listen_are_told_apart(lab: Lab) -> None:
    known = lab.directory / "known"
    text = known.read_text()
    known.write_text("\n".join(text.splitlines()[1:]) + "\n")
    try:
        found = lab.doctor(GOOD.replace('host = "server"', 'host = "10.9.2.1"'))
    finally:
        known.write_text(text)
    assert "Host key verification failed" in found["client: reached"].found
    assert "Connection refused" in found["server: reached"].found
    assert found["router: reached"].ok is True


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[server]", "[sever]"), "no role sever"),
        (('host = "router"', 'hots = "router"'), "no key hots"),
        (('host = "router"', 'host = "-oProxyCommand=x"'), "host is '-oProxyCommand=x'"),
        (('["data0", "data1"]', '["data0", "data0"]'), "interfaces is"),
        (('["data0", "data1"]', '["data0", "a;b"]'), "interfaces is"),
        (("[client]", "[client"), "not TOML"),
        (('[server]\nhost = "server"\ninterfaces = ["data0"]\n', ""), "no table for server"),
    ],
)
def test_a_file_of_hosts_that_is_wrong_gets_one_line(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    file = tmp_path / "hosts.toml"
    file.write_text(GOOD.replace(*change))
    with pytest.raises(UsageError, match=said):
        read(file)


def test_a_clock_off_by_an_hour_and_missing_rights_are_bad() -> None:
    answer = doctor.Answer((("root", "no"), ("machine", "riscv64"), ("lacks", "tc")), 3600.0, 0.01)
    found = {one.name: one for one in doctor.judge(Host("client", "h", ("eth1",)), answer)}
    for what in ("clock", "rights", "architecture", "tools", "qdiscs", "disk", "eth1"):
        one = found[f"client: {what}"]
        assert one.ok is False
        assert one.remedy
