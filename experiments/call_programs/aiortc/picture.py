"""The camera's frames, the numbers in them, and how like two pictures are."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from av import VideoFrame

CELLS, ACROSS, DOWN = 12, 20, 22
FRAME = b"FRAME\n"
C1, C2 = (0.01 * 255) ** 2 * 64, (0.03 * 255) ** 2 * 64 * 63


class Camera:
    """A y4m file, played over and over."""

    def __init__(self, path: str) -> None:
        self.file = Path(path).open("rb")  # noqa: SIM115, as long as the end lives
        head = self.file.readline().decode()
        self.width, self.height = (int(re.search(rf" {word}(\d+)", head)[1]) for word in "WH")
        self.first, self.size = len(head), self.width * self.height * 3 // 2 + len(FRAME)
        self.frames = (Path(path).stat().st_size - self.first) // self.size

    def _at(self, number: int, size: int) -> bytes:
        self.file.seek(self.first + (number % self.frames) * self.size + len(FRAME))
        return self.file.read(size)

    def frame(self, number: int) -> VideoFrame:
        """The whole frame."""
        raw = np.frombuffer(self._at(number, self.size - len(FRAME)), np.uint8)
        return VideoFrame.from_ndarray(raw.reshape(-1, self.width), format="yuv420p")

    def luma(self, number: int) -> np.ndarray:
        """Its brightness."""
        return np.frombuffer(self._at(number, self.width * self.height), np.uint8).reshape(self.height, -1)


def luma(frame: VideoFrame) -> np.ndarray:
    """The brightness of a decoded frame."""
    plane = frame.planes[0]
    return np.frombuffer(plane, np.uint8).reshape(-1, plane.line_size)[: frame.height, : frame.width]


def number_of(picture: np.ndarray) -> int | None:
    """The number along the top; None where it cannot be read."""
    height, width = picture.shape
    row = picture[max(2, height // DOWN) // 2]
    seen = [int(row[int((cell + 0.5) * width / ACROSS)]) for cell in range(CELLS)]
    if seen[0] - seen[1] < 60:
        return None
    told = [int(value > (seen[0] + seen[1]) / 2) for value in seen[2:]]
    if sum(told[:8]) % 4 != 2 * told[8] + told[9]:
        return None
    number = last = 0
    for bit in told[:8]:
        last ^= bit
        number = 2 * number + last
    return number


def ssim(a: np.ndarray, b: np.ndarray) -> float:
    """Structural similarity over windows of 8 x 8 that lie 4 apart, as ffmpeg's filter works it out."""
    rows, columns = a.shape[0] // 4, a.shape[1] // 4
    x, y = (each[: 4 * rows, : 4 * columns].astype(np.float64) for each in (a, b))

    def windows(values: np.ndarray) -> np.ndarray:
        sums = values.reshape(rows, 4, columns, 4).sum(axis=(1, 3))
        return sums[:-1, :-1] + sums[1:, :-1] + sums[:-1, 1:] + sums[1:, 1:]

    sx, sy, squares, product = (windows(each) for each in (x, y, x * x + y * y, x * y))
    spread, common = 64 * squares - sx * sx - sy * sy, 64 * product - sx * sy
    return float(np.mean((2 * sx * sy + C1) * (2 * common + C2) / ((sx * sx + sy * sy + C1) * (spread + C2))))
