//! IPv4 and IPv6 with its extension headers, and what they carry: TCP, or a tunnel to unwrap.

use super::{cut, tcp, tunnel, Ip, Next, Rest, Step};
use crate::counts::Counts;

const TCP: u8 = 6;

pub(super) fn ip<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    match rest.data.first().map(|b| b >> 4) {
        Some(4) => Step::Go(Next::Ipv4, rest),
        Some(6) => Step::Go(Next::Ipv6, rest),
        Some(_) => {
            counts.unused("neither IPv4 nor IPv6");
            Step::No
        }
        None => cut("IP", counts),
    }
}

#[inline]
pub(super) fn ipv4<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let Some(head) = rest.data.get(..20) else {
        return cut("IPv4", counts);
    };
    let header = usize::from(head[0] & 0x0f) * 4;
    if head[0] >> 4 != 4 || header < 20 {
        counts.unused("IPv4 header that is not one");
        return Step::No;
    }
    let mut total = usize::from(u16::from_be_bytes([head[2], head[3]]));
    if total == 0 {
        // Segmentation offload writes 0 for packets above 64 KB: the length on the wire is the only one there is.
        counts.odd("IPv4 total length 0 (segmentation offload)");
        total = rest.len;
    }
    if total < header {
        counts.unused("IPv4 total length below its header's");
        return Step::No;
    }
    if total > rest.len {
        counts.odd("IPv4 total length above the length on the wire");
    }
    let fragment = u16::from_be_bytes([head[6], head[7]]);
    if fragment & 0x3fff != 0 {
        counts.unused("IPv4 fragment");
        return Step::No;
    }
    let address =
        |at: usize| u128::from(u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]));
    let ip = Ip {
        source: address(12),
        target: address(16),
        v6: false,
        id: Some(u16::from_be_bytes([head[4], head[5]])),
        ttl: head[8],
        ecn: head[1] & 3,
    };
    let protocol = head[9];
    let Some(data) = rest.data.get(header..) else {
        return cut("IPv4 options", counts);
    };
    payload(protocol, Rest { data, len: total - header, outer: rest.outer }, ip, counts)
}

#[inline]
pub(super) fn ipv6<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let Some(head) = rest.data.get(..40) else {
        return cut("IPv6", counts);
    };
    if head[0] >> 4 != 6 {
        counts.unused("IPv6 header that is not one");
        return Step::No;
    }
    let mut len = usize::from(u16::from_be_bytes([head[4], head[5]]));
    if len == 0 {
        // A jumbogram or segmentation offload (BIG TCP).
        counts.odd("IPv6 payload length 0 (jumbogram or segmentation offload)");
        len = rest.len.saturating_sub(40);
    }
    let address = |at: usize| {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&head[at..at + 16]);
        u128::from_be_bytes(bytes)
    };
    let ip = Ip {
        source: address(8),
        target: address(24),
        v6: true,
        id: None,
        ttl: head[7],
        ecn: (head[1] >> 4) & 3,
    };
    let mut protocol = head[6];
    let mut rest = Rest { data: &rest.data[40..], len, outer: rest.outer };
    loop {
        let length = match protocol {
            // Hop-by-hop, routing, destination options, mobility, HIP, shim6.
            0 | 43 | 60 | 135 | 139 | 140 => rest.data.get(1).map(|n| (usize::from(*n) + 1) * 8),
            51 => rest.data.get(1).map(|n| (usize::from(*n) + 2) * 4),
            44 => {
                // An "atomic" fragment is whole.
                if rest.u16(2).is_none_or(|f| f & 0xfff9 != 0) {
                    counts.unused("IPv6 fragment");
                    return Step::No;
                }
                Some(8)
            }
            _ => break,
        };
        let (Some(length), Some(next)) = (length, rest.data.first().copied()) else {
            return cut("IPv6 extension header", counts);
        };
        let Some(left) = rest.skip(length) else {
            return cut("IPv6 extension header", counts);
        };
        (protocol, rest) = (next, left);
    }
    payload(protocol, rest, ip, counts)
}

#[inline]
fn payload<'a>(protocol: u8, rest: Rest<'a>, ip: Ip, counts: &mut Counts) -> Step<'a> {
    if protocol == TCP {
        return match tcp::segment(rest, ip, counts) {
            Some(segment) => Step::Segment(segment),
            None => Step::No,
        };
    }
    // The tunnel is of both directions, so of the pair of addresses.
    let pair = ip.source.wrapping_add(ip.target);
    let pair = (pair >> 64) as u64 ^ pair as u64;
    let tunnel = rest.within((pair >> 32) as u32 ^ pair as u32);
    other(protocol, rest, tunnel, ip, counts)
}

#[cold]
fn other<'a>(protocol: u8, whole: Rest<'a>, rest: Rest<'a>, ip: Ip, counts: &mut Counts) -> Step<'a> {
    match protocol {
        51 => {
            counts.unwrapped("AH");
            let (next, words) = (whole.data.first(), whole.data.get(1));
            match words.and_then(|n| whole.skip((usize::from(*n) + 2) * 4)) {
                Some(left) => payload(next.copied().unwrap_or(0), left, ip, counts),
                None => cut("AH", counts),
            }
        }
        115 => tunnel::l2tp3(rest, 4, counts),
        4 => {
            counts.unwrapped("IP in IP");
            Step::Go(Next::Ipv4, rest)
        }
        41 => {
            counts.unwrapped("IPv6 in IP");
            Step::Go(Next::Ipv6, rest)
        }
        47 => tunnel::gre(rest, counts),
        17 => tunnel::udp(whole, rest, ip, counts),
        137 => Step::Go(Next::Mpls, rest),
        1 | 58 => {
            counts.unused("ICMP");
            Step::No
        }
        50 => {
            counts.unused("ESP (encrypted)");
            Step::No
        }
        132 => {
            counts.unused("SCTP");
            Step::No
        }
        other => {
            counts.unused(&format!("IP protocol {other}"));
            Step::No
        }
    }
}
