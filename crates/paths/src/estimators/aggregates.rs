//! What arrives together: the bytes of one burst, and when bursts begin.
//!
//! Our own definition. Links below IP that wait for their turn (Wi-Fi's aggregates, a cell's blocks, frames, a modem's
//! grants) hand over at once what had gathered; a link with a rate does so one by one. Events are data at a log taken at the
//! receiver, and ACKs, with what they newly acknowledge, at one taken at the sender: what has passed the link. Of a stretch
//! of 512 of them two are together when they are closer than a quarter of their mean distance. The first and the last
//! burst of a stretch may have been cut, and do not count. Medians, over all bursts.
//!
//! NULL: fewer than 30 bursts; most are of a single packet; they come no faster than a round trip, as windows of a
//! sender do; a log taken elsewhere. Unit: bytes of payload; segments of one MSS.

use super::turn_period;
use crate::distribution::Sizes;

const STRETCH: usize = 512;
const LEAST: usize = 64;
const APART: i64 = 4;
const BURSTS: u64 = 30;
/// Bursts whose times are kept: the first ones.
const KEPT: usize = 2048;

#[derive(Debug, Clone, Copy)]
struct Event {
    t_ns: i64,
    bytes: u32,
}

/// What came together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    pub t_ns: i64,
    pub packets: u32,
    pub bytes: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Arrivals {
    stretch: Vec<Event>,
    sums: Together,
    kept: Vec<Burst>,
}

/// Bursts of one or more connections.
#[derive(Debug, Clone, Default)]
pub struct Together {
    bytes: Sizes,
    packets: Sizes,
    period_ns: Option<i64>,
    /// How many bursts the period is of.
    period_of: u64,
}

impl Arrivals {
    /// A packet with `bytes` of payload, or an ACK of so many new ones.
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
        let (Some(first), Some(last)) = (stretch.first(), stretch.last()) else {
            return;
        };
        let whole_ns = last.t_ns - first.t_ns;
        if stretch.len() < LEAST || whole_ns <= 0 {
            return;
        }
        let together_ns = whole_ns / (stretch.len() as i64 - 1) / APART;
        let (mut burst, mut before_ns) = (None::<Burst>, first.t_ns);
        for event in &stretch[1..] {
            if event.t_ns - before_ns > together_ns {
                self.end(burst);
                burst = Some(Burst {
                    t_ns: event.t_ns,
                    packets: 1,
                    bytes: event.bytes,
                });
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
            self.sums.bytes.add(burst.bytes);
            self.sums.packets.add(burst.packets);
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
        if apart_ns
            .zip(round_trip_ns)
            .is_none_or(|(apart, round)| apart >= round)
        {
            return Together::default();
        }
        let period_ns = turn_period::period_ns(&all.kept).filter(|period| Some(2 * period) <= round_trip_ns);
        Together {
            period_ns,
            period_of: all.kept.len() as u64,
            ..all.sums
        }
    }
}

impl Together {
    pub fn merge(&mut self, other: &Together) {
        self.bytes.merge(&other.bytes);
        self.packets.merge(&other.packets);
        if other.period_of > self.period_of {
            (self.period_ns, self.period_of) = (other.period_ns, other.period_of);
        }
    }

    pub fn bursts(&self) -> u64 {
        self.bytes.count()
    }

    /// Median payload of a burst.
    pub fn bytes(&self) -> Option<f64> {
        let enough = self.bursts() >= BURSTS && self.packets.median() >= Some(2.0);
        self.bytes.median().filter(|_| enough)
    }

    pub fn in_mss(&self, mss_bytes: Option<u32>) -> Option<f64> {
        Some(self.bytes()? / f64::from(mss_bytes.filter(|m| *m > 0)?))
    }

    /// The grid on which bursts come.
    pub fn period_ns(&self) -> Option<i64> {
        self.period_ns
    }
}
