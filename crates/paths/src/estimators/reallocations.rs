//! Reallocations: steps of the base RTT at regular times, as when another satellite takes over.
//!
//! Our own definition. The least RTT of each 100 ms is kept, of the first 205 s. Lines at equal distances, of 2 to 30 s, cut
//! this into pieces, and each piece into halves. The lines are those where the halves beside a line differ most, less
//! what the halves of a piece differ: a queue that fills and drains does the latter, too. A step is a difference of 1 ms.
//!
//! NULL: fewer than three steps; fewer at two thirds of the lines; all of them up, or all down; the halves of pieces
//! differ by more than a third of what those beside lines do; a log taken at the receiver. Unit: nanoseconds.

const BIN_NS: i64 = 100_000_000;
const BINS: usize = 2048;
/// Distances of lines, in bins.
const LEAST: usize = 20;
const MOST: usize = 300;
const STEP_NS: i64 = 1_000_000;
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

/// What lines at some distance show.
#[derive(Debug, Clone, Copy, Default)]
struct Cut {
    across: i64,
    within: i64,
    lines: usize,
    up: usize,
    down: usize,
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
        if self.least.len() < 2 * LEAST + LEAST {
            return None;
        }
        let minima = Minima::new(&self.least);
        let cuts: Vec<(usize, Cut)> = (LEAST..=MOST.min(self.least.len() / 2))
            .filter_map(|apart| {
                let cuts = (0..apart).map(|first| minima.cut(first, apart));
                Some((apart, cuts.max_by_key(|cut| cut.across - cut.within)?))
            })
            .collect();
        let best = cuts.iter().map(|(_, cut)| cut.across - cut.within).max()?;
        // Those that differ by less are as good; half of a period is one of them, without a step at every other line.
        let as_good: Vec<&(usize, Cut)> = cuts
            .iter()
            .filter(|(_, cut)| 20 * (cut.across - cut.within) >= 19 * best && cut.is_regular())
            .collect();
        let longest = as_good.last()?.0;
        let near: Vec<_> = as_good
            .iter()
            .filter(|(apart, _)| 10 * apart >= 9 * longest)
            .collect();
        let (apart, cut) = near[near.len() / 2];
        Some(Found {
            period_ns: *apart as i64 * BIN_NS,
            steps: (cut.up + cut.down) as u64,
        })
    }
}

impl Cut {
    fn is_regular(&self) -> bool {
        let steps = self.up + self.down;
        steps >= STEPS
            && 3 * steps >= 2 * self.lines
            && self.up > 0
            && self.down > 0
            && 3 * self.within <= self.across
    }
}

/// The least of any bins in a row, from those of 1, 2, 4, … of them.
struct Minima(Vec<Vec<i64>>);

impl Minima {
    fn new(bins: &[i64]) -> Self {
        let mut levels = vec![bins.to_vec()];
        let mut width = 1;
        while 2 * width <= bins.len() {
            let last = &levels[levels.len() - 1];
            levels.push(
                (0..=bins.len() - 2 * width)
                    .map(|n| last[n].min(last[n + width]))
                    .collect(),
            );
            width *= 2;
        }
        Minima(levels)
    }

    fn least(&self, from: usize, to: usize) -> Option<i64> {
        let to = to.min(self.0[0].len());
        let level = (to.checked_sub(from)?).checked_ilog2()?;
        let row = &self.0[level as usize];
        Some(row[from].min(row[to - (1 << level)])).filter(|least| *least != NONE)
    }

    /// Lines at `first` and each `apart` bins after it. The bin of a line is of neither side.
    fn cut(&self, first: usize, apart: usize) -> Cut {
        let (mut cut, half, all) = (Cut::default(), apart / 2, self.0[0].len());
        let mut line = first;
        while line < all {
            let before = line.checked_sub(half).and_then(|from| self.least(from, line));
            let after = self.least(line + 1, line + half).filter(|_| line + half <= all);
            let later = self
                .least(line + half, line + apart)
                .filter(|_| line + apart <= all);
            if let (Some(before), Some(after)) = (before, after) {
                cut.lines += 1;
                cut.across += (after - before).abs();
                cut.up += usize::from(after - before >= STEP_NS);
                cut.down += usize::from(before - after >= STEP_NS);
            }
            if let (Some(after), Some(later)) = (after, later) {
                cut.within += (later - after).abs();
            }
            line += apart;
        }
        cut
    }
}
