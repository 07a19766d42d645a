//! One QUIC connection: what its headers show to anybody, and, with its secrets, packet numbers and frames.

pub mod frames;
pub mod header;
mod hello;
pub mod keys;
mod qlog;
pub mod spin;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;

use frames::Frame;
pub use header::Cid;
use header::{Form, Long};
use hello::{Crypto, Hello};
use keys::{KeyLog, Keys, Level, Opened, Suite};
use spin::Spin;

/// The client's Initials of one hello stand within this time; later ones are sent again.
const ONE_HELLO_NS: i64 = 100_000_000;
/// A packet is lost when one sent so many later was acknowledged (RFC 9002, 6.1.1).
const LATER: u64 = 3;

/// Where a packet's number counts: Initial, Handshake, application.
const SPACES: usize = 3;

/// What one side sent, as far as it was opened.
#[derive(Debug, Default)]
pub struct Sent {
    /// Packets opened, of all levels.
    pub opened: u64,
    /// Of the application: how many, and the largest number.
    pub numbered: u64,
    largest: [Option<u64>; SPACES],
    /// When each packet passed that was not acknowledged.
    waiting: BTreeMap<u64, (i64, bool)>,
    lost: BTreeSet<u64>,
    pub lost_packets: u64,
    /// Packets taken for lost that were acknowledged later.
    pub spurious: u64,
    /// Bytes of streams, and those of them that were sent before.
    pub stream_bytes: u64,
    pub resent_bytes: u64,
    streams: FxHashMap<u64, Ranges>,
    /// From this capture to the other side and back, by its acknowledgements.
    pub rtts_ns: Vec<i64>,
}

/// A connection.
#[derive(Debug)]
pub struct Quic {
    pub client: usize,
    pub version: u32,
    pub retried: bool,
    pub negotiated: bool,
    pub zero_rtt_packets: u64,
    /// Packets with a long header, and with a short one.
    pub long_packets: u64,
    pub short_packets: u64,
    /// Packets for which there were secrets, and which they did not open; frames that were not understood.
    pub closed_packets: u64,
    pub unknown_frames: u64,
    pub server_name: Option<String>,
    pub alpn: Option<String>,
    pub has_secrets: bool,
    pub sent: [Sent; 2],
    pub spin: Spin,
    /// Ids that were not known before.
    pub new_cids: Vec<Cid>,
    pub first_target: Option<Cid>,
    pub qlog: Option<qlog::Qlog>,
    /// How long the ids are that each side chose.
    id_len: [Option<usize>; 2],
    hello_ns: Option<(i64, i64)>,
    answer_ns: Option<i64>,
    confirm_ns: Option<i64>,
    initial: Option<[Keys; 2]>,
    crypto: [Crypto; 2],
    random: Option<[u8; 32]>,
    suite: Option<Suite>,
    levels: FxHashMap<(Level, usize), Keys>,
}

/// Whether a conversation in which this payload was met is QUIC: a long header of a version that is known.
pub fn begins(payload: &[u8]) -> bool {
    payload.first().is_some_and(|first| first >> 6 == 3)
        && header::long(payload).is_some_and(|p| p.form != Form::Negotiation && p.bytes.len() >= 20)
}

/// The ids that a packet with a short header may begin with, the longest first.
pub fn short_ids(payload: &[u8]) -> impl Iterator<Item = Cid> + '_ {
    let is_short = payload.first().is_some_and(|first| first & 0x80 == 0);
    (4..=20).rev().filter(move |_| is_short).filter_map(|len| Cid::new(payload.get(1..1 + len)?))
}

impl Quic {
    pub fn new(client: usize, with_qlog: bool) -> Self {
        Quic {
            client,
            version: 0,
            retried: false,
            negotiated: false,
            zero_rtt_packets: 0,
            long_packets: 0,
            short_packets: 0,
            closed_packets: 0,
            unknown_frames: 0,
            server_name: None,
            alpn: None,
            has_secrets: false,
            sent: [Sent::default(), Sent::default()],
            spin: Spin::default(),
            new_cids: Vec::new(),
            first_target: None,
            qlog: with_qlog.then(qlog::Qlog::default),
            id_len: [None; 2],
            hello_ns: None,
            answer_ns: None,
            confirm_ns: None,
            initial: None,
            crypto: [Crypto::default(), Crypto::default()],
            random: None,
            suite: None,
            levels: FxHashMap::default(),
        }
    }

    /// All packets of one datagram, of which `payload` was captured of `len` bytes.
    pub fn datagram(&mut self, t_ns: i64, side: usize, payload: &[u8], len: u32, log: &KeyLog) {
        if side == self.client && self.answer_ns.is_some() {
            self.confirm_ns.get_or_insert(t_ns);
        }
        let is_whole = payload.len() == len as usize;
        let mut rest = payload;
        while let Some(&first) = rest.first() {
            if first & 0x80 == 0 {
                return self.short(t_ns, side, rest, is_whole, log);
            }
            let Some(packet) = header::long(rest) else { return };
            self.long(t_ns, side, &packet, log);
            rest = rest.get(packet.len..).unwrap_or(&[]);
        }
    }

