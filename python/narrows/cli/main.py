"""Entry point of `narrows`: finds the command modules of this package and turns errors into messages.

It knows no command by name: every module here with a function of its own name is one (`list_` of `list`), and
one of several commands has `register(app: typer.Typer) -> None`.
"""

import gc
import importlib
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperOption

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


class Command(TyperCommand):
    """A command that refuses an option of one value that is given twice, of which the last alone would
    count."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words as parameters; `UsageError` for an option that stands among them twice."""
        _, _, given = self.make_parser(ctx).parse_args(args=[*args])
        for one in given:
            if not isinstance(one, TyperOption) or given.count(one) == 1:
                continue
            if not (one.multiple or one.count or (one.is_flag and not one.secondary_opts)):
                raise UsageError(f"{one.opts[0]} is given more than once", remedy=f"give it once: {one.help}")
        return super().parse_args(ctx, args)


def _refuse_repeated(app: typer.Typer) -> None:
    """Each command of an application and of its groups is a `Command`."""
    for one in app.registered_commands:
        one.cls = Command
    for group in app.registered_groups:
        if group.typer_instance is not None:
            _refuse_repeated(group.typer_instance)


def build_app(only: str | None = None) -> typer.Typer:
    """The application with the commands of all modules of this package, in alphabetical order; with those of
    one module alone if a module has the name `only`: others may need a second to be imported."""
    app = typer.Typer(
        name="narrows",
        help=HELP,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback(invoke_without_command=True)
    def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
        if version:
            typer.echo(f"narrows {narrows.__version__}")
            raise typer.Exit

    names = sorted(info.name for info in pkgutil.iter_modules(narrows.cli.__path__))
    for wanted in ([only] if only in names else [], names):
        for name in wanted:
            module = importlib.import_module(f"narrows.cli.{name}")
            command = getattr(module, name, None) or getattr(module, f"{name}_", None)
            if hasattr(module, "register"):
                module.register(app)
            elif name != "main" and command is not None:
                app.command(name)(command)
        if app.registered_commands or app.registered_groups:
            break
    _refuse_repeated(app)
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


def _left_out() -> int:
    """Name the runs that cannot be read and were left out; 1 if there are any."""
    store = sys.modules.get("narrows.store.damaged")  # importing it takes long, and most commands read no run
    left_out = {} if store is None else store.left_out()
    if left_out:
        from narrows.cli.format import name_damaged

        name_damaged(left_out)
    return bool(left_out)


def main() -> NoReturn:
    """Run one command. Exit codes: 1 failed, or runs are left out that cannot be read; 2 wrong call or
    experiment, 130 interrupted."""
    # Plans and rows are many small objects and no cycles: looking for those after each 700 new objects, as
    # Python does, makes reading a thousand runs take three times as long.
    gc.set_threshold(100_000)
    try:
        _refuse_empty_words(sys.argv[1:])
        try:
            build_app(only=next(iter(sys.argv[1:]), None))()
        except SystemExit as end:
            left_out = _left_out()
            raise SystemExit(end.code or left_out) from None
        except NarrowsError:
            _left_out()
            raise
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
