"""`narrows kernel build | info`: the kernel under test."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from narrows import kernel
from narrows.cli.experiment import plans_of
from narrows.engine.training import train
from narrows.kernel.image import TRAINING


def register(app: typer.Typer) -> None:
    group = typer.Typer(no_args_is_help=True, help="Build the kernel under test, or tell which one is used.")
    group.command("build")(build)
    group.command("info")(info)
    app.add_typer(group, name="kernel")


def build(
    jobs: int = typer.Option(len(os.sched_getaffinity(0)), min=1, help="Compilers to run at once."),
) -> None:
    """Build the kernel under test into the cache.

    \b
      narrows kernel build                    # does nothing when it is there
      narrows kernel build --jobs 1

    Fetches, patches, configures and compiles it.

    It is compiled twice: the first kernel counts where it goes while it carries packets for some seconds
    (kernel/training/), the second is laid out by these counts and spends an eighth less on a packet.

    The source is the distribution's own package, from whichever of its suites has it, or the tarball or
    tree that LINUX_SRC names (IPROUTE2_SRC for iproute2). The cache is NARROWS_CACHE, else ~/.cache/narrows.
    """
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
        task, stage = bar.add_task("kernel", total=None), ""
        for step in kernel.build(jobs, _training):
            if step.stage != stage:
                stage = step.stage
                bar.reset(task, total=step.total or None, description=stage)
                if not console.is_terminal:
                    console.print(stage)
            bar.update(task, completed=step.done)
    image = kernel.find()
    typer.echo(f"kernel {image.info['release']} ({image.id}) at {image.path}")


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
