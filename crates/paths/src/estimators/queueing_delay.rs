//! Peak queueing delay (N2): the 99th percentile of the RTT samples less the least of them, and its ratio to base RTT.
//!
//! Source: Philip 2025, section 5.5. The percentile, and not the maximum, because delayed ACKs lengthen single samples.
//! It is a lower bound of the queue that the path can hold: traffic with pauses does not fill it. How much of the time
//! data was outstanding says how far (`outstanding_share`). Percentiles are by nearest rank.
//!
//! N2's samples are of ACKs that acknowledge something new, so in recoveries there are hardly any, and a peak there is not seen.
//! A second value has those of SACKed data besides: from the latest of what a SACK acknowledges first, and what was sent once, to it.
//!
//! NULL: fewer than 100 samples (the 99th percentile is then the maximum); a log taken at the receiver, whose samples
//! hold no path. Unit: nanoseconds; the ratio has none.

use super::vantage::Vantage;
use crate::distribution::Durations;

/// Fewer samples than this have no 99th percentile.
pub const SAMPLES: u64 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct QueueingDelay {
    pub p99_rtt_ns: Option<i64>,
    pub peak_ns: Option<i64>,
    pub ratio: Option<f64>,
}

pub fn queueing_delay(far: &Durations, base_rtt_ns: Option<i64>, vantage: Vantage) -> QueueingDelay {
    if far.count() < SAMPLES || vantage == Vantage::Receiver {
        return QueueingDelay::default();
    }
    let p99 = far.percentile(0.99);
    let peak = p99.zip(far.min()).map(|(p99, min)| p99 - min);
    let ratio =
        peak.zip(base_rtt_ns).filter(|(_, base)| *base > 0).map(|(peak, base)| peak as f64 / base as f64);
    QueueingDelay { p99_rtt_ns: p99, peak_ns: peak, ratio }
}
