"""`narrows kernel selftest`: the kernel's own tests of its qdiscs, in virtual time."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows import kernel
from narrows.cli.format import console as make_console
from narrows.cli.format import counted, table
from narrows.errors import KernelError

if TYPE_CHECKING:
    from narrows.plan.model import Plan

OUTCOMES = ("passed", "failed", "skipped")


def selftest(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[QDISC]…", help="Of these alone: fq_codel cake.")
    ] = None,
    kernel_name: Annotated[
        str | None,
        typer.Option(
            "--kernel", metavar="KERNEL", help='As machine(kernel="…") has it: 6.12, tree:../linux.'
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results go.")] = Path("results/selftest"),
    jobs: Annotated[int, typer.Option(min=1, help="Guests at once; default: one per core.")] = len(
        os.sched_getaffinity(0)
    ),
) -> None:
    """Run the kernel's own tests of its qdiscs (tc-testing) in virtual time, with the tc built with it.

    \b
      narrows kernel selftest                       # all, some minutes
      narrows kernel selftest fq_codel cake
      narrows kernel selftest dualpi2 --kernel tree:../linux

    Says what passes, what fails, and what cannot run in a guest and why. Ends with status 3 if a test fails,
    1 if none could be tried.
    """
    from narrows.cli.run import FAILED, UNEXPECTED, simulate
    from narrows.kernel import selftests, source

    console = make_console()
    image = kernel.find() if kernel_name is None else kernel.named(kernel_name)
    linux = source.linux_source(kernel_name)
    if linux.version != image.info.get("source"):
        raise KernelError(
            f"the tests would be of {linux.version}, the kernel is of {image.info.get('source')}",
            remedy="narrows kernel build",
        )
    tests = selftests.prepare(linux, image, out, names or ())
    ran: dict[str, Plan] = {}
    if tests.files:
        again = " ".join(["narrows kernel selftest", *(names or ())])
        ran, faults = simulate(console, selftests.plans(tests, kernel_name), out, again, jobs=jobs)
        if faults:
            first = next(iter(faults))
            console.print(f"{len(faults)} runs failed; the first: narrows show {first} --dir {out}")
            raise typer.Exit(FAILED)
    counts: Counter[str] = Counter()
    rows, bad = [], []
    for run_id, plan in ran.items():
        name = plan.key["qdisc"]
        found = json.loads(next((out / run_id / "raw").rglob("results.json")).read_text())
        of = Counter(one["outcome"] for one in found.values())
        cannot = sum(where.startswith(f"{name}/") for where in tests.left_out)
        counts += of
        rows.append([name, *(of[outcome] for outcome in OUTCOMES), cannot])
        bad += [(name, test, one) for test, one in found.items() if one["outcome"] != "passed"]
    console.print(table(["qdisc", *OUTCOMES, "not tried"], rows))
    for name, test, one in bad:
        console.print(f"{one['outcome']}: {name} {test} {one['name']}: {one['why'][:300]}", markup=False)
    reasons = Counter(tests.left_out.values())
    whole = [name for name in tests.left_out if "/" not in name]
    for reason, n in reasons.items():
        of_files = [name for name in whole if tests.left_out[name] == reason]
        what = ", ".join(of_files) if of_files else counted(n, "test")
        console.print(f"not tried: {what}: {reason}")
    if not counts["passed"] and not counts["failed"]:
        console.print("no test was tried: nothing is shown")
        raise typer.Exit(FAILED)
    release = str(image.info.get("release", "")).split()[0]
    console.print(
        f"{counts['passed']} of {counted(sum(counts.values()), 'test')} of Linux {release} pass"
        + (f", {counts['failed']} fail" if counts["failed"] else "")
        + (f", {counts['skipped']} skip themselves" if counts["skipped"] else "")
    )
    if counts["failed"]:
        raise typer.Exit(UNEXPECTED)
