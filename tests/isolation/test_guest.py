"""The guest cannot change the host: tried from inside, as the guest's root, with everything at hand."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import lab
from narrows.engine import landlock, process
from narrows.engine.types import Limits
from narrows.engine.uml import UmlEngine

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

ATTACK = Path(__file__).with_name("attack.py")
WATCHED = ("/", "/etc", "/root", "/home", "/usr", "/usr/bin", "/var", "/dev/shm")


def snapshot(root: Path) -> dict[str, tuple[object, ...]]:
    """All that can be changed of a tree: kind, mode, owner, size, times, links, attributes, content."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        s = path.lstat()
        content = None
        if stat.S_ISREG(s.st_mode):
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        attributes = sorted(os.listxattr(path, follow_symlinks=False))
        found[str(path)] = (
            *(s.st_mode, s.st_uid, s.st_gid, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_nlink),
            *(attributes, content),
        )
    return found


def names(path: str) -> set[str]:
    """Names in a directory of the host that the tests do not own, but for what others may make meanwhile."""
    return {n for n in os.listdir(path) if "narrows-was-here" in n} if os.access(path, os.R_OK) else set()


@pytest.fixture
def canaries(tmp_path: Path) -> Iterator[list[Path]]:
    """Directories whose change would show: below /tmp, which a guest does not see, and below home."""
    at_home = Path(tempfile.mkdtemp(prefix=".narrows-test-", dir=Path.home()))
    found = [tmp_path / "canary", at_home / "canary"]
    for root in found:
        (root / "directory").mkdir(parents=True)
        for path in (root / "file", root / "directory/file"):
            path.write_text("as it was\n")
            path.chmod(0o644)
    yield found
    shutil.rmtree(at_home)


def test_a_guest_that_tries_everything_changes_nothing_of_the_host(
    tmp_path: Path, canaries: list[Path]
) -> None:
    words = ["python3", str(ATTACK), str(tmp_path / "run"), str(lab.agent_path()), *map(str, canaries)]
    if str(ATTACK).startswith(("/tmp", "/run", "/var")):
        # There the guest has its own: hand the text over in the command.
        words[1:2] = ["-c", ATTACK.read_text()]
    plan = lab.plan(tmp_path, lab.SMALL + f"attack = command({words!r})\n")
    before = [snapshot(root) for root in canaries]
    host_name, agent = socket.gethostname(), lab.digest(lab.agent_path())
    raw = lab.carry(plan, tmp_path / "run").ok()
    told = json.loads((raw.raw / "attack.stdout").read_text())
    assert [snapshot(root) for root in canaries] == before, json.dumps(told, indent=1)
    for path in WATCHED:
        assert names(path) == set(), path
    assert socket.gethostname() == host_name
    assert lab.digest(lab.agent_path()) == agent
    # It did try, and could write where it may.
    assert len(told) > 150
    assert told["own directory: first mount"] == "done"
    assert told[f"hold {canaries[1]}"] == "done"
    got_through = [name for name in told if name.startswith(("direct ", "another mount ", "held "))]
    assert [name for name in got_through if told[name] == "done"] == []
    # What it made in its own directory cannot hurt whoever looks there.
    for path in raw.directory.rglob("*"):
        mode = path.lstat().st_mode
        assert not stat.S_ISBLK(mode), path
        assert not stat.S_ISCHR(mode), path


def test_a_file_that_a_guest_links_to_stays_as_it_was_when_the_store_reads_the_run(
    tmp_path: Path, canaries: list[Path]
) -> None:
    target = canaries[1] / "file"
    script = (
        f"cd /run/narrows/raw; for n in flow.flows.csv evil.stderr agent.jsonl; do ln -sf {target} $n; done"
    )
    text = lab.SMALL + f'evil = command(["sh", "-c", {script!r}], start="200 ms")\n'
    before = [snapshot(root) for root in canaries]
    (made,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    assert [snapshot(root) for root in canaries] == before
    assert "as it was" not in json.dumps(made.manifest)


READS = """
for p in {home}/canary/file {home}/canary/directory/file; do cat $(echo $p) || echo kept; done
ls {home} || echo kept
mkdir /tmp/again && mount -t hostfs none /tmp/again -o {home} && cat /tmp/again/canary/file || echo kept
ln -s {home}/canary/file /run/narrows/raw/c.link; cat /run/narrows/raw/c.link || echo kept
cat {declared}
"""


@pytest.mark.skipif(landlock.abi() is None, reason="this kernel has no Landlock")
def test_a_plan_of_another_reads_nothing_of_the_workers_home_but_what_it_declares(
    tmp_path: Path, canaries: list[Path]
) -> None:
    home, declared = canaries[1].parent, canaries[1].parent / "declared"
    declared.write_text("declared\n")
    script = READS.format(home=home, declared=declared).replace(f"{home}/canary", f"{home}/''canary")
    plan = lab.plan(tmp_path, lab.SMALL + f'c = command(["sh", "-c", {script!r}])\n')
    said = {}
    for for_others in (False, True):
        raw = lab.carry(plan, tmp_path / str(for_others), engine=UmlEngine(for_others=for_others)).ok()
        said[for_others] = (raw.raw / "c.stdout").read_text().splitlines()
    assert said[False] == [*["as it was"] * 2, "canary", "declared", *["as it was"] * 2, "declared"]
    assert said[True] == [*["kept"] * 5, "declared"]


def confined(tmp_path: Path, script: str) -> process.Ended:
    """A shell in the place of the guest, confined as the guest is."""
    own = tmp_path / "own"
    own.mkdir()
    job = process.Job(
        argv=("/bin/sh", "-c", script),
        env={"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"},
        cwd=own,
        cpu=None,
        writable_dirs=(str(own),),
        writable_files=("/dev/null",),
    )
    return process.carry(job, tmp_path / "console.log", Limits(30, 30), threading.Event(), lambda _: None)


@pytest.mark.skipif(landlock.abi() is None, reason="this kernel has no Landlock")
def test_the_process_of_the_kernel_itself_is_confined(tmp_path: Path, canaries: list[Path]) -> None:
    target = canaries[1]
    before = snapshot(target)
    script = f"""
    echo own > own-file && echo own-works
    echo x > /dev/null && echo null-works
    for c in 'echo x >> {target}/file' 'rm {target}/file' 'mkdir {target}/new' 'mv {target}/file .' \\
             'ln {target}/file linked' 'chmod 777 {target}/file' 'touch {target}/file' \\
             'chown 7 {target}/file' 'mknod block b 8 0' 'mknod char c 1 1' \\
             'ln -s {target} s; echo x > s/file' 'chmod 777 s/file' 'touch own-file; chmod u+s own-file'; do
        sh -c "$c" 2>/dev/null && echo "GOT THROUGH: $c"
    done
    true
    """
    ended = confined(tmp_path, script)
    assert ended.exit_code == 0, ended.tail
    said = (tmp_path / "console.log").read_text()
    assert "own-works" in said
    assert "null-works" in said
    assert "GOT THROUGH" not in said, said
    assert snapshot(target) == before


def test_a_confined_process_gains_no_rights_and_leaves_no_core(tmp_path: Path) -> None:
    ended = confined(tmp_path, "grep -E 'NoNewPrivs|CapEff' /proc/self/status; ulimit -c; kill -SEGV $$")
    said = (tmp_path / "console.log").read_text()
    assert "NoNewPrivs:\t1" in said
    assert said.splitlines()[-1] == "0", said
    assert ended.exit_code == -11
    assert list((tmp_path / "own").iterdir()) == []
