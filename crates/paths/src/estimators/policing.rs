//! Policers: whether what is above a rate is dropped, with no queue, and that rate.
//!
//! Source: the idea is that of Flach et al., "An Internet-Wide Analysis of Traffic Policing" (SIGCOMM 2016): a policer
//! drops exactly when its bucket is empty, so what passes meanwhile passes at its rate. Asked for by Philip 2025, section
//! 6.2, with no definition; this one is ours, so that it needs no memory of every packet:
//! - A stretch of losses is lost segments whose originals were sent within an eighth of a round trip of each other, so that
//!   the sender did not pause and the bucket did not fill. While one with at
//!   least 4 of them lasts, the bucket is empty. The rate is what passed in all such stretches over their time, when they
//!   have 8 lost segments together; else it is not known, and what passed from the first loss to the last, which is less,
//!   stands for it in what follows.
//! - It is a policer when no queue stood (the median RTT before losses is within 1 ms or 10 % of the least) and at least
//!   nine in ten stretches end when the sender had at least 0.9 times the rate's share of a round trip outstanding:
//!   random loss also comes below the rate. A queue of a few packets looks the same, whatever it is of.
//!
//! NULL: fewer than 15 lost segments or 3 stretches; a log taken at the receiver. The rate: no policer. Unit: bit/s of payload.

use crate::distribution::Durations;

const LOST: u64 = 15;
const STRETCHES: u64 = 3;
/// Lost segments of a stretch in which the bucket is surely empty.
const DENSE: u64 = 4;
/// Lost segments of such stretches that tell a rate.
const ENOUGH: u64 = 8;
const QUEUE_NS: i64 = 1_000_000;
const OUTSTANDING: f64 = 0.9;
const SHARE: f64 = 0.9;

/// A lost segment: when its original was sent, and how much was outstanding with it.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    pub t_ns: i64,
    pub seq: u32,
    pub bytes: u32,
    pub outstanding: u32,
}

#[derive(Debug, Clone, Copy)]
struct Stretch {
    first: Lost,
    last: Lost,
    lost: u64,
    /// Lost payload but for that of the last segment.
    lost_bytes: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Policing {
    stretch: Option<Stretch>,
    lost: u64,
    /// Payload and time of dense stretches, and from the first loss to the last, without what was lost.
    dense: Passed,
    whole: Passed,
    /// Bytes that were outstanding when each stretch ended; the container is one of integers.
    outstanding: Durations,
}

#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    lost: u64,
    bytes: u64,
    ns: i64,
}

impl Passed {
    fn bps(self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes as f64 * 8e9 / self.ns as f64)
    }

    fn merge(&mut self, other: Passed) {
        self.lost += other.lost;
        self.bytes += other.bytes;
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// What is said of a path.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Policed {
    pub policed: Option<bool>,
    pub rate_bps: Option<f64>,
}

impl Policing {
    /// A segment was lost for the first time.
    #[cold]
    pub fn loss(&mut self, lost: Lost, round_trip_ns: Option<i64>) {
        self.lost += 1;
        let near = round_trip_ns.map_or(QUEUE_NS, |ns| ns / 8);
        match &mut self.stretch {
            Some(s) if (0..=near).contains(&(lost.t_ns - s.last.t_ns)) => {
                s.lost += 1;
                s.lost_bytes += u64::from(s.last.bytes);
                s.last = lost;
            }
            _ => {
                if let Some(passed) = self.passed_in_stretch(lost) {
                    self.whole.merge(passed);
                }
                self.end();
                self.stretch = Some(Stretch {
                    first: lost,
                    last: lost,
                    lost: 1,
                    lost_bytes: 0,
                });
            }
        }
    }

    /// From the beginning of the stretch that is over to that of the next.
    fn passed_in_stretch(&self, next: Lost) -> Option<Passed> {
        let s = self.stretch?;
        let bytes = u64::from(next.seq.wrapping_sub(s.first.seq));
        Some(Passed {
            lost: s.lost,
            bytes: bytes.saturating_sub(s.lost_bytes + u64::from(s.last.bytes)),
            ns: (next.t_ns - s.first.t_ns).max(0),
        })
    }

    fn end(&mut self) {
        if let Some(stretch) = self.stretch.take() {
            self.outstanding.add(i64::from(stretch.last.outstanding));
            if let Some(passed) = dense(stretch) {
                self.dense.merge(passed);
            }
        }
    }

    /// Adds another connection; the last stretches of both are over.
    pub fn merge(&mut self, other: &Policing) {
        let mut other = other.clone();
        self.end();
        other.end();
        self.lost += other.lost;
        self.whole.merge(other.whole);
        self.dense.merge(other.dense);
        self.outstanding.merge(&other.outstanding);
    }

    /// `before` are the last RTT samples before recoveries, `round_trip_ns` the least of all.
    pub fn judge(&self, before: &Durations, round_trip_ns: Option<i64>) -> Policed {
        let mut all = self.clone();
        all.end();
        let many = all.lost >= LOST && all.outstanding.count() >= STRETCHES;
        let Some(least) = round_trip_ns.filter(|_| many) else {
            return Policed::default();
        };
        let known = all.dense.bps().filter(|_| all.dense.lost >= ENOUGH);
        let rate = known.or(all.whole.bps());
        let (Some(rate), Some(before)) = (rate, before.percentile(0.5)) else {
            return Policed::default();
        };
        let of_round_trip = rate * least as f64 / 8e9;
        let below = all.outstanding.count_below((OUTSTANDING * of_round_trip) as i64);
        let above = 1.0 - below as f64 / all.outstanding.count() as f64;
        let policed = before <= least + QUEUE_NS.max(least / 10) && above >= SHARE;
        Policed {
            policed: Some(policed),
            rate_bps: known.filter(|_| policed),
        }
    }
}

/// What passed within a stretch in which the bucket was empty: from its first lost segment to its last.
fn dense(s: Stretch) -> Option<Passed> {
    (s.lost >= DENSE && s.last.t_ns > s.first.t_ns).then(|| Passed {
        lost: s.lost,
        bytes: u64::from(s.last.seq.wrapping_sub(s.first.seq)).saturating_sub(s.lost_bytes),
        ns: s.last.t_ns - s.first.t_ns,
    })
}
