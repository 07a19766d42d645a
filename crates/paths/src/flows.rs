//! The table of connections of one log: finds each segment's connection, and ends those that are over.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::aggregate::Aggregate;
use crate::connection::{Connection, Key};
use crate::half::Acked;
use crate::headers::Segment;
use crate::sessions::{Rules, Session, Sessions};

#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections that are kept at once.
    pub connections: usize,
    /// A connection without a packet for this long is over.
    pub idle_ns: i64,
}

/// After both FINs or a reset, late packets still belong to the connection for this long.
const LINGER_NS: i64 = 10_000_000_000;
/// How often, in the log's time, the table is searched for connections that are over.
const SWEEP_NS: i64 = 5_000_000_000;

/// Takes what comes out.
pub trait Sink {
    fn connection(&mut self, connection: &Connection, aggregate: &Aggregate);
    fn session(&mut self, session: &Session);
    /// One ACK that acknowledged something new, for data of side `sender`.
    fn ack(&mut self, connection: &Connection, sender: usize, t_ns: i64, acked: Acked, has_sack: bool);
}

#[derive(Debug)]
pub struct Flows {
    limits: Limits,
    by_key: FxHashMap<Key, u32>,
    /// Addresses and ports that connections of several networks (VLANs, tunnels) have.
    overlapping: FxHashSet<Key>,
    slots: Vec<Option<Box<Connection>>>,
    free: Vec<u32>,
    last: Option<(Key, u32)>,
    begun: u64,
    now_ns: i64,
    swept_ns: i64,
    since_sweep: usize,
    sessions: Sessions,
    /// Connections that were ended early, as the table was full.
    pub evicted: u64,
}

impl Flows {
    pub fn new(limits: Limits, rules: Rules) -> Self {
        Flows {
            limits,
            by_key: FxHashMap::default(),
            overlapping: FxHashSet::default(),
            slots: Vec::new(),
            free: Vec::new(),
            last: None,
            begun: 0,
            now_ns: i64::MIN,
            swept_ns: i64::MIN,
            since_sweep: 0,
            sessions: Sessions::new(rules),
            evicted: 0,
        }
    }

    #[inline]
    pub fn segment(&mut self, t_ns: i64, segment: &Segment, sink: &mut impl Sink) {
        self.now_ns = self.now_ns.max(t_ns);
        let (mut key, side) = Key::of(segment);
        if !self.overlapping.is_empty() && self.overlapping.contains(&key) {
            key.outer = segment.outer;
        }
        let mut slot = match self.last {
            Some((last, slot)) if last == key => Some(slot),
            _ => self.by_key.get(&key).copied(),
        };
        if let Some(at) = slot {
            if segment.flags & crate::headers::flag::SYN != 0 {
                if let Some(connection) = self.slots[at as usize].as_deref() {
                    if key.outer == 0 && connection.is_of_another_network(side, segment) {
                        self.tell_apart(at, side);
                        key.outer = segment.outer;
                        slot = self.by_key.get(&key).copied();
                    } else if connection.is_reused_by(t_ns, side, segment) {
                        self.finish(at, sink);
                        slot = None;
                    }
                }
            }
        }
        let slot = slot.unwrap_or_else(|| self.begin(key, t_ns, side, segment, sink));
        self.last = Some((key, slot));
        if let Some(connection) = self.slots[slot as usize].as_deref_mut() {
            if let Some(acked) =
                connection.on_segment(t_ns, side, segment).filter(|a| a.bytes > 0 || a.rtt_ns.is_some())
            {
                sink.ack(connection, 1 - side, t_ns, acked, segment.options.sack_blocks > 0);
            }
        }
        self.since_sweep += 1;
        if self.now_ns.saturating_sub(self.swept_ns) > SWEEP_NS && self.since_sweep > self.by_key.len() {
            self.sweep(sink);
        }
    }

    /// From now on the network around its packets is part of this connection's key.
    #[cold]
    fn tell_apart(&mut self, slot: u32, side: usize) {
        let Some(connection) = self.slots[slot as usize].as_deref_mut() else {
            return;
        };
        self.overlapping.insert(connection.key);
        self.by_key.remove(&connection.key);
        connection.key.outer = connection.outer[side].unwrap_or(0);
        self.by_key.insert(connection.key, slot);
        self.last = None;
    }

    #[cold]
    fn begin(&mut self, key: Key, t_ns: i64, side: usize, first: &Segment, sink: &mut impl Sink) -> u32 {
        if self.by_key.len() >= self.limits.connections {
            self.evict(sink);
        }
        let connection = Box::new(Connection::new(key, self.begun, t_ns, side, first));
        self.begun += 1;
        if let Some(session) = self.sessions.begin(&connection) {
            sink.session(&session);
        }
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(connection);
                slot
            }
            None => {
                self.slots.push(Some(connection));
                self.slots.len() as u32 - 1
            }
        };
        self.by_key.insert(key, slot);
        slot
    }

    fn finish(&mut self, slot: u32, sink: &mut impl Sink) {
        let Some(connection) = self.slots[slot as usize].take() else {
            return;
        };
        self.by_key.remove(&connection.key);
        self.free.push(slot);
        self.last = None;
        let aggregate = Aggregate::of(&connection);
        sink.connection(&connection, &aggregate);
        self.sessions.end(&connection, &aggregate);
    }

    #[cold]
    fn sweep(&mut self, sink: &mut impl Sink) {
        (self.swept_ns, self.since_sweep) = (self.now_ns, 0);
        let (now, idle) = (self.now_ns, self.limits.idle_ns);
        self.finish_where(sink, |c| {
            let quiet = now - c.last_ns;
            quiet > idle || (c.is_closed() && quiet > LINGER_NS)
        });
        for session in self.sessions.ended(Some(now)) {
            sink.session(&session);
        }
    }

    /// Ends the sixteenth of all connections that is idle for longest.
    #[cold]
    fn evict(&mut self, sink: &mut impl Sink) {
        self.sweep(sink);
        if self.by_key.len() < self.limits.connections {
            return;
        }
        let mut times: Vec<i64> = self.slots.iter().flatten().map(|c| c.last_ns).collect();
        let at = times.len() / 16;
        let (_, limit, _) = times.select_nth_unstable(at);
        let limit = *limit;
        let before = self.by_key.len();
        self.finish_where(sink, |c| c.last_ns <= limit);
        self.evicted += (before - self.by_key.len()) as u64;
    }

    fn finish_where(&mut self, sink: &mut impl Sink, over: impl Fn(&Connection) -> bool) {
        for slot in 0..self.slots.len() {
            if self.slots[slot].as_deref().is_some_and(&over) {
                self.finish(slot as u32, sink);
            }
        }
    }

    /// Ends everything. How many connections there were, and how many sessions were too short.
    pub fn close(&mut self, sink: &mut impl Sink) -> (u64, u64) {
        self.finish_where(sink, |_| true);
        for session in self.sessions.ended(None) {
            sink.session(&session);
        }
        (self.begun, self.sessions.short)
    }
}
