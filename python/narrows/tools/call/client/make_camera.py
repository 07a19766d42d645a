"""Writes what a camera sees into the current directory, camera.y4m: make_camera.py LINES SEED.

The scene compresses as a person before a shelf does: books with sharp edges and with detail at all sizes
(each octave half as strong as the one below it), held by a hand that is not quite still; before them somebody
who sways and nods, whose hand waves now and then; and a sensor's faint noise. It repeats after 240 frames
without a jump. What is drawn comes from the seed; ffmpeg composes it.

Along the top stands each frame's number in the loop as twelve cells, black or white: white, black, eight bits
(Gray code, highest first), and the count of ones of these in two bits. Who sees the frame can say when it was
taken.
"""

import random
import subprocess
import sys
from pathlib import Path

FRAMES, FRAMES_PER_S = 240, 30
CELLS, CELLS_ACROSS, CELLS_DOWN = 12, 20, 22
"""How many there are, and how many would fill a row and a column."""
OCTAVES = 7
NOISE = 2
"""Noise of the sensor, in steps of 255, at most."""
WHITE, BLACK = 235, 16
SHELF = (
    "eq=contrast=1.3:saturation=0.4,format=gbrp[plain];[{0}:v]scale={1}:{2}:flags=bicubic,setsar=1,format=gbrp[books];"
    "[plain][books]blend=all_mode=average,eq=contrast=1.2,format=yuv420p"
)
PERIOD_S = FRAMES / FRAMES_PER_S


def bits(frame: int) -> list[int]:
    """The cells of a frame, white as 1."""
    gray = frame ^ (frame >> 1)
    told = [(gray >> place) & 1 for place in range(7, -1, -1)]
    ones = sum(told) % 4
    return [1, 0, *told, ones >> 1, ones & 1]


def stamps(path: Path) -> None:
    """All frames' cells, a pixel each."""
    path.write_bytes(bytes(WHITE if bit else BLACK for n in range(FRAMES) for bit in bits(n)))


def ppm(path: Path, width: int, height: int, dice: random.Random) -> None:
    """A picture of noise."""
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + dice.randbytes(3 * width * height))


