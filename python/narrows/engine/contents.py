"""Makes the content of services once and keeps it below the cache, each in a directory called by its id.

A content is whole or not there: it is made beside its place and renamed. `content.json` in it says what made
it and what came of it; runs keep a copy of that.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from narrows.engine import guest_disk, layout, process, readable
from narrows.errors import EngineError
from narrows.kernel import image
from narrows.plan.contents import IN_PACKAGE, PACKAGE, of
from narrows.plan.items import Content
from narrows.plan.model import Plan

SAID = "content.json"
PACKAGE_MANAGERS = {"cargo", "go", "npm", "python3"}
"""What these bring is pinned by what they read; where from, and by which set-up, is this user's affair."""
LARGEST_HASHED = 2**31
"""Bytes of a file that is hashed; a larger one is a sparse file of zeros."""


def directory() -> Path:
    return image.cache_dir() / "content"


def missing(plans: Iterable[Plan]) -> list[Content]:
    """What these plans need and is not there, each once."""
    wanted = {content.id: content for plan in plans for content in plan.contents}
    return [content for content in wanted.values() if not (directory() / content.id / SAID).exists()]


def make(content: Content, path: str, *, for_others: bool = False) -> None:
    """Make it, unless another process did meanwhile. EngineError with what the command said if one fails.

    `for_others`: whoever wrote the plan need not be this user, whose files its commands can then not read.
    """
    base = directory()
    if of(content.about, content.commands, content.programs).id != content.id:
        raise EngineError(
            f"the content {content.about} is not what the plan was made with: its recipe differs here",
            remedy="install the narrows that made the plan, with the same files at the same paths",
        )
    # One for each content: who makes a small one does not wait for who compiles for minutes.
    own = base / f".lock-{content.id}"
    try:
        base.mkdir(parents=True, exist_ok=True)
        own.touch()
    except OSError as error:
        raise EngineError(
            f"the content {content.about} cannot be made in the cache: {error.strerror}",
            where=str(base),
            remedy="whoever owns the cache makes one run that needs it; or another cache: NARROWS_CACHE=DIR",
        ) from error
    with own.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (base / content.id / SAID).exists():
            return
        making = base / f".making-{content.id}"
        shutil.rmtree(making, ignore_errors=True)
        making.mkdir()
        try:
            begun = time.monotonic()
            for command in content.commands:
                _carry_out(content, command, making, path, for_others)
            said = _said(content, making, path, time.monotonic() - begun)
            (making / SAID).write_text(json.dumps(said, indent=1) + "\n")
            os.rename(making, base / content.id)
        finally:
            shutil.rmtree(making, ignore_errors=True)


def place(plan: Plan, run: Path) -> None:
    """Leave with a run what its content was."""
    for content in plan.contents:
        said = directory() / content.id / SAID
        try:
            shutil.copy(said, run / layout.RAW / f"content-{content.id}.json")
        except OSError as error:
            raise EngineError(
                f"the content {content.about} is gone: {error.strerror}",
                remedy="run the same command again: it is made once more",
            ) from None


def _carry_out(content: Content, command: tuple[str, ...], where: Path, path: str, for_others: bool) -> None:
    argv = [
        str(PACKAGE / word.removeprefix(IN_PACKAGE)) if word.startswith(IN_PACKAGE) else word
        for word in command
    ]
    env = {"PATH": path, "LANG": "C", "HOME": str(where)}
    if PACKAGE_MANAGERS & set(content.programs) and not for_others:
        env = {**os.environ, "PATH": path, "LANG": "C"}
    with tempfile.TemporaryDirectory() as home:
        words = argv
        if for_others:
            job = process.Job(
                argv=(shutil.which(argv[0], path=path) or argv[0], *argv[1:]),
                env={**env, "HOME": home, "TMPDIR": home},
                cwd=where,
                cpu=None,
                writable_dirs=(str(where), home),
                writable_files=guest_disk.DEVICES,
                readable=(*readable.SYSTEM, str(PACKAGE), *path.split(":")),
            )
            words, env = process.launcher_argv(job, new_session=False), {}
        done = subprocess.run(
            words, cwd=where, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit status {done.returncode}"]
        raise EngineError(
            f"the content {content.about} cannot be made: {argv[0]}: {lines[-1]}",
            remedy=f"by hand: {' '.join(argv)[:300]}",
        )


def _said(content: Content, made: Path, path: str, took_s: float) -> dict[str, Any]:
    """What made it, and a digest of each file."""
    files = {}
    for file in sorted(made.rglob("*")):
        if file.is_file():
            size = file.stat().st_size
            digest = None
            if size < LARGEST_HASHED:
                with file.open("rb") as opened:
                    digest = hashlib.file_digest(opened, "sha256").hexdigest()
            files[file.relative_to(made).as_posix()] = {"bytes": size, "sha256": digest}
    return {
        "about": content.about,
        "commands": content.commands,
        "programs": {program: _version(program, path) for program in content.programs},
        "files": files,
        "took_s": round(took_s, 1),
    }


def _version(program: str, path: str) -> str | None:
    flag = "-version" if program == "ffmpeg" else "--version"
    done = subprocess.run([program, flag], env={"PATH": path}, capture_output=True, text=True, check=False)
    lines = (done.stdout or done.stderr).splitlines()
    return lines[0] if lines else None
