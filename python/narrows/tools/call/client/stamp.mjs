// The number along the top of each picture (make_camera.py): twelve cells of a twentieth of its width, of which the
// first two are white and black.

export const CELLS = 12;
const ACROSS = 20, DOWN = 22;

// Of the strip, in whole pairs of pixels, which a picture with halved colours wants.
export const across = (width) => Math.floor(width * CELLS / ACROSS / 2) * 2;
export const down = (height) => Math.max(2, Math.floor(height / DOWN / 2) * 2);

// The frame's number, or null where it cannot be read. `luma`: the brightness in the middle of a cell.
export function numberOf(luma) {
  const seen = Array.from({length: CELLS}, (_, cell) => luma(cell));
  const [white, black] = seen;
  if (white - black < 60) return null;
  const [, , ...bits] = seen.map((value) => Number(value > (white + black) / 2));
  const told = bits.slice(0, 8);
  if (told.reduce((sum, bit) => sum + bit, 0) % 4 !== 2 * bits[8] + bits[9]) return null;
  let number = 0, last = 0;
  for (const bit of told) {
    last ^= bit;
    number = 2 * number + last;
  }
  return number;
}
