"""`narrows serve DIR`: the results in a browser."""

import socket
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from narrows.errors import UsageError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def serve(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="A directory of results, or one with several.")
    ] = Path("results"),
    host: Annotated[
        str, typer.Option(help="Address to listen on; any but this machine's own shows it to others.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 8321,
    name: Annotated[
        list[str] | None,
        typer.Option(help="With --host: a name that browsers may call it by; can be repeated."),
    ] = None,
) -> None:
    """Show all results below a directory as a web site.

    \b
      narrows serve                           # results/, at http://127.0.0.1:8321
      narrows serve results/prudentia
      narrows serve results --host 0.0.0.0 --name lab.example.net

    A page for each directory of results: its answer, its runs by conditions, maps of each quantity over
    two axes, whose cells open their runs; a page for each run with its series on one time axis, down to
    single packets, and its files; the ledger. What runs appears by itself. It changes nothing, loads
    nothing from elsewhere, and without scripts its pages have pictures instead. Ctrl-C ends it.
    """
    import uvicorn

    from narrows.serve.app import site

    if not directory.is_dir():
        raise UsageError(
            "no such directory of results", where=str(directory), remedy="narrows run FILE makes one"
        )
    hosts = [*LOOPBACK, "[::1]"] if host in LOOPBACK else [*LOOPBACK, host, *(name or ())]
    listening = _listen(host, port)
    shown = listening.getsockname()
    address = f"[{shown[0]}]" if ":" in shown[0] else shown[0]
    console = Console(stderr=True, highlight=False)
    console.print(f"{directory} at http://{address}:{shown[1]}  (Ctrl-C ends it)")
    if host not in LOOPBACK:
        console.print("everybody who reaches this address can read all of it")
    config = uvicorn.Config(
        site(directory, hosts), log_level="warning", access_log=False,
        timeout_graceful_shutdown=1,  # pages that wait for news would keep it alive
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        made = socket.socket(family[0], socket.SOCK_STREAM)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(family[4])
        made.listen()  # whoever calls the address as soon as it is said waits, and is not refused
    except OSError as error:
        raise UsageError(
            f"cannot listen on {host} port {port}: {error.strerror or error}",
            remedy="--port 0 takes any that is free",
        ) from None
    return made
