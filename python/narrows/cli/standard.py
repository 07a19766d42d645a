"""`narrows standard rfc9743 --cca bbr`: what a document asks, criterion by criterion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.cli.format import Form, FormOption, called, counted, refuse_form, table, write
from narrows.cli.format import console as make_console
from narrows.cli.run import FAILED, ClusterOption
from narrows.errors import UsageError

if TYPE_CHECKING:
    from narrows.plan.model import Plan
    from narrows.standards.session import Make


def register(app: typer.Typer) -> None:
    """Add the command."""

    @app.command()
    def standard(
        name: Annotated[
            str | None, typer.Argument(metavar="[STANDARD]", help="Which; without one, their list.")
        ] = None,
        cca: Annotated[
            str,
            typer.Option(help="Who is tried: bbr, cubic, …, a module mine.ko, or mine.c, which is built."),
        ] = "",
        stack: Annotated[
            str, typer.Option(help="A QUIC stack instead: narrows quic list, or a folder.")
        ] = "",
        stack_cca: Annotated[str, typer.Option(help="The stack's congestion control.")] = "",
        queue: Annotated[str, typer.Option(help="Of l4s: a module in place of DualPI2: sch_mine.ko.")] = "",
        quick: Annotated[
            bool, typer.Option("--quick", help="Fewer conditions, and one run of each: five minutes at most.")
        ] = False,
        seeds: Annotated[
            int, typer.Option(min=0, help="Runs of each condition; default: 3, and 1 with --quick.")
        ] = 0,
        plan: Annotated[bool, typer.Option("--plan", help="Say what there is to do, and stop.")] = False,
        jobs: Annotated[
            int | None, typer.Option(min=1, help="Guests at once; default: one per core.")
        ] = None,
        cluster: ClusterOption = None,
        out: Annotated[Path, typer.Option(metavar="DIR", help="Where runs and page go.")] = Path(
            "results/standard"
        ),
        form: FormOption = Form.table,
    ) -> None:
        """Try a congestion control by what a document asks of it: a verdict, a number and a bound each.

        Each criterion is a small set of experiments. Limits are those of the text or of a document that it
        cites; where there is none, CUBIC and Reno in the same scene are the measure. A contestant that
        carries no flow, or whose window never grows, is refused after one run of 5 s.

        \b
          narrows standard                                     # the standards
          narrows standard rfc9743 --cca bbr --quick
          narrows standard rfc9743 --cca mine.c                # built against the kernel under test
          narrows standard bbr-draft --stack quinn --stack-cca bbr
          narrows standard cubic --cca 'mine.ko beta=717' --format markdown

        The last line on standard error is the page that it wrote.
        """
        from narrows.standards.contestant import named
        from narrows.standards.session import carried_out, planned, suite, suites

        console = make_console()
        if name is None or plan:
            refuse_form(form)
        if name is None:
            if cca or stack or stack_cca or queue or plan:
                raise UsageError("no standard is named", remedy=f"one of {', '.join(suites())}, first of all")
            known = [[one.name, len(one.criteria), one.title, one.document] for one in suites().values()]
            console.print(table(["standard", "criteria", "about", "document"], known))
            return
        of = suite(name)
        if queue and of.name != "l4s":
            raise UsageError(f"{of.name} tries no queue", remedy="--queue is of l4s alone")
        tried = named(cca or ("" if stack else of.cca), stack, stack_cca, queue)
        if plan:
            runs = planned(of, tried, full=not quick, seeds=seeds)
            typer.echo(
                f"{of.name}, {tried.name}: {counted(len(of.scenes), 'scene')}, {counted(len(runs), 'run')}"
            )
            return
        from narrows.standards import page, written

        outcome = carried_out(of, tried, out, maker(jobs, cluster), full=not quick, seeds=seeds)
        command = called()
        if form is Form.table:
            console.print(table(written.HEADINGS, written.rows(outcome)))
            typer.echo(written.counts(outcome))
        else:
            write(form, written.told(outcome, command))
        for run, why in outcome.failed.items():
            typer.echo(f"run {run} failed: {why}", err=True)
        typer.echo(f"page: {page.write(outcome, out / of.name / tried.folder / 'report', command)}", err=True)
        if outcome.failed:
            raise typer.Exit(FAILED)


def maker(jobs: int | None, cluster: str | None) -> Make:
    """Makes runs as narrows run does, and says how it goes on stderr."""

    def make(plans: Sequence[Plan], directory: Path) -> tuple[Mapping[str, Plan], Mapping[str, str]]:
        from narrows.cli.run import simulate

        console = make_console()
        console.stderr = True
        return simulate(console, plans, directory, "the same call", jobs=jobs, cluster=cluster)

    return make
