"""The engine of a name, as a person asks for it."""

import atexit
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from narrows.engine.types import Engine
from narrows.errors import KernelError, UsageError, did_you_mean
from narrows.plan.model import Plan

ENGINES = ("uml", "netns", "ssh")


def make_engine(name: str, hosts: Path | None = None, plans: Sequence[Plan] = ()) -> Engine:
    """The engine of that name; `hosts` is the file of engine ssh. Programs of `plans` that are not installed
    are named before a kernel that is not built: nobody waits for that to hear of them."""
    if (name == "ssh") != (hosts is not None):
        raise UsageError(
            "--engine ssh needs --hosts" if name == "ssh" else "--hosts is of --engine ssh alone",
            remedy="narrows run FILE --engine ssh --hosts hosts.toml (docs/machines.md)",
        )
    if hosts is not None:
        from narrows.engine.ssh.engine import SshEngine
        from narrows.engine.ssh.hosts import read

        return SshEngine(read(hosts))
    if name == "uml":
        from narrows.engine.refused import refused
        from narrows.engine.uml import UmlEngine, check_tools, guest_path

        try:
            return UmlEngine()
        except KernelError:
            refused(partial(check_tools, path=guest_path(None)), plans)
            raise
    if name == "netns":
        from narrows.engine.netns import NetnsEngine

        return NetnsEngine()
    raise UsageError(f"no engine {name}", remedy=did_you_mean(name, ENGINES))


def choose_engine(
    name: str,
    cluster: str | None,
    jobs: int | None,
    twice_every: int,
    hosts: Path | None = None,
    plans: Sequence[Plan] = (),
) -> Engine:
    """The engine of that name; with `cluster`, guests on the workers of a Dask cluster, which is let go when
    this process ends."""
    if cluster is None:
        return make_engine(name, hosts, plans)
    if name != "uml":
        raise UsageError(f"--cluster: its workers run guests, not the engine {name}", remedy="--engine uml")
    from narrows.engine.cluster import ClusterEngine

    made = ClusterEngine(cluster, jobs, twice_every)
    atexit.register(made.close)
    return made
