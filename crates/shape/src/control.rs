//! The law, for one direction: whose queue is it, and what CAKE is set to. Pure: time and readings come in, a rate
//! comes out.
//!
//! - Own backlog there and the delay beyond flat: the bottleneck is mine. The rate climbs, slowly at first and ever
//!   faster, until the delay beyond says that it is not.
//! - Delay beyond rising: the bottleneck is the ISP's, and what passes meanwhile is its capacity. The rate becomes
//!   a share of that at once, less what drains the queue there in about two and a half round trips.
//! - Delay beyond high but flat although less is let through than the ISP carried: a longer path, and a new base.
//! - Nothing to carry, or nobody to say what waits: the rate stays. So idle, an outage and lost probes change nothing.

use std::collections::VecDeque;

const MS: i64 = 1_000_000;
const SECOND: f64 = 1e9;

/// Delay beyond that counts as a queue, where nothing is noisy.
const THRESHOLD_NS: i64 = 8 * MS;
/// What passes is measured over at least and at most so long.
const LEAST_WINDOW_NS: i64 = 30 * MS;
const MOST_WINDOW_NS: i64 = 120 * MS;
/// And over at least so many full packets.
const WINDOW_BYTES: u64 = 10 * 1500;
/// A silence of so long is no part of a rate.
const GAP_NS: i64 = 60 * MS;
/// The queue is drained with a time constant of this many round trips and so long.
const DRAIN_RTTS: f64 = 2.0;
const DRAIN_NS: f64 = 40e6;
/// While it drains at least this share of the capacity goes on.
const LEAST_SHARE: f64 = 0.1;
/// What passes is at least this share of the rate where the rate is what holds it back.
const FILLED: f64 = 0.9;
/// Below this share of the capacity the rate is set to drain.
const DRAINING: f64 = 0.9;
/// The climb: a share of the rate per second (another where the same capacity is met again and again), how fast
/// that grows, and the most.
const CLIMB: f64 = 0.8;
const CALM_CLIMB: f64 = 0.08;
const CLIMB_FASTER: f64 = 2.5;
const MOST_CLIMB: f64 = 2.5;
/// After meeting the same capacity again the climb waits, twice as long each time.
const WAIT_NS: i64 = 60 * MS;
const MOST_CALM: u32 = 3;
const SAME: f64 = 0.1;
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
    /// Since when the delay is beyond the threshold.
    over: Option<Over>,
    climbing_from_ns: i64,
    calm: u32,
    met_bps: Option<f64>,
    noise_ns: f64,
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
            calm: 0,
            met_bps: None,
            noise_ns: 0.0,
            owned: 0.0,
            rebased: 0,
        }
    }

    pub fn threshold_ns(&self) -> i64 {
        THRESHOLD_NS + self.noise_ns as i64
    }

    pub fn owned(&self) -> bool {
        self.owned > 0.3
    }

    pub fn step(&mut self, tick: Tick) -> Why {
        let dt_ns = self.history.back().map_or(0, |last| tick.t_ns - last.t_ns);
        self.history.push_back(tick);
        while self
            .history
            .front()
            .is_some_and(|first| tick.t_ns - first.t_ns > HISTORY_NS)
        {
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
        if queue_ns > self.threshold_ns() {
            return self.theirs(&tick, queue_ns);
        }
        if self.over.take().is_some() {
            self.met(tick.t_ns);
        }
        // What a path does by itself, such as Wi-Fi beyond, is learnt while the queue is ours.
        if self.owned() {
            self.noise_ns += ((queue_ns as f64 - self.noise_ns) * dt_ns as f64 / (2.0 * SECOND)).min(0.05e6);
        }
        self.climb(tick.t_ns, dt_ns)
    }

    /// Nobody says what waits beyond.
    fn unseen(&mut self, tick: &Tick) -> Why {
        let t_ns = tick.t_ns;
        self.climbing_from_ns = self.climbing_from_ns.max(t_ns);
        let patience_ns = DRAINS_NS + 2 * tick.rtt_ns.unwrap_or(50 * MS);
        // What is drained without anybody to say how far is done after a while.
        if self.over.is_some_and(|over| t_ns - over.seen_ns > patience_ns) {
            self.over = None;
            self.met(t_ns);
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
        let measured = self.measured(tick.t_ns, over.since_ns, rtt_ns);
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
        // What passes while the queue drains is what I let through, unless the queue grows all the same.
        let draining = self.capacity_bps.is_some_and(|bps| rate < bps * DRAINING);
        if let Some(bps) = measured.filter(|_| !mine) {
            if !draining || self.rising(tick.t_ns) || self.capacity_bps.is_some_and(|before| bps > before) {
                self.capacity_bps = Some(bps);
            }
        }
        if let (Some(bps), true) = (self.capacity_bps, measured.is_some()) {
            let drain_ns = DRAIN_RTTS * rtt_ns as f64 + DRAIN_NS;
            let excess_ns = (queue_ns - self.threshold_ns()) as f64;
            let in_vain = tick.t_ns - over.since_ns > DRAINS_NS + 2 * rtt_ns
                && queue_ns as f64 > over.most_ns as f64 * HELPED;
            let drained = if in_vain { 0.0 } else { excess_ns / drain_ns };
            self.rate_bps = Some((bps * (self.share - drained).max(LEAST_SHARE)).max(LEAST_BPS));
        }
        Why::Theirs
    }

    /// The queue beyond is gone.
    fn met(&mut self, t_ns: i64) {
        let Some(bps) = self.capacity_bps else { return };
        let again = self
            .met_bps
            .is_some_and(|before| (bps / before - 1.0).abs() < SAME);
        self.calm = if again { (self.calm + 1).min(MOST_CALM) } else { 0 };
        self.met_bps = Some(bps);
        self.rate_bps = Some(bps * self.share);
        self.climbing_from_ns = t_ns + (WAIT_NS << self.calm);
    }

    fn climb(&mut self, t_ns: i64, dt_ns: i64) -> Why {
        let Some(rate) = self.rate_bps else {
            return Why::Hold;
        };
        // A queue of mine that only empties says nothing of the ISP.
        let filled = self.up || self.passing(t_ns).is_none_or(|bps| bps >= rate * FILLED);
        if !self.owned() || !filled {
            // Not asked for more than there is.
            self.climbing_from_ns = self.climbing_from_ns.max(t_ns);
            return self.carrying(t_ns);
        }
        let for_s = (t_ns - self.climbing_from_ns) as f64 / SECOND;
        if for_s <= 0.0 {
            return Why::Hold;
        }
        let begin = if self.calm == 0 { CLIMB } else { CALM_CLIMB };
        let climb = (begin + CLIMB_FASTER * for_s).min(MOST_CLIMB);
        let rate = rate * (1.0 + climb * dt_ns as f64 / SECOND);
        // Beyond what was met last: it has moved, and nothing is known of where to.
        if self.met_bps.is_some_and(|met| rate > met * (1.0 + SAME)) {
            self.calm = 0;
        }
        self.rate_bps = Some(rate);
        Why::Climb
    }

    /// What passed of late, in bit/s.
    fn passing(&self, t_ns: i64) -> Option<f64> {
        let mut late = self
            .history
            .iter()
            .filter(|tick| t_ns - tick.t_ns <= MOST_WINDOW_NS);
        let begin_ns = late.next()?.t_ns;
        let bytes: u64 = late.map(|tick| tick.bytes).sum();
        (t_ns - begin_ns >= LEAST_WINDOW_NS).then(|| bytes as f64 * 8.0 * SECOND / (t_ns - begin_ns) as f64)
    }

    /// What the ISP carried since its queue was there, in bit/s; None: too little to say.
    fn measured(&self, t_ns: i64, since_ns: i64, rtt_ns: i64) -> Option<f64> {
        let from_ns = since_ns.max(t_ns - MOST_WINDOW_NS);
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
        (took_ns >= LEAST_WINDOW_NS && bytes >= WINDOW_BYTES.min(bytes_in(self.capacity_bps)))
            .then(|| bytes as f64 * 8.0 * SECOND / took_ns as f64)
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

/// What a known capacity carries in the longest window: a slow link never has ten packets of it.
fn bytes_in(capacity_bps: Option<f64>) -> u64 {
    capacity_bps
        .map_or(u64::MAX, |bps| {
            (bps * MOST_WINDOW_NS as f64 / SECOND / 8.0 / 2.0) as u64
        })
        .max(3000)
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
