"""Sends for four seconds to whoever connects: chunks, with pauses between, from a buffer of a size."""

import socket
import sys
import time

at, wmem, chunk, every = sys.argv[1].split(":"), *map(int, sys.argv[2:4]), float(sys.argv[4])
listening = socket.socket()
listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if wmem:
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, wmem)
listening.bind((at[0], int(at[1])))
listening.listen()
while True:
    connection, _ = listening.accept()
    end = time.monotonic() + 4
    while time.monotonic() < end:
        try:
            connection.sendall(b"x" * chunk)
        except OSError:
            break
        time.sleep(every)
    connection.close()
