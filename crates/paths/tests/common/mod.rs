//! Builds packets, connections and logs for the tests, by hand and byte by byte.
#![allow(dead_code)] // each test uses a part

use narrows_paths::aggregate::Aggregate;
use narrows_paths::connection::Connection;
use narrows_paths::container::{self, About, Packet};
use narrows_paths::counts::Counts;
use narrows_paths::error::Result;
use narrows_paths::flows::{Flows, Limits, Sink};
use narrows_paths::half::Acked;
use narrows_paths::headers;
use narrows_paths::sessions::{Rules, Service, Session};

pub const MS: i64 = narrows_units::MS;
pub const S: i64 = narrows_units::S;
pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const ACK: u8 = 16;

/// One TCP segment to be written.
#[derive(Clone)]
pub struct Tcp {
    pub from: ([u8; 4], u16),
    pub to: ([u8; 4], u16),
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    pub window: u16,
    pub options: Vec<u8>,
    pub payload: usize,
    pub id: u16,
}

pub const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
pub const SERVER: ([u8; 4], u16) = ([10, 0, 2, 1], 443);

impl Tcp {
    pub fn new(
        from: ([u8; 4], u16),
        to: ([u8; 4], u16),
        seq: u32,
        ack: u32,
        flags: u8,
        payload: usize,
    ) -> Self {
        Tcp { from, to, seq, ack, flags, window: 1000, options: Vec::new(), payload, id: 0 }
    }

    pub fn header(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 1);
        let mut out = Vec::new();
        out.extend(self.from.1.to_be_bytes());
        out.extend(self.to.1.to_be_bytes());
        out.extend(self.seq.to_be_bytes());
        out.extend(self.ack.to_be_bytes());
        out.push(((20 + options.len()) as u8 / 4) << 4);
        out.push(self.flags);
        out.extend(self.window.to_be_bytes());
        out.extend([0; 4]);
        out.extend(options);
        out
    }

    /// IPv4, TCP and zeroes as payload.
    pub fn v4(&self) -> Vec<u8> {
        let tcp = self.header();
        let total = 20 + tcp.len() + self.payload;
        let mut out = vec![0x45, 0];
        out.extend((total.min(65_535) as u16).to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend([0x40, 0, 64, 6, 0, 0]);
        out.extend(self.from.0);
        out.extend(self.to.0);
        out.extend(tcp);
        out.resize(total, 0);
        out
    }

    pub fn v6(&self) -> Vec<u8> {
        let tcp = self.header();
        let mut out = vec![0x60, 0, 0, 0];
        out.extend(((tcp.len() + self.payload) as u16).to_be_bytes());
        out.extend([6, 64]);
        for address in [self.from.0, self.to.0] {
            out.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0]);
            out.extend(address);
        }
        out.extend(tcp);
        out.resize(40 + self.header().len() + self.payload, 0);
        out
    }
}

pub fn ethernet(kind: u16, inner: &[u8]) -> Vec<u8> {
    let mut out = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    out.extend(kind.to_be_bytes());
    out.extend(inner);
    out
}

