//! What a receiver counts: sequence anomalies, delay variation, bytes per sub-interval. Pure.

const HISTORY: usize = 1024;

/// Of one report or one sub-interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    pub datagrams: u32,
    /// IP layer.
    pub bytes: u64,
    pub lost: u32,
    pub reordered: u32,
    pub duplicated: u32,
    delay_sum_ns: i128,
    delay_min_ns: i64,
    delay_max_ns: i64,
}

impl Counts {
    pub fn anomalies(&self) -> u32 {
        self.lost.saturating_add(self.reordered).saturating_add(self.duplicated)
    }

    /// Mean, smallest and largest delay above `base_ns`, in µs; None without datagrams.
    pub fn delays_us(&self, base_ns: i64) -> Option<(f64, f64, f64)> {
        let above = |ns: f64| (ns - base_ns as f64) / 1e3;
        (self.datagrams > 0).then(|| {
            (
                above(self.delay_sum_ns as f64 / f64::from(self.datagrams)),
                above(self.delay_min_ns as f64),
                above(self.delay_max_ns as f64),
            )
        })
    }

    fn delay(&mut self, ns: i64) {
        if self.datagrams == 0 {
            (self.delay_min_ns, self.delay_max_ns) = (ns, ns);
        }
        self.delay_min_ns = self.delay_min_ns.min(ns);
        self.delay_max_ns = self.delay_max_ns.max(ns);
        self.delay_sum_ns += i128::from(ns);
    }
}

pub struct Receiver {
    next: u32,
    seen: Vec<u32>,
    first_ns: Option<i64>,
    sub_interval_ns: i64,
    pub base_ns: Option<i64>,
    pub report: Counts,
    pub sub_intervals: Vec<Counts>,
}

impl Receiver {
    pub fn new(sub_interval_ns: i64, sub_intervals: usize) -> Receiver {
        Receiver {
            next: 1,
            seen: vec![0; HISTORY],
            first_ns: None,
            sub_interval_ns,
            base_ns: None,
            report: Counts::default(),
            sub_intervals: vec![Counts::default(); sub_intervals],
        }
    }

    /// A datagram of the load; numbers start at 1. What comes after the last sub-interval only counts in reports.
    pub fn take(&mut self, number: u32, bytes: u64, sent_ns: i64, arrived_ns: i64) {
        let delay_ns = arrived_ns.saturating_sub(sent_ns);
        self.base_ns = Some(self.base_ns.map_or(delay_ns, |base| base.min(delay_ns)));
        let slot = number as usize % HISTORY;
        let duplicate = self.seen[slot] == number;
        self.seen[slot] = number;
        let first_ns = *self.first_ns.get_or_insert(arrived_ns);
        let index = (arrived_ns - first_ns) / self.sub_interval_ns;
        let sub = usize::try_from(index).ok().and_then(|i| self.sub_intervals.get_mut(i));
        for counts in std::iter::once(&mut self.report).chain(sub) {
            counts.delay(delay_ns);
            counts.datagrams += 1;
            if duplicate {
                counts.duplicated += 1;
                continue;
            }
            counts.bytes += bytes;
            if number >= self.next {
                counts.lost = counts.lost.saturating_add(number - self.next);
            } else {
                // late, and counted as lost before: perhaps in an earlier report
                counts.reordered += 1;
                counts.lost = counts.lost.saturating_sub(1);
            }
        }
        if !duplicate && number >= self.next {
            self.next = number.wrapping_add(1).max(1);
        }
    }

    /// What the report says; the next one starts from nothing.
    pub fn take_report(&mut self) -> Counts {
        std::mem::take(&mut self.report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_late_and_double_datagrams_are_told_apart() {
        let mut receiver = Receiver::new(1_000, 2);
        // 1, 2, 5 (3 and 4 missing), 4 late, 4 again, 6; 3 never comes
        for (i, number) in [1, 2, 5, 4, 4, 6].into_iter().enumerate() {
            receiver.take(number, 100, i as i64 * 10, i as i64 * 10 + 5);
        }
        let report = receiver.take_report();
        assert_eq!((report.lost, report.reordered, report.duplicated), (1, 1, 1));
        assert_eq!((report.datagrams, report.bytes, report.anomalies()), (6, 500, 3));
        assert_eq!(receiver.take_report(), Counts::default());
    }

    #[test]
    fn delay_variation_is_above_the_smallest_delay_of_the_test() {
        let mut receiver = Receiver::new(1_000_000, 1);
        receiver.take(1, 100, 0, 5_000); // base: 5 µs
        receiver.take_report();
        receiver.take(2, 100, 10_000, 25_000); // 15 µs
        receiver.take(3, 100, 20_000, 45_000); // 25 µs
        let base = receiver.base_ns.unwrap();
        assert_eq!(receiver.take_report().delays_us(base), Some((15.0, 10.0, 20.0)));
        assert_eq!(receiver.take_report().delays_us(base), None);
    }

    #[test]
    fn sub_intervals_count_from_the_first_arrival_and_end() {
        let mut receiver = Receiver::new(1_000, 2);
        for (number, at) in [(1, 500), (2, 1_499), (3, 1_500), (4, 2_500)] {
            receiver.take(number, 100, 0, at);
        }
        let bytes: Vec<u64> = receiver.sub_intervals.iter().map(|s| s.bytes).collect();
        assert_eq!(bytes, [200, 100]);
    }
}
