//! Link layers and tags: Ethernet, Linux "cooked" (SLL, SLL2), NULL and LOOP, raw IP; VLAN, QinQ, MPLS, PPPoE.

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
        113 => rest
            .u16(14)
            .and_then(|kind| Some((Next::EtherType(kind), rest.skip(16)?))),
        276 => rest
            .u16(0)
            .and_then(|kind| Some((Next::EtherType(kind), rest.skip(20)?))),
        // PPP, with and without the address and control bytes.
        9 | 50 => ppp(rest),
        other => {
            counts.unused(&format!("link type {other}"));
            return None;
        }
    };
    if found.is_none() {
        counts.unused(&format!(
            "link header of type {link_type} that is cut or of an unknown family"
        ));
    }
    found
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
        other => {
            not_ip(other, counts);
            Step::No
        }
    }
}

#[cold]
fn not_ip(kind: u16, counts: &mut Counts) {
    match kind {
        0x0806 => counts.unused("ARP"),
        0x8863 => counts.unused("PPPoE discovery"),
        0x88cc => counts.unused("LLDP"),
        0x888e => counts.unused("EAPOL"),
        0..=1500 => counts.unused("IEEE 802.3 frame"),
        other => counts.unused(&format!("EtherType {other:#06x}")),
    }
}

/// The protocol field of PPP, which may be compressed to one byte, behind an optional ff 03.
fn ppp<'a>(rest: Rest<'a>) -> Option<(Next, Rest<'a>)> {
    let rest = if rest.data.starts_with(&[0xff, 0x03]) {
        rest.skip(2)?
    } else {
        rest
    };
    let first = *rest.data.first()?;
    let (protocol, used) = if first & 1 == 1 {
        (u16::from(first), 1)
    } else {
        (rest.u16(0)?, 2)
    };
    let next = match protocol {
        0x0021 => Next::Ipv4,
        0x0057 => Next::Ipv6,
        0x0281 => Next::Mpls,
        _ => return None,
    };
    Some((next, rest.skip(used)?))
}

/// Labels up to the bottom of the stack. Nothing says what is behind it: the first half byte tells IP, and a
/// control word or an Ethernet frame (a pseudowire) is what else it can be.
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
    match rest.data.first().map(|b| b >> 4) {
        Some(4) => Step::Go(Next::Ipv4, rest),
        Some(6) => Step::Go(Next::Ipv6, rest),
        Some(0) => match rest.skip(4) {
            Some(left) => Step::Go(Next::Ethernet, left),
            None => cut("MPLS", counts),
        },
        Some(_) => Step::Go(Next::Ethernet, rest),
        None => cut("MPLS", counts),
    }
}
