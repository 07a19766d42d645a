//! Policers: whether what is above a rate is dropped, with no queue, and that rate.
//!
//! Source: the idea is that of Flach et al., "An Internet-Wide Analysis of Traffic Policing" (SIGCOMM 2016): a policer
//! drops exactly when its bucket is empty, so what passes meanwhile passes at its rate. Asked for by Philip 2025, section
//! 6.2, with no definition; this one is ours, so that it needs no memory of every packet:
//! - Whenever a segment is lost, the bucket holds less than it. So between two losses as much passed as the rate gives, but
//!   for a segment, unless the bucket filled up and ran over. It did not between losses whose originals were sent within an
//!   eighth of a round trip of each other, nor within the time that filling what has passed at once takes (`burst`).
//!   What passed is all that was sent, also again, less all that was lost, also again. The ends of stretches are losses that
//!   a SACK shows; those of at least 4 losses count. The rate is what passed in all of them over their time, and is known when
//!   that holds it to 3 %. Else what passed from the first loss to the last, which is less, stands for it in what follows.
//! - It is a policer when no queue stood (a quarter of the RTTs before losses are within 1 ms or 10 % of the least, and half of those
//!   of what passed next to them within 1 ms or 2 %), at least nine in ten stretches end when the sender had at least 0.9 times the
//!   rate's share of a round trip outstanding, and the others of these losses come when a bucket is empty ([`super::bucket`]: a share
//!   of at least 0.75). Random loss comes at any level. A queue of a few packets looks the same, whatever it is of.
//! - It is none when a queue stood, when losses come at any level (a share below 0.65), or each for itself and at any flight: no
//!   more than 1.3 a stretch, a tenth of these at less than 0.7 of the median.
//!
//! NULL: fewer than 15 lost segments or 3 stretches; neither of the last two; a log taken at the receiver. The rate: no
//! policer; not known so well; more was acknowledged than it and the burst let pass. Of several connections it is the highest
//! of theirs, as each had a part of it at most. Unit: bit/s of payload.

use super::bucket::{Lost, Sends};
use super::burst::Burst;
use crate::distribution::Durations;

const LOST: u64 = 15;
const STRETCHES: u64 = 3;
/// Lost segments of a stretch in which the bucket is surely empty.
const DENSE: u64 = 4;
/// A part of the round trip in which no bucket fills up, and the part of the time that filling one takes.
const NEAR: i64 = 8;
const FILLED: f64 = 0.7;
const ROUNDS: usize = 6;
const ERROR: f64 = 0.03;
/// Losses that come at so much less than the median flight are no policer's.
const SPREAD: f64 = 0.7;
/// Losses a stretch, at most, that come each for itself: what overruns a bucket loses several at once.
const ALONE: f64 = 1.3;
/// Losses that are kept.
const DROPS: usize = 1 << 14;
const QUEUE_NS: i64 = 1_000_000;
/// Of the RTTs before losses: behind a queue that drops nearly all of them are long.
const STANDING: f64 = 0.25;
const OUTSTANDING: f64 = 0.9;
const SHARE: f64 = 0.9;
/// Of losses that no queue came before: those of all that count, and how surely they come when a bucket is empty.
const NO_QUEUE: f64 = 0.5;
const EMPTY: f64 = 0.75;
const ANY_LEVEL: f64 = 0.65;

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
    /// Every transmission that was lost, as far as they are kept.
    drops: Vec<Lost>,
    /// Payload and time from the first loss to the last, without what was lost.
    whole: Passed,
    rate_bps: Option<f64>,
    pub sends: Sends,
    levels: Levels,
    /// Bytes that were outstanding when each stretch ended; the container is one of integers.
    outstanding: Durations,
}

#[derive(Debug, Clone, Copy, Default)]
struct Passed {
    bytes: u64,
    ns: i64,
}

