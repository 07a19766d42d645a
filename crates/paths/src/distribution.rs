//! Distributions of many values in little memory: of durations to 0.1 %, of sizes by their exact values.

use rustc_hash::FxHashMap;

/// This many durations are kept as they are.
const EXACT: usize = 1024;
/// Beyond that, each octave has this many steps: a value is known to half a step, 1/1024 of it.
const STEPS: usize = 512;
const STEPS_BITS: u32 = STEPS.trailing_zeros();
/// The largest relative error of a percentile of more than [`EXACT`] values.
pub const ERROR: f64 = 1.0 / 1024.0;

/// Durations in nanoseconds. Minimum and maximum are exact; percentiles are exact up to 1024 values and then within
/// [`ERROR`]. Holds at most 8 KiB and 2 KiB for each octave that occurs.
#[derive(Debug, Clone, Default)]
pub struct Durations {
    count: u64,
    min: i64,
    max: i64,
    exact: Vec<i64>,
    octaves: Vec<Option<Box<[u32; STEPS]>>>,
}

impl Durations {
    /// Adds one value. A negative one is the caller's mistake and counts as 0.
    #[inline]
    pub fn add(&mut self, value: i64) {
        let value = value.max(0);
        if self.count == 0 {
            (self.min, self.max) = (value, value);
        }
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        self.count += 1;
        if self.octaves.is_empty() {
            self.exact.push(value);
            if self.exact.len() > EXACT {
                self.spread();
            }
        } else {
            self.bucket(value, 1);
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn min(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min)
    }

    /// Whether percentiles are exact.
    pub fn is_exact(&self) -> bool {
        self.octaves.is_empty()
    }

    /// The smallest value that at least `share` of all values do not exceed (nearest rank).
    pub fn percentile(&self, share: f64) -> Option<i64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((share * self.count as f64).ceil() as u64).clamp(1, self.count);
        if self.octaves.is_empty() {
            let mut sorted = self.exact.clone();
            let (_, value, _) = sorted.select_nth_unstable(rank as usize - 1);
            return Some(*value);
        }
        let mut seen = 0;
        for (octave, steps) in self.octaves.iter().enumerate() {
            let Some(steps) = steps else { continue };
            for (step, count) in steps.iter().enumerate() {
                seen += u64::from(*count);
                if seen >= rank {
                    return Some(middle(octave, step).clamp(self.min, self.max));
                }
            }
        }
        Some(self.max)
    }

    /// How many values are below `limit`; to the step that holds it when not exact.
    pub fn count_below(&self, limit: i64) -> u64 {
        if self.octaves.is_empty() {
            return self.exact.iter().filter(|v| **v < limit).count() as u64;
        }
        let mut below = 0;
        for (octave, steps) in self.octaves.iter().enumerate() {
            let Some(steps) = steps else { continue };
            for (step, count) in steps.iter().enumerate() {
                if middle(octave, step) < limit {
                    below += u64::from(*count);
                }
            }
        }
        below
    }

    /// Adds all values of another distribution.
    pub fn merge(&mut self, other: &Durations) {
        if other.count == 0 {
            return;
        }
        if other.octaves.is_empty() {
            for value in &other.exact {
                self.add(*value);
            }
            return;
        }
        if self.octaves.is_empty() {
            self.spread();
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        if self.octaves.len() < other.octaves.len() {
            self.octaves.resize(other.octaves.len(), None);
        }
        for (mine, theirs) in self.octaves.iter_mut().zip(&other.octaves) {
            if let Some(theirs) = theirs {
                let mine = mine.get_or_insert_with(|| Box::new([0; STEPS]));
                for (a, b) in mine.iter_mut().zip(theirs.iter()) {
                    *a = a.saturating_add(*b);
                }
            }
        }
    }

    fn spread(&mut self) {
        self.octaves = vec![None; 1];
        for value in std::mem::take(&mut self.exact) {
            self.bucket(value, 1);
        }
    }

    #[inline]
    fn bucket(&mut self, value: i64, count: u32) {
        let (octave, step) = place(value);
        if octave >= self.octaves.len() {
            self.octaves.resize(octave + 1, None);
        }
        let steps = self.octaves[octave].get_or_insert_with(|| Box::new([0; STEPS]));
        steps[step] = steps[step].saturating_add(count);
    }
}

/// Octave and step of a value. Octave 0 holds the values below [`STEPS`] one by one.
#[inline]
fn place(value: i64) -> (usize, usize) {
    let value = value as u64;
    let bits = 64 - value.leading_zeros();
    if bits <= STEPS_BITS {
        return (0, value as usize);
    }
    let shift = bits - 1 - STEPS_BITS;
    ((bits - STEPS_BITS) as usize, (value >> shift) as usize - STEPS)
}

/// The middle of a step.
fn middle(octave: usize, step: usize) -> i64 {
    if octave == 0 {
        return step as i64;
    }
    let shift = octave - 1;
    (((STEPS + step) << shift) + ((1 << shift) >> 1)) as i64
}

/// How many distinct sizes are told apart.
const DISTINCT: usize = 4096;

/// Sizes in bytes, counted by value. A connection whose sizes take more than 4096 values has the rest rounded
/// down to 1/64 of themselves, and says so.
#[derive(Debug, Clone, Default)]
pub struct Sizes {
    count: u64,
    by_value: FxHashMap<u32, u32>,
    rounded: bool,
}

impl Sizes {
    #[inline]
    pub fn add(&mut self, value: u32) {
        self.add_many(value, 1);
    }

