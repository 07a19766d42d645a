//! UDP conversations: who sent how much to whom and when, and what the payload shows of QUIC and of RTP.

pub mod quic;
pub mod rtp;

use rustc_hash::FxHashMap;

use crate::connection::Key;
use crate::headers::Datagram;
use narrows_units::S;
use quic::keys::KeyLog;
use quic::{Cid, Quic};
use rtp::Stream;

/// What one side sent.
#[derive(Debug, Default, Clone)]
pub struct Side {
    pub datagrams: u64,
    pub bytes: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    /// The longest time between two of them.
    pub longest_gap_ns: Option<i64>,
    /// ECN marks: ECT(1), ECT(0), CE.
    pub marks: [u64; 3],
    /// The largest payload of a second.
    pub peak_bytes: u64,
    second: Second,
}

/// What one side sent in a second of the log's time.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Second {
    pub begin_ns: i64,
    pub datagrams: u64,
    pub bytes: u64,
    pub longest_gap_ns: i64,
}

/// One conversation: two ends, and all that passed between them without a pause of `idle_ns`.
#[derive(Debug)]
pub struct Conversation {
    pub number: u64,
    pub key: Key,
    /// Who sent first.
    pub client: usize,
    pub first_ns: i64,
    pub last_ns: i64,
    pub sides: [Side; 2],
    pub quic: Option<Box<Quic>>,
    pub streams: Vec<Stream>,
    /// How often a QUIC connection went on between other addresses or ports.
    pub migrations: u64,
}

/// Takes what comes out.
pub trait Sink {
    fn conversation(&mut self, conversation: &Conversation);
    fn second(&mut self, conversation: u64, is_client: bool, second: &Second);
}

/// All conversations of one log.
#[derive(Debug)]
pub struct Conversations {
    by_key: FxHashMap<Key, u32>,
    /// The last conversation of two ends, in whatever network.
    by_ends: FxHashMap<Key, u32>,
    by_cid: FxHashMap<Cid, u32>,
    slots: Vec<Option<Box<Conversation>>>,
    keys: KeyLog,
    most: usize,
    idle_ns: i64,
    begun: u64,
    swept_ns: i64,
    pub evicted: u64,
    with_qlog: bool,
}

impl Conversations {
    /// `most` are kept at once; one that is quiet for `idle_ns` is over.
    pub fn new(most: usize, idle_ns: i64, keys: KeyLog, with_qlog: bool) -> Self {
        Conversations {
            by_key: FxHashMap::default(),
            by_ends: FxHashMap::default(),
            by_cid: FxHashMap::default(),
            slots: Vec::new(),
            keys,
            most,
            idle_ns,
            begun: 0,
            swept_ns: i64::MIN,
            evicted: 0,
            with_qlog,
        }
    }

    /// More secrets, of a block of the log itself.
    pub fn add_keys(&mut self, text: &str) {
        self.keys.add(text);
    }

    pub fn datagram(&mut self, t_ns: i64, datagram: &Datagram, sink: &mut impl Sink) {
        let (key, side) = Key::of_ends(
            (datagram.source, datagram.source_port),
            (datagram.target, datagram.target_port),
            datagram.v6,
            datagram.outer,
        );
        if self.swept_ns.saturating_add(self.idle_ns.min(60 * S)) < t_ns {
            self.swept_ns = t_ns;
            self.finish_where(sink, |c, idle| t_ns.saturating_sub(c.last_ns) > idle);
        }
        let slot = match self.by_key.get(&key) {
            Some(slot) => *slot,
            None => match self.one_way(key, side).or_else(|| self.migrated(key, datagram)) {
                Some(slot) => slot,
                None => self.begin(key, side, t_ns, sink),
            },
        };
        let Some(conversation) = self.slots[slot as usize].as_deref_mut() else {
            return;
        };
        // Behind a migration the sides are those of the new addresses.
        let side = conversation.side_of(key, side, datagram);
        conversation.count(t_ns, side, datagram, sink);
        let with_qlog = self.with_qlog;
        if conversation.quic.is_none() && quic::begins(&datagram.payload) {
            conversation.quic = Some(Box::new(Quic::new(side, with_qlog)));
        }
        if let Some(quic) = &mut conversation.quic {
            quic.datagram(t_ns, side, &datagram.payload, datagram.len, &self.keys);
            for cid in quic.new_cids.drain(..) {
                self.by_cid.insert(cid, slot);
            }
        } else {
            rtp::follow(&mut conversation.streams, t_ns, side, &datagram.payload);
        }
    }

    /// The conversation of these ends in another network that lacks this direction: a mirror may tag one direction only.
    fn one_way(&mut self, key: Key, side: usize) -> Option<u32> {
        let slot = *self.by_ends.get(&Key { outer: 0, ..key })?;
        let conversation = self.slots[slot as usize].as_deref()?;
        (conversation.sides[side].datagrams == 0).then_some(())?;
        self.by_key.insert(key, slot);
        Some(slot)
    }

