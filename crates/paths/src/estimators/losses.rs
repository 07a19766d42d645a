//! Losses, as retransmissions show them, and which of them no queue explains.
//!
//! Source: "random packet loss" is asked for by Philip 2025, section 6.2, with no definition. A loss event is the
//! first retransmission of a recovery: all up to the data that had been sent by then belong to it (NewReno's rule,
//! RFC 6582). It is one with a low RTT when the less of the last two RTT samples before it lies below the middle between base RTT and
//! the 99th percentile: a full drop-tail queue would have made it long. Every segment of its recovery that is sent again,
//! and not in vain, is a lost one. A policer's losses look the same.
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
    /// The RTT before its recovery, of each lost segment.
    rtt_before_lost: Durations,
    event_rtt_ns: Option<i64>,
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
        rtt_ns: Option<i64>,
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
            self.event_rtt_ns = rtt_ns;
            if let Some(rtt) = rtt_ns {
                self.rtt_before.add(rtt);
            }
        }
        if let Some(rtt) = self.event_rtt_ns {
            self.rtt_before_lost.add(rtt);
        }
    }

    /// While less than this recovery covers is acknowledged, the RTT before it.
    #[inline]
    pub fn recovery(&self, acked_end: Option<u32>) -> Option<Option<i64>> {
        let left = self.recover?.wrapping_sub(acked_end?) as i32;
        (left > 0).then_some(self.event_rtt_ns)
    }

    pub fn merge(&mut self, other: &Losses) {
        self.retransmitted += other.retransmitted;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.needless += other.needless;
        self.events += other.events;
        self.rtt_before.merge(&other.rtt_before);
        self.rtt_before_lost.merge(&other.rtt_before_lost);
    }

    /// The less of the last two RTT samples before each recovery.
    pub fn rtt_before(&self) -> &Durations {
        &self.rtt_before
    }

    /// Events with a low RTT, and the segments that were sent again in their recoveries.
    pub fn at_low_rtt(&self, min_rtt_ns: Option<i64>, peak_ns: Option<i64>) -> Option<(u64, u64)> {
        let peak = peak_ns.filter(|p| *p >= QUEUE_NS)?;
        let middle = min_rtt_ns? + peak / 2;
        Some((self.rtt_before.count_below(middle), self.rtt_before_lost.count_below(middle)))
    }
}
