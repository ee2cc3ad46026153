"""A server of pictures on loopback that is good, slow, endless, broken or sends elsewhere, as the path asks."""

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
from PIL import Image

PIXELS = np.random.default_rng(0).integers(0, 256, (30, 40, 3), np.uint8)


def as_png(pixels: np.ndarray) -> bytes:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "Server"

    def log_message(self, *_: object) -> None:
        """Be quiet."""

    def do_GET(self) -> None:
        self.server.seen.append(self.path)
        parts = urlsplit(self.path)
        name, *rest = parts.path.strip("/").split("/")
        with suppress(OSError):  # who asked may be gone
            getattr(self, f"be_{name}")("/".join(rest), parse_qs(parts.query))

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for header, value in {"Content_Length": str(len(body)), **headers}.items():
            self.send_header(header.replace("_", "-"), value)
        self.end_headers()
        self.close_connection = False  # some servers do not, though they were asked to
        self.wfile.write(body)

    def be_good(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(as_png(PIXELS))

    def be_files(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send((self.server.folder / unquote(rest)).read_bytes())

    def be_page(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(b"<html>Please log in</html>")

    def be_missing(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(b"", 404)

    def be_busy(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(as_png(PIXELS), 200 if self.server.seen.count(self.path) > 2 else 503)

    def be_cut(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(as_png(PIXELS)[:100], Content_Length="5000")
        self.close_connection = True

    def be_moved(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(b"", 302, Location=asked["to"][0])

    def be_circle(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send(b"", 302, Location=f"/circle/{len(rest)}/{rest}x")

    def be_endless(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b"x" * 2**16)

    def be_dripping(self, rest: str, asked: dict[str, list[str]]) -> None:
        self.wfile.write(b"HTTP/1.0 200 OK\r\nX: " if rest == "head" else b"HTTP/1.0 200 OK\r\n\r\n")
        while not self.server.closing.wait(0.02):
            self.wfile.write(b"x")


class Server(ThreadingHTTPServer):
    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.seen: list[str] = []
        self.closing = threading.Event()


class Gallery(NamedTuple):
    """Where the server is, and what it was asked for."""

    url: str
    seen: list[str]


@contextmanager
def showing(folder: Path) -> Iterator[Gallery]:
    """Serve the files of a folder, and what misbehaves, until the block ends."""
    server = Server(folder)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield Gallery(f"http://127.0.0.1:{server.server_port}", server.seen)
    finally:
        server.closing.set()
        server.shutdown()
        thread.join()
        server.server_close()
