//! Delay beyond the home router, each way by itself, from the TCP timestamps of what is forwarded (RFC 7323).
//!
//! A peer writes its clock into each segment: arrival less that clock is the way down, but for a constant. It echoes
//! ours: its clock at the echo less our sending is the way up, but for a constant. What is above a flow's own least
//! of the last minute has waited. Nothing is sent for this, and neither address nor clock of the peer matters.
//!
//! An acknowledgement of one segment may have waited for a second one (RFC 9293: up to 500 ms). So a flow that sends
//! data is judged by acknowledgements of two segments, from when the second of them left.

use std::collections::{HashMap, VecDeque};

use crate::watch::{FlowKey, Tcp};
use narrows_units::MS;

/// A least is kept over one to two of these: clocks drift by some 50 millionths, 3 ms a minute.
const BASE_NS: i64 = 30_000 * MS;
/// A flow's delay is the least of its samples of so long.
const RECENT_NS: i64 = 50 * MS;
/// A clock is believed when it has been seen for so long.
const CLOCK_SEEN_NS: i64 = 200 * MS;
/// A flow that is older has seen more than its own begin.
const ESTABLISHED_NS: i64 = 1_000 * MS;
const FORGOTTEN_NS: i64 = 60_000 * MS;
const MOST_FLOWS: usize = 4096;
const MOST_SENT: usize = 1024;
/// An acknowledgement of more is one of two segments at least, and did not wait.
const TWO_SEGMENTS_BYTES: u32 = 2000;
/// A flow that has sent data within this is judged by its data.
const SENDS_NS: i64 = 2_000 * MS;
/// What the clocks of peers tick at [ns]: Linux with microseconds, most, and older ones. RFC 7323 allows 1 ms to 1 s;
/// slower than 4 ms is too coarse to see a queue with.
const TICKS_NS: [i64; 3] = [1_000, MS, 4 * MS];

/// The least over a while that moves on, and can be begun again.
#[derive(Clone, Copy, Debug)]
struct Least {
    now: i64,
    before: i64,
    since: i64,
}

impl Least {
    const NONE: Least = Least { now: i64::MAX, before: i64::MAX, since: i64::MIN };

    fn add(&mut self, t: i64, value: i64) -> i64 {
        if self.since == i64::MIN {
            self.since = t;
        } else if t - self.since > BASE_NS {
            (self.before, self.now, self.since) = (self.now, i64::MAX, t);
        }
        self.now = self.now.min(value);
        self.get()
    }

    fn get(&self) -> i64 {
        self.now.min(self.before)
    }
}

/// One way of a flow: its least, and the raw values of late.
#[derive(Clone, Debug)]
struct Way {
    least: Least,
    recent: VecDeque<(i64, i64)>,
}

impl Way {
    fn new() -> Way {
        Way { least: Least::NONE, recent: VecDeque::new() }
    }

    fn add(&mut self, t: i64, value: i64) {
        self.least.add(t, value);
        self.recent.push_back((t, value));
        self.forget(t);
    }

    fn forget(&mut self, now: i64) {
        while self.recent.front().is_some_and(|(t, _)| now - t > RECENT_NS) {
            self.recent.pop_front();
        }
    }

    /// What the luckiest packet of late has waited.
    fn waited(&mut self, now: i64) -> Option<i64> {
        self.forget(now);
        let least = self.recent.iter().map(|(_, v)| *v).min()?;
        Some(least - self.least.get())
    }

    /// What is now is taken as empty.
    fn rebase(&mut self) {
        if let Some(least) = self.recent.iter().map(|(_, v)| *v).min() {
            self.least.now = least;
            self.least.before = i64::MAX;
        }
    }
}

