//! Link layers and tags: Ethernet, Linux "cooked" (SLL, SLL2), NULL and LOOP, raw IP, PPP, Cisco HDLC, IPoIB; what a
//! system writes before the frame (PKTAP, PPI, NFLOG, pflog, enc); VLAN, QinQ, PBB, MPLS, PPPoE, MACsec, NSH and others.

use super::llc::{self, llc};
use super::ppp::ppp;
use super::{cut, Next, Rest, Step};
use crate::counts::Counts;

/// The first header behind the link type of the log.
pub(super) fn first<'a>(link_type: u16, rest: Rest<'a>, counts: &mut Counts) -> Option<(Next, Rest<'a>)> {
    let found = match link_type {
        1 => Some((Next::Ethernet, rest)),
        // DLT_RAW's numbers differ between systems; LINKTYPE_RAW is 101.
        12 | 14 | 101 => Some((Next::Ip, rest)),
        228 => Some((Next::Ipv4, rest)),
        229 => Some((Next::Ipv6, rest)),
        0 => family(rest, None),
        108 => family(rest, Some(true)),
        113 => rest.u16(14).and_then(|kind| Some((Next::EtherType(kind), rest.skip(16)?))),
        276 => rest.u16(0).and_then(|kind| Some((Next::EtherType(kind), rest.skip(20)?))),
        // PPP, with and without the address and control bytes.
        9 | 50 => ppp(rest),
        204 => rest.skip(1).and_then(ppp),
        51 => rest.skip(6).and_then(ppp),
        // Cisco HDLC; IP over InfiniBand.
        104 => rest.u16(2).and_then(|kind| Some((Next::EtherType(kind), rest.skip(4)?))),
        242 => rest.u16(40).and_then(|kind| Some((Next::EtherType(kind), rest.skip(44)?))),
        // FDDI; token ring without a route.
        10 => rest.skip(13).and_then(llc),
        6 => rest.skip(14).and_then(llc),
        105 => Some((Next::Wireless, rest)),
        127 => llc::behind_its_length(rest).map(|left| (Next::Wireless, left)),
        // OpenBSD's enc and pflog.
        109 => rest.skip(12).map(|left| (Next::Ip, left)),
        117 => rest
            .data
            .first()
            .and_then(|length| Some((Next::Ip, rest.skip(usize::from(*length).next_multiple_of(4))?))),
        239 => nflog(rest),
        192 => {
            let of = rest.u32_le(4);
            return within(link_type, of, llc::behind_its_length(rest), counts);
        }
        258 => {
            let (length, of) = (rest.u32_le(0), rest.u32_le(8));
            let left = length.and_then(|length| rest.skip(length as usize));
            return within(link_type, of, left, counts);
        }
        other => {
            counts.unused(&format!("link type {other}"));
            return None;
        }
    };
    if found.is_none() {
        unknown(link_type, counts);
    }
    found
}

#[cold]
fn unknown(link_type: u16, counts: &mut Counts) {
    counts.unused(&format!("link header of type {link_type} that is cut or of an unknown family"));
}

/// A link layer within another one that says which it is (PPI, PKTAP).
fn within<'a>(
    link_type: u16,
    of: Option<u32>,
    left: Option<Rest<'a>>,
    counts: &mut Counts,
) -> Option<(Next, Rest<'a>)> {
    let inner = of.and_then(|of| u16::try_from(of).ok());
    match (inner, left) {
        (Some(inner), Some(left)) if !matches!(inner, 192 | 258) => first(inner, left, counts),
        _ => {
            unknown(link_type, counts);
            None
        }
    }
}

/// Netfilter's log: values with their lengths in the writing host's byte order, of which the ninth kind is the packet.
fn nflog<'a>(rest: Rest<'a>) -> Option<(Next, Rest<'a>)> {
    let mut rest = rest.skip(4)?;
    let big_endian = rest.data.first() == Some(&0);
    loop {
        let number = |at: usize| {
            let value = rest.u16(at)?;
            Some(if big_endian { value } else { value.swap_bytes() })
        };
        let (length, kind) = (usize::from(number(0)?), number(2)? & 0x7fff);
        if length < 4 {
            return None;
        }
        if kind == 9 {
            let left = rest.skip(4)?;
            return Some((Next::Ip, Rest { len: length - 4, ..left }));
        }
        rest = rest.skip(length.next_multiple_of(4))?;
    }
}

/// BSD loopback: the address family, in the writing host's byte order (NULL) or the network's (LOOP).
fn family<'a>(rest: Rest<'a>, big_endian: Option<bool>) -> Option<(Next, Rest<'a>)> {
    let bytes: [u8; 4] = rest.data.get(..4)?.try_into().ok()?;
    let (big, little) = (u32::from_be_bytes(bytes), u32::from_le_bytes(bytes));
    let value = match big_endian {
        Some(true) => big,
        _ => big.min(little),
    };
    let next = match value {
        2 => Next::Ipv4,
        // AF_INET6 of NetBSD and OpenBSD, FreeBSD, macOS, Linux.
        24 | 28 | 30 | 10 => Next::Ipv6,
        _ => return None,
    };
    Some((next, rest.skip(4)?))
}

