//! Reallocations: steps of the base RTT at regular times, as when another satellite takes over.
//!
//! Our own definition. The least RTT of each 100 ms is kept, of the first 205 s. Lines at equal distances of 2 to 30 s cut
//! this into pieces, each with its floor. Lines are regular when the floor is another one, by 1 ms, behind two thirds of
//! them, at three at least, and at once: within half a second. And when it is the same in both halves of a piece:
//! what these differ by is at most a sixth of what the halves beside lines do. Of all regular lines those count above
//! whose floors the RTT is least. A queue that fills and drains at regular times makes floors, too, but it does not stay
//! there: half of all bins must be within 1 ms of their floor, and on average nearer to it than a step is high.
//!
//! NULL: no regular lines, or a queue; so also where a queue never drains, or steps are lower than its delay; a log taken
//! at the receiver. Unit: nanoseconds.

const BIN_NS: i64 = 100_000_000;
const BINS: usize = 2048;
/// Distances of lines, in bins.
const LEAST: usize = 20;
const MOST: usize = 300;
const STEP_NS: i64 = 1_000_000;
/// Bins of what is at once.
const AT_ONCE: usize = 5;
const STEPS: usize = 3;
const NONE: i64 = i64::MAX;

#[derive(Debug, Clone, Default)]
pub struct Reallocations {
    start_ns: i64,
    least: Vec<i64>,
}

/// How far apart steps are, and how many there were.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Found {
    pub period_ns: i64,
    pub steps: u64,
}

/// What some lines show.
#[derive(Debug, Clone, Copy, Default)]
struct Lines {
    first: usize,
    apart: usize,
    lines: usize,
    steps: usize,
    /// Differences of the halves beside lines, and of those of pieces.
    across_ns: i64,
    within_ns: i64,
}

impl Reallocations {
    #[inline]
    pub fn sample(&mut self, t_ns: i64, rtt_ns: i64) {
        if self.least.is_empty() {
            self.start_ns = t_ns;
        }
        let bin = ((t_ns - self.start_ns).max(0) / BIN_NS) as usize;
        if bin < BINS {
            if bin >= self.least.len() {
                self.least.resize(bin + 1, NONE);
            }
            self.least[bin] = self.least[bin].min(rtt_ns);
        }
    }

    pub fn found(&self) -> Option<Found> {
        let minima = Minima::new(&self.least);
        let most = MOST.min(self.least.len() / 2);
        let (lines, pieces) = (LEAST..=most)
            .flat_map(|apart| (0..apart).map(move |first| (first, apart)))
            .map(|(first, apart)| minima.lines(first, apart))
            .filter(Lines::are_regular)
            .map(|lines| (lines, self.pieces(&lines)))
            .min_by_key(|(_, pieces)| pieces.above_ns)?;
        let step_ns = i128::from(lines.across_ns) / lines.lines as i128;
        let stays = 2 * pieces.near >= pieces.bins && pieces.above_ns <= step_ns * pieces.bins as i128;
        stays.then_some(Found { period_ns: lines.apart as i64 * BIN_NS, steps: lines.steps as u64 })
    }

    /// How far bins are above the floors of their pieces.
    fn pieces(&self, lines: &Lines) -> Pieces {
        let mut sums = Pieces::default();
        let (head, rest) = self.least.split_at(lines.first.min(self.least.len()));
        for piece in std::iter::once(head).chain(rest.chunks(lines.apart)) {
            let floor_ns = piece.iter().min().copied().unwrap_or(NONE);
            for least in piece.iter().filter(|least| **least != NONE) {
                sums.bins += 1;
                sums.near += usize::from(least - floor_ns < STEP_NS);
                sums.above_ns += i128::from(least - floor_ns);
            }
        }
        sums
    }
}

#[derive(Debug, Default)]
struct Pieces {
    bins: usize,
    near: usize,
    above_ns: i128,
}

impl Lines {
    fn are_regular(&self) -> bool {
        self.steps >= STEPS && 3 * self.steps >= 2 * self.lines && self.within_ns <= self.across_ns / 6
    }
}

