"""Writes a page and all that it loads into the current directory: make_pages.py KIND SEED.

Kinds: text (an article with some pictures, two hosts), domains (a front page of 24 hosts), pictures (a wall
of thumbnails). Sizes are drawn from the seed; contents are noise, which nothing compresses. Every picture
asks to be timed (Element Timing), and a script in the page keeps what is needed to say when the visible part
was there.
"""

import random
import struct
import sys
import zlib
from pathlib import Path

WATCH = """<script>
window.seen = [];
new PerformanceObserver((list) => { for (const e of list.getEntries()) seen.push(
  [e.renderTime || e.loadTime, e.intersectionRect.width * e.intersectionRect.height, e.identifier]);
}).observe({type: 'element', buffered: true});
</script>"""
STYLE = "body{margin:8px;font:16px sans-serif}img{margin:4px;vertical-align:top}p{max-width:60em}"


def png(path: Path, width: int, height: int, dice: random.Random) -> None:
    """A picture of noise: about width × height × 3 bytes."""
    rows = b"".join(b"\0" + dice.randbytes(3 * width) for _ in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 1))
        + chunk(b"IEND", b"")
    )


def script(path: Path, size: int, dice: random.Random) -> None:
    """A script that does nothing, of this size."""
    path.write_text("/*" + dice.randbytes(size // 2).hex() + "*/\n")


def picture(name: str, host: str, shown: tuple[int, int]) -> str:
    """Its tag."""
    return (
        f'<img elementtiming="{name}" width={shown[0]} height={shown[1]} src="http://{host}.example/{name}">'
    )


def main() -> None:
    kind, seed = sys.argv[1], int(sys.argv[2])
    dice = random.Random(f"{kind} {seed}")
    head: list[str] = []
    body: list[str] = []

    def add_script(name: str, size: int, host: str, late: bool = False) -> None:
        script(Path(name), size, dice)
        tag = f'<script {"defer " if late else ""}src="http://{host}.example/{name}"></script>'
        (body if late else head).append(tag)

    def add_picture(name: str, host: str, pixels: tuple[int, int], shown: tuple[int, int]) -> None:
        png(Path(name), *pixels, dice)
        body.append(picture(name, host, shown))

    if kind == "text":
        add_script("first.js", 40_000, "www")
        for n in range(6):
            words = " ".join(dice.randbytes(4).hex() for _ in range(1500))
            body.append(f"<p>{words}</p>")
            side = dice.randrange(60, 110)
            add_picture(f"figure{n}.png", "media", (side, side), (220, 220))
        for n in range(3):
            add_script(f"later{n}.js", 30_000, "www", late=True)
    elif kind == "domains":
        for n in range(24):
            host = f"host{n}"
            add_script(f"script{n}.js", dice.randrange(10_000, 60_000), host, late=n > 3)
            for k in range(2):
                side = dice.randrange(60, 140)
                add_picture(f"story{n}-{k}.png", host, (side, side), (280, 160))
            body.append(f"<p>{' '.join(dice.randbytes(4).hex() for _ in range(40))}</p>")
    elif kind == "pictures":
        for n in range(3):
            add_script(f"app{n}.js", 700_000, "www", late=n > 0)
        for n in range(72):
            add_picture(f"thumbnail{n}.png", f"pictures{n % 4}", (160, 90), (360, 202))
    else:
        sys.exit(f"no kind of page {kind!r}")
    text = f"<!doctype html><meta charset=utf-8><title>{kind}</title><style>{STYLE}</style>{WATCH}"
    Path("index.html").write_text(text + "\n".join(head) + "<body>" + "\n".join(body) + "</body>\n")


main()
