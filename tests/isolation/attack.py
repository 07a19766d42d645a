"""Runs in a guest as its root and tries to change the host in every way it knows; prints what came of each.

Arguments: the run's directory and the agent on the host, then directories of the host that hold `file` and
`directory/file`. It asserts nothing: the test looks at the host afterwards.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress

libc = ctypes.CDLL(None, use_errno=True)
told: dict[str, str] = {}
MS_REMOUNT, MS_BIND = 32, 4096


def attempt(name: str, act: Callable[[], object]) -> None:
    """Try it, and keep what the kernel said."""
    try:
        act()
        told[name] = "done"
    except OSError as error:
        told[name] = error.strerror or str(error)


def mount(source: str, target: str, kind: str, flags: int = 0, data: str = "") -> None:
    os.makedirs(target, exist_ok=True)
    words = (source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    if libc.mount(*words):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def write(path: str) -> None:
    with open(path, "r+b") as file:
        file.write(b"CHANGED")


def append(path: str) -> None:
    with open(path, "ab") as file:
        file.write(b"CHANGED")


def create(path: str) -> None:
    with open(path, "xb") as file:
        file.write(b"CREATED")


def on_directory(where: str, root: str) -> None:
    """All that can be done to a directory of the host, seen at `root`."""
    file, inner = f"{root}/file", f"{root}/directory/file"
    attempt(f"{where}: write", lambda: write(file))
    attempt(f"{where}: append", lambda: append(inner))
    attempt(f"{where}: truncate", lambda: os.truncate(file, 1))
    attempt(f"{where}: create", lambda: create(f"{root}/created"))
    attempt(f"{where}: mkdir", lambda: os.mkdir(f"{root}/made"))
    attempt(f"{where}: chmod", lambda: os.chmod(file, 0o777))
    attempt(f"{where}: chmod directory", lambda: os.chmod(f"{root}/directory", 0o777))
    attempt(f"{where}: chown", lambda: os.chown(file, 12345, 12345))
    attempt(f"{where}: utime", lambda: os.utime(file, (1, 1)))
    attempt(f"{where}: setxattr", lambda: os.setxattr(file, "user.narrows", b"CHANGED"))
    attempt(f"{where}: symlink", lambda: os.symlink("/etc/passwd", f"{root}/symlink"))
    attempt(f"{where}: link", lambda: os.link(file, f"{root}/link"))
    attempt(f"{where}: mknod", lambda: os.mknod(f"{root}/device", 0o600 | 0o060000, os.makedev(8, 0)))
    attempt(f"{where}: mkfifo", lambda: os.mkfifo(f"{root}/fifo"))
    attempt(f"{where}: rename", lambda: os.rename(inner, f"{root}/renamed"))
    attempt(f"{where}: unlink", lambda: os.unlink(inner))
    attempt(f"{where}: rmdir", lambda: os.rmdir(f"{root}/directory"))


def swapped(run: str, target: str) -> None:
    """Two mounts of the run's own directory: what one still takes for a file or directory, the other has
    replaced by a symbolic link. The host follows it.
    """
    a, b = "/tmp/mount-a", "/tmp/mount-b"
    attempt("own directory: first mount", lambda: mount("none", a, "hostfs", 0, run))
    attempt("own directory: second mount", lambda: mount("none", b, "hostfs", 0, run))
    place = f"swap-{abs(hash(target))}"

    def swap_directory() -> None:
        os.mkdir(f"{a}/raw/{place}")
        os.stat(f"{a}/raw/{place}")
        os.stat(f"{b}/raw/{place}")
        os.rmdir(f"{b}/raw/{place}")
        os.symlink(target, f"{b}/raw/{place}")

    def swap_file(name: str) -> str:
        path = f"{a}/raw/{place}-{name}"
        with open(path, "w"):
            pass
        os.stat(path)
        other = f"{b}/raw/{place}-{name}"
        os.stat(other)
        os.unlink(other)
        os.symlink(f"{target}/file", other)
        return path

    attempt(f"swap {target}", swap_directory)
    on_directory(f"swapped directory {target}", f"{a}/raw/{place}")
    for name, act in {
        "write": write,
        "truncate": lambda path: os.truncate(path, 1),
        "chmod": lambda path: os.chmod(path, 0o777),
        "chown": lambda path: os.chown(path, 12345, 12345),
        "utime": lambda path: os.utime(path, (1, 1)),
        "link": lambda path: os.link(path, f"{a}/raw/{place}-linked"),
    }.items():
        attempt(f"swapped file {target}: {name}", lambda name=name, act=act: act(swap_file(name)))
    with suppress(OSError):
        append(f"{a}/raw/{place}-linked")
    held: dict[str, int] = {}

    def hold_directory() -> None:
        os.mkdir(f"{a}/raw/{place}-held")
        held["directory"] = os.open(f"{a}/raw/{place}-held", os.O_RDONLY | os.O_DIRECTORY)
        os.stat(f"{b}/raw/{place}-held")
        os.rmdir(f"{b}/raw/{place}-held")
        os.symlink(target, f"{b}/raw/{place}-held")

    def hold_file(name: str) -> str:
        path = f"{a}/raw/{place}-held-{name}"
        with open(path, "w"):
            pass
        held[name] = os.open(path, os.O_PATH)
        other = f"{b}/raw/{place}-held-{name}"
        os.stat(other)
        os.unlink(other)
        os.symlink(f"{target}/file", other)
        return f"/proc/self/fd/{held[name]}"

    attempt(f"hold {target}", hold_directory)
    fd = held["directory"]
    for name, act in {
        "write": lambda: os.write(os.open("file", os.O_RDWR, dir_fd=fd), b"CHANGED"),
        "truncate": lambda: os.open("file", os.O_RDWR | os.O_TRUNC, dir_fd=fd),
        "create": lambda: os.open("created", os.O_RDWR | os.O_CREAT, dir_fd=fd),
        "mkdir": lambda: os.mkdir("made", dir_fd=fd),
        "symlink": lambda: os.symlink("x", "symlink", dir_fd=fd),
        "mknod": lambda: os.mknod("device", 0o600 | 0o060000, os.makedev(8, 0), dir_fd=fd),
        "chmod": lambda: os.chmod("file", 0o777, dir_fd=fd),
        "chown": lambda: os.chown("file", 12345, 12345, dir_fd=fd),
        "utime": lambda: os.utime("file", (1, 1), dir_fd=fd),
        "link": lambda: os.link("file", f"{a}/raw/{place}-linked-2", src_dir_fd=fd),
        "rename": lambda: os.rename("file", f"{a}/raw/{place}-stolen-2", src_dir_fd=fd),
        "chmod itself": lambda: os.fchmod(fd, 0o777),
        "chown itself": lambda: os.fchown(fd, 12345, 12345),
        "utime itself": lambda: os.utime(fd, (1, 1)),
        "unlink": lambda: os.unlink("file", dir_fd=fd),
        "rmdir": lambda: os.rmdir("directory", dir_fd=fd),
    }.items():
        attempt(f"held directory {target}: {name}", act)
    for name in ("linked-2", "stolen-2"):
        with suppress(OSError):
            append(f"{a}/raw/{place}-{name}")
    for name, change in {
        "write": write,
        "truncate": lambda path: os.truncate(path, 1),
        "chmod": lambda path: os.chmod(path, 0o777),
        "chown": lambda path: os.chown(path, 12345, 12345),
        "utime": lambda path: os.utime(path, (1, 1)),
        "setxattr": lambda path: os.setxattr(path, "user.narrows", b"CHANGED"),
    }.items():
        attempt(f"held file {target}: {name}", lambda name=name, change=change: change(hold_file(name)))
    attempt(f"rename from {target}", lambda: os.rename(f"{a}/raw/{place}/file", f"{a}/raw/{place}-stolen"))
    with suppress(OSError):
        append(f"{a}/raw/{place}-stolen")


def main() -> None:
    """Try everything."""
    run, agent = sys.argv[1:3]

    attempt("remount /", lambda: mount("none", "/", "none", MS_REMOUNT))
    subprocess.run(["mount", "-o", "remount,rw", "/"], capture_output=True)
    for source in ("/", "/etc", "/root", "/tmp", "/home", "/var", "/dev/shm", f"{run}/..", f"{run}/raw"):
        target = f"/tmp/again{source.replace('/', '_')}"
        attempt(f"mount {source}", lambda s=source, t=target: mount("none", t, "hostfs", 0, s))
        attempt(f"create in {source}", lambda t=target: create(f"{t}/narrows-was-here"))
        attempt(f"mount {source} read-only", lambda s=source, t=target: mount("none", t, "hostfs", 1, s))
        attempt(f"remount {source}", lambda t=target: mount("none", t, "none", MS_REMOUNT))
        attempt(f"create in {source} again", lambda t=target: create(f"{t}/narrows-was-here"))
    attempt("bind /", lambda: mount("/", "/tmp/bound", "none", MS_BIND))
    attempt("remount the bind", lambda: mount("none", "/tmp/bound", "none", MS_BIND | MS_REMOUNT))
    for path in ("/etc", "/root", "/usr", "/home", "/usr/bin"):
        attempt(f"create in {path}", lambda p=path: create(f"{p}/narrows-was-here"))
    attempt("the agent's binary", lambda: append(agent))
    for target in sys.argv[3:]:
        on_directory(f"direct {target}", target)
        on_directory(f"another mount {target}", f"/tmp/again_{target}")
        on_directory(f"bind {target}", f"/tmp/bound{target}")
        swapped(run, target)
        attempt(
            f"link to {target}", lambda t=target: os.symlink(f"{t}/file", f"/run/narrows/raw/to-{hash(t)}")
        )
        attempt(f"write through it {target}", lambda t=target: write(f"/run/narrows/raw/to-{hash(t)}"))
    for number, name in ((0o060000, "block"), (0o020000, "char")):
        path = f"/run/narrows/raw/{name}"
        attempt(
            f"{name} device in the run's directory", lambda p=path, n=number: os.mknod(p, n | 0o666, 0x801)
        )
    for pid in [*range(2, 4), *range(300, 40000, 7)]:
        with suppress(OSError):
            if pid not in (os.getpid(), os.getppid()):
                os.kill(pid, 0)
                told[f"process {pid}"] = "exists"
    for module in ("dummy", "nfsd", "br_netfilter"):
        done = (
            subprocess.run(["modprobe", module], capture_output=True)
            if os.path.exists("/sbin/modprobe")
            else None
        )
        told[f"module {module}"] = "not tried" if done is None else f"exit status {done.returncode}"
    attempt("clock", lambda: libc.settimeofday(ctypes.byref((ctypes.c_long * 2)(1, 0)), None))
    attempt("host name", lambda: libc.sethostname(b"narrows-was-here", 16))
    print(json.dumps(told, indent=1))


main()