struct Flow {
    /// Our stamps that have left and are not echoed yet, with their time.
    sent: VecDeque<(u32, i64)>,
    /// Ends of data segments that have left and are not acknowledged yet, with their time.
    data: VecDeque<(u32, i64)>,
    /// The furthest end of data, and what has been acknowledged.
    furthest: Option<u32>,
    acked: Option<u32>,
    data_ns: i64,
    /// The peer's first stamp, and what it has advanced since.
    first: Option<(u32, i64)>,
    newest: u32,
    ticks: i64,
    tick_ns: Option<i64>,
    down: Way,
    up: Way,
    rtt: Least,
    last_ns: i64,
}

/// What all flows say of one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reading {
    /// Waited in the queue beyond, in ns; None: nobody saw.
    pub down_ns: Option<i64>,
    pub up_ns: Option<i64>,
    /// The median flow's least round trip beyond the home router.
    pub rtt_ns: Option<i64>,
    pub flows: usize,
}

#[derive(Default)]
pub struct Stamps {
    flows: HashMap<FlowKey, Flow>,
    swept_ns: i64,
}

impl Stamps {
    pub fn packet(&mut self, t_ns: i64, up: bool, tcp: &Tcp) {
        let Some((value, echo)) = tcp.stamps else { return };
        if !self.flows.contains_key(&tcp.key) && self.flows.len() >= MOST_FLOWS {
            return;
        }
        let flow = self.flows.entry(tcp.key).or_insert_with(Flow::new);
        flow.last_ns = t_ns;
        if up {
            flow.left(t_ns, value);
            flow.sent_data(t_ns, tcp);
        } else {
            let whole = if tcp.ack { flow.acknowledged(tcp.acked) } else { None };
            flow.arrived(t_ns, value, if tcp.ack { Some(echo) } else { None }, whole);
        }
    }

    /// The upper median of the flows that saw something of late; those that have seen more than their begin, if any.
    /// One flow with another problem moves it little, and in one queue all see the same.
    pub fn read(&mut self, now: i64) -> Reading {
        if now - self.swept_ns > 5_000 * MS {
            self.swept_ns = now;
            self.flows.retain(|_, flow| now - flow.last_ns < FORGOTTEN_NS);
        }
        let (mut down, mut up, mut rtts) = (Seen::default(), Seen::default(), Vec::new());
        let mut seen = 0;
        for flow in self.flows.values_mut() {
            if now - flow.last_ns > RECENT_NS || flow.tick_ns.is_none() {
                continue;
            }
            let old = flow.first.is_some_and(|(_, t)| flow.last_ns - t > ESTABLISHED_NS);
            let found = [down.add(flow.down.waited(now), old), up.add(flow.up.waited(now), old)];
            seen += usize::from(found.contains(&true));
            if flow.rtt.get() < i64::MAX {
                rtts.push(flow.rtt.get());
            }
        }
        Reading { down_ns: down.median(), up_ns: up.median(), rtt_ns: median(&mut rtts), flows: seen }
    }

    /// A way's delay of now is taken as that of an empty queue: the path has become longer.
    pub fn rebase(&mut self, up: bool) {
        for flow in self.flows.values_mut() {
            if up { &mut flow.up } else { &mut flow.down }.rebase();
        }
    }
}

#[derive(Default)]
struct Seen {
    young: Vec<i64>,
    old: Vec<i64>,
}

impl Seen {
    fn add(&mut self, waited: Option<i64>, old: bool) -> bool {
        let list = if old { &mut self.old } else { &mut self.young };
        list.extend(waited);
        waited.is_some()
    }

    fn median(mut self) -> Option<i64> {
        let list = if self.old.is_empty() { &mut self.young } else { &mut self.old };
        median(list)
    }
}

fn median(list: &mut [i64]) -> Option<i64> {
    list.sort_unstable();
    list.get(list.len() / 2).copied()
}

