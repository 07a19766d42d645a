//! The records of `tap.bin`: what happened to each packet at a queue, and per interval what a queue did
//! (docs/formats.md, Tap). The kernel's queue tap writes them, and the agent on a host; all numbers are
//! little-endian.
//!
//! It knows the shape of a record and nothing of what records mean together.

mod bytes;
mod reader;

use bytes::{Get, Put};
pub use reader::{read, ReadError};

pub const RECORD_BYTES: usize = 48;
/// Whoever wrote the record saw no header: neither flow nor ECN bits are known.
pub const UNKNOWN_FLOW: u32 = u32::MAX;
/// The same of the marks of an interval.
pub const UNKNOWN_MARKS: u32 = u32::MAX;
/// In a packet's reason: it is an skb_drop_reason, not a qdisc_drop_reason.
pub const REASON_OF_SKB: u16 = 0x8000;

const FLOW: u8 = 1;
const PACKET: u8 = 2;
const TRAFFIC: u8 = 3;
const LEVELS: u8 = 4;

pub type Bytes = [u8; RECORD_BYTES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Departed = 1,
    Dropped = 2,
    /// It was still there at the end.
    Queued = 3,
}

/// A flow, before its first packet at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    pub hop: u8,
    /// IP protocol number.
    pub protocol: u8,
    /// 4 or 6: of an IPv4 address the first four bytes count.
    pub family: u8,
    pub flow: u32,
    pub sport: u16,
    pub dport: u16,
    pub src: [u8; 16],
    pub dst: [u8; 16],
}

/// What a queue holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    pub bytes: u32,
    pub packets: u32,
}

/// A packet that has left a queue, or is left in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub hop: u8,
    pub bytes: u16,
    pub flow: u32,
    pub arrival_ns: u64,
    pub sojourn_ns: u64,
    /// What it found, and what it left behind.
    pub found: Backlog,
    pub left: Backlog,
    pub reason: u16,
    pub outcome: Outcome,
    pub tos_in: u8,
    pub tos_out: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u32,
    pub bytes: u32,
}

/// What passed a queue in one interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traffic {
    pub hop: u8,
    pub marked_packets: u32,
    pub start_ns: u64,
    pub arrived: Count,
    pub departed: Count,
    pub dropped: Count,
    /// Of those that departed.
    pub sojourn_sum_ns: u64,
}

/// What a queue held in one interval; follows the `Traffic` of the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Levels {
    pub hop: u8,
    pub start_ns: u64,
    pub bytes_min: u32,
    /// Over time, as the next mean.
    pub bytes_mean: u32,
    pub bytes_max: u32,
    pub packets_min: u32,
    pub packets_mean_x1000: u32,
    pub packets_max: u32,
    pub sojourn_max_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    Flow(Flow),
    Packet(Packet),
    Traffic(Traffic),
    Levels(Levels),
}

/// The hop of a record, whatever else it is.
pub fn hop_of(record: &[u8]) -> Option<u8> {
    record.get(1).copied()
}

impl Flow {
    pub fn to_bytes(&self) -> Bytes {
        let mut put = Put::new(FLOW, self.hop);
        put.u8(self.protocol).u8(self.family).u32(self.flow);
        put.u16(self.sport).u16(self.dport).all(&self.src).all(&self.dst);
        put.done()
    }

    fn from(mut get: Get) -> Flow {
        Flow {
            hop: get.hop,
            protocol: get.u8(),
            family: get.u8(),
            flow: get.u32(),
            sport: get.u16(),
            dport: get.u16(),
            src: get.all(),
            dst: get.all(),
        }
    }
}

impl Packet {
    pub fn to_bytes(&self) -> Bytes {
        let mut put = Put::new(PACKET, self.hop);
        put.u16(self.bytes).u32(self.flow);
        put.u64(self.arrival_ns).u64(self.sojourn_ns);
        put.u32(self.found.bytes).u32(self.found.packets);
        put.u32(self.left.bytes).u32(self.left.packets);
        put.u16(self.reason).u8(self.outcome as u8);
        put.u8(self.tos_in).u8(self.tos_out);
        put.done()
    }

