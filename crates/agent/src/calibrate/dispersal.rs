//! The dispersal of a packet train, from its arrivals. Pure.

/// Looks at arrivals in order and measures once a queue stands.
#[derive(Default)]
pub struct Dispersal {
    /// A packet that took longer than this has queued.
    standing_above_ns: i64,
    /// So many in a row make a standing queue.
    needed: usize,
    standing: usize,
    first_ns: i64,
    pub measured: usize,
    last_ns: i64,
    pub bytes_before: u64,
    began_ns: Option<i64>,
}

impl Dispersal {
    pub fn new(standing_above_ns: i64, needed: usize) -> Dispersal {
        Dispersal { standing_above_ns, needed, ..Dispersal::default() }
    }

    pub fn arrival(&mut self, sent_ns: i64, arrived_ns: i64, bytes: usize) {
        self.began_ns.get_or_insert(arrived_ns);
        if arrived_ns - sent_ns <= self.standing_above_ns {
            self.standing = 0;
            self.measured = 0;
        } else {
            self.standing += 1;
            if self.standing == self.needed {
                self.first_ns = arrived_ns;
            } else if self.standing > self.needed {
                self.measured += 1;
                self.last_ns = arrived_ns;
            }
        }
        if self.standing < self.needed {
            self.bytes_before += bytes as u64;
        }
    }

    /// A queue may be forming: no more than the window from here on.
    pub fn queues(&self) -> bool {
        self.standing > 0
    }

    /// What was measured was a part of the burst: measures anew.
    pub fn was_burst(&mut self, bytes: usize) {
        self.bytes_before += self.measured as u64 * bytes as u64;
        self.measured = 0;
        // The next arrival is the first of the new measurement: some may have passed uncounted since the last.
        self.standing = self.needed - 1;
    }

    /// Measures anew once a queue has stood again.
    pub fn restart(&mut self, bytes: usize) {
        self.was_burst(bytes);
        self.standing = 0;
    }

    /// What passed before the queue stood, less what the rate alone would have passed in that time.
    pub fn burst_bytes(&self, bps: f64) -> u64 {
        let elapsed_ns = (self.first_ns - self.began_ns.unwrap_or(self.first_ns)) as f64;
        (self.bytes_before as f64 - elapsed_ns * bps / 8e9).max(0.0) as u64
    }

    pub fn bps(&self, bytes: usize) -> f64 {
        self.measured as f64 * bytes as f64 * 8e9 / (self.last_ns - self.first_ns).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_before_the_queue_stands_does_not_count() {
        let mut d = Dispersal::new(1000, 2);
        for i in 0..50 {
            d.arrival(i, i + 500, 1500);
        }
        // 120 µs apart from here on: 1500 B · 8 / 120 µs = 100 Mbit/s
        for i in 0..12 {
            d.arrival(0, 1_000_000 + i * 120_000, 1500);
        }
        assert_eq!(d.measured, 10);
        assert!((d.bps(1500) - 1e8).abs() < 1.0, "{}", d.bps(1500));
        assert_eq!(d.bytes_before, 51 * 1500);
    }

    #[test]
    fn a_line_faster_than_the_plan_is_counted_as_burst() {
        let mut d = Dispersal::new(1000, 1);
        // 12 µs apart: 1 Gbit/s; 1 packet makes the queue stand, 4 are measured
        for i in 0..5 {
            d.arrival(-5000, i * 12_000, 1500);
        }
        assert!((d.bps(1500) - 1e9).abs() < 1.0);
        d.was_burst(1500);
        // the bucket is empty: 120 µs apart, 100 Mbit/s
        for i in 1..=5 {
            d.arrival(-5000, 48_000 + i * 120_000, 1500);
        }
        assert!((d.bps(1500) - 1e8).abs() < 1.0, "{}", d.bps(1500));
        assert_eq!(d.bytes_before, 4 * 1500);
    }

    #[test]
    fn measuring_starts_over_when_the_queue_ran_empty() {
        let mut d = Dispersal::new(1000, 1);
        d.arrival(0, 2000, 1500);
        d.arrival(0, 3000, 1500);
        d.arrival(5000, 5500, 1500);
        assert_eq!((d.measured, d.standing), (0, 0));
    }
}
