//! What arrives together: the bytes of one burst, and when bursts begin.
//!
//! Our own definition. Links below IP that wait for their turn (Wi-Fi's aggregates, a cell's blocks, frames, a modem's
//! grants) hand over at once what had gathered; a link with a rate does so one by one. Events are data at a log taken at the
//! receiver, and ACKs, with what they newly acknowledge, at one taken at the sender: what has passed the link. Of a stretch
//! of 512 of them two are together when they are closer than a quarter of their mean distance, pauses of 100 ms left
//! out. The first and the last burst of a stretch may have been cut, and do not count. It is a mean: where an aggregate
//! waits for a part of the one before that is sent again, bursts are longer and shorter than aggregates, on average
//! they are as long.
//!
//! NULL: fewer than 30 bursts, or of fewer than two packets on average; they come no faster than a round trip, as
//! windows of a sender do; a log taken elsewhere. Unit: bytes of payload; segments of one MSS.

use super::turn_period::{self, Burst};

const STRETCH: usize = 512;
const LEAST: usize = 64;
const APART: i64 = 4;
const PAUSE_NS: i64 = 100_000_000;
const BURSTS: u64 = 30;
const PACKETS: u64 = 2;
/// Bursts whose times are kept: the first ones.
const KEPT: usize = 2048;

#[derive(Debug, Clone, Copy)]
struct Event {
    t_ns: i64,
    bytes: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    stretch: Vec<Event>,
    sums: Together,
    kept: Vec<Burst>,
    after_sack: bool,
}

/// Bursts of one or more connections.
#[derive(Debug, Clone, Default)]
pub struct Together {
    bursts: u64,
    packets: u64,
    bytes: u64,
    period_ns: Option<i64>,
    /// How many bursts the period is of.
    period_of: u64,
}

impl Arrivals {
    /// An ACK of so many new bytes. In a recovery they did not arrive when they are acknowledged.
    #[inline]
    pub fn ack(&mut self, t_ns: i64, bytes: u32, has_sack: bool) {
        if !has_sack {
            self.see(t_ns, if self.after_sack { 0 } else { bytes });
        }
        self.after_sack = has_sack;
    }

    /// A packet with `bytes` of payload; 0: nobody knows.
    #[inline]
    pub fn see(&mut self, t_ns: i64, bytes: u32) {
        self.stretch.push(Event { t_ns, bytes });
        if self.stretch.len() >= STRETCH {
            self.cut();
        }
    }

    /// Finds the bursts of a stretch.
    fn cut(&mut self) {
        let stretch = std::mem::take(&mut self.stretch);
        if stretch.len() < LEAST {
            return;
        }
        let gaps = stretch.windows(2).map(|two| two[1].t_ns - two[0].t_ns);
        let (mut busy_ns, mut count) = (0, 0);
        for gap in gaps.filter(|gap| *gap < PAUSE_NS) {
            busy_ns += gap;
            count += 1;
        }
        let together_ns = busy_ns / i64::max(count, 1) / APART;
        let (mut burst, mut before_ns) = (None::<Burst>, stretch[0].t_ns);
        for event in &stretch[1..] {
            if event.t_ns - before_ns > together_ns {
                self.end(burst);
                burst = Some(Burst { t_ns: event.t_ns, packets: 1, bytes: event.bytes });
            } else if let Some(burst) = &mut burst {
                burst.packets += 1;
                burst.bytes = burst.bytes.saturating_add(event.bytes);
            }
            before_ns = event.t_ns;
        }
    }

    fn end(&mut self, burst: Option<Burst>) {
        let Some(burst) = burst else { return };
        if burst.bytes > 0 {
            self.sums.bursts += 1;
            self.sums.packets += u64::from(burst.packets);
            self.sums.bytes += u64::from(burst.bytes);
        }
        if self.kept.len() < KEPT {
            self.kept.push(burst);
        }
    }

    /// What there is to say at the connection's end; `round_trip_ns` is what a sender's window takes.
    pub fn settled(&self, round_trip_ns: Option<i64>) -> Together {
        let mut all = self.clone();
        all.cut();
        let mut gaps: Vec<i64> = all.kept.windows(2).map(|two| two[1].t_ns - two[0].t_ns).collect();
        gaps.sort_unstable();
        let apart_ns = gaps.get(gaps.len() / 2).copied();
        if apart_ns.zip(round_trip_ns).is_none_or(|(apart, round)| apart >= round) {
            return Together::default();
        }
        let period_ns = turn_period::period_ns(&all.kept).filter(|period| Some(2 * period) <= round_trip_ns);
        Together { period_ns, period_of: all.kept.len() as u64, ..all.sums }
    }
}

impl Together {
    pub fn merge(&mut self, other: &Together) {
        self.bursts += other.bursts;
        self.packets += other.packets;
        self.bytes += other.bytes;
        if other.period_of > self.period_of {
            (self.period_ns, self.period_of) = (other.period_ns, other.period_of);
        }
    }

    pub fn bursts(&self) -> u64 {
        self.bursts
    }

    /// Mean payload of a burst.
    pub fn bytes(&self) -> Option<f64> {
        (self.bursts >= BURSTS && self.packets >= PACKETS * self.bursts)
            .then(|| self.bytes as f64 / self.bursts as f64)
    }

    pub fn in_mss(&self, mss_bytes: Option<u32>) -> Option<f64> {
        Some(self.bytes()? / f64::from(mss_bytes.filter(|m| *m > 0)?))
    }

    /// The grid on which bursts come.
    pub fn period_ns(&self) -> Option<i64> {
        self.period_ns
    }
}
