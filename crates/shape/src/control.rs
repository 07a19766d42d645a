//! The law, for one direction: whose queue is it, and what CAKE is set to. Pure: time and readings come in, a rate
//! comes out.
//!
//! A small queue is kept at the ISP, so that the ISP's link is never idle and what passes is its capacity: the only
//! measure of a radio link, whose capacity of a moment ago says little. How small hangs on what the delay does by
//! itself, in turns, retransmissions and grants: the target is above an empty queue by a fixed part and by the
//! delay's own mean deviation.
//!
//! - Delay beyond above the target: the bottleneck is the ISP's, and the rate is a share of what passes, less what
//!   takes the queue down to the target in about a round trip and 80 ms, but never below 45 % of it, or of a queue
//!   over 80 ms in proportion less, to 10 %.
//! - Below it, with own backlog: the bottleneck is mine. The rate climbs, the faster the longer that is so and the
//!   further the delay is below the target; what passes is let through at once.
//! - Delay beyond high but flat although less is let through than the ISP carried: a longer path, and a new base.
//! - Nothing to carry, or nobody to say what waits: the rate stays. So idle, an outage and lost probes change nothing.

use narrows_units::{MS, S};
use std::collections::VecDeque;

/// The queue that is kept beyond, where nothing is noisy.
const TARGET_NS: f64 = 3e6;
/// And so many mean deviations of the delay, each of at most so much, learnt over so long.
const DEVIATIONS: f64 = 1.5;
const MOST_SEEN_NS: f64 = 20e6;
const LEARNT_NS: f64 = 2e9;
/// What passes is measured over at least and at most so long.
const LEAST_WINDOW_NS: i64 = 30 * MS;
const MOST_WINDOW_NS: i64 = 100 * MS;
/// Where more passed within this longer one, a part of that counts: a moment's dip is not worth CAKE's drops.
const LONG_WINDOW_NS: i64 = 300 * MS;
const LONG_PART: f64 = 0.65;
/// And over at least so much.
const WINDOW_BYTES: u64 = 3000;
/// A silence of so long is no part of a rate.
const GAP_NS: i64 = 60 * MS;
/// The queue goes down to the target with a time constant of a round trip and so long.
const DRAIN_NS: f64 = 80e6;
/// While it does, at least this share of the capacity goes on: less makes CAKE drop what the senders miss later.
const LEAST_SHARE: f64 = 0.45;
/// Of a queue longer than this the share is less in proportion, and at least so much: the rate has fallen for good.
const LONG_QUEUE_NS: f64 = 80e6;
const LEAST_OF_ALL: f64 = 0.1;
/// The climb: a share of the rate per second, how fast that grows, and the most.
const CLIMB: f64 = 0.6;
const CLIMB_FASTER: f64 = 2.0;
const MOST_CLIMB: f64 = 2.5;
/// The rate is at most this much of what passes: beyond, it is not what holds the senders back.
const AHEAD: f64 = 1.5;
/// A delay that stays although less is let through is believed to be a queue for so long.
const REBASE_NS: i64 = 400 * MS;
/// A drain that has not helped for so long and two round trips has to do with load that does not respond: given up.
const DRAINS_NS: i64 = 600 * MS;
/// It has helped where the queue is below this share of its height.
const HELPED: f64 = 0.7;
/// Below this nothing could be learnt from what passes.
const LEAST_BPS: f64 = 100_000.0;
const HISTORY_NS: i64 = 4_000 * MS;
/// How far back something passed for the way not to be idle.
const IDLE_NS: i64 = 1_000 * MS;

/// What is known at a tick.
#[derive(Clone, Copy, Debug)]
pub struct Tick {
    pub t_ns: i64,
    /// What passed the WAN interface this way since the last tick, as CAKE counts it.
    pub bytes: u64,
    /// Delay beyond, above an empty queue; None: nobody said.
    pub queue_ns: Option<i64>,
    pub rtt_ns: Option<i64>,
    /// Own queue of this way.
    pub backlog_packets: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing to carry.
    Idle,
    /// The bottleneck is mine, or nothing is known: the rate stays.
    Hold,
    Climb,
    /// The bottleneck is the ISP's.
    Theirs,
    /// The path has become longer.
    Rebase,
}

impl Why {
    pub fn name(self) -> &'static str {
        match self {
            Why::Idle => "idle",
            Why::Hold => "hold",
            Why::Climb => "climb",
            Why::Theirs => "theirs",
            Why::Rebase => "rebase",
        }
    }
}

pub struct Direction {
    up: bool,
    share: f64,
    /// bit/s; None: not limited yet.
    pub rate_bps: Option<f64>,
    /// The ISP's capacity when it was last met.
    pub capacity_bps: Option<f64>,
    history: VecDeque<Tick>,
    /// Since when the delay is above the target.
    over: Option<Over>,
    climbing_from_ns: i64,
    mean_ns: f64,
    deviation_ns: f64,
    owned: f64,
    pub rebased: u32,
}

#[derive(Clone, Copy)]
struct Over {
    since_ns: i64,
    seen_ns: i64,
    least_ns: i64,
    least_at_ns: i64,
    most_ns: i64,
}

