//! Copies: packets that are in the log twice or more, as of a port mirror, a bridge, or all interfaces of a router.
//!
//! Two packets of one direction that agree in numbers, length, flags, window, timestamps and SACK are one packet, or it was
//! sent again. What tells, in this order, where at most a second lies between them:
//! - IPv4's identification, where the sender counts it up: a copy has the same, what is sent again another one. It tells
//!   nothing where it is 0 (RFC 6864: FreeBSD, macOS, iOS), or one number for all packets.
//! - TTL: a copy that passed a router has another one.
//! - A timestamp that is still the same after 20 ms: the sender's clock has gone on by then.
//! - Time: within the least round trip seen, or 3 ms before there is one, nothing can be asked for and sent again. An ACK without
//!   payload can be repeated at once, so for these time tells only where other packets of the connection come twice.
//!
//! TCP's checksum is not asked: of what is sent again it is the same, and offloads change that of copies.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::headers::{flag, Segment};

/// What shows that a packet is a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Identification,
    Ttl,
    Timestamp,
    Time,
}

/// Each by its bit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Evidence(u8);

impl Evidence {
    pub fn add(&mut self, by: By) {
        self.0 |= 1 << by as u8;
    }

    pub fn merge(&mut self, other: Evidence) {
        self.0 |= other.0;
    }

    pub fn words(self) -> Option<String> {
        let names = ["identification", "ttl", "timestamp", "time"];
        let said: Vec<&str> = (0..4).filter(|i| self.0 >> i & 1 == 1).map(|i| names[i]).collect();
        (!said.is_empty()).then(|| said.join(","))
    }
}

/// The longest time between a packet and its copy: what a queue between two interfaces holds.
const LONGEST_NS: i64 = 1_000_000_000;
/// Clocks of timestamps tick at least so often, but for some of the last century.
const TICK_NS: i64 = 20_000_000;
/// Without any RTT nothing is sent again within this.
const SOON_NS: i64 = 3_000_000;
/// The first packets of a direction are remembered for as long: where all come twice, so do these.
const FIRST: usize = 512;
/// The last packets that are remembered where none has come twice, as of a bridge for a moment.
const FEW: usize = 8;
/// Packets of one direction that are remembered at most.
const MOST: usize = 1 << 20;

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    t_ns: i64,
    id: Option<u16>,
    ttl: u8,
}

/// The packets of one direction.
#[derive(Debug, Clone, Default)]
pub struct Copies {
    /// The last few, and where the next one goes.
    few: [(u64, Seen); FEW],
    next: usize,
    /// The first ones, and when the first of all came.
    first: Vec<(u64, Seen)>,
    first_ns: Option<i64>,
    id_varies: bool,
    /// All of the last second, where packets come twice.
    all: Option<Box<All>>,
}

#[derive(Debug, Clone, Default)]
struct All {
    seen: FxHashMap<u64, Seen>,
    order: VecDeque<(i64, u64)>,
}

/// What is known of the connection when a packet comes.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    /// It brings something new, so that it is no copy.
    pub advances: bool,
    pub round_trip_ns: Option<i64>,
    /// Packets of the connection come twice.
    pub doubled: bool,
}

impl Copies {
    /// Whether this packet is a copy of one before, and what shows it. It is remembered if not.
    #[inline]
    pub fn see(&mut self, t_ns: i64, segment: &Segment, known: Known) -> Option<By> {
        let print = print(segment);
        let now = Seen { t_ns, id: segment.ip_id, ttl: segment.ttl };
        if !known.advances {
            let by = self.find(print).and_then(|seen| self.judge(seen, now, segment, known));
            if by.is_some() {
                self.keep_all();
                return by;
            }
        }
        self.remember(print, now);
        None
    }

    /// From now on all packets of the last second are remembered, and the first ones are among them.
    #[cold]
    fn keep_all(&mut self) {
        if self.all.is_none() {
            let all = self.all.insert(Box::default());
            for (print, seen) in self.first.drain(..).chain(self.few) {
                all.remember(print, seen);
            }
        }
    }

    #[inline]
    fn remember(&mut self, print: u64, now: Seen) {
        let first_ns = *self.first_ns.get_or_insert(now.t_ns);
        if let Some(all) = &mut self.all {
            all.remember(print, now);
        } else if self.first.len() < FIRST && (now.t_ns - first_ns).abs() <= LONGEST_NS {
            self.first.push((print, now));
        } else if !self.first.is_empty() && now.t_ns - first_ns > LONGEST_NS {
            self.first = Vec::new();
        }
        let last = self.few[(self.next + FEW - 1) % FEW];
        self.id_varies |= last.0 != 0 && last.1.id != now.id;
        self.few[self.next] = (print, now);
        self.next = (self.next + 1) % FEW;
    }

    #[inline]
    fn find(&self, print: u64) -> Option<Seen> {
        let of = |some: &[(u64, Seen)]| some.iter().rfind(|(p, _)| *p == print).map(|(_, seen)| *seen);
        match &self.all {
            Some(all) => all.seen.get(&print).copied(),
            None => of(&self.few).or_else(|| of(&self.first)),
        }
    }

    fn judge(&self, seen: Seen, now: Seen, segment: &Segment, known: Known) -> Option<By> {
        // Times may go backwards, by as much as two interfaces are apart.
        let lag = (now.t_ns - seen.t_ns).abs();
        if lag > LONGEST_NS {
            return None;
        }
        let counted = |id: Option<u16>| id.is_some_and(|id| id != 0);
        if self.id_varies && (counted(now.id) || counted(seen.id)) {
            return (now.id == seen.id).then_some(By::Identification);
        }
        if now.ttl != seen.ttl {
            return Some(By::Ttl);
        }
        if lag >= TICK_NS && segment.options.timestamps.is_some() {
            return Some(By::Timestamp);
        }
        let bare = segment.payload_len == 0 && segment.flags & (flag::SYN | flag::FIN) == 0;
        (lag < known.round_trip_ns.unwrap_or(SOON_NS) && (!bare || known.doubled)).then_some(By::Time)
    }
}

impl All {
    fn remember(&mut self, print: u64, now: Seen) {
        while let Some((t_ns, old)) = self.order.front().copied() {
            if now.t_ns - t_ns <= LONGEST_NS {
                break;
            }
            self.order.pop_front();
            if self.seen.get(&old).is_some_and(|seen| seen.t_ns == t_ns) {
                self.seen.remove(&old);
            }
        }
        if self.order.len() < MOST {
            self.order.push_back((now.t_ns, print));
            self.seen.insert(print, now);
        }
    }
}

/// What copies have in common with their original, in one number.
#[inline]
fn print(segment: &Segment) -> u64 {
    let pair = |a: u32, b: u32| u64::from(a) << 32 | u64::from(b);
    let (tsval, tsecr) = segment.options.timestamps.unwrap_or_default();
    let (from, to) = segment.options.sack[0];
    let rest =
        u64::from(segment.payload_len) << 24 | u64::from(segment.window) << 8 | u64::from(segment.flags);
    [pair(segment.seq, segment.ack), pair(tsval, tsecr), pair(from, to), rest]
        .iter()
        .fold(0u64, |hash, word| (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}
