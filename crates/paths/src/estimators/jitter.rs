//! RTT jitter: the mean absolute difference between RTT samples that follow each other.
//!
//! Source: asked for by Philip 2025, section 6.2, with no definition; this is RFC 5481's inter-packet delay variation
//! taken of round trips, since one log holds no one-way delays. It holds the variation of queues, of ACKs' delay and of the
//! link layer together.
//!
//! NULL: fewer than two samples; a log taken at the receiver. Unit: nanoseconds.

#[derive(Debug, Clone, Copy, Default)]
pub struct Jitter {
    last_ns: Option<i64>,
    sum_ns: i64,
    count: u64,
}

impl Jitter {
    #[inline]
    pub fn sample(&mut self, rtt_ns: i64) {
        if let Some(last) = self.last_ns {
            self.sum_ns = self.sum_ns.saturating_add((rtt_ns - last).abs());
            self.count += 1;
        }
        self.last_ns = Some(rtt_ns);
    }

    pub fn merge(&mut self, other: &Jitter) {
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.count += other.count;
    }

    pub fn mean_ns(&self) -> Option<i64> {
        (self.count > 0).then(|| self.sum_ns / self.count as i64)
    }
}