    /// The connection that a packet between unknown ends names by an id.
    fn migrated(&mut self, key: Key, datagram: &Datagram) -> Option<u32> {
        let slot = *quic::short_ids(&datagram.payload).find_map(|cid| self.by_cid.get(&cid))?;
        let conversation = self.slots[slot as usize].as_deref_mut()?;
        // One end stays where it was.
        let stays =
            [key.low, key.high].iter().any(|end| [conversation.key.low, conversation.key.high].contains(end));
        if !stays {
            return None;
        }
        conversation.migrations += 1;
        self.by_key.insert(key, slot);
        Some(slot)
    }

    fn begin(&mut self, key: Key, side: usize, t_ns: i64, sink: &mut impl Sink) -> u32 {
        if self.by_key.len() >= self.most {
            let mut times: Vec<i64> = self.slots.iter().flatten().map(|c| c.last_ns).collect();
            let at = times.len() / 16;
            let oldest = *times.select_nth_unstable(at).1;
            let before = self.by_key.len();
            self.finish_where(sink, |c, _| c.last_ns <= oldest);
            self.evicted += (before - self.by_key.len()) as u64;
        }
        let conversation = Conversation {
            number: self.begun,
            key,
            client: side,
            first_ns: t_ns,
            last_ns: t_ns,
            sides: [Side::default(), Side::default()],
            quic: None,
            streams: Vec::new(),
            migrations: 0,
        };
        self.begun += 1;
        self.slots.push(Some(Box::new(conversation)));
        let slot = self.slots.len() as u32 - 1;
        self.by_key.insert(key, slot);
        self.by_ends.insert(Key { outer: 0, ..key }, slot);
        slot
    }

    fn finish_where(&mut self, sink: &mut impl Sink, over: impl Fn(&Conversation, i64) -> bool) {
        for place in &mut self.slots {
            if place.as_deref().is_some_and(|c| over(c, self.idle_ns)) {
                if let Some(mut conversation) = place.take() {
                    conversation.end(sink);
                    sink.conversation(&conversation);
                }
            }
        }
        // Slots are given out in the order of numbers, and never again: those at the end that are over go.
        let slots = &self.slots;
        self.by_key.retain(|_, slot| slots[*slot as usize].is_some());
        self.by_ends.retain(|_, slot| slots[*slot as usize].is_some());
        self.by_cid.retain(|_, slot| slots[*slot as usize].is_some());
    }

    /// Ends everything. How many conversations there were.
    pub fn close(&mut self, sink: &mut impl Sink) -> u64 {
        self.finish_where(sink, |_, _| true);
        self.begun
    }
}

impl Conversation {
    fn side_of(&self, key: Key, side: usize, datagram: &Datagram) -> usize {
        if (key.low, key.high) == (self.key.low, self.key.high) {
            return side;
        }
        // The end that stayed tells which side sent.
        let source = (datagram.source, datagram.source_port);
        let target = (datagram.target, datagram.target_port);
        if source == self.key.low || target == self.key.high {
            0
        } else {
            1
        }
    }

    fn count(&mut self, t_ns: i64, side: usize, datagram: &Datagram, sink: &mut impl Sink) {
        self.last_ns = self.last_ns.max(t_ns);
        let (number, is_client) = (self.number, side == self.client);
        let s = &mut self.sides[side];
        let mut gap_ns = 0;
        if s.datagrams == 0 {
            (s.first_ns, s.last_ns) = (t_ns, t_ns);
            s.second.begin_ns = t_ns.div_euclid(S) * S;
        } else {
            gap_ns = (t_ns - s.last_ns).max(0);
            s.longest_gap_ns = Some(s.longest_gap_ns.unwrap_or(0).max(gap_ns));
        }
        if t_ns >= s.second.begin_ns + S {
            sink.second(number, is_client, &s.second);
            s.peak_bytes = s.peak_bytes.max(s.second.bytes);
            s.second = Second { begin_ns: t_ns.div_euclid(S) * S, ..Second::default() };
        }
        s.second.datagrams += 1;
        s.second.bytes += u64::from(datagram.len);
        s.second.longest_gap_ns = s.second.longest_gap_ns.max(gap_ns);
        s.datagrams += 1;
        s.bytes += u64::from(datagram.len);
        s.last_ns = s.last_ns.max(t_ns);
        if datagram.ecn > 0 {
            s.marks[usize::from(datagram.ecn) - 1] += 1;
        }
    }

    fn end(&mut self, sink: &mut impl Sink) {
        for side in [self.client, 1 - self.client] {
            let is_client = side == self.client;
            let s = &mut self.sides[side];
            if s.datagrams > 0 {
                sink.second(self.number, is_client, &s.second);
                s.peak_bytes = s.peak_bytes.max(s.second.bytes);
            }
        }
        if let Some(quic) = &mut self.quic {
            quic.end();
        }
    }

    /// The side with most payload.
    pub fn sender(&self) -> usize {
        match self.sides[1 - self.client].bytes > self.sides[self.client].bytes {
            true => 1 - self.client,
            false => self.client,
        }
    }
}

impl Side {
    /// Payload over the time from the first to the last datagram, bit/s; None of fewer than two.
    pub fn rate_bps(&self) -> Option<f64> {
        let span_ns = self.last_ns - self.first_ns;
        (self.datagrams > 1 && span_ns > 0).then(|| self.bytes as f64 * 8e9 / span_ns as f64)
    }
}
