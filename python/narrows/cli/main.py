"""Entry point of `narrows`: finds the command modules of this package and turns errors into messages.

It knows no command by name: every module here that has `register(app: typer.Typer) -> None` is one.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

import narrows
import narrows.cli
from narrows.errors import NarrowsError, UsageError

HELP = """An Internet-performance laboratory: the real Linux network stack in virtual time.

\b
First steps:
  narrows kernel build                 # once, five to nine minutes
  narrows plan hello                   # what would be run; touches nothing
  narrows run hello                    # runs what is missing
  narrows report results/hello         # figures, in one HTML file
  narrows study aqm                    # the runs, figures and verdicts of a study
  narrows calibrate --queue cake       # how wrong is my speed test under CAKE?

Each command's --help has examples. README.md says where to read on.
"""

INTERRUPTED = 130  # what a shell reports for SIGINT


def build_app() -> typer.Typer:
    """The application with the commands of all modules of this package, in alphabetical order."""
    app = typer.Typer(
        name="narrows",
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def root(
        version: bool = typer.Option(False, "--version", help="Print the version and stop."),
    ) -> None:
        if version:
            typer.echo(f"narrows {narrows.__version__}")
            raise typer.Exit

    for info in sorted(pkgutil.iter_modules(narrows.cli.__path__), key=lambda m: m.name):
        module = importlib.import_module(f"narrows.cli.{info.name}")
        register = getattr(module, "register", None)
        if register is not None:
            register(app)
    return app


def print_error(error: NarrowsError) -> None:
    """One error on stderr: where, what, and the remedy."""
    text = Text("error: ", style="bold red")
    if error.where:
        text.append(f"{error.where}: ", style="bold")
    text.append(error.message, style="not bold")
    if error.remedy:
        text.append(f"\n  → {error.remedy}")
    Console(stderr=True, soft_wrap=True, highlight=False).print(text)


def _refuse_empty_words(words: Sequence[str]) -> None:
    """An empty word is a variable that was not set; as a path it would be the current directory."""
    for before, word in zip(("narrows", *words), words, strict=False):
        name, equals, value = word.partition("=")
        if not word.strip() or (word.startswith("--") and equals and not value.strip()):
            what = f"the word after {before}" if not word.strip() else name
            raise UsageError(
                f"{what} is empty", remedy="a shell variable that is not set? leave the word out"
            )


def main() -> NoReturn:
    """Run one command. Exit codes: 1 failed, 2 wrong call or experiment, 130 interrupted."""
    try:
        _refuse_empty_words(sys.argv[1:])
        build_app()()
    except NarrowsError as error:
        print_error(error)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader (`| head`) has gone; nothing more to say, and nothing for Python to flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(0)


if __name__ == "__main__":
    main()
