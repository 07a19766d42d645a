"""Both ends of perf (draft-banks-quic-performance): AT CCA WINDOW server CERT KEY, or … down|up BYTES."""

import asyncio
import signal
import ssl
import sys
from functools import partial

from aioquic.asyncio import connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.logger import QuicFileLogger
from perf import End

at, cca, window, role, *rest = sys.argv[1:]
host, port = at.rsplit(":", 1)
folder = sys._xoptions.get("QLOG")


async def main():
    done = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, done.set)
    config = QuicConfiguration(is_client=role != "server", alpn_protocols=["perf"], verify_mode=ssl.CERT_NONE)
    config.congestion_control_algorithm = cca
    config.max_data = config.max_stream_data = int(window)
    config.quic_logger = QuicFileLogger(folder) if folder else None
    if role == "server":
        config.load_cert_chain(*rest)
        ends = []
        await serve(
            host, int(port), configuration=config, create_protocol=partial(End, done=lambda: None, ends=ends)
        )
        await done.wait()
        for end in ends:
            end.close()
            await end.wait_closed()
        return
    asks, sends = (0, int(rest[0])) if role == "up" else (int(rest[0]), 0)
    async with connect(
        host, int(port), configuration=config, create_protocol=partial(End, done=done.set, ends=[])
    ) as end:
        end.ask(asks, sends)
        await done.wait()


asyncio.run(main())
