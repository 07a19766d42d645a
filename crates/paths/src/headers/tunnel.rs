//! Tunnels that are unwrapped: GRE, and over UDP VXLAN, Geneve and GTP-U by their registered ports.

use super::{cut, Next, Rest, Step};
use crate::counts::Counts;

pub(super) fn gre<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let (Some(flags), Some(protocol)) = (rest.u16(0), rest.u16(2)) else {
        return cut("GRE", counts);
    };
    let version = flags & 7;
    let mut header = 4;
    if flags & 0x8000 != 0 {
        header += 4; // checksum and reserved
    }
    if flags & 0x2000 != 0 {
        header += 4; // key
    }
    if flags & 0x1000 != 0 {
        header += 4; // sequence number
    }
    if version == 1 && flags & 0x0080 != 0 {
        header += 4; // acknowledgement number (PPTP)
    }
    let Some(mut left) = rest.skip(header) else {
        return cut("GRE", counts);
    };
    counts.unwrapped("GRE");
    // Of NVGRE; PPTP has there the length and the call, which are of one direction.
    if flags & 0x2000 != 0 && version == 0 {
        let at = if flags & 0x8000 != 0 { 8 } else { 4 };
        left = left.within(rest.u24(at).unwrap_or(0));
    }
    match protocol {
        // PPTP carries PPP.
        0x880b if left.data.len() > 4 => {
            let skip = if left.data.starts_with(&[0xff, 0x03]) {
                2
            } else {
                0
            };
            match (left.u16(skip), left.skip(skip + 2)) {
                (Some(0x0021), Some(inner)) => Step::Go(Next::Ipv4, inner),
                (Some(0x0057), Some(inner)) => Step::Go(Next::Ipv6, inner),
                _ => {
                    counts.unused("GRE that carries no IP");
                    Step::No
                }
            }
        }
        // ERSPAN types I and II: a frame behind eight bytes when there is a sequence number.
        0x88be => {
            let skip = if flags & 0x1000 != 0 { 8 } else { 0 };
            match left.skip(skip) {
                Some(inner) => Step::Go(Next::Ethernet, inner),
                None => cut("ERSPAN", counts),
            }
        }
        kind => Step::Go(Next::EtherType(kind), left),
    }
}

pub(super) fn udp<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let (Some(source), Some(target), Some(left)) = (rest.u16(0), rest.u16(2), rest.skip(8)) else {
        return cut("UDP", counts);
    };
    match target {
        4789 | 8472 if left.data.first().is_some_and(|flags| flags & 0x08 != 0) => match left.skip(8) {
            Some(inner) => {
                counts.unwrapped("VXLAN");
                Step::Go(Next::Ethernet, inner.within(left.u24(4).unwrap_or(0)))
            }
            None => cut("VXLAN", counts),
        },
        6081 => geneve(left, counts),
        2152 => gtp(left, counts),
        _ => {
            counts.unused(if source == 443 || target == 443 {
                "UDP port 443 (QUIC)"
            } else {
                "UDP"
            });
            Step::No
        }
    }
}

fn geneve<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let (Some(options), Some(kind)) = (rest.data.first().map(|b| usize::from(b & 0x3f) * 4), rest.u16(2))
    else {
        return cut("Geneve", counts);
    };
    let Some(inner) = rest.skip(8 + options) else {
        return cut("Geneve", counts);
    };
    counts.unwrapped("Geneve");
    Step::Go(Next::EtherType(kind), inner.within(rest.u24(4).unwrap_or(0)))
}

/// GTP-U version 1, message type 255 (a user's packet), with its optional fields and extension headers.
fn gtp<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let (Some(&flags), Some(&kind)) = (rest.data.first(), rest.data.get(1)) else {
        return cut("GTP-U", counts);
    };
    if flags >> 5 != 1 || kind != 255 {
        counts.unused("GTP-U that carries no user's packet");
        return Step::No;
    }
    let mut header = 8;
    if flags & 0x07 != 0 {
        header = 12;
        if flags & 0x04 != 0 {
            let mut next = rest.data.get(11).copied();
            while let Some(extension) = next {
                if extension == 0 {
                    break;
                }
                let Some(length) = rest
                    .data
                    .get(header)
                    .map(|n| usize::from(*n) * 4)
                    .filter(|n| *n > 0)
                else {
                    return cut("GTP-U extension header", counts);
                };
                next = rest.data.get(header + length - 1).copied();
                header += length;
            }
        }
    }
    match rest.skip(header) {
        Some(inner) => {
            counts.unwrapped("GTP-U");
            Step::Go(Next::Ip, inner)
        }
        None => cut("GTP-U", counts),
    }
}
