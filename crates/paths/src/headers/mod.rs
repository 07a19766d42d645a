//! Finds the TCP segment or the UDP datagram in a packet, through link layers, tags and tunnels. It keeps nothing between packets.
//!
//! The payload's length comes from IP's total length, never from what was captured, so that logs with headers only
//! read as whole ones. Checksums are not looked at: with offloads those in a log are wrong as a rule.

mod datagram;
mod link;
mod llc;
mod network;
mod ppp;
mod tcp;
mod tunnel;

pub use datagram::Datagram;
pub use tcp::{flag, Options, Segment};

use crate::container::Packet;
use crate::counts::Counts;

/// How many headers a packet may nest before it is given up.
const DEPTH: u8 = 12;

/// The addresses and what identifies the packet, handed on to the segment.
#[derive(Debug, Clone, Copy)]
struct Ip {
    source: u128,
    target: u128,
    v6: bool,
    /// IPv4's identification; None in IPv6.
    id: Option<u16>,
    ttl: u8,
    /// The two ECN bits.
    ecn: u8,
}

/// What the next header is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Ethernet,
    EtherType(u16),
    Ip,
    Ipv4,
    Ipv6,
    Mpls,
    Wireless,
}

/// A packet being unwrapped: `data` is what is left of the captured bytes, `len` of the bytes on the wire, `outer` stands
/// for the networks that it was unwrapped from.
#[derive(Clone, Copy)]
struct Rest<'a> {
    data: &'a [u8],
    len: usize,
    outer: u32,
}

impl<'a> Rest<'a> {
    #[inline]
    fn skip(self, n: usize) -> Option<Rest<'a>> {
        Some(Rest { data: self.data.get(n..)?, len: self.len.checked_sub(n)?, outer: self.outer })
    }

    /// The same within a network of its own: a VLAN, a VNI, a tunnel. Both directions must give the same number.
    #[inline]
    fn within(self, network: u32) -> Rest<'a> {
        Rest { outer: (self.outer.rotate_left(5) ^ network).wrapping_mul(0x9e37_79b1), ..self }
    }

    fn u32_le(self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.data.get(at..at + 4)?.try_into().ok()?))
    }

    /// Whether an Ethernet frame with IP, or a tag before it, may begin here: what no header says is told by that.
    fn looks_like_ethernet(self) -> bool {
        let version = self.data.get(14).map(|byte| byte >> 4);
        match self.u16(12) {
            Some(0x0800) => version == Some(4),
            Some(0x86dd) => version == Some(6),
            Some(0x8100 | 0x88a8) => true,
            _ => false,
        }
    }

    fn u24(self, at: usize) -> Option<u32> {
        let bytes = self.data.get(at..at + 3)?;
        Some(u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]))
    }

    #[inline]
    fn u16(self, at: usize) -> Option<u16> {
        Some(u16::from_be_bytes([*self.data.get(at)?, *self.data.get(at + 1)?]))
    }
}

/// Where unwrapping stands.
enum Step<'a> {
    /// Go on with this header.
    Go(Next, Rest<'a>),
    /// This is the segment.
    Segment(Segment),
    /// This is the datagram.
    Datagram(Box<Datagram>),
    /// It is neither TCP nor UDP, or cannot be read: the reason was counted.
    No,
}

/// What a packet carries.
#[derive(Debug, Clone, PartialEq)]
pub enum Unit {
    Segment(Segment),
    Datagram(Box<Datagram>),
    /// A key log that stands here in the container.
    Secrets(String),
}

/// The TCP segment in `packet`, or None; then the reason is in `counts`, or it is a datagram.
#[inline]
pub fn parse(packet: &Packet<'_>, counts: &mut Counts) -> Option<Segment> {
    match unwrap(packet, counts)? {
        Unit::Segment(segment) => Some(segment),
        Unit::Datagram(_) | Unit::Secrets(_) => None,
    }
}

/// What `packet` carries of TCP or UDP, or None; then the reason is in `counts`.
#[inline]
pub fn unwrap(packet: &Packet<'_>, counts: &mut Counts) -> Option<Unit> {
    let rest = Rest { data: packet.data, len: packet.len as usize, outer: 0 };
    let (mut next, mut rest) = link::first(packet.link_type, rest, counts)?;
    for _ in 0..DEPTH {
        let step = match next {
            Next::Ethernet => link::ethernet(rest, counts),
            Next::EtherType(kind) => link::ether_type(kind, rest, counts),
            Next::Mpls => link::mpls(rest, counts),
            Next::Wireless => llc::wireless(rest, counts),
            Next::Ip => network::ip(rest, counts),
            Next::Ipv4 => network::ipv4(rest, counts),
            Next::Ipv6 => network::ipv6(rest, counts),
        };
        match step {
            Step::Go(then, left) => (next, rest) = (then, left),
            Step::Segment(segment) => {
                counts.tcp += 1;
                return Some(Unit::Segment(segment));
            }
            Step::Datagram(datagram) => {
                counts.udp += 1;
                return Some(Unit::Datagram(datagram));
            }
            Step::No => return None,
        }
    }
    counts.unused("more nested headers than are followed");
    None
}

/// The packet was cut before the header `name` ended.
#[cold]
fn cut<'a>(name: &str, counts: &mut Counts) -> Step<'a> {
    counts.unused(&format!("cut within {name}"));
    Step::No
}