impl Passed {
    fn bps(self) -> Option<f64> {
        (self.ns > 0).then(|| self.bytes as f64 * 8e9 / self.ns as f64)
    }

    fn merge(&mut self, other: Passed) {
        self.bytes += other.bytes;
        self.ns = self.ns.saturating_add(other.ns);
    }
}

/// How losses came.
#[derive(Debug, Clone, Copy, Default)]
struct Levels {
    /// Losses of which an RTT is known, and of these the ones that no queue came before.
    known: u64,
    no_queue: u64,
    /// The sum over these of how surely they come when a bucket is empty.
    empty: f64,
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
                self.stretch = Some(Stretch { first: lost, last: lost, lost: 1, lost_bytes: 0 });
            }
        }
    }

    /// A transmission was lost for certain, the first of a segment or a later one.
    #[cold]
    pub fn drop(&mut self, lost: Lost) {
        if self.drops.len() < DROPS {
            self.drops.push(lost);
        }
    }

    /// From the beginning of the stretch that is over to that of the next.
    fn passed_in_stretch(&self, next: Lost) -> Option<Passed> {
        let s = self.stretch?;
        let bytes = u64::from(next.seq.wrapping_sub(s.first.seq));
        Some(Passed {
            bytes: bytes.saturating_sub(s.lost_bytes + u64::from(s.last.bytes)),
            ns: (next.t_ns - s.first.t_ns).max(0),
        })
    }

    fn end(&mut self) {
        if let Some(stretch) = self.stretch.take() {
            self.outstanding.add(i64::from(stretch.last.outstanding));
        }
    }

    /// A connection that is over: its rate in place of its losses.
    pub fn settled(&self, round_trip_ns: Option<i64>, burst: &Burst) -> Policing {
        let mut whole = self.clone();
        whole.end();
        let mut drops = std::mem::take(&mut whole.drops);
        drops.sort_unstable_by_key(|lost| (lost.t_ns, lost.before));
        if let Some(ns) = round_trip_ns.filter(|_| whole.lost >= LOST) {
            whole.rate_bps = known_bps(&drops, ns, burst);
            whole.levels = whole.levels(&drops, ns);
        }
        whole.sends = Sends::default();
        whole
    }

    fn levels(&self, drops: &[Lost], least: i64) -> Levels {
        let known = drops.iter().filter(|lost| lost.sure && lost.rtt_ns.is_some()).count() as u64;
        let counts = |lost: &Lost| {
            let low = lost.rtt_ns.is_some_and(|rtt| rtt <= least + QUEUE_NS.max(least / 50));
            lost.sure && low
        };
        let no_queue = drops.iter().filter(|lost| counts(lost)).count() as u64;
        let enough = no_queue >= LOST && no_queue as f64 >= NO_QUEUE * known as f64;
        // What passed behind the last loss says nothing of the rate that is assumed.
        let until_ns = drops.last().map_or(0, |last| last.t_ns);
        let share = self
            .whole
            .bps()
            .filter(|_| enough)
            .and_then(|bps| self.sends.share_at_losses(drops, until_ns, bps, counts));
        Levels { known, no_queue, empty: share.map_or(0.0, |share| share * no_queue as f64) }
    }

    /// Adds another connection; both are settled.
    pub fn merge(&mut self, other: &Policing) {
        self.lost += other.lost;
        self.whole.merge(other.whole);
        self.rate_bps = [self.rate_bps, other.rate_bps].into_iter().flatten().reduce(f64::max);
        self.levels.known += other.levels.known;
        self.levels.no_queue += other.levels.no_queue;
        self.levels.empty += other.levels.empty;
        self.outstanding.merge(&other.outstanding);
    }

    /// Of settled ones. `before` are the last RTT samples before recoveries, `round_trip_ns` the least of all.
    pub fn judge(&self, before: &Durations, round_trip_ns: Option<i64>) -> Policed {
        let many = self.lost >= LOST && self.outstanding.count() >= STRETCHES;
        let Some(least) = round_trip_ns.filter(|_| many) else {
            return Policed::default();
        };
        let rate = self.rate_bps.or(self.whole.bps());
        let (Some(rate), Some(before)) = (rate, before.percentile(STANDING)) else {
            return Policed::default();
        };
        let of_round_trip = rate * least as f64 / 8e9;
        let below = self.outstanding.count_below((OUTSTANDING * of_round_trip) as i64);
        let above = 1.0 - below as f64 / self.outstanding.count() as f64;
        let queue = before > least + QUEUE_NS.max(least / 10);
        let flight = |share| self.outstanding.percentile(share).unwrap_or(0) as f64;
        let Levels { known, no_queue, empty } = self.levels;
        let empty = empty / no_queue as f64;
        let policed = if queue || (no_queue as f64) < NO_QUEUE * known as f64 {
            Some(false)
        } else if above >= SHARE {
            match empty {
                _ if no_queue < LOST => None,
                empty if empty >= EMPTY => Some(true),
                empty => (empty < ANY_LEVEL).then_some(false),
            }
        } else {
            let alone = self.lost as f64 <= ALONE * self.outstanding.count() as f64;
            (alone && flight(1.0 - SHARE) < SPREAD * flight(0.5)).then_some(false)
        };
        Policed { policed, rate_bps: self.rate_bps.filter(|_| policed == Some(true)) }
    }
}