/// A UDP datagram in IPv4 around `inner`.
pub fn udp(port: u16, inner: &[u8]) -> Vec<u8> {
    let total = 28 + inner.len();
    let mut out = vec![0x45, 0];
    out.extend((total as u16).to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    out.extend(50_000u16.to_be_bytes());
    out.extend(port.to_be_bytes());
    out.extend(((8 + inner.len()) as u16).to_be_bytes());
    out.extend([0, 0]);
    out.extend(inner);
    out
}

/// IPv4 with another protocol around `inner`.
pub fn ipv4(protocol: u8, inner: &[u8]) -> Vec<u8> {
    let total = 20 + inner.len();
    let mut out = vec![0x45, 0];
    out.extend((total as u16).to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    out.extend(inner);
    out
}

pub fn be(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

pub fn timestamps(value: u32, echo: u32) -> Vec<u8> {
    let mut out = vec![1, 1, 8, 10];
    out.extend(value.to_be_bytes());
    out.extend(echo.to_be_bytes());
    out
}

pub fn syn_options(mss: u16, scale: u8) -> Vec<u8> {
    let mut out = vec![2, 4];
    out.extend(mss.to_be_bytes());
    out.extend([4, 2, 1, 3, 3, scale]);
    out
}

pub fn sack(blocks: &[(u32, u32)]) -> Vec<u8> {
    let mut out = vec![1, 1, 5, (2 + 8 * blocks.len()) as u8];
    for (start, end) in blocks {
        out.extend(start.to_be_bytes());
        out.extend(end.to_be_bytes());
    }
    out
}

type Number<T, const BYTES: usize> = fn(T) -> [u8; BYTES];

/// How numbers of 32 and of 16 bits are written.
fn numbers(big_endian: bool) -> (Number<u32, 4>, Number<u16, 2>) {
    match big_endian {
        true => (u32::to_be_bytes, u16::to_be_bytes),
        false => (u32::to_le_bytes, u16::to_le_bytes),
    }
}

/// A pcap file. `unit_ns` is 1 or 1000.
pub fn pcap(link: u32, unit_ns: i64, big_endian: bool, packets: &[(i64, Vec<u8>)], snap: usize) -> Vec<u8> {
    let (word, short) = numbers(big_endian);
    let mut out = Vec::new();
    out.extend(word(if unit_ns == 1 { 0xa1b2_3c4d } else { 0xa1b2_c3d4 }));
    out.extend(short(2));
    out.extend(short(4));
    out.extend([0; 8]);
    out.extend(word(65_535));
    out.extend(word(link));
    for (t, data) in packets {
        let kept = data.len().min(snap);
        out.extend(word((t / S) as u32));
        out.extend(word((t % S / unit_ns) as u32));
        out.extend(word(kept as u32));
        out.extend(word(data.len() as u32));
        out.extend(&data[..kept]);
    }
    out
}

pub struct Interface {
    pub link: u16,
    /// The byte of if_tsresol; None leaves the option out.
    pub resolution: Option<u8>,
    pub offset_s: i64,
}

pub fn interface(link: u16, resolution: Option<u8>, offset_s: i64) -> Interface {
    Interface { link, resolution, offset_s }
}

/// A pcapng section. Packets: interface, time in the interface's units, data.
pub fn pcapng(big_endian: bool, interfaces: &[Interface], packets: &[(u32, u64, Vec<u8>)]) -> Vec<u8> {
    let (word, short) = numbers(big_endian);
    let mut out = Vec::new();
    let mut block = |kind: u32, body: Vec<u8>| {
        let mut body = body;
        body.resize(body.len().next_multiple_of(4), 0);
        out.extend(word(kind));
        out.extend(word(body.len() as u32 + 12));
        out.extend(&body);
        out.extend(word(body.len() as u32 + 12));
    };
    block(0x0a0d_0d0a, [&word(0x1a2b_3c4d)[..], &short(1), &short(0), &[0xff; 8]].concat());
    for i in interfaces {
        let mut body = [&short(i.link)[..], &[0, 0], &word(0)].concat();
        if let Some(resolution) = i.resolution {
            body.extend([&short(9)[..], &short(1), &[resolution, 0, 0, 0]].concat());
        }
        if i.offset_s != 0 {
            body.extend([&short(14)[..], &short(8)].concat());
            body.extend(if big_endian { i.offset_s.to_be_bytes() } else { i.offset_s.to_le_bytes() });
        }
        body.extend([0; 4]);
        block(1, body);
    }
    for (interface, ticks, data) in packets {
        let mut body = [
            &word(*interface)[..],
            &word((ticks >> 32) as u32),
            &word(*ticks as u32),
            &word(data.len() as u32),
            &word(data.len() as u32),
        ]
        .concat();
        body.extend(data);
        block(6, body);
    }
    out
}

/// Time, link type and data of a packet.
pub type Found = (i64, u16, Vec<u8>);

/// What is in a log.
pub fn packets(log: &[u8]) -> Result<(About, Counts, Vec<Found>)> {
    let mut counts = Counts::default();
    let mut found = Vec::new();
    let about = container::read(log, "log", &mut counts, &mut |p: Packet<'_>, _: &mut Counts| {
        found.push((p.t_ns, p.link_type, p.data.to_vec()));
    })?;
    Ok((about, counts, found))
}

/// A packet of which so many bytes are kept.
pub fn packet(t_ns: i64, link_type: u16, data: &[u8], kept: usize) -> Packet<'_> {
    let len = data.len() as u32;
    Packet { t_ns, link_type, len, data: &data[..kept] }
}

/// The segment in one packet of a link type, and the counts.
pub fn parse(link: u16, data: &[u8]) -> (Option<headers::Segment>, Counts) {
    let mut counts = Counts::default();
    let segment = headers::parse(&packet(0, link, data, data.len()), &mut counts);
    (segment, counts)
}

/// What a log shows.
#[derive(Default)]
pub struct Seen {
    pub connections: Vec<(Connection, Aggregate)>,
    pub sessions: Vec<Session>,
    pub acks: Vec<(i64, Acked)>,
    pub evicted: u64,
    pub short: u64,
}

struct Collect(Seen);

impl Sink for Collect {
    fn connection(&mut self, connection: &Connection, aggregate: &Aggregate) {
        self.0.connections.push((connection.clone(), aggregate.clone()));
    }
    fn session(&mut self, s: &Session) {
        self.0.sessions.push(Session {
            client: s.client,
            server: s.server,
            server_port: s.server_port,
            first_ns: s.first_ns,
            last_ns: s.last_ns,
            connections: s.connections,
            servers: s.servers,
            connections_counted: s.connections_counted,
            share_of_bytes: s.share_of_bytes,
            aggregate: s.aggregate.clone(),
        });
    }
    fn ack(&mut self, _: &Connection, _: usize, t_ns: i64, acked: Acked, _: bool) {
        self.0.acks.push((t_ns, acked));
    }
}

pub const LIMITS: Limits = Limits { connections: 1000, idle_ns: 600 * S };
pub const RULES: Rules = Rules { gap_ns: 30 * S, min_ns: 0, service: Service::Port };

/// Feeds raw IP packets to the table of connections.
pub fn follow(packets: &[(i64, Vec<u8>)]) -> Seen {
    follow_with(packets, usize::MAX, LIMITS, RULES)
}

/// The same of packets with this link layer.
pub fn follow_link(link_type: u16, packets: &[(i64, Vec<u8>)]) -> Seen {
    follow_all(link_type, packets, usize::MAX, LIMITS, RULES)
}

pub fn follow_with(packets: &[(i64, Vec<u8>)], snap: usize, limits: Limits, rules: Rules) -> Seen {
    follow_all(101, packets, snap, limits, rules)
}

fn follow_all(link_type: u16, packets: &[(i64, Vec<u8>)], snap: usize, limits: Limits, rules: Rules) -> Seen {
    let mut counts = Counts::default();
    let mut sink = Collect(Seen::default());
    let mut flows = Flows::new(limits, rules);
    for (t_ns, data) in packets {
        let packet = packet(*t_ns, link_type, data, data.len().min(snap));
        if let Some(segment) = headers::parse(&packet, &mut counts) {
            flows.segment(*t_ns, &segment, &mut sink);
        }
    }
    let (_, short) = flows.close(&mut sink);
    sink.0.evicted = flows.evicted;
    sink.0.short = short;
    sink.0
}

/// A download as a capture at the server sees it: what it holds is written by hand, its truth is in the caller.
pub struct Download {
    pub packets: Vec<(i64, Vec<u8>)>,
    pub next: u32,
    pub acked: u32,
    id: u16,
}

pub const MSS: usize = 1000;
/// First sequence numbers of client and server; the server's wraps early.
pub const ISN: (u32, u32) = (5000, u32::MAX - 3000);

impl Download {
    /// The handshake, with `far_ns` from the capture to the client and back, `near_ns` to the server and back.
    pub fn open(t_ns: i64, far_ns: i64, near_ns: i64) -> Self {
        let mut d = Download {
            packets: Vec::new(),
            next: ISN.1.wrapping_add(1),
            acked: ISN.1.wrapping_add(1),
            id: 1,
        };
        let mut syn = Tcp::new(CLIENT, SERVER, ISN.0, 0, SYN, 0);
        syn.options = syn_options(MSS as u16, 7);
        syn.window = 64_000;
        let mut syn_ack = Tcp::new(SERVER, CLIENT, ISN.1, ISN.0 + 1, SYN | ACK, 0);
        syn_ack.options = syn_options(MSS as u16, 9);
        d.put(t_ns, syn);
        d.put(t_ns + near_ns, syn_ack);
        d.put(t_ns + near_ns + far_ns, Tcp::new(CLIENT, SERVER, ISN.0 + 1, ISN.1.wrapping_add(1), ACK, 0));
        d
    }

    pub fn put(&mut self, t_ns: i64, mut tcp: Tcp) {
        tcp.id = self.id;
        self.id += 1;
        self.packets.push((t_ns, tcp.v4()));
    }

    /// The server sends the next segment; its first byte's number.
    pub fn data(&mut self, t_ns: i64, bytes: usize) -> u32 {
        let seq = self.next;
        self.put(t_ns, Tcp::new(SERVER, CLIENT, seq, ISN.0 + 1, ACK, bytes));
        self.next = seq.wrapping_add(bytes as u32);
        seq
    }

    /// The server sends something that it sent before.
    pub fn again(&mut self, t_ns: i64, seq: u32, bytes: usize) {
        self.put(t_ns, Tcp::new(SERVER, CLIENT, seq, ISN.0 + 1, ACK, bytes));
    }

    /// The client acknowledges up to `ack`.
    pub fn ack(&mut self, t_ns: i64, ack: u32, blocks: &[(u32, u32)]) {
        let mut tcp = Tcp::new(CLIENT, SERVER, ISN.0 + 1, ack, ACK, 0);
        if !blocks.is_empty() {
            tcp.options = sack(blocks);
        }
        self.acked = ack;
        self.put(t_ns, tcp);
    }
}