#[inline]
pub(super) fn ethernet<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    match (rest.u16(12), rest.skip(14)) {
        (Some(kind), Some(left)) => Step::Go(Next::EtherType(kind), left),
        _ => cut("Ethernet", counts),
    }
}

#[inline]
pub(super) fn ether_type<'a>(kind: u16, rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    match kind {
        0x0800 => super::network::ipv4(rest, counts),
        0x86dd => super::network::ipv6(rest, counts),
        0x8100 | 0x88a8 | 0x9100 | 0x9200 => {
            counts.unwrapped("VLAN");
            match (rest.u16(0), rest.u16(2), rest.skip(4)) {
                // VLAN 0 is a priority and no network.
                (Some(tag), Some(inner), Some(left)) if tag & 0xfff == 0 => {
                    Step::Go(Next::EtherType(inner), left)
                }
                (Some(tag), Some(inner), Some(left)) => {
                    Step::Go(Next::EtherType(inner), left.within(u32::from(tag & 0xfff)))
                }
                _ => cut("VLAN", counts),
            }
        }
        0x8847 | 0x8848 => Step::Go(Next::Mpls, rest),
        0x8864 => {
            counts.unwrapped("PPPoE");
            match rest.skip(6).and_then(ppp) {
                Some((next, left)) => Step::Go(next, left),
                None => {
                    counts.unused("PPPoE that carries no IP");
                    Step::No
                }
            }
        }
        0x6558 => Step::Go(Next::Ethernet, rest),
        0..=1500 => llc::of_802_3(rest, counts),
        0x88e7 | 0x88e5 | 0x8926 | 0x8909 | 0x894f => tag(kind, rest, counts),
        other => {
            not_ip(other, counts);
            Step::No
        }
    }
}

/// Tags of data centres and providers.
#[cold]
fn tag<'a>(kind: u16, rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let ether = |at: usize| Some((Next::EtherType(rest.u16(at)?), rest.skip(at + 2)?));
    let (name, found) = match kind {
        0x88e7 => {
            ("PBB", rest.u24(1).and_then(|service| Some((Next::Ethernet, rest.skip(4)?.within(service)))))
        }
        0x88e5 => {
            // Encrypted or changed: what is behind cannot be read.
            let Some(control) = rest.data.first().filter(|control| **control & 0x0c == 0) else {
                counts.unused("MACsec (encrypted)");
                return Step::No;
            };
            ("MACsec", ether(if control & 0x20 != 0 { 14 } else { 6 }))
        }
        0x8926 => ("VNTag", ether(4)),
        0x8909 => ("Cisco metadata", ether(6)),
        _ => {
            let length = rest.u16(0).map(|word| usize::from(word & 0x3f) * 4);
            let next = match rest.data.get(3) {
                Some(1) => Some(Next::Ipv4),
                Some(2) => Some(Next::Ipv6),
                Some(3) => Some(Next::Ethernet),
                _ => None,
            };
            let left = length.and_then(|length| rest.skip(length));
            ("NSH", next.zip(left))
        }
    };
    let Some((next, left)) = found else {
        return cut(name, counts);
    };
    counts.unwrapped(name);
    Step::Go(next, left)
}

#[cold]
fn not_ip(kind: u16, counts: &mut Counts) {
    match kind {
        0x0806 => counts.unused("ARP"),
        0x8863 => counts.unused("PPPoE discovery"),
        0x88cc => counts.unused("LLDP"),
        0x888e => counts.unused("EAPOL"),
        other => counts.unused(&format!("EtherType {other:#06x}")),
    }
}

/// Labels up to the bottom of the stack. Nothing says what is behind it: an IP header whose lengths fit, else an Ethernet
/// frame (a pseudowire) with a control word before it or none.
pub(super) fn mpls<'a>(mut rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    counts.unwrapped("MPLS");
    loop {
        let (Some(byte), Some(left)) = (rest.data.get(2), rest.skip(4)) else {
            return cut("MPLS", counts);
        };
        rest = left;
        if byte & 1 == 1 {
            break;
        }
    }
    let (version, frame) = (rest.data.first().map(|b| b >> 4), rest.looks_like_ethernet());
    match version {
        Some(4) if rest.data[0] & 0x0f >= 5 && rest.u16(2).is_some_and(|n| usize::from(n) <= rest.len) => {
            Step::Go(Next::Ipv4, rest)
        }
        Some(6) if !frame => Step::Go(Next::Ipv6, rest),
        Some(0) if !frame => match rest.skip(4) {
            Some(left) => Step::Go(Next::Ethernet, left),
            None => cut("MPLS", counts),
        },
        Some(_) => Step::Go(Next::Ethernet, rest),
        None => cut("MPLS", counts),
    }
}
