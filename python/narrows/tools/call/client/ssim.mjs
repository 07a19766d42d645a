// Structural similarity of two pictures' brightness (Wang et al. 2004), over windows of 8 x 8 pixels that lie 4 apart,
// as ffmpeg's filter of that name works it out.

const C1 = (0.01 * 255) ** 2 * 64, C2 = (0.03 * 255) ** 2 * 64 * 63;

// Both are Uint8Array of width x height.
export function ssim(a, b, width, height) {
  const columns = (width >> 2), rows = (height >> 2);
  const sums = new Float64Array(columns * rows * 4);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      let [sa, sb, squares, product] = [0, 0, 0, 0];
      for (let y = 4 * row; y < 4 * row + 4; y++) {
        for (let at = y * width + 4 * column, end = at + 4; at < end; at++) {
          const [p, q] = [a[at], b[at]];
          sa += p; sb += q; squares += p * p + q * q; product += p * q;
        }
      }
      sums.set([sa, sb, squares, product], 4 * (row * columns + column));
    }
  }
  let total = 0;
  for (let row = 0; row + 1 < rows; row++) {
    for (let column = 0; column + 1 < columns; column++) {
      const [sa, sb, squares, product] = [0, 1, 2, 3].map((n) => {
        const at = 4 * (row * columns + column) + n;
        return sums[at] + sums[at + 4] + sums[at + 4 * columns] + sums[at + 4 * columns + 4];
      });
      const spread = 64 * squares - sa * sa - sb * sb, common = 64 * product - sa * sb;
      total += ((2 * sa * sb + C1) * (2 * common + C2)) / ((sa * sa + sb * sb + C1) * (spread + C2));
    }
  }
  return total / ((rows - 1) * (columns - 1));
}

// Bilinear, between centres of pixels.
export function scaled(luma, width, height, toWidth, toHeight) {
  if (width === toWidth && height === toHeight) return luma;
  const made = new Uint8Array(toWidth * toHeight);
  for (let y = 0; y < toHeight; y++) {
    const v = Math.min(height - 1, Math.max(0, (y + 0.5) * height / toHeight - 0.5)), v0 = Math.floor(v), v1 = Math.min(height - 1, v0 + 1);
    for (let x = 0; x < toWidth; x++) {
      const u = Math.min(width - 1, Math.max(0, (x + 0.5) * width / toWidth - 0.5)), u0 = Math.floor(u), u1 = Math.min(width - 1, u0 + 1);
      const top = luma[v0 * width + u0] * (1 - u + u0) + luma[v0 * width + u1] * (u - u0);
      const low = luma[v1 * width + u0] * (1 - u + u0) + luma[v1 * width + u1] * (u - u0);
      made[y * toWidth + x] = Math.round(top * (1 - v + v0) + low * (v - v0));
    }
  }
  return made;
}
