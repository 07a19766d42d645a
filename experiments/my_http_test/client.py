"""The client: downloads for some seconds, asks for one byte now and then, prints what it found as JSON."""

import argparse
import http.client
import json
import statistics
import threading
import time
from urllib.parse import urlsplit

IDLE_ANSWERS = 5

arguments = argparse.ArgumentParser()
arguments.add_argument("url")
arguments.add_argument("--seconds", type=float)
arguments.add_argument("--every", type=float)
arguments.add_argument("--connections", type=int)
chosen = arguments.parse_args()
host = urlsplit(chosen.url).netloc
received = [0] * chosen.connections


def answer(connection: http.client.HTTPConnection) -> float:
    """How long one byte takes, in ms."""
    begun = time.monotonic()
    connection.request("GET", "/byte")
    connection.getresponse().read()
    return 1000 * (time.monotonic() - begun)


def download(number: int, until: float) -> None:
    """Read until the time is over."""
    connection = http.client.HTTPConnection(host)
    connection.request("GET", "/bytes")
    response = connection.getresponse()
    while time.monotonic() < until:
        received[number] += len(response.read1(64 * 1024))
    response.close()


asking = http.client.HTTPConnection(host)
idle = [answer(asking) for _ in range(IDLE_ANSWERS)]
begun = time.monotonic()
end = begun + chosen.seconds
downloads = [threading.Thread(target=download, args=(n, end)) for n in range(chosen.connections)]
for each in downloads:
    each.start()
answers = []
while time.monotonic() + chosen.every < end:
    time.sleep(chosen.every)
    answers.append((time.monotonic(), answer(asking)))
for each in downloads:
    each.join()
took = time.monotonic() - begun
print(
    json.dumps(
        {
            "bytes": sum(received),
            "seconds": took,
            "idle_ms": statistics.median(idle),
            "loaded_ms": statistics.median(ms for _, ms in answers),
            "answers": answers,
        }
    )
)
