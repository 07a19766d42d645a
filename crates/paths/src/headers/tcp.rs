//! The TCP header and its options.

use super::{Ip, Rest};
use crate::counts::Counts;

/// Bits of the flags field.
pub mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
    pub const ACK: u8 = 0x10;
    pub const ECE: u8 = 0x40;
}

/// The options that the estimators use. `None` is "not there", unless `cut`: then it is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Options {
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack_permitted: bool,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    pub sack: [(u32, u32); 4],
    pub sack_blocks: u8,
    /// The capture ended before the options did.
    pub cut: bool,
}

/// One TCP segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Segment {
    pub source: u128,
    pub target: u128,
    pub source_port: u16,
    pub target_port: u16,
    pub v6: bool,
    /// Stands for VLAN, VNI and the addresses of tunnels that it was unwrapped from; 0: none.
    pub outer: u32,
    pub ip_id: Option<u16>,
    pub ttl: u8,
    pub ecn: u8,
    pub seq: u32,
    pub ack: u32,
    pub flags: u8,
    /// As in the header: not scaled.
    pub window: u16,
    pub payload_len: u32,
    pub options: Options,
}

impl Segment {
    #[inline]
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags == flags
    }
}

#[inline]
pub(super) fn segment(rest: Rest<'_>, ip: Ip, counts: &mut Counts) -> Option<Segment> {
    // 14 bytes hold ports, numbers, length and flags; 16 the window too.
    let Some(head) = rest.data.get(..16) else {
        counts.unused("cut within TCP");
        return None;
    };
    let header = usize::from(head[12] >> 4) * 4;
    if header < 20 {
        counts.unused("TCP header that is not one");
        return None;
    }
    let Some(payload_len) = rest.len.checked_sub(header) else {
        counts.unused("TCP header longer than its packet");
        return None;
    };
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let mut found = Segment {
        source: ip.source,
        target: ip.target,
        source_port: u16::from_be_bytes([head[0], head[1]]),
        target_port: u16::from_be_bytes([head[2], head[3]]),
        v6: ip.v6,
        outer: rest.outer,
        ip_id: ip.id,
        ttl: ip.ttl,
        ecn: ip.ecn,
        seq: word(4),
        ack: word(8),
        flags: head[13],
        window: u16::from_be_bytes([head[14], head[15]]),
        payload_len: u32::try_from(payload_len).ok()?,
        options: Options::default(),
    };
    if header > 20 {
        let end = header.min(rest.data.len());
        options(rest.data.get(20..end).unwrap_or(&[]), end < header, &mut found.options, counts);
    }
    Some(found)
}

#[inline]
fn options(mut data: &[u8], cut: bool, out: &mut Options, counts: &mut Counts) {
    out.cut = cut;
    // What Linux, BSD and macOS send in every segment of a connection: NOP NOP timestamps.
    if data.len() == 12 && data[..4] == [1, 1, 8, 10] {
        out.timestamps = Some((be32(data, 4), be32(data, 8)));
        return;
    }
    while let Some(&kind) = data.first() {
        match kind {
            0 => return,
            1 => {
                data = &data[1..];
                continue;
            }
            _ => {}
        }
        let Some(&length) = data.get(1) else {
            // One byte of an option: cut by the capture, or damaged.
            if !cut {
                counts.odd("TCP option that ends too early");
            }
            return;
        };
        let length = usize::from(length);
        if length < 2 {
            counts.odd("TCP option with an impossible length");
            return;
        }
        let Some(option) = data.get(..length) else {
            if !cut {
                counts.odd("TCP option that ends too early");
            }
            return;
        };
        match (kind, length) {
            (2, 4) => out.mss = Some(u16::from_be_bytes([option[2], option[3]])),
            // RFC 7323: a shift above 14 is read as 14.
            (3, 3) => out.window_scale = Some(option[2].min(14)),
            (4, 2) => out.sack_permitted = true,
            (8, 10) => out.timestamps = Some((be32(option, 2), be32(option, 6))),
            (5, _) => {
                for block in option[2..].chunks_exact(8).take(4) {
                    out.sack[usize::from(out.sack_blocks)] = (be32(block, 0), be32(block, 4));
                    out.sack_blocks += 1;
                }
            }
            _ => {}
        }
        data = &data[length..];
    }
}

#[inline]
fn be32(data: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]])
}
