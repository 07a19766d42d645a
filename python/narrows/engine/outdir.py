"""The directory of an experiment's results: lock, clean-up after the dead, linking of runs that exist
elsewhere.

A run appears there by one rename when it is whole. Nothing here starts a guest.
"""

import datetime
import errno
import fcntl
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from narrows.engine import layout
from narrows.errors import StoreError
from narrows.plan.identity import plan_hash
from narrows.plan.model import NAMES, Plan
from narrows.plan.uses import contradictions

FREE_BYTES_NEEDED = 256 * 1024 * 1024


def _system_error(action: str, path: Path, error: OSError) -> StoreError:
    remedies = {
        errno.ENOSPC: "free some space and run the same command again: whole runs are kept",
        errno.EDQUOT: "your quota is used up; free some space and run the same command again",
        errno.EACCES: "choose a directory that you may write: --out DIR",
        errno.EROFS: "that file system is read-only; choose another: --out DIR",
        errno.ENOTDIR: "a part of that path is a file; choose another: --out DIR",
        errno.EEXIST: "a file is in the way; choose another: --out DIR",
    }
    return StoreError(
        f"{action}: {error.strerror}",
        where=str(path),
        remedy=remedies.get(error.errno or 0, "choose another: --out DIR"),
    )


def prepare(out: Path) -> None:
    """Make the directory and see that files can be written there."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / f"{layout.TMP_PREFIX}probe-{os.getpid()}"
        probe.write_bytes(b"narrows")
        probe.unlink()
    except OSError as error:
        raise _system_error("the directory of results cannot be written", out, error) from None
    check_space(out)


def check_space(out: Path) -> None:
    """Refuse to begin a run on a disk that is as good as full."""
    free = free_bytes(out)
    if free < FREE_BYTES_NEEDED:
        need = FREE_BYTES_NEEDED / 2**20
        raise StoreError(
            f"the disk is full: {free / 2**20:.0f} MiB are free, a run may need {need:.0f} MiB",
            where=str(out),
            remedy="free some space, or --out DIR on another disk, and run the same command again: "
            "whole runs are kept",
        )


def free_bytes(path: Path) -> int:
    """What this user can still write there."""
    usage = os.statvfs(path)
    return usage.f_bavail * usage.f_frsize


@contextmanager
def locked(out: Path) -> Iterator[None]:
    """Hold the directory for this process. The kernel lets go of the lock when the process dies."""
    path = out / layout.LOCK
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise _system_error("the lock cannot be made", path, error) from None
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(fd, 100, 0).decode(errors="replace").strip() or "unknown"
            raise StoreError(
                f"another narrows run (process {holder}) works in this directory",
                where=str(out),
                remedy="wait until it is done, or use another directory: --out DIR",
            ) from None
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def clean(out: Path) -> int:
    """Remove half-written runs; call it with the lock held, when none of them can be alive."""
    count = 0
    for path in out.glob(f"{layout.TMP_PREFIX}*"):
        shutil.rmtree(path, ignore_errors=True)
        count += 1
    return count


def begin(out: Path, run_id: str, plan: Plan) -> Path:
    """A fresh directory with the plan, for one attempt."""
    path = layout.tmp_dir(out, run_id, os.getpid())
    try:
        shutil.rmtree(path, ignore_errors=True)
        (path / layout.RAW).mkdir(parents=True)
        (path / layout.PLAN).write_text(plan.to_json())
    except OSError as error:
        raise _system_error("the run's directory cannot be made", path, error) from None
    return path


def commit(tmp: Path, out: Path, run_id: str) -> None:
    """The run is whole: give it its name, in place of the one that was made before, and forget an earlier
    failure."""
    target, old = layout.run_dir(out, run_id), tmp.with_name(f"{tmp.name}-old")
    try:
        if target.exists():
            os.rename(target, old)
        os.rename(tmp, target)
    except OSError as error:
        raise _system_error("the whole run cannot be renamed", tmp, error) from None
    shutil.rmtree(old, ignore_errors=True)
    shutil.rmtree(layout.failed_dir(out, run_id), ignore_errors=True)


def keep_failed(tmp: Path, out: Path, run_id: str) -> None:
    """Put a failed attempt aside, in place of an earlier one."""
    target = layout.failed_dir(out, run_id)
    try:
        target.parent.mkdir(exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(tmp, target)
    except OSError as error:
        raise _system_error("the failed run cannot be kept", tmp, error) from None


def link_from_siblings(out: Path, run_id: str, plan: Plan) -> Path | None:
    """Take a whole run with this id from a directory beside `out`, by hard links; says from where.

    Equal id means equal plan, kernel and agent, so the results are equal too.
    """
    for sibling in sorted(out.parent.iterdir()):
        source = layout.run_dir(sibling, run_id)
        if sibling == out or not sibling.is_dir() or not layout.is_whole(source) or contradicts(source, plan):
            continue
        if not _can_be_read(source):
            continue
        tmp = layout.tmp_dir(out, run_id, os.getpid())
        shutil.rmtree(tmp, ignore_errors=True)
        try:
            shutil.copytree(source, tmp, copy_function=os.link)
            give_names(tmp, plan)
            os.rename(tmp, layout.run_dir(out, run_id))
        except OSError:
            # Another file system, or links are not allowed there: then the run is made anew.
            shutil.rmtree(tmp, ignore_errors=True)
            continue
        return source
    return None


def _can_be_read(run: Path) -> bool:
    """Whether all tables that its manifest counts are there, and every row of them can be read."""
    manifest = layout.read_manifest(run) or {}
    try:
        for name, rows in (manifest.get("rows") or {}).items():
            table = pl.scan_parquet(run / f"{name}.parquet", glob=False)
            # A digest of each column, so that nothing is left out; in pieces, as a table may be large.
            asked = table.select(pl.len().alias("rows of it"), pl.all().hash().max())
            if asked.collect(engine="streaming")["rows of it"][0] != rows:
                return False
    except (OSError, pl.exceptions.PolarsError):
        return False
    return True


def contradicts(directory: Path, plan: Plan) -> bool:
    """Whether the sockets of a whole run used another thing than this plan says, which the id leaves out."""
    manifest = layout.read_manifest(directory) or {}
    return bool(contradictions(plan, manifest.get("sockets") or {}))


def asked_again(directory: Path) -> None:
    """Note that this run is what its experiment says now, although another was made since."""
    manifest = layout.read_manifest(directory)
    if manifest is not None:
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        _replace(directory, layout.MANIFEST, _text(manifest | {layout.ASKED_AT: now}))


def _text(manifest: dict[str, Any]) -> str:
    return json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"


def _replace(directory: Path, name: str, text: str) -> None:
    """Never written into: the file may be a link."""
    new = directory / f"{name}.new"
    new.write_text(text)
    os.replace(new, directory / name)


def give_names(directory: Path, plan: Plan) -> bool:
    """Call a run what this experiment calls it; says whether that was a change.

    The id leaves names out, so a run that was linked, or made before an axis was renamed, may bear others.
    What the kernel's configuration is called is no name of the plan's, and stays. The two files are replaced,
    never written into: they may be links.
    """
    manifest = layout.read_manifest(directory)
    if manifest is None:
        return False
    ours: dict[str, Any] = {name: getattr(plan, name) for name in NAMES} | {"plan_hash": plan_hash(plan)}
    kernel = {axis: label for axis, label in manifest.get("key", {}).items() if axis == layout.KERNEL_AXIS}
    ours["key"] = plan.key | kernel
    named = all(manifest.get(name) == value for name, value in ours.items())
    if named and (directory / layout.PLAN).read_text() == plan.to_json():
        return False
    _replace(directory, layout.PLAN, plan.to_json())
    _replace(directory, layout.MANIFEST, _text(manifest | ours))
    return True
