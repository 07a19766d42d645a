//! Capacity that the connection met, and its variation: the rate of acknowledged bytes while a queue stood all along.
//!
//! Source: "path capacity variation" is asked for by Philip 2025, section 6.2, with no definition. Time is cut into
//! windows of 100 ms, or of 2 base RTTs when that is longer. A window counts when data was outstanding throughout, it has
//! at least five ACKs, and every RTT sample in it is above the least RTT so far by 1 ms and by 10 %: then a queue stood
//! and the bottleneck had always something to send. Capacity is the median of their rates, the variation is the
//! difference of their 90th and 10th percentiles over the median. Where others share the bottleneck, this is the
//! connection's share of it, not the link's rate. Rates are of payload.
//!
//! NULL: fewer than 10 such windows. Unit: bit/s; the variation has none.

use crate::distribution::Durations;

const WINDOW_NS: i64 = 100_000_000;
const ABOVE_NS: i64 = 1_000_000;
const ACKS: u32 = 5;
const WINDOWS: u64 = 10;

#[derive(Debug, Clone, Default)]
pub struct Capacity {
    /// In bit/s; the container is one of integers.
    rates: Durations,
    start_ns: Option<i64>,
    bytes: u64,
    acks: u32,
    queued: bool,
}

impl Capacity {
    /// An ACK of `bytes` new ones. `min_rtt_ns` is the least so far, `outstanding` what is left after it.
    #[inline]
    pub fn ack(
        &mut self,
        t_ns: i64,
        bytes: u32,
        rtt_ns: Option<i64>,
        min_rtt_ns: Option<i64>,
        outstanding: bool,
    ) {
        let Some(min) = min_rtt_ns else { return };
        let queued = rtt_ns.is_none_or(|rtt| rtt > min + ABOVE_NS.max(min / 10));
        if let Some(start) = self.start_ns {
            self.bytes += u64::from(bytes);
            self.acks += 1;
            self.queued &= queued;
            let window = WINDOW_NS.max(2 * min);
            if t_ns - start >= window {
                // From ACK to ACK, so that the time is as long as the bytes took.
                if self.queued && self.acks >= ACKS && t_ns - start < 2 * window {
                    self.rates.add((self.bytes as f64 * 8e9 / (t_ns - start) as f64) as i64);
                }
                self.begin(t_ns, outstanding);
            } else if !outstanding {
                self.start_ns = None;
            }
        } else {
            self.begin(t_ns, outstanding);
        }
    }

    fn begin(&mut self, t_ns: i64, outstanding: bool) {
        self.start_ns = outstanding.then_some(t_ns);
        (self.bytes, self.acks, self.queued) = (0, 0, true);
    }

    pub fn merge(&mut self, other: &Capacity) {
        self.rates.merge(&other.rates);
    }

    pub fn windows(&self) -> u64 {
        self.rates.count()
    }

    pub fn bps(&self) -> Option<f64> {
        (self.rates.count() >= WINDOWS).then(|| self.rates.percentile(0.5).map(|r| r as f64)).flatten()
    }

    pub fn variation(&self) -> Option<f64> {
        let median = self.bps().filter(|m| *m > 0.0)?;
        Some((self.rates.percentile(0.9)? - self.rates.percentile(0.1)?) as f64 / median)
    }
}
