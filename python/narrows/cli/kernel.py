"""`narrows kernel build | info | prune`: the kernel under test."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from narrows import kernel
from narrows.cli.experiment import plans_of
from narrows.engine.training import train
from narrows.errors import UsageError
from narrows.kernel.build import options
from narrows.kernel.image import TRAINING, built, recipe


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Build the kernel under test, or tell which one is used.")
    group.command("build")(build)
    group.command("info")(info)
    group.command("prune")(prune)
    app.add_typer(group, name="kernel")


def build(
    jobs: int = typer.Option(len(os.sched_getaffinity(0)), min=1, help="Compilers to run at once."),
    config: Annotated[
        Path | None,
        typer.Option(
            help="Lines of configuration of your own (CONFIG_…=…): another kernel, beside this one."
        ),
    ] = None,
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
      narrows kernel build --config hz100.config   # says how runs choose it
      narrows kernel build --without-speed    # without kernel/patches/speed, to show that they change nothing

    Fetches, patches, configures and compiles it.

    It is compiled twice: the first kernel counts where it goes while it carries packets for some seconds
    (kernel/training/), the second is laid out by these counts and spends an eighth less on a packet.

    The source is the distribution's own package, from whichever of its suites has it, or the tarball or
    tree that LINUX_SRC names (IPROUTE2_SRC for iproute2). The cache is NARROWS_CACHE, else ~/.cache/narrows.
    """
    own = "" if config is None else own_lines(config)
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task, stage = bar.add_task("kernel", total=None), ""
        for step in kernel.build(jobs, _training, own, speed=not without_speed):
            if step.stage != stage:
                stage = step.stage
                bar.reset(task, total=step.total or None, description=stage)
                if not console.is_terminal:
                    console.print(stage)
            bar.update(task, completed=step.done)
    beside = bool(own) or without_speed
    image = built(recipe(own, not without_speed))[0] if beside else kernel.find()
    typer.echo(f"kernel {image.info['release']} ({image.id}) at {image.path}")
    if beside:
        typer.echo(f"chosen by NARROWS_KERNEL={image.directory}")


def prune(
    yes: bool = typer.Option(False, "--yes", help="Remove them; without it they are only shown."),
) -> None:
    """Remove kernels of the cache that nobody needs any more; a kernel takes 330 MB.

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
    plans = [plan for file in sorted(TRAINING.glob("*.py")) for plan in plans_of(file)[1]]
    return train(image, counts, plans)


def info(
    as_json: bool = typer.Option(False, "--json", help="As JSON."),
    tree: bool = typer.Option(False, "--tree", help="Only the tree that modules are built against."),
) -> None:
    """Which kernel runs would use, and what it was made of.

    \b
      narrows kernel info
      narrows kernel info --tree              # where modules of your own are built against it
    """
    image = kernel.find()
    if tree:
        typer.echo(image.tree)
        return
    facts = {
        **image.info,
        "path": str(image.path),
        "tree": str(image.tree),
        "tools": str(image.tools_dir) if image.tools_dir else None,
    }
    if as_json:
        typer.echo(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        typer.echo(f"{name:10} {', '.join(value) if isinstance(value, list) else value}")