/// The least of any bins in a row, from those of 1, 2, 4, … of them.
struct Minima(Vec<Vec<i64>>);

impl Minima {
    fn new(bins: &[i64]) -> Self {
        let mut rows = vec![bins.to_vec()];
        let mut width = 1;
        while 2 * width <= bins.len() {
            let row = &rows[rows.len() - 1];
            rows.push((0..=bins.len() - 2 * width).map(|n| row[n].min(row[n + width])).collect());
            width *= 2;
        }
        Minima(rows)
    }

    /// None: they reach beyond the log, or hold no sample.
    fn least(&self, from: usize, to: usize) -> Option<i64> {
        let whole = to <= self.0[0].len();
        let width = to.checked_sub(from).filter(|_| whole)?.checked_ilog2()?;
        let row = &self.0[width as usize];
        Some(row[from].min(row[to - (1 << width)])).filter(|least| *least != NONE)
    }

    /// Lines at `first` and each `apart` bins after it. The bin of a line is of neither side.
    fn lines(&self, first: usize, apart: usize) -> Lines {
        let mut sums = Lines { first, apart, ..Lines::default() };
        let half = apart / 2;
        let before = |line: usize, bins| line.checked_sub(bins).and_then(|from| self.least(from, line));
        let after = |line, bins| self.least(line + 1, line + 1 + bins);
        let step = |line, bins| Some(after(line, bins)? - before(line, bins)?);
        for line in (first..self.0[0].len()).step_by(apart) {
            if let Some(whole) = step(line, half) {
                let at_once = step(line, AT_ONCE).unwrap_or(0);
                sums.lines += 1;
                sums.steps += usize::from(whole.min(at_once) >= STEP_NS || whole.max(at_once) <= -STEP_NS);
                sums.across_ns += whole.abs();
            }
            let (after, later) = (after(line, half), self.least(line + half, line + apart));
            if let (Some(after), Some(later)) = (after, later) {
                sums.within_ns += (later - after).abs();
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::MS;

    /// 60 s of samples, one each 10 ms, of what `rtt_ms` is at each time in seconds.
    fn of(rtt_ms: impl Fn(f64) -> f64) -> Option<Found> {
        let mut all = Reallocations::default();
        for n in 0..6000i64 {
            all.sample(n * 10 * MS, (rtt_ms(n as f64 / 100.0) * 1e6) as i64);
        }
        all.found()
    }

    /// The floors of four satellites, each 15 s long from 12 s on.
    fn floor_ms(t: f64) -> f64 {
        [40.0, 46.0, 38.0, 51.0][((t + 3.0) / 15.0) as usize % 4]
    }

    #[test]
    fn steps_at_regular_times_are_named() {
        // The step at 57 s is too near the end.
        let told = Some(Found { period_ns: 15_000 * MS, steps: 3 });
        assert_eq!(of(floor_ms), told);
        // A queue that drains each 3.5 s, by up to 5 ms.
        assert_eq!(of(|t| floor_ms(t) + (5.0 * (t % 3.5) / 3.5 - 2.5).max(0.0)), told);
    }

    #[test]
    fn what_stays_or_falls_and_rises_is_not() {
        assert_eq!(of(|_| 40.0), None);
        for period_s in [2.0, 6.5, 15.0] {
            assert_eq!(of(|t| 40.0 + 60.0 * (t % period_s) / period_s), None);
        }
        // Two steps are no regular ones, and neither are those at other distances.
        assert_eq!(of(|t| [40.0, 50.0, 44.0][(t / 20.5) as usize]), None);
        let at = [0.0, 4.0, 15.0, 21.0, 40.0, 47.0];
        assert_eq!(of(|t| 40.0 + 5.0 * (at.iter().filter(|s| **s <= t).count() % 2) as f64), None);
    }

    #[test]
    fn too_little_is_not_judged() {
        assert_eq!(Reallocations::default().found(), None);
        let mut all = Reallocations::default();
        all.sample(0, MS);
        assert_eq!(all.found(), None);
    }
}
