"""Reads all that the sender sends, into a buffer of a size."""

import socket
import sys

at, rmem = sys.argv[1].split(":"), int(sys.argv[2])
s = socket.socket()
if rmem:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, rmem)
s.connect((at[0], int(at[1])))
while s.recv(1 << 18):
    pass