impl Direction {
    /// `up`: what leaves is measured here before the ISP's queue, what arrives behind it.
    pub fn new(up: bool, share: f64, rate_bps: Option<f64>) -> Direction {
        Direction {
            up,
            share,
            rate_bps,
            capacity_bps: None,
            history: VecDeque::new(),
            over: None,
            climbing_from_ns: i64::MIN,
            mean_ns: 0.0,
            deviation_ns: 0.0,
            owned: 0.0,
            rebased: 0,
        }
    }

    /// The delay beyond that is kept.
    pub fn target_ns(&self) -> i64 {
        (TARGET_NS + DEVIATIONS * self.deviation_ns) as i64
    }

    pub fn owned(&self) -> bool {
        self.owned > 0.3
    }

    pub fn step(&mut self, tick: Tick) -> Why {
        let dt_ns = self.history.back().map_or(0, |last| tick.t_ns - last.t_ns);
        self.history.push_back(tick);
        while self.history.front().is_some_and(|first| tick.t_ns - first.t_ns > HISTORY_NS) {
            self.history.pop_front();
        }
        let weight = (dt_ns as f64 / (50 * MS) as f64).min(1.0);
        let mine = if tick.backlog_packets >= 2 { 1.0 } else { 0.0 };
        self.owned += (mine - self.owned) * weight;
        if self.climbing_from_ns == i64::MIN {
            self.climbing_from_ns = tick.t_ns;
        }
        let Some(queue_ns) = tick.queue_ns else {
            return self.unseen(&tick);
        };
        if self.owned() {
            self.learn(queue_ns, dt_ns);
        }
        if queue_ns > self.target_ns() {
            return self.theirs(&tick, queue_ns);
        }
        if self.over.take().is_some() {
            self.climbing_from_ns = tick.t_ns;
        }
        self.climb(&tick, queue_ns, dt_ns)
    }

    /// What the delay does by itself. A long queue is no jitter, so it counts as a moderate one.
    fn learn(&mut self, queue_ns: i64, dt_ns: i64) {
        let seen = (queue_ns as f64).min(MOST_SEEN_NS);
        let weight = (dt_ns as f64 / LEARNT_NS).min(1.0);
        self.mean_ns += (seen - self.mean_ns) * weight;
        self.deviation_ns += ((seen - self.mean_ns).abs() - self.deviation_ns) * weight;
    }

    /// Nobody says what waits beyond.
    fn unseen(&mut self, tick: &Tick) -> Why {
        let t_ns = tick.t_ns;
        self.climbing_from_ns = self.climbing_from_ns.max(t_ns);
        let patience_ns = DRAINS_NS + 2 * tick.rtt_ns.unwrap_or(50 * MS);
        // What is drained without anybody to say how far is done after a while.
        if self.over.is_some_and(|over| t_ns - over.seen_ns > patience_ns) {
            self.over = None;
            self.rate_bps = self.capacity_bps.map(|bps| bps * self.share).or(self.rate_bps);
        }
        self.carrying(t_ns)
    }

    /// Hold, or idle where nothing passes.
    fn carrying(&self, t_ns: i64) -> Why {
        let passed = |tick: &Tick| tick.bytes > 0 && t_ns - tick.t_ns < IDLE_NS;
        if self.history.iter().any(passed) {
            Why::Hold
        } else {
            Why::Idle
        }
    }

    /// A queue beyond.
    fn theirs(&mut self, tick: &Tick, queue_ns: i64) -> Why {
        let over = self.over.get_or_insert(Over {
            since_ns: tick.t_ns,
            seen_ns: tick.t_ns,
            least_ns: queue_ns,
            least_at_ns: tick.t_ns,
            most_ns: queue_ns,
        });
        over.seen_ns = tick.t_ns;
        over.most_ns = over.most_ns.max(queue_ns);
        if queue_ns < over.least_ns - MS {
            (over.least_ns, over.least_at_ns) = (queue_ns, tick.t_ns);
        }
        let over = *over;
        let rtt_ns = tick.rtt_ns.unwrap_or(50 * MS);
        let measured = self.measured(tick.t_ns, rtt_ns);
        let rate = self.rate_bps.unwrap_or(f64::INFINITY);
        // While my own queue is the one that fills, what passes is my rate and says nothing of the ISP's.
        let mine = self.owned() && measured.is_some_and(|bps| bps < rate * 1.02) && !self.rising(tick.t_ns);
        if mine && tick.t_ns - over.least_at_ns > REBASE_NS + 2 * rtt_ns {
            self.over = None;
            self.rebased += 1;
            if let Some(bps) = self.capacity_bps {
                self.rate_bps = Some(bps * self.share);
            }
            return Why::Rebase;
        }
        if let Some(bps) = measured {
            if !mine || self.capacity_bps.is_none_or(|before| bps > before) {
                self.capacity_bps = Some(bps);
            }
        }
        if let (Some(bps), true) = (self.capacity_bps, measured.is_some()) {
            let excess_ns = (queue_ns - self.target_ns()) as f64;
            let in_vain = tick.t_ns - over.since_ns > DRAINS_NS + 2 * rtt_ns
                && queue_ns as f64 > over.most_ns as f64 * HELPED;
            let drained = if in_vain { 0.0 } else { excess_ns / (rtt_ns as f64 + DRAIN_NS) };
            let least = LEAST_SHARE * (LONG_QUEUE_NS / excess_ns).min(1.0);
            let share = (self.share - drained).max(least.max(LEAST_OF_ALL));
            self.rate_bps = Some((bps * share).max(LEAST_BPS));
        }
        Why::Theirs
    }