impl Flow {
    fn new() -> Flow {
        Flow {
            sent: VecDeque::new(),
            data: VecDeque::new(),
            furthest: None,
            acked: None,
            data_ns: i64::MIN / 2,
            first: None,
            newest: 0,
            ticks: 0,
            tick_ns: None,
            down: Way::new(),
            up: Way::new(),
            rtt: Least::NONE,
            last_ns: 0,
        }
    }

    fn left(&mut self, t: i64, value: u32) {
        if self.sent.back().is_some_and(|(newest, _)| value.wrapping_sub(*newest) as i32 <= 0) {
            return;
        }
        if self.sent.len() == MOST_SENT {
            self.sent.pop_front();
        }
        self.sent.push_back((value, t));
    }

    fn sent_data(&mut self, t: i64, tcp: &Tcp) {
        if tcp.payload == 0 {
            return;
        }
        self.data_ns = t;
        let end = tcp.seq.wrapping_add(tcp.payload);
        if self.furthest.is_some_and(|furthest| end.wrapping_sub(furthest) as i32 <= 0) {
            // Sent again: which of the two is acknowledged cannot be told.
            self.data.clear();
            return;
        }
        self.furthest = Some(end);
        if self.data.len() == MOST_SENT {
            self.data.pop_front();
        }
        self.data.push_back((end, t));
    }

    /// When the segment had left whose arrival made the peer acknowledge two or more.
    fn acknowledged(&mut self, ack: u32) -> Option<i64> {
        let before = self.acked.replace(ack)?;
        let advanced = ack.wrapping_sub(before);
        if advanced as i32 <= 0 {
            self.acked = Some(before);
            return None;
        }
        let mut found = None;
        while let Some(&(end, sent)) = self.data.front() {
            if end.wrapping_sub(ack) as i32 > 0 {
                break;
            }
            self.data.pop_front();
            found = (end == ack).then_some(sent);
        }
        found.filter(|_| advanced > TWO_SEGMENTS_BYTES)
    }

    /// `whole`: when the data had left that this acknowledges without having waited.
    fn arrived(&mut self, t: i64, value: u32, echo: Option<u32>, whole: Option<i64>) {
        let Some((_, first_ns)) = self.first else {
            (self.first, self.newest) = (Some((value, t)), value);
            self.echoed(t, echo);
            return;
        };
        let advanced = value.wrapping_sub(self.newest) as i32;
        // Of the packets of one tick the first is the nearest to it; an older stamp is of a packet out of order.
        if advanced > 0 {
            self.newest = value;
            self.ticks += i64::from(advanced);
            self.clock(t - first_ns);
            if let Some(tick) = self.tick_ns {
                self.down.add(t, t - first_ns - self.ticks * tick);
            }
        }
        let echoed = self.echoed(t, echo);
        let sent = if t - self.data_ns < SENDS_NS { whole } else { echoed };
        if let (Some(sent), Some(tick), 0..) = (sent, self.tick_ns, advanced) {
            self.up.add(t, self.ticks * tick - (sent - first_ns));
        }
    }

    /// When what is echoed for the first time had left.
    fn echoed(&mut self, t: i64, echo: Option<u32>) -> Option<i64> {
        let echo = echo?;
        while let Some(&(value, sent)) = self.sent.front() {
            let ahead = value.wrapping_sub(echo) as i32;
            if ahead > 0 {
                return None;
            }
            self.sent.pop_front();
            if ahead == 0 {
                self.rtt.add(t, t - sent);
                return Some(sent);
            }
        }
        None
    }

    /// How fast the peer's clock ticks, once it has been seen for long enough.
    fn clock(&mut self, elapsed_ns: i64) {
        if self.tick_ns.is_some() || elapsed_ns < CLOCK_SEEN_NS {
            return;
        }
        let measured = elapsed_ns / self.ticks.max(1);
        self.tick_ns = TICKS_NS.into_iter().find(|tick| (measured - tick).abs() * 4 < *tick);
    }
}

#[cfg(test)]
#[path = "stamps_tests.rs"]
mod tests;
