"""`narrows profile DIR`: what the paths of many packet logs are like together, as one small file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from narrows.cli import format as formats
from narrows.cli.format import Format
from narrows.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    import polars as pl

    from narrows.spec.path_profile import PathProfile

SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
SCALES = {"_ns": (1e6, "ms"), "_bps": (1e6, "Mbit/s")}
LEVELS = ("sessions", "connections")


def profile(
    what: Annotated[
        str | None, typer.Argument(metavar="[DIR|PROFILE]", help="Of narrows paths; or a profile to show.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE.profile", help="Where to write it; else it is only shown.")
    ] = None,
    of: Annotated[str, typer.Option(help="What a scenario is: sessions or connections.")] = "sessions",
    only: Annotated[
        str | None, typer.Option(help="Only these, by the metadata's columns: 'network=wifi country=DE'.")
    ] = None,
    note: Annotated[str, typer.Option(help="What the paths are, in words; kept in the file.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Write over a file that is there.")] = False,
    medium: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A trace of a link: model it, and judge the model.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of what --medium draws.", show_default="1")] = None,
    format: Annotated[Format, typer.Option(help="How to print it.")] = Format.table,
) -> None:
    """Fit the joint distribution of what narrows paths measured: which values go together.

    An experiment draws its links from it, a scenario for each seed:
    link = profile("home-wifi.profile").sample(). Some profiles come with narrows.

    \b
      narrows profile                                  # those that come with narrows
      narrows profile video-wifi                       # one of them, with its sources
      narrows profile results/paths                    # of these packet logs
      narrows profile results/paths --only network=wifi --out experiments/home-wifi.profile
      narrows profile --medium drive.down --out like-drive.csv   # docs/links.md
    """
    if medium is not None:
        from narrows.cli.profile_medium import medium_profile

        if what is not None:
            raise UsageError(f"{what} and --medium are two things to model", remedy="give one of them")
        for option, given in (("--of", of != "sessions"), ("--only", only is not None), ("--note", note)):
            if given:
                raise UsageError(
                    f"{option} is of packet logs, and --medium of a trace", remedy="leave it out"
                )
        medium_profile(medium, out, 1 if seed is None else seed, again, format)
        return
    if seed is not None:
        raise UsageError("--seed is of what --medium draws", remedy="leave it out, or give --medium")
    from narrows.spec import path_profile

    if what is None:
        rows = [
            [name, path_profile.read(path_profile.COMES_WITH / f"{name}.profile").what]
            for name in path_profile.named()
        ]
        formats.show(formats.console(), format, ["profile", "what"], rows)
        return
    if not Path(what).is_dir():
        file = Path(what) if what.endswith(path_profile.SUFFIX) else None
        _show(path_profile.read(file) if file else path_profile.profile(what), format)
        return
    if out is not None and out.suffix != path_profile.SUFFIX:
        raise UsageError(f"{out} does not end with {path_profile.SUFFIX}", remedy=f"--out {out.stem}.profile")
    if out is not None and out.exists() and not again:
        raise UsageError(f"{out} is there", remedy="another name, or --again")
    from narrows.paths.profile import fit

    rows_of = _rows(Path(what), of, only)
    words = note or f"{of} of {Path(what).name}" + (f", {only}" if only else "")
    made = fit(rows_of, out.stem if out else Path(what).name, words)
    _show(made, format)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(made.to_json() + "\n", encoding="utf-8")
        typer.echo(f'{out}: link = profile("{out.name}").sample()', err=True)


def _rows(directory: Path, of: str, only: str | None) -> pl.DataFrame:
    """The rows of the directory that are meant; those with metadata where `only` asks for them."""
    import polars as pl

    from narrows.paths import tables
    from narrows.store import parquet

    if of not in LEVELS:
        raise UsageError(f"no {of!r} to fit", remedy=did_you_mean(of, LEVELS))
    judged = directory / "judged.parquet"
    if only is None:
        return tables.load(directory, of)
    if of != "sessions" or not judged.is_file():
        raise UsageError(
            f"{directory} knows nothing of its {of} but their packets, so --only has nothing to choose by",
            remedy="narrows paths … --metadata FILE.csv, and --of sessions",
        )
    rows = parquet.read(judged)
    for word in only.split():
        column, equals, values = word.partition("=")
        if column not in rows.columns or not equals:
            raise UsageError(
                f"--only: {word!r} is no COLUMN=VALUE", remedy=did_you_mean(column, rows.columns)
            )
        rows = rows.filter(pl.col(column).cast(pl.String).is_in(values.split(",")))
        if rows.is_empty():
            raise UsageError(f"--only: no session has {word}", remedy="another value, or none of it")
    return rows


def _show(path_profile: PathProfile, format: Format) -> None:
    """The distributions, then what goes together, each with how sure it is."""
    from narrows.paths.profile import error_of, interval
    from narrows.spec.path_profile import PROPERTIES

    rows: list[list[Any]] = []
    for name, each in path_profile.properties.items():
        scale, unit = next((s for end, s in SCALES.items() if name.endswith(end)), (1.0, ""))
        error = None if each.known is None else round(100 * error_of(each.known).share, 1)
        values = [float(f"{each.at(share) / scale:.4g}") for share in SHOWN]
        title = name.removesuffix("_ns").removesuffix("_bps")
        rows.append([title, unit, each.known, *values, error, PROPERTIES[name], each.source])
    headings = ["property", "unit", "known", *(f"p{100 * share:g}" for share in SHOWN)]
    console = formats.console()
    if format is not Format.table:
        formats.show(console, format, [*headings, "error_points", "becomes", "source"], rows)
        return
    console.print(f"{path_profile.name}: {path_profile.what}")
    console.print(formats.table([*headings, "error_points", "becomes"], [row[:-1] for row in rows]))
    for source in dict.fromkeys(row[-1] for row in rows):
        of_it = ", ".join(row[0] for row in rows if row[-1] == source)
        console.print(f"{of_it}: {source}")
    pairs = []
    for pair in sorted(path_profile.correlations, key=lambda pair: -abs(pair.value)):
        bounds = interval(pair)
        low, high = bounds if bounds else (None, None)
        pairs.append([pair.first, pair.second, pair.value, low, high, pair.known])
    if pairs:
        console.print(formats.table(["property", "goes with", "correlation", "low", "high", "known"], pairs))
    typer.echo(
        "error_points: the share of paths below any value is known within so many percent (95 %"
        " confidence);\ncorrelations are of the normal variables behind the values, with 95 % intervals;"
        " pairs that are not listed are drawn apart",
        err=True,
    )