    fn climb(&mut self, tick: &Tick, queue_ns: i64, dt_ns: i64) -> Why {
        let Some(rate) = self.rate_bps else {
            return Why::Hold;
        };
        let (t_ns, rtt_ns) = (tick.t_ns, tick.rtt_ns.unwrap_or(50 * MS));
        let passing = self.measured(t_ns, rtt_ns);
        if let Some(bps) = passing.filter(|bps| bps * self.share > rate) {
            self.capacity_bps = Some(bps);
            self.rate_bps = Some(bps * self.share);
        }
        let rate = self.rate_bps.unwrap_or(rate);
        // A queue of mine that only empties says nothing of the ISP.
        let filled = self.up || self.passing(t_ns).is_none_or(|bps| bps * AHEAD >= rate);
        if !self.owned() || !filled {
            // Not asked for more than there is.
            self.climbing_from_ns = self.climbing_from_ns.max(t_ns);
            return self.carrying(t_ns);
        }
        let for_s = (t_ns - self.climbing_from_ns) as f64 / S as f64;
        if for_s <= 0.0 {
            return Why::Hold;
        }
        let below = 1.0 - queue_ns.max(0) as f64 / self.target_ns() as f64;
        let climb = (CLIMB + CLIMB_FASTER * for_s).min(MOST_CLIMB) * below;
        self.rate_bps = Some(rate * (1.0 + climb * dt_ns as f64 / S as f64));
        Why::Climb
    }

    /// What passed of late, in bit/s.
    fn passing(&self, t_ns: i64) -> Option<f64> {
        let mut late = self.history.iter().filter(|tick| t_ns - tick.t_ns <= MOST_WINDOW_NS);
        let begin_ns = late.next()?.t_ns;
        let bytes: u64 = late.map(|tick| tick.bytes).sum();
        (t_ns - begin_ns >= LEAST_WINDOW_NS).then(|| bytes as f64 * 8.0 * S as f64 / (t_ns - begin_ns) as f64)
    }

    /// What passes, in bit/s; None: too little to say.
    fn measured(&self, t_ns: i64, rtt_ns: i64) -> Option<f64> {
        let short = self.measured_over(MOST_WINDOW_NS, t_ns, rtt_ns)?;
        let long = self.measured_over(LONG_WINDOW_NS, t_ns, rtt_ns)?;
        Some(short + LONG_PART * (long - short).max(0.0))
    }

    /// What passed since the last silence within a window.
    fn measured_over(&self, window_ns: i64, t_ns: i64, rtt_ns: i64) -> Option<f64> {
        let from_ns = t_ns - window_ns;
        let (mut bytes, mut begin, mut last_ns) = (0, None::<Tick>, i64::MIN);
        for tick in self.history.iter().filter(|tick| tick.t_ns >= from_ns) {
            if begin.is_none() || (tick.bytes > 0 && last_ns != i64::MIN && tick.t_ns - last_ns > GAP_NS) {
                (begin, bytes) = (Some(*tick), 0);
            } else {
                bytes += tick.bytes;
            }
            if tick.bytes > 0 {
                last_ns = tick.t_ns;
            }
        }
        let (begin, end) = (begin?, self.history.back()?);
        if self.up {
            // What is echoed now left a round trip and its waiting ago, and passed since as fast as it is echoed.
            let left = |tick: &Tick| Some(tick.t_ns - rtt_ns - tick.queue_ns?);
            let (from_ns, to_ns) = (left(&begin)?, left(end)?);
            let within = |tick: &&Tick| tick.t_ns > from_ns && tick.t_ns <= to_ns;
            bytes = self.history.iter().filter(within).map(|tick| tick.bytes).sum();
        }
        let took_ns = t_ns - begin.t_ns;
        (took_ns >= LEAST_WINDOW_NS && bytes >= WINDOW_BYTES)
            .then(|| bytes as f64 * 8.0 * S as f64 / took_ns as f64)
    }

    /// Whether the delay has grown within the last while.
    fn rising(&self, t_ns: i64) -> bool {
        let seen: Vec<(i64, i64)> = self
            .history
            .iter()
            .filter(|tick| t_ns - tick.t_ns <= MOST_WINDOW_NS)
            .filter_map(|tick| Some((tick.t_ns, tick.queue_ns?)))
            .collect();
        let (Some(first), Some(last)) = (seen.first(), seen.last()) else {
            return false;
        };
        last.1 > first.1 + 2 * MS
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
