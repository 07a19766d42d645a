//! One TCP connection: two halves, and what is said of the whole. It knows nothing of files and of other connections.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::copies::{Evidence, Known};
use crate::estimators::vantage::{vantage, Vantage};
use crate::half::{Acked, Data, Half};
use crate::headers::{flag, Segment};

/// What identifies a connection: both ends, the smaller one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    pub low: (u128, u16),
    pub high: (u128, u16),
    pub v6: bool,
    /// The network around them, where connections of equal addresses and ports are in several; else 0.
    pub outer: u32,
}

impl Key {
    /// The key of a segment and the side (0: low, 1: high) that sent it.
    #[inline]
    pub fn of(segment: &Segment) -> (Key, usize) {
        let source = (segment.source, segment.source_port);
        let target = (segment.target, segment.target_port);
        Key::of_ends(source, target, segment.v6, 0)
    }

    /// The same of two ends within a network.
    #[inline]
    pub fn of_ends(source: (u128, u16), target: (u128, u16), v6: bool, outer: u32) -> (Key, usize) {
        let side = usize::from(source > target);
        let (low, high) = if side == 0 { (source, target) } else { (target, source) };
        (Key { low, high, v6, outer }, side)
    }

    pub fn end(&self, side: usize) -> (IpAddr, u16) {
        let (address, port) = if side == 0 { self.low } else { self.high };
        let ip = if self.v6 {
            IpAddr::V6(Ipv6Addr::from(address))
        } else {
            IpAddr::V4(Ipv4Addr::from(address as u32))
        };
        (ip, port)
    }
}

#[derive(Debug, Clone)]
pub struct Connection {
    pub key: Key,
    /// Its number within the log, by first packet.
    pub number: u64,
    pub halves: [Half; 2],
    pub first_ns: i64,
    pub last_ns: i64,
    /// The side of the client: who opened it or, where the log has no SYN, who has the higher port.
    pub client: usize,
    /// The network around the first packet of each side.
    pub outer: [Option<u32>; 2],
    pub copies: u64,
    pub copies_by: Evidence,
    pub backwards: u64,
    fins: [bool; 2],
    reset: bool,
    windows_closed: [bool; 2],
}

impl Connection {
    pub fn new(key: Key, number: u64, t_ns: i64, side: usize, first: &Segment) -> Self {
        let client = match (first.has(flag::SYN), first.has(flag::ACK)) {
            (true, false) => side,
            (true, true) => 1 - side,
            _ => usize::from(key.high.1 > key.low.1),
        };
        Connection {
            key,
            number,
            halves: [Half::default(), Half::default()],
            first_ns: t_ns,
            last_ns: t_ns,
            client,
            outer: [None; 2],
            copies: 0,
            copies_by: Evidence::default(),
            backwards: 0,
            fins: [false; 2],
            reset: false,
            windows_closed: [false; 2],
        }
    }

    /// Both ends have closed, or one has reset it.
    pub fn is_closed(&self) -> bool {
        self.reset || (self.fins[0] && self.fins[1])
    }

    /// Whether a SYN of `side` with this sequence number begins another connection of the same ends.
    pub fn is_reused_by(&self, t_ns: i64, side: usize, segment: &Segment) -> bool {
        // One that is older than what was seen is the connection's own, whose record comes late.
        let opens = segment.has(flag::SYN) && !segment.has(flag::ACK) && t_ns >= self.last_ns;
        opens && (self.is_closed() || self.halves[side].packets > 1) && !self.halves[side].is_isn(segment.seq)
    }

    /// Whether a SYN or its answer is of another connection, of equal addresses and ports in another network.
    pub fn is_of_another_network(&self, side: usize, segment: &Segment) -> bool {
        self.outer[side].is_some_and(|outer| outer != segment.outer) && !self.halves[side].is_isn(segment.seq)
    }

    /// One segment that `side` sent. What its ACK told, or None when it told nothing.
    #[inline]
    pub fn on_segment(&mut self, t_ns: i64, side: usize, segment: &Segment) -> Option<Acked> {
        if t_ns < self.last_ns {
            self.backwards += 1;
        }
        self.last_ns = self.last_ns.max(t_ns);
        self.outer[side].get_or_insert(segment.outer);
        let round_trip = self.round_trip_ns();
        let [low, high] = &mut self.halves;
        let (mine, theirs) = if side == 0 { (low, high) } else { (high, low) };
        let known = Known {
            advances: if segment.payload_len > 0 {
                mine.is_ahead(segment.seq)
            } else {
                segment.flags & (flag::SYN | flag::FIN | flag::RST) == 0 && theirs.is_news(segment.ack)
            },
            round_trip_ns: round_trip,
            doubled: self.copies > 0,
        };
        if let Some(by) = mine.copies.see(t_ns, segment, known) {
            self.copies += 1;
            self.copies_by.add(by);
            return None;
        }
        mine.packets += 1;
        if segment.ecn == 3 {
            mine.ce_marked += 1;
        }
        if segment.options.cut {
            mine.options_cut += 1;
        }
        let flags = segment.flags;
        if flags & flag::RST != 0 {
            // Its numbers may be made up by a middlebox.
            self.reset = true;
            return None;
        }
        if flags & flag::SYN != 0 {
            mine.on_syn(t_ns, segment.seq, &segment.options);
        } else {
            mine.window.see(segment.window);
        }
        self.windows_closed[side] = segment.window == 0;
        let fin = flags & flag::FIN != 0;
        self.fins[side] |= fin;
        if segment.payload_len > 0 || fin {
            // Data in a SYN (Fast Open) begins behind the SYN's own number.
            let seq = segment.seq.wrapping_add(u32::from(flags & flag::SYN != 0));
            let new = mine.on_data(Data {
                t_ns,
                seq,
                bytes: segment.payload_len,
                fin,
                tsval: segment.options.timestamps.map(|t| t.0),
                round_trip_ns: round_trip,
                probes: self.windows_closed[1 - side],
            });
            if new {
                theirs.active.request(t_ns, round_trip);
            }
        } else if flags & flag::SYN == 0 {
            mine.on_empty(segment.seq, self.windows_closed[1 - side]);
        }
        if flags & flag::ACK == 0 {
            return None;
        }
        let known = |half: &Half| half.syn.is_some_and(|syn| !syn.options_cut);
        // RFC 7323: windows are scaled only when both ends sent the option, and none in a SYN is.
        let shift =
            (known(mine) && known(theirs)).then_some(match (mine.window_scale, theirs.window_scale) {
                (Some(mine), Some(_)) if flags & flag::SYN == 0 => mine,
                _ => 0,
            });
        theirs.on_window(segment.ack, segment.window, shift);
        Some(theirs.on_ack(t_ns, segment.ack, &segment.options))
    }

    /// The least round trip of both halves.
    fn round_trip_ns(&self) -> Option<i64> {
        Some(self.halves[0].rtt.min()? + self.halves[1].rtt.min()?)
    }

    /// The side that sent most data.
    pub fn sender(&self) -> usize {
        usize::from(self.halves[1].active.bytes > self.halves[0].active.bytes)
    }

    pub fn vantage(&self) -> Vantage {
        let sender = self.sender();
        vantage(&self.halves[sender].rtt, &self.halves[1 - sender].rtt)
    }
}
