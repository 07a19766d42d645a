"""`narrows kernel build | list | info | prune | selftest`: the kernel under test."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from narrows import kernel
from narrows.cli import format as formats
from narrows.cli.experiment import asked_of
from narrows.cli.kernel_selftest import selftest
from narrows.errors import KernelError, UsageError


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Build the kernel under test, or tell which one is used.")
    group.command("build")(build)
    group.command("list")(list_kernels)
    group.command("info")(info)
    group.command("prune")(prune)
    group.command("selftest")(selftest)
    app.add_typer(group, name="kernel")


def build(
    version: Annotated[
        str | None, typer.Argument(metavar="[VERSION]", help="Another version beside it: 6.12.")
    ] = None,
    tree: Annotated[
        Path | None,
        typer.Option(help="Another beside it, of a source tree or git tree; an edited tree is another."),
    ] = None,
    jobs: int = typer.Option(len(os.sched_getaffinity(0)), min=1, help="Compilers to run at once."),
    config: Annotated[
        Path | None,
        typer.Option(
            help="Lines of configuration of your own (CONFIG_…=…): another kernel, beside this one."
        ),
    ] = None,
    profiled: Annotated[
        bool,
        typer.Option(
            "--profiled", help="Lay it out by a profile of its own traffic: faster, the same bytes."
        ),
    ] = False,
    without_speed: Annotated[
        bool,
        typer.Option(
            "--without-speed",
            help="Leave out what only makes it faster: another kernel, beside this one; the same bytes.",
        ),
    ] = False,
) -> None:
    """Build the kernel under test into the cache.

    \b
      narrows kernel build                    # does nothing when it is there
      narrows kernel build --jobs 1
      narrows kernel build 6.12               # for machine(kernel="6.12") in an experiment
      narrows kernel build --tree ../linux    # for machine(kernel="tree:../linux")
      narrows kernel build --profiled         # for many runs of many packets: make bench, study corescale
      narrows kernel build --config hz100.config   # says how runs choose it
      narrows kernel build --without-speed    # without kernel/patches/speed, to show that they change nothing

    Fetches, patches, configures and compiles it, and boots it once: what does not run here is not kept.

    --profiled compiles it twice: a kernel that counts where it goes while it carries packets for some seconds
    (kernel/training/), and one that is laid out by these counts and spends an eighth less on a packet. Runs
    have the same bytes and ids with either; the one that was built last is used.

    The source is the distribution's own package, from whichever of its suites has it, or the tarball or
    tree that LINUX_SRC names (IPROUTE2_SRC for iproute2). The cache is NARROWS_CACHE, else ~/.cache/narrows.
    """
    from narrows.kernel.image import built, recipe

    named = _named(version, tree)
    if named is not None and (config is not None or profiled or without_speed):
        raise UsageError(
            "--config, --profiled and --without-speed are of the kernel in use",
            remedy="leave them out, or VERSION and --tree",
        )
    if profiled and without_speed:
        raise UsageError("--profiled and --without-speed exclude each other", remedy="leave one out")
    own = "" if config is None else own_lines(config)
    show_build(jobs, _training if profiled else None, own, not without_speed, named)
    if named is not None:
        image = kernel.named(named)
        lacks = image.info.get("without") or ()
        typer.echo(f"kernel {image.info['release']} ({image.id}) at {image.path}")
        if lacks:
            typer.echo(f"of this version there is no {', '.join(lacks)}")
        typer.echo(f'chosen by machine(kernel="{version or f"tree:{tree}"}") in an experiment')
        return
    beside = bool(own) or without_speed
    image = built(recipe(own, not without_speed))[0] if beside else kernel.find()
    typer.echo(f"kernel {image.info['release']} ({image.id}) at {image.path}")
    if beside:
        typer.echo(f"chosen by NARROWS_KERNEL={image.directory}")


def show_build(
    jobs: int,
    training: kernel.Training | None = None,
    own: str = "",
    speed: bool = True,
    named: str | None = None,
) -> None:
    """Build it (`kernel.build`) and show how far it is."""
    from narrows.engine.training import boot

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task, stage = bar.add_task("kernel", total=None), ""
        for step in kernel.build(jobs, boot, training, own, speed, named):
            if step.stage != stage:
                stage = step.stage
                bar.reset(task, total=step.total or None, description=stage)
                if not console.is_terminal:
                    console.print(stage)
            bar.update(task, completed=step.done)


def _named(version: str | None, tree: Path | None) -> str | None:
    if version is not None and tree is not None:
        raise UsageError("VERSION and --tree name two kernels", remedy="build one after the other")
    if tree is not None:
        return f"tree:{tree.expanduser().resolve()}"
    if version is not None and not re.fullmatch(r"\d+\.\d+", version):
        raise UsageError(
            f"{version} is no version of Linux", remedy="such as 6.12; --tree DIR for a source tree"
        )
    return version


def list_kernels() -> None:
    """Which kernels are built, newest first, with what an experiment calls each.

    \b
      narrows kernel list
    """
    from narrows.kernel.image import is_of_today, whole_builds

    images = whole_builds()
    if not images:
        typer.echo("none: narrows kernel build makes the one under test")
        return
    with contextlib.suppress(KernelError):
        typer.echo(f"in use: {kernel.find().id}")
    rows = []
    for image in images:
        name = str(image.info.get("named", ""))
        kind = "tree:" if name.startswith("tree:") else ""
        source = str(image.info.get("source", ""))
        called = name if kind else ".".join(source.split(".")[:2])
        why = "" if is_of_today(image) else "of an older narrows"
        if len(image.info.get("own_config") or ()):
            why = "with configuration of its own"
        lacks = ", ".join(image.info.get("without") or ())
        rows.append(
            (called, image.info.get("release"), image.id, why or (f"without {lacks}" if lacks else ""))
        )
    formats.console().print(formats.table(("kernel=", "release", "id", ""), rows))


def prune(
    yes: bool = typer.Option(False, "--yes", help="Remove them; without it they are only shown."),
) -> None:
    """Remove kernels of the cache that nobody needs any more; a kernel takes 60 MB.

    \b
      narrows kernel prune                    # shows what it would remove
      narrows kernel prune --yes

    Today's kernel stays, with and without speed, so do the one that NARROWS_KERNEL names and those with
    configuration of their own. Other checkouts that share the cache may use an older one: they would have to
    build it again.
    """
    from narrows.kernel.prune import remove, unneeded

    found = unneeded()
    for one in found:
        if yes:
            remove(one)
        typer.echo(f"{one.bytes / 1e6:5.0f} MB  {one.why}: {one.directory}")
    total = sum(one.bytes for one in found) / 1e6
    if not found:
        typer.echo("nothing to remove")
    elif yes:
        typer.echo(f"{total:.0f} MB removed")
    else:
        typer.echo(f"{total:.0f} MB; narrows kernel prune --yes removes them")


def own_lines(file: Path) -> str:
    """The options of a fragment of configuration; anything else in it is refused."""
    from narrows.kernel.build import options

    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the kernel's configuration cannot be read: {error}", where=str(file)) from error
    found = options("\n".join(lines))
    for number, line in enumerate(lines, 1):
        if (
            line.strip()
            and line not in found.values()
            and not (line.startswith("#") and "CONFIG_" not in line)
        ):
            raise UsageError(
                f"not a line of kernel configuration, or set again below: {line}",
                where=f"{file}:{number}",
                remedy="lines are CONFIG_NAME=value, # CONFIG_NAME is not set, and comments",
            )
    if not found:
        raise UsageError("no option of the kernel in it", where=str(file), remedy="for example CONFIG_HZ=100")
    return "".join(f"{line}\n" for line in found.values())


def _training(image: kernel.KernelImage, counts: Path) -> Iterator[tuple[int, int]]:
    """All of kernel/training/ on a kernel that counts."""
    from narrows.engine.training import train
    from narrows.kernel.image import TRAINING

    plans = [plan for file in sorted(TRAINING.glob("*.py")) for plan in asked_of(file).plans]
    return train(image, counts, plans)


def info(
    name: Annotated[
        str | None, typer.Argument(metavar="[KERNEL]", help='As machine(kernel="…") has it: 6.12, tree:DIR.')
    ] = None,
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
    tree: bool = typer.Option(False, "--tree", help="Only the tree that modules are built against."),
) -> None:
    """Which kernel runs would use, and what it was made of.

    \b
      narrows kernel info
      narrows kernel info --tree              # where modules of your own are built against it
      narrows kernel info 6.12 --tree         # the same of another
    """
    image = kernel.find() if name is None else kernel.named(name)
    if tree and not image.tree.is_dir():
        raise KernelError(
            f"the kernel {image.id} came without the tree that it was built from",
            where=str(image.directory),
            remedy="narrows kernel build   (5 to 9 minutes on two cores, once): its tree stays",
        )
    if tree:
        typer.echo(image.tree)
        return
    facts = {
        **image.info,
        "path": str(image.path),
        "tree": str(image.tree) if image.tree.is_dir() else None,
        "tools": str(image.tools_dir) if image.tools_dir else None,
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        typer.echo(f"{name:10} {', '.join(value) if isinstance(value, list) else value}")
