"""What a host must have for guests to run, found by trying it where that is possible. Changes nothing.

Each kernel that is built is booted once: that all of it together works, only a guest shows.
"""

import mmap
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from narrows import kernel
from narrows.engine import agent_binary, guest_disk, host, landlock, seccomp, training, uml
from narrows.errors import NarrowsError
from narrows.kernel.image import is_of_today, whole_builds

PAGE_BYTES = 4096
ARCHITECTURE = "x86_64"
GUEST_BYTES = 512 * 2**20
"""About what a guest of a small experiment takes; narrows run counts exactly."""
TOOLS = ("ip", "tc")

TRACEME = """
import ctypes, os, signal, sys
pid = os.fork()
if not pid:
    refused = ctypes.CDLL(None, use_errno=True).ptrace(0, 0, None, None)
    if refused:
        os._exit(1)
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
_, status = os.waitpid(pid, os.WUNTRACED)
stopped = os.WIFSTOPPED(status)
if stopped:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
sys.exit(0 if stopped else 1)
"""
"""A child that asks to be traced, as a kernel in a process does with its own processes."""

FILTER = """
import runpy, sys
sys.exit(0 if runpy.run_path(sys.argv[1])["restrict"](truncate=False) else 1)
"""
"""Puts the filter of a guest's launcher on a process that then ends."""


@dataclass(frozen=True)
class Check:
    """One thing that was looked at. `ok`: None where it only costs something (speed, a safeguard)."""

    name: str
    ok: bool | None
    found: str
    remedy: str | None = None


def checks() -> Iterator[Check]:
    """All of them, in the order in which they matter."""
    for one in CHECKS:
        yield one()


def architecture() -> Check:
    """User-Mode Linux exists for x86."""
    found = platform.machine()
    remedy = "use a host with an x86-64 processor: User-Mode Linux has no other"
    return Check("architecture", found == ARCHITECTURE, found, None if found == ARCHITECTURE else remedy)


def page_size() -> Check:
    """A guest maps its memory in pages of its own size."""
    found = mmap.PAGESIZE
    ok = found == PAGE_BYTES
    return Check("page size", ok, f"{found} bytes", None if ok else f"boot a kernel with {PAGE_BYTES}")


def _succeeds(program: str, *args: str) -> bool:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, *args], capture_output=True, check=False, timeout=30
    )
    return done.returncode == 0


def seccomp_filter() -> Check:
    """Guests trap system calls of their processes by a filter, and the launcher confines the guest by one."""
    ok = _succeeds(FILTER, str(seccomp.__file__))
    remedy = (
        "the host's kernel needs CONFIG_SECCOMP_FILTER; in a container: --security-opt seccomp=unconfined"
    )
    return Check(
        "seccomp", ok, "filters can be set" if ok else "no filter can be set", None if ok else remedy
    )


def ptrace() -> Check:
    """Not needed where filters are: then only its absence is told."""
    ok = _succeeds(TRACEME)
    found = "a process can be traced" if ok else "refused; guests use seccomp and need it only in its place"
    remedy = "sysctl kernel.yama.ptrace_scope=1; in a container: --cap-add SYS_PTRACE"
    return Check("ptrace", True if ok else None, found, None if ok else remedy)


def memory_file() -> Check:
    """A guest's memory is a file that it maps writable and executable."""
    base = guest_disk.memory_base()
    name = f"memory file in {base}"
    try:
        with tempfile.TemporaryFile(dir=base) as file:
            file.truncate(PAGE_BYTES)
            with mmap.mmap(
                file.fileno(), PAGE_BYTES, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC
            ):
                pass
    except OSError as error:
        remedy = f"mount -o remount,exec {base}; in a container: --tmpfs {base}:exec"
        return Check(name, False, f"cannot be mapped: {error.strerror}", remedy)
    free = guest_disk.free_bytes()
    if free < GUEST_BYTES:
        remedy = f"mount -o remount,size=4G {base}; in a container: --shm-size=4g"
        return Check(name, False, f"{free / 2**20:.0f} MiB free", remedy)
    if base != guest_disk.SHM:
        found = f"{guest_disk.SHM} cannot be used; every page goes to a disk, which is slow"
        return Check(name, None, found, f"mount -t tmpfs tmpfs {guest_disk.SHM}")
    return Check(name, True, f"{free / 2**20:.0f} MiB free, executable")