def shelf(path: Path, width: int, height: int, dice: random.Random) -> None:
    """Books in rows, with titles: sharp edges, upright, level and small."""
    rows: list[bytes] = []
    for _ in range(6):
        lines = [bytearray() for _ in range(height // 6 + 1)]
        while len(lines[0]) < 3 * width:
            wide, tall = dice.randint(14, 44), dice.randint(len(lines) * 2 // 3, len(lines) - 4)
            cover, ink = ([dice.randint(30, 220) for _ in range(3)] for _ in range(2))
            titles = [dice.random() < 0.4 for _ in lines]
            for y, line in enumerate(lines):
                dark = y < len(lines) - tall or y > len(lines) - 5
                book = bytes([24, 18, 14] if dark else cover) * (wide - 2)
                if not dark and titles[y // 3 * 3]:
                    book = book[: 3 * (wide // 3)] + bytes(ink) * (wide // 3) + book[6 * (wide // 3) :]
                line += book[: 3 * (wide - 2)].ljust(3 * (wide - 2), b"\x18") + bytes([12, 10, 8]) * 2
        rows += [bytes(line[: 3 * width]) for line in lines]
    path.write_bytes(b"P6 %d %d 255\n" % (width, height) + b"".join(rows[:height]))


def texture(name: str, width: int, height: int, first: int, look: str) -> str:
    """A filter chain: octaves from input `first` on, the finest first, each mean halving what came before."""
    chain, last = [], ""
    for octave in range(OCTAVES):
        here = f"{name}{octave}"
        chain.append(f"[{first + octave}:v]scale={width}:{height}:flags=bicubic,setsar=1,format=gbrp[{here}]")
        if last:
            chain.append(f"[{last}][{here}]blend=all_mode=average[{here}m]")
            here += "m"
        last = here
    still = f"loop=loop={FRAMES - 1}:size=1,setpts=N/({FRAMES_PER_S}*TB)"
    return ";".join([*chain, f"[{last}]{look},{still}[{name}]"])


def filters(width: int, height: int) -> str:
    """The whole scene. Inputs: octaves of the wall, of the cloth, of the face, then the stamps."""
    turn = f"2*PI*t/{PERIOD_S:g}"
    body = (width * 9 // 20 // 2 * 2, height * 3 // 5 // 2 * 2)
    head = (width // 5 // 2 * 2, height * 9 // 20 // 2 * 2)
    hand = (width // 12 // 2 * 2, height // 6 // 2 * 2)
    drift = width // 64 // 2 * 2
    wall = (width + 2 * drift, height + 2 * drift)
    inside = "255*clip(8*(1-hypot(2*X/W-1,2*Y/H-1)),0,1)"
    round_ = f"format=yuva420p,geq=lum='lum(X,Y)':cb='cb(X,Y)':cr='cr(X,Y)':a='{inside}'"
    strip = (width * CELLS // CELLS_ACROSS // 2 * 2, height // CELLS_DOWN // 2 * 2)
    sway = f"sin({turn})"
    nod = f"sin(3*({turn}))"
    wave = f"sin(6*({turn}))*max(0,sin({turn}))"
    return ";".join(
        [
            texture("wall", *wall, 0, SHELF.format(3 * OCTAVES + 1, *wall)),
            texture("cloth", *body, OCTAVES, f"eq=contrast=1.2:brightness=-0.15:saturation=0.8,{round_}"),
            texture("face", *head, 2 * OCTAVES, f"eq=contrast=1.1:brightness=0.12:saturation=0.6,{round_}"),
            f"[face]split[face1][face2];[face2]scale={hand[0]}:{hand[1]}[palm]",
            f"[{3 * OCTAVES}:v]scale={strip[0]}:{strip[1]}:flags=neighbor[stamp]",
            f"color=gray:size={width}x{height}:rate={FRAMES_PER_S}:duration={PERIOD_S:g},format=yuv420p[base]",
            f"[base][wall]overlay=x='{drift}*(0.7*{sway}+0.3*{nod}-1)':y='{drift}*(0.4*{nod}-1)':eval=frame[s0]",
            f"[s0][cloth]overlay=x='W*0.275+W*0.02*{sway}':y='H*0.55+H*0.01*{nod}':eval=frame[s1]",
            f"[s1][face1]overlay=x='W*0.4+W*0.03*{sway}+W*0.006*{nod}':y='H*0.18+H*0.015*{nod}':eval=frame[s2]",
            f"[s2][palm]overlay=x='W*0.68+W*0.06*{wave}':y='H*(0.95-0.4*max(0,{sway}))':eval=frame[s3]",
            f"[s3]noise=c0s={NOISE}:c0f=t:all_seed=1[s4]",
            "[s4][stamp]overlay=0:0,format=yuv420p",
        ]
    )


def main() -> int:
    """Make it; what ffmpeg says is handed on."""
    height, seed = int(sys.argv[1]), int(sys.argv[2])
    width = 2 * round(height * 16 / 9 / 2)
    dice = random.Random(seed)
    inputs: list[str] = []
    made: list[Path] = []
    for part in ("wall", "cloth", "face"):
        for octave in range(OCTAVES):
            finest = 2**octave
            path = Path(f"{part}{octave}.ppm")
            ppm(path, max(2, 640 // finest), max(2, 360 // finest), dice)
            made.append(path)
            inputs += ["-framerate", str(FRAMES_PER_S), "-i", str(path)]
    made.append(Path("shelf.ppm"))
    shelf(made[-1], width, height, dice)
    stamps(Path("stamps.gray"))
    inputs += ["-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{CELLS}x1", "-r", str(FRAMES_PER_S)]
    inputs += ["-i", "stamps.gray", "-framerate", str(FRAMES_PER_S), "-i", "shelf.ppm"]
    argv = ["ffmpeg", "-v", "error", *inputs, "-filter_complex", filters(width, height)]
    done = subprocess.run([*argv, "-frames:v", str(FRAMES), "-pix_fmt", "yuv420p", "camera.y4m"], check=False)
    for path in (*made, Path("stamps.gray")):
        path.unlink()
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