    fn long(&mut self, t_ns: i64, side: usize, packet: &Long<'_>, log: &KeyLog) {
        self.long_packets += 1;
        self.know(side, packet.source);
        let is_client = side == self.client;
        if is_client {
            if packet.form == Form::Initial && self.answer_ns.is_none() {
                let first_ns = self.hello_ns.map_or(t_ns, |(first_ns, _)| first_ns);
                self.hello_ns = Some((first_ns, t_ns));
            }
            self.first_target.get_or_insert(packet.target);
        } else {
            self.answer_ns.get_or_insert(t_ns);
        }
        match packet.form {
            Form::Negotiation => self.negotiated = true,
            Form::Retry => {
                self.retried = true;
                // What follows has keys of the new id.
                self.initial = None;
            }
            Form::ZeroRtt => {
                self.zero_rtt_packets += 1;
                self.open(t_ns, side, packet.bytes, packet.number_at, Level::Early, log);
            }
            Form::Handshake => self.open(t_ns, side, packet.bytes, packet.number_at, Level::Handshake, log),
            Form::Initial => {
                self.version = packet.version;
                self.open_initial(t_ns, side, packet);
            }
            Form::OneRtt => {}
        }
    }

    fn know(&mut self, side: usize, cid: Cid) {
        if self.id_len[side].is_none() || cid.len > 0 {
            self.id_len[side] = Some(usize::from(cid.len));
        }
        // Shorter ones are not known from chance.
        if cid.len >= 4 {
            self.new_cids.push(cid);
        }
    }

    fn open_initial(&mut self, t_ns: i64, side: usize, packet: &Long<'_>) {
        let is_client = side == self.client;
        if self.initial.is_none() && is_client {
            self.initial = Keys::initial(packet.version, &packet.target);
        }
        let largest = self.sent[side].largest[0];
        let opened = self
            .initial
            .as_mut()
            .and_then(|keys| keys[usize::from(!is_client)].open(packet.bytes, packet.number_at, largest));
        let Some(opened) = opened else {
            self.closed_packets += u64::from(self.initial.is_some());
            return;
        };
        let (all, whole) = frames::frames(&opened.frames);
        self.unknown_frames += u64::from(!whole);
        for frame in &all {
            if let Frame::Crypto { offset, data } = frame {
                self.crypto[side].add(*offset, data);
            }
        }
        match self.crypto[side].hello() {
            Some(Hello::Client { random, server_name, alpn }) if is_client => {
                self.random = Some(random);
                (self.server_name, self.alpn) = (server_name, alpn);
            }
            Some(Hello::Server { suite }) if !is_client => self.suite = Some(suite),
            _ => {}
        }
        self.passed(t_ns, side, 0, "initial", &opened, &all, packet.bytes.len());
    }

    /// Opens a packet of a level whose secrets the key log has.
    fn open(&mut self, t_ns: i64, side: usize, bytes: &[u8], number_at: usize, level: Level, log: &KeyLog) {
        if log.is_empty() {
            return;
        }
        let is_client = side == self.client;
        if !self.levels.contains_key(&(level, side)) {
            let (Some(random), Some(suite)) = (self.random, self.suite) else {
                return;
            };
            self.has_secrets |= log.has(&random);
            let Some(keys) = log.keys(&random, level, is_client, suite, self.version) else {
                return;
            };
            self.levels.insert((level, side), keys);
        }
        let space = if level == Level::Handshake { 1 } else { 2 };
        let largest = self.sent[side].largest[space];
        let Some(opened) =
            self.levels.get_mut(&(level, side)).and_then(|keys| keys.open(bytes, number_at, largest))
        else {
            self.closed_packets += 1;
            return;
        };
        let (all, whole) = frames::frames(&opened.frames);
        self.unknown_frames += u64::from(!whole);
        let name = match level {
            Level::Handshake => "handshake",
            Level::Application => "1RTT",
            Level::Early => "0RTT",
        };
        self.passed(t_ns, side, space, name, &opened, &all, bytes.len());
    }

    fn short(&mut self, t_ns: i64, side: usize, bytes: &[u8], is_whole: bool, log: &KeyLog) {
        self.short_packets += 1;
        self.spin.packet(t_ns, side, bytes[0] & 0x20 != 0);
        if let Some(len) = self.id_len[1 - side].filter(|_| is_whole) {
            self.open(t_ns, side, bytes, 1 + len, Level::Application, log);
        }
    }