    fn add_many(&mut self, value: u32, times: u32) {
        self.count += u64::from(times);
        let full = self.by_value.len() >= DISTINCT;
        match self.by_value.get_mut(&value) {
            Some(count) => *count = count.saturating_add(times),
            None if full => {
                self.rounded = true;
                let shift = (26 - value.leading_zeros().min(26)).min(26);
                *self.by_value.entry(value >> shift << shift).or_default() += times;
            }
            None => {
                self.by_value.insert(value, times);
            }
        }
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn is_exact(&self) -> bool {
        !self.rounded
    }

    /// The median: the mean of the two middle values when their number is even.
    pub fn median(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let mut sorted: Vec<(u32, u32)> = self.by_value.iter().map(|(v, n)| (*v, *n)).collect();
        sorted.sort_unstable();
        let at = |rank: u64| {
            let mut seen = 0;
            for (value, count) in &sorted {
                seen += u64::from(*count);
                if seen > rank {
                    return f64::from(*value);
                }
            }
            f64::NAN
        };
        Some((at((self.count - 1) / 2) + at(self.count / 2)) / 2.0)
    }

    pub fn merge(&mut self, other: &Sizes) {
        self.rounded |= other.rounded;
        let mut sorted: Vec<_> = other.by_value.iter().collect();
        sorted.sort_unstable(); // a full table must fill in the same order each time
        for (value, count) in sorted {
            self.add_many(*value, *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_durations_have_exact_percentiles_by_nearest_rank() {
        let mut d = Durations::default();
        for v in (1..=100).rev() {
            d.add(v * 1000);
        }
        assert_eq!(d.percentile(0.99), Some(99_000));
        assert_eq!(d.percentile(0.01), Some(1000));
        assert_eq!(d.percentile(0.5), Some(50_000));
        assert_eq!((d.min(), d.is_exact()), (Some(1000), true));
        assert_eq!(Durations::default().percentile(0.5), None);
    }

    #[test]
    fn many_durations_have_percentiles_within_the_stated_error() {
        let mut d = Durations::default();
        for v in 1..=1_000_000i64 {
            d.add(v * 97);
        }
        assert!(!d.is_exact());
        for share in [0.01, 0.25, 0.5, 0.99] {
            let truth = share * 1e6 * 97.0;
            let got = d.percentile(share).unwrap() as f64;
            assert!((got - truth).abs() / truth <= ERROR + 1e-6, "{share}: {got} against {truth}");
        }
        assert_eq!(d.min(), Some(97));
    }

    #[test]
    fn every_value_lies_in_the_step_that_it_is_put_into() {
        for v in [0, 1, 511, 512, 513, 1023, 1024, 4095, 1 << 40, (1 << 40) + 12345, i64::MAX / 4] {
            let (octave, step) = place(v);
            let m = middle(octave, step);
            assert!((m - v).abs() as f64 <= v as f64 * ERROR, "{v} → {m}");
        }
    }

    #[test]
    fn merging_two_halves_is_as_having_seen_all() {
        let (mut a, mut b, mut all) = (Durations::default(), Durations::default(), Durations::default());
        for v in 0..3000 {
            if v % 3 == 0 {
                a.add(v * 11)
            } else {
                b.add(v * 11)
            }
            all.add(v * 11);
        }
        a.merge(&b);
        assert_eq!(a.count(), all.count());
        assert_eq!(a.percentile(0.9), all.percentile(0.9));
        assert_eq!(a.min(), all.min());
    }

    #[test]
    fn a_median_of_sizes_is_exact() {
        let mut s = Sizes::default();
        for v in [2896, 1448, 2896, 5792] {
            s.add(v);
        }
        assert_eq!(s.median(), Some(2896.0));
        s.add(1448);
        s.add(1448);
        assert_eq!(s.median(), Some((1448.0 + 2896.0) / 2.0));
        assert_eq!(Sizes::default().median(), None);
    }
}
