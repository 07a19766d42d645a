"""The last program before the guest: makes itself small and safe, then becomes the guest.

Called as `python -I -S launch.py JSON`; in a process of its own because nothing of this may be done
between fork and exec of a program with threads. It dies with its parent, is pinned to one core, may leave
no core dump, and is confined by Landlock and a filter of system calls. Must not import anything of narrows
(it runs without site packages).

JSON: parent_pid, argv, env, cpu (or null), writable_dirs, writable_files, readable (or null), new_session,
stop_signal.
"""

import ctypes
import importlib.util
import json
import os
import resource
import sys
from typing import Any

PR_SET_PDEATHSIG = 1
OOM_SCORE = "500"  # when memory runs out, the guest goes before its user's other programs
FAILED = 97  # exit status where this launcher itself failed


def _sibling(name: str) -> Any:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Prepare, confine, exec."""
    job = json.loads(sys.argv[1])
    if job["new_session"]:
        os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, job["stop_signal"], 0, 0, 0)
    if os.getppid() != job["parent_pid"]:  # it died before the line above
        sys.exit(FAILED)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if job["cpu"] is not None:
        os.sched_setaffinity(0, {job["cpu"]})
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write(OOM_SCORE)
    except OSError:
        pass
    if job["writable_dirs"]:
        landlock, seccomp = _sibling("landlock"), _sibling("seccomp")  # before they cannot be read
        version = landlock.restrict(job["writable_dirs"], job["writable_files"], job["readable"])
        seccomp.restrict(truncate=version is None or version < 3)
    os.execve(job["argv"][0], job["argv"], job["env"])


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, KeyError) as error:
        print(f"narrows launch: {error}", flush=True)
        sys.exit(FAILED)