    /// A packet that was opened.
    #[allow(clippy::too_many_arguments)]
    fn passed(
        &mut self,
        t_ns: i64,
        side: usize,
        space: usize,
        kind: &str,
        opened: &Opened,
        all: &[Frame<'_>],
        len: usize,
    ) {
        if let Some(qlog) = &mut self.qlog {
            qlog.packet(t_ns, side == self.client, kind, opened.number, len, all);
        }
        let sent = &mut self.sent[side];
        sent.opened += 1;
        sent.largest[space] = Some(sent.largest[space].map_or(opened.number, |l| l.max(opened.number)));
        let elicits = all.iter().any(Frame::elicits);
        if space == 2 {
            sent.numbered += 1;
            sent.waiting.insert(opened.number, (t_ns, elicits));
        }
        for frame in all {
            match frame {
                Frame::Ack { ranges, .. } if space == 2 => self.sent[1 - side].acknowledged(t_ns, ranges),
                Frame::Stream { id, offset, len, .. } => {
                    let sent = &mut self.sent[side];
                    let before =
                        sent.streams.entry(*id).or_default().add(*offset, offset.saturating_add(*len));
                    sent.stream_bytes += len;
                    sent.resent_bytes += before;
                }
                Frame::NewConnectionId(cid) => self.know(side, *cid),
                _ => {}
            }
        }
    }

    /// From the capture to the server and back, and to the client and back, by the first exchange.
    pub fn handshake_ns(&self) -> (Option<i64>, Option<i64>) {
        let to_server_ns = match (self.hello_ns, self.answer_ns) {
            (Some((first_ns, last_ns)), Some(answer_ns)) if last_ns - first_ns < ONE_HELLO_NS => {
                Some(answer_ns - last_ns)
            }
            _ => None,
        };
        let to_client_ns = match (self.answer_ns, self.confirm_ns) {
            (Some(answer_ns), Some(confirm_ns)) => Some(confirm_ns - answer_ns),
            _ => None,
        };
        (to_server_ns, to_client_ns)
    }

    /// Both, added.
    pub fn handshake_rtt_ns(&self) -> Option<i64> {
        let (to_server_ns, to_client_ns) = self.handshake_ns();
        Some(to_server_ns? + to_client_ns?)
    }

    pub fn end(&mut self) {
        for sent in &mut self.sent {
            sent.lost_packets = sent.lost.len() as u64;
        }
    }
}

impl Sent {
    fn acknowledged(&mut self, t_ns: i64, ranges: &[(u64, u64)]) {
        let Some(&(_, largest)) = ranges.first() else {
            return;
        };
        if let Some((sent_ns, true)) = self.waiting.get(&largest) {
            self.rtts_ns.push(t_ns - sent_ns);
        }
        for (low, high) in ranges {
            let acked: Vec<u64> = self.waiting.range(low..=high).map(|(number, _)| *number).collect();
            for number in acked {
                self.waiting.remove(&number);
            }
            let late: Vec<u64> = self.lost.range(low..=high).copied().collect();
            for number in late {
                self.lost.remove(&number);
                self.spurious += 1;
            }
        }
        let given_up: Vec<(u64, bool)> = self
            .waiting
            .range(..(largest + 1).saturating_sub(LATER))
            .map(|(number, (_, elicits))| (*number, *elicits))
            .collect();
        for (number, elicits) in given_up {
            self.waiting.remove(&number);
            // What asks for no acknowledgement need not get one.
            if elicits {
                self.lost.insert(number);
            }
        }
    }

    /// Numbers of the application's packets below the largest that are not in the log.
    pub fn unseen(&self) -> Option<u64> {
        Some((self.largest[2]? + 1).saturating_sub(self.numbered))
    }
}

/// Bytes of a stream that were sent.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds from `begin` to `end`; how many of these bytes were there before.
    fn add(&mut self, begin: u64, end: u64) -> u64 {
        let (mut low, mut high, mut before) = (begin, end, 0);
        while let Some((&from, &to)) = self.0.range(..=high).next_back().filter(|(_, to)| **to >= low) {
            before += to.min(end).saturating_sub(from.max(begin));
            (low, high) = (low.min(from), high.max(to));
            self.0.remove(&from);
        }
        if low < high {
            self.0.insert(low, high);
        }
        before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_there_before_are_counted_once_each() {
        let mut ranges = Ranges::default();
        assert_eq!(ranges.add(0, 10), 0);
        assert_eq!(ranges.add(20, 30), 0);
        assert_eq!(ranges.add(5, 25), 10);
        assert_eq!(ranges.add(0, 40), 30);
        assert_eq!(ranges.0, BTreeMap::from([(0, 40)]));
    }

    #[test]
    fn three_later_acknowledged_is_lost_until_it_is_acknowledged_itself() {
        let mut sent = Sent::default();
        for number in 0..6 {
            sent.waiting.insert(number, (number as i64, true));
        }
        sent.acknowledged(100, &[(1, 4)]);
        assert_eq!(sent.lost, BTreeSet::from([0]));
        assert_eq!(sent.rtts_ns, [96]);
        sent.acknowledged(110, &[(0, 5)]);
        assert_eq!((sent.lost.len(), sent.spurious), (0, 1));
    }
}
