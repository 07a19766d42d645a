//! Losses, as retransmissions show them, and which of them no queue explains.
//!
//! Source: "random packet loss" is asked for by Philip 2025, section 6.2, with no definition. A loss event is the
//! first retransmission of a recovery: all up to the data that had been sent by then belong to it (NewReno's rule,
//! RFC 6582). It is one with a low RTT when the last RTT sample before it lies below the middle between base RTT and
//! the 99th percentile: a full drop-tail queue would have made it long. A policer's losses look the same.
//!
//! Counts are never NULL; those with a low RTT are, without a peak queueing delay of at least 1 ms. Unit: segments, events.

use crate::distribution::Durations;

#[derive(Debug, Clone, Default)]
pub struct Losses {
    /// Segments that were sent again, by what the log shows.
    pub retransmitted: u64,
    pub retransmitted_bytes: u64,
    /// Of these, the ones whose data had been acknowledged before, so that none of it was needed.
    pub needless: u64,
    pub events: u64,
    rtt_before: Durations,
    recover: Option<u32>,
}

/// A queue below this is not told from noise.
const QUEUE_NS: i64 = 1_000_000;

impl Losses {
    /// A segment was sent again. `sent_up_to` is the highest sequence number sent so far.
    pub fn retransmission(
        &mut self,
        seq: u32,
        bytes: u32,
        needless: bool,
        sent_up_to: u32,
        last_rtt_ns: Option<i64>,
    ) {
        self.retransmitted += 1;
        self.retransmitted_bytes += u64::from(bytes);
        if needless {
            self.needless += 1;
            return;
        }
        if self.recover.is_none_or(|r| seq.wrapping_sub(r) as i32 >= 0) {
            self.events += 1;
            self.recover = Some(sent_up_to);
            if let Some(rtt) = last_rtt_ns {
                self.rtt_before.add(rtt);
            }
        }
    }

    pub fn merge(&mut self, other: &Losses) {
        self.retransmitted += other.retransmitted;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.needless += other.needless;
        self.events += other.events;
        self.rtt_before.merge(&other.rtt_before);
    }

    pub fn events_at_low_rtt(&self, min_rtt_ns: Option<i64>, peak_ns: Option<i64>) -> Option<u64> {
        let peak = peak_ns.filter(|p| *p >= QUEUE_NS)?;
        Some(self.rtt_before.count_below(min_rtt_ns? + peak / 2))
    }
}
