"""`narrows profile --medium FILE`: a model of a measured link, judged on the half it was not made from."""

from pathlib import Path
from typing import NoReturn

from narrows.cli import format as formats
from narrows.cli.format import Format
from narrows.errors import UsageError
from narrows.media import fitted
from narrows.units import NS_PER_S

MOST_DISTANCE = 0.1
TIMES_DRAWN = 20
"""How much longer than the second half the model is drawn, so that its draws hardly add to the distance."""


def medium_profile(file: Path, out: Path | None, seed: int, again: bool, format: Format) -> None:
    """Show how well a model of the first half does on the second; write as much as the trace is long, drawn
    from all of it."""
    from narrows.metrics.statistics.kolmogorov_smirnov import kolmogorov_smirnov
    from narrows.spec.media.trace_file import TraceFile

    def fail(message: str, remedy: str | None = None) -> NoReturn:
        raise UsageError(message, remedy=remedy)

    if out is not None and out.suffix != ".csv":
        fail(f"{out} does not end with .csv", f'--out {out.stem}.csv, for opportunities("{out.stem}.csv")')
    if out is not None and out.exists() and not again:
        fail(f"{out} is there", "another name, or --again")
    at, length_ns = TraceFile(file, str(file), fail).read()
    count = length_ns // NS_PER_S
    if count < 2 * fitted.LEAST_SECONDS:
        fail(f"{file} is {length_ns / 1e9:.3g} s long", f"at least {2 * fitted.LEAST_SECONDS} s")
    half_ns = count // 2 * NS_PER_S
    first = [each for each in at if each[0] < half_ns]
    second = [(at_ns - half_ns, size) for at_ns, size in at if half_ns <= at_ns < count * NS_PER_S]
    rest_ns = count * NS_PER_S - half_ns
    model_ns = TIMES_DRAWN * rest_ns
    model = fitted.drawn(first, half_ns, model_ns // NS_PER_S, seed)
    samples = {"gaps between opportunities": [fitted.gaps(each) for each in (model, second, first)]}
    for words, bin_ns in (("capacity over 100 ms", NS_PER_S // 10), ("capacity over 1 s", NS_PER_S)):
        lengths = ((model, model_ns), (second, rest_ns), (first, half_ns))
        samples[words] = [fitted.capacities(each, length, bin_ns) for each, length in lengths]
    rows = []
    for name, (made, known, learnt) in samples.items():
        distance, halves = kolmogorov_smirnov(made, known), kolmogorov_smirnov(learnt, known)
        verdict = None if distance is None else "alike" if distance < MOST_DISTANCE else "not alike"
        rows.append([name, distance, halves, len(made), len(known), verdict])
    columns = [
        "of the second half",
        "model's distance (KS)",
        "first half's",
        "n of the model",
        "n of the trace",
        f"below {MOST_DISTANCE}",
    ]
    formats.show(formats.console(), format, columns, rows)
    if out is not None:
        whole = fitted.drawn(at, length_ns, count, seed)
        end = [] if whole and whole[-1][0] == count * NS_PER_S else [(count * NS_PER_S, 0)]
        text = "t_ns,bytes\n" + "".join(f"{at_ns},{size}\n" for at_ns, size in [*whole, *end])
        try:
            out.write_text(text)
        except OSError as error:
            fail(f"{out} cannot be written: {error.strerror}", "another place: --out FILE.csv")
