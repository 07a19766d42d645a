"""The server: /byte answers with one byte, every other path with bytes until the client has enough."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CHUNK = bytes(64 * 1024)


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer one request."""
        self.send_response(200)
        if self.path == "/byte":
            self.send_header("Content-Length", "1")
            self.end_headers()
            self.wfile.write(b"x")
            return
        self.send_header("Connection", "close")
        self.end_headers()
        try:
            while True:
                self.wfile.write(CHUNK)
        except OSError:
            self.close_connection = True

    def log_message(self, *args: object) -> None:
        """Say nothing."""


address, _, port = sys.argv[1].rpartition(":")
ThreadingHTTPServer((address, int(port)), Handler).serve_forever()
