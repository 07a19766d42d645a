"""`narrows tune`: CAKE before the ISP's queue, each way, and back."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from narrows.errors import UnitError, UsageError
from narrows.units import Rate

if TYPE_CHECKING:
    from narrows.line.tune.tuning import Tuned


def tune(
    wan: Annotated[str, typer.Option(metavar="IFACE", help="The interface towards the ISP.")],
    server: Annotated[
        str | None,
        typer.Option(
            metavar="SERVER", help="iperf3://HOST (TCP), or where narrows-agent udp-capacity server runs."
        ),
    ] = None,
    share: Annotated[float, typer.Option(help="Percent of the measured rates.")] = 95.0,
    link: Annotated[
        str, typer.Option(help="ethernet, docsis, ptm, atm or none: bytes a packet has beyond IP.")
    ] = "ethernet",
    diffserv: Annotated[str, typer.Option(help="besteffort, diffserv3 or diffserv4.")] = "diffserv3",
    down: Annotated[
        str | None, typer.Option(metavar="RATE", help="Known rates, instead of measuring them.")
    ] = None,
    up: Annotated[str | None, typer.Option(metavar="RATE", help="The same of the way up.")] = None,
    seconds: Annotated[int, typer.Option(help="Length of each load.")] = 5,
    ifb: Annotated[str | None, typer.Option(metavar="IFACE", help="Default: ifb4 and the interface.")] = None,
    replace: Annotated[
        bool, typer.Option(help="Also where somebody has set a qdisc; undo brings it back.")
    ] = False,
    dry_run: Annotated[bool, typer.Option(help="Print the lines; change nothing.")] = False,
    undo: Annotated[bool, typer.Option(help="Give back what was there.")] = False,
    install: Annotated[bool, typer.Option(help="Also write a systemd unit that sets it at boot.")] = False,
    uninstall: Annotated[bool, typer.Option(help="Take the unit away; what is set stays.")] = False,
    units: Annotated[Path, typer.Option(metavar="DIR", help="Where units are.")] = Path(
        "/etc/systemd/system"
    ),
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page; default: a name with the time.")
    ] = None,
) -> None:
    """Put CAKE before the ISP's queue, each way. Root.

    \b
      iperf3 -s                                     # on a server beyond the ISP
      narrows tune --wan eth0 --server iperf3://192.0.2.7
      narrows tune --wan eth0 --down '30 Mbit/s' --up '10 Mbit/s' --dry-run
      narrows tune --wan eth0 --undo

    Measures the rates, sets CAKE to a share of them on IFACE and on an IFB, measures again, and says
    whether the queue has moved. Costs four loads of some seconds at the line's rate.
    """
    from narrows.line.tune import page as pages
    from narrows.line.tune import setting, unit
    from narrows.line.tune.tuning import Wish, planned
    from narrows.line.tune.tuning import tune as tuned_now
    from narrows.line.tune.tuning import undo as undone

    ifb = ifb or f"ifb4{wan}"
    if undo + uninstall + install + dry_run > 1:
        raise UsageError("one of undo, uninstall, install, dry-run at a time", remedy="leave the others out")
    if undo:
        outcome = "as it was" if undone(wan, ifb) else "nothing had been set"
        typer.echo(f"{wan}: {outcome}")
        return
    if uninstall:
        typer.echo(f"{unit.name(wan)}: {'taken away' if unit.uninstall(wan, units) else 'was not there'}")
        return
    _known("--link", link, setting.LINKS)
    _known("--diffserv", diffserv, setting.DIFFSERV)
    if not 10 <= share <= 100:
        raise UsageError(f"--share {share:g}: from 10 to 100 percent", remedy="95")
    if not 2 <= seconds <= 60:
        raise UsageError(f"--seconds {seconds}: from 2 to 60", remedy="5")
    if len(ifb) > 15:
        raise UsageError(
            f"{ifb}: an interface's name has at most 15 letters", remedy="--ifb with a shorter one"
        )
    if (down is None) != (up is None):
        raise UsageError("--down and --up go together", remedy="both, or neither and --server")
    if down is None and server is None:
        raise UsageError("nothing to measure against", remedy="--server HOST, or --down and --up")
    rates = None if down is None or up is None else (_rate("--down", down), _rate("--up", up))
    wish = Wish(setting.Setting(wan, ifb, share, link, diffserv, True), server, seconds, rates, replace)
    if dry_run:
        _print_lines(planned(wish, typer.echo))
        return
    path = page or Path(f"narrows-tune-{wan}-{time.strftime('%Y%m%dT%H%M%S')}.html")
    if path.exists():
        raise UsageError(f"{path} exists", remedy="--page with another name")
    tuned = tuned_now(wish, typer.echo)
    _print_lines(tuned)
    for row in pages.rows(tuned):
        typer.echo(f"{row[0]:36} {row[1]:>16} → {row[2]}")
    for line in pages.verdicts(tuned):
        typer.echo(line)
    if tuned.before is not None:
        pages.write(tuned, path)
        typer.echo(f"page: {path}")
    if install:
        typer.echo(f"at boot: {unit.install(tuned, units)}")
    typer.echo(f"back: narrows tune --wan {wan} --undo")


def _print_lines(tuned: Tuned) -> None:
    for words in tuned.lines:
        typer.echo("  " + " ".join(words))
    for line in tuned.wish.setting.explained():
        typer.echo(f"  # {line}")


def _known(option: str, value: str, known: Iterable[str]) -> None:
    if value not in known:
        raise UsageError(f"{option} {value}: not known", remedy=f"one of {', '.join(known)}")


def _rate(option: str, text: str) -> float:
    try:
        bps: int = Rate.parse(text).bps
    except UnitError as error:
        raise UsageError(f"{option}: {error.message}", remedy=error.remedy) from None
    if bps < 64_000:
        raise UsageError(f"{option} {text}: less than CAKE is useful for", remedy='at least "64 kbit/s"')
    return float(bps)