    /// None: there is no such outcome.
    fn from(mut get: Get) -> Option<Packet> {
        Some(Packet {
            hop: get.hop,
            bytes: get.u16(),
            flow: get.u32(),
            arrival_ns: get.u64(),
            sojourn_ns: get.u64(),
            found: get.backlog(),
            left: get.backlog(),
            reason: get.u16(),
            outcome: match get.u8() {
                1 => Outcome::Departed,
                2 => Outcome::Dropped,
                3 => Outcome::Queued,
                _ => return None,
            },
            tos_in: get.u8(),
            tos_out: get.u8(),
        })
    }
}

impl Traffic {
    pub fn to_bytes(&self) -> Bytes {
        let mut put = Put::new(TRAFFIC, self.hop);
        put.u16(0).u32(self.marked_packets).u64(self.start_ns);
        for count in [self.arrived, self.departed, self.dropped] {
            put.u32(count.packets).u32(count.bytes);
        }
        put.u64(self.sojourn_sum_ns);
        put.done()
    }

    fn from(mut get: Get) -> Traffic {
        get.u16();
        Traffic {
            hop: get.hop,
            marked_packets: get.u32(),
            start_ns: get.u64(),
            arrived: get.count(),
            departed: get.count(),
            dropped: get.count(),
            sojourn_sum_ns: get.u64(),
        }
    }
}

impl Levels {
    pub fn to_bytes(&self) -> Bytes {
        let mut put = Put::new(LEVELS, self.hop);
        put.u16(0).u32(0).u64(self.start_ns);
        put.u32(self.bytes_min).u32(self.bytes_mean).u32(self.bytes_max);
        put.u32(self.packets_min).u32(self.packets_mean_x1000).u32(self.packets_max);
        put.u64(self.sojourn_max_ns);
        put.done()
    }

    fn from(mut get: Get) -> Levels {
        get.u16();
        get.u32();
        Levels {
            hop: get.hop,
            start_ns: get.u64(),
            bytes_min: get.u32(),
            bytes_mean: get.u32(),
            bytes_max: get.u32(),
            packets_min: get.u32(),
            packets_mean_x1000: get.u32(),
            packets_max: get.u32(),
            sojourn_max_ns: get.u64(),
        }
    }
}

impl Record {
    /// None: it is none of the four, or a packet without an outcome.
    pub fn parse(bytes: &Bytes) -> Option<Record> {
        let get = Get::new(bytes);
        Some(match get.kind {
            FLOW => Record::Flow(Flow::from(get)),
            PACKET => Record::Packet(Packet::from(get)?),
            TRAFFIC => Record::Traffic(Traffic::from(get)),
            LEVELS => Record::Levels(Levels::from(get)),
            _ => return None,
        })
    }

    pub fn to_bytes(&self) -> Bytes {
        match self {
            Record::Flow(r) => r.to_bytes(),
            Record::Packet(r) => r.to_bytes(),
            Record::Traffic(r) => r.to_bytes(),
            Record::Levels(r) => r.to_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that differ, but for those of a record that mean nothing.
    fn bytes(kind: u8, empty: std::ops::Range<usize>) -> Bytes {
        let mut bytes: Bytes = std::array::from_fn(|i| 100 + i as u8);
        bytes[0] = kind;
        bytes[empty].fill(0);
        bytes
    }

    #[test]
    fn every_record_is_written_as_it_was_read() {
        let mut packet = bytes(PACKET, 45..48);
        packet[42] = Outcome::Dropped as u8;
        for raw in [bytes(FLOW, 44..48), packet, bytes(TRAFFIC, 2..4), bytes(LEVELS, 2..8)] {
            let record = Record::parse(&raw).unwrap();
            assert_eq!(record.to_bytes(), raw, "{record:?}");
        }
    }

    #[test]
    fn fields_lie_where_the_kernel_puts_them() {
        let mut raw = bytes(PACKET, 45..48);
        raw[42] = 1;
        let Some(Record::Packet(packet)) = Record::parse(&raw) else { panic!("no packet") };
        assert_eq!((packet.hop, packet.outcome, packet.tos_out), (101, Outcome::Departed, 144));
        assert_eq!(packet.arrival_ns.to_le_bytes(), raw[8..16]);
        assert_eq!(packet.left.packets.to_le_bytes(), raw[36..40]);
        assert_eq!(packet.reason.to_le_bytes(), raw[40..42]);
    }

    #[test]
    fn what_is_no_record_is_none() {
        assert_eq!(Record::parse(&[0; RECORD_BYTES]), None);
        assert_eq!(Record::parse(&bytes(5, 0..0)), None);
        assert_eq!(Record::parse(&bytes(PACKET, 42..43)), None);
    }
}