fn known_bps(drops: &[Lost], round_trip_ns: i64, burst: &Burst) -> Option<f64> {
    let mut gap_ns = round_trip_ns / NEAR;
    let mut found = rate(drops, gap_ns)?;
    for _ in 0..ROUNDS {
        let most = found.bps * (1.0 + found.error);
        let filled = burst.bytes(Some(most)).unwrap_or(0) as f64 * 8e9 / most;
        if (FILLED * filled) as i64 <= gap_ns {
            break;
        }
        gap_ns = (FILLED * filled) as i64;
        found = rate(drops, gap_ns)?;
    }
    (found.error <= ERROR).then_some(found.bps)
}

/// A rate, and how far it may be off.
#[derive(Debug, Clone, Copy)]
struct Rate {
    bps: f64,
    error: f64,
}

/// The rate at which the bucket fills, of losses in order of time: whenever one comes, it holds less than a segment. Between
/// losses that are no more than `gap_ns` apart it did not fill up.
fn rate(drops: &[Lost], gap_ns: i64) -> Option<Rate> {
    let (mut bytes, mut ns, mut stretches, mut segment) = (0.0, 0.0, 0.0f64, 0);
    let mut at = 0;
    while at < drops.len() {
        let first = drops[at];
        segment = segment.max(first.bytes);
        // Of all up to the last sure one, and up to the one that is looked at.
        let (mut last, mut many, mut in_vain) = (first, 1, 0);
        let (mut seen_ns, mut wasted) = (first.t_ns, u64::from(first.bytes));
        at += 1;
        while let Some(next) = drops.get(at).filter(|next| first.sure && next.t_ns - seen_ns <= gap_ns) {
            if next.sure {
                (last, many, in_vain) = (*next, many + 1, wasted);
            }
            (seen_ns, wasted, at) = (next.t_ns, wasted + u64::from(next.bytes), at + 1);
        }
        let sent = last.before.saturating_sub(first.before);
        if many >= DENSE && last.t_ns > first.t_ns && sent > in_vain {
            bytes += (sent - in_vain) as f64;
            ns += (last.t_ns - first.t_ns) as f64;
            stretches += 1.0;
        }
    }
    // What is left at the last loss of a stretch is up to a segment, and more than at the first.
    (stretches > 0.0).then(|| Rate {
        bps: bytes * 8e9 / ns,
        error: f64::from(segment) * (stretches / 2.0 + stretches.sqrt()) / bytes,
    })
}