def memory() -> Check:
    """What can be had, and for how many small guests that is enough."""
    have = host.memory_available_bytes() - host.MEMORY_KEPT_FREE_BYTES
    ok = have >= GUEST_BYTES
    found = f"{max(have, 0) / 2**20:.0f} MiB for guests, {len(host.cpus())} cores"
    return Check("memory", ok, found, None if ok else "end other programs, or raise the container's limit")


def limits() -> Check:
    """A limit on address space or file size ends guests in ways that are hard to read."""
    low = [
        name
        for name, number in (("-v", resource.RLIMIT_AS), ("-f", resource.RLIMIT_FSIZE))
        if resource.getrlimit(number)[0] != resource.RLIM_INFINITY
    ]
    if low:
        lowered = ", ".join(f"ulimit {name}" for name in low)
        return Check("limits", False, f"{lowered} is set", "; ".join(f"ulimit {n} unlimited" for n in low))
    return Check("limits", True, "none on address space and file size")


def confinement() -> Check:
    """Landlock keeps a guest to its directory; without it only the guest kernel's own rule does."""
    version = landlock.abi()
    if version is None:
        return Check(
            "Landlock",
            None,
            "none; the guest's kernel alone keeps it to its directory",
            "Linux 5.13 or later",
        )
    return Check("Landlock", True, f"ABI {version}")


def tools() -> Check:
    """Programs that every guest's set-up calls."""
    path = uml.guest_path(None)
    if missing := [tool for tool in TOOLS if shutil.which(tool, path=path) is None]:
        return Check("tools", False, f"not installed: {', '.join(missing)}", "apt-get install iproute2")
    return Check("tools", True, ", ".join(TOOLS))


def guest_kernel() -> Check:
    """The kernel under test, by one boot."""
    try:
        image = kernel.find()
        training.boot(image)
    except NarrowsError as error:
        return Check("kernel under test", False, error.message, error.remedy)
    return Check("kernel under test", True, f"boots: {image.info['release']} ({image.id})")


def other_kernels() -> Check:
    """Those of other versions and trees, and the one that a profile laid out, each by one boot."""
    name, ran, failed = "other kernels", [], []
    try:
        in_use = kernel.find().directory
        others = [one for one in whole_builds() if is_of_today(one) and one.directory != in_use]
    except NarrowsError:
        others = []
    for image in others:
        try:
            training.boot(image)
            ran.append(f"{image.info['release']} ({image.id})")
        except NarrowsError as error:
            failed.append(error)
    if failed:
        return Check(name, False, "; ".join(one.message for one in failed), failed[0].remedy)
    return Check(name, True, f"boot: {', '.join(ran)}" if ran else "none is built")


def agent() -> Check:
    """The agent, and that it runs here."""
    try:
        path, number = agent_binary.find()
        done = subprocess.run([path, "version"], capture_output=True, text=True, check=False, timeout=30)
    except NarrowsError as error:
        return Check("agent", False, error.message, error.remedy)
    except OSError as error:
        return Check("agent", False, f"does not start: {error.strerror}", agent_binary.REMEDY)
    if done.returncode:
        return Check("agent", False, f"ends with status {done.returncode}", agent_binary.REMEDY)
    return Check("agent", True, number[:16])


def disk() -> Check:
    """Room for results where the command is called."""
    here = Path.cwd()
    free = shutil.disk_usage(here).free
    ok = free >= 2**30
    return Check("disk", ok or None, f"{free / 2**30:.1f} GiB free in {here}", None if ok else "--out DIR")


CHECKS: tuple[Callable[[], Check], ...] = (
    architecture, page_size, seccomp_filter, ptrace, memory_file, memory, limits, confinement, tools, agent,
    guest_kernel, other_kernels, disk,
)  # fmt: skip
