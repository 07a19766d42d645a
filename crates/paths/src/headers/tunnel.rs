//! Tunnels that are unwrapped: GRE with ERSPAN, and over UDP VXLAN, Geneve, GTP-U, L2TP, TZSP, MPLS, GUE and Teredo by
//! their registered ports. VXLAN on another port is known by its header and an Ethernet frame with IP behind it.

use super::ppp::ppp;
use super::{cut, Datagram, Ip, Next, Rest, Step};
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
            let skip = if left.data.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
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
        // ERSPAN type III: twelve bytes, and a platform's eight where the last bit says so.
        0x22eb => {
            let more = left.data.get(11).is_some_and(|flags| flags & 1 != 0);
            match left.skip(if more { 20 } else { 12 }) {
                Some(inner) => Step::Go(Next::Ethernet, inner),
                None => cut("ERSPAN", counts),
            }
        }
        // WCCP, with its redirect header or without.
        0x883e if left.data.first().is_some_and(|byte| byte >> 4 != 4) => match left.skip(4) {
            Some(inner) => Step::Go(Next::Ip, inner),
            None => cut("WCCP", counts),
        },
        0x883e => Step::Go(Next::Ip, left),
        kind => Step::Go(Next::EtherType(kind), left),
    }
}

/// `whole` is of the networks around the datagram, `rest` of the tunnel that it may be.
pub(super) fn udp<'a>(whole: Rest<'a>, rest: Rest<'a>, ip: Ip, counts: &mut Counts) -> Step<'a> {
    let (Some(source), Some(target), Some(said), Some(left)) =
        (rest.u16(0), rest.u16(2), rest.u16(4), rest.skip(8))
    else {
        return cut("UDP", counts);
    };
    match target {
        4789 | 8472 if left.data.first().is_some_and(|flags| flags & 0x08 != 0) => vxlan(left, counts),
        6081 => geneve(left, counts),
        2152 => gtp(left, counts),
        1701 => l2tp(left, counts),
        37008 => tzsp(left, counts),
        4790 | 6080 | 6635 | 3544 => typed(target, left, counts),
        _ if left.data.starts_with(&[8, 0, 0, 0]) && left.skip(8).is_some_and(Rest::looks_like_ethernet) => {
            vxlan(left, counts)
        }
        _ => {
            let left = Rest { outer: whole.outer, ..left };
            Step::Datagram(Box::new(Datagram::new(left, ip, (source, target), said)))
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
                let Some(length) = rest.data.get(header).map(|n| usize::from(*n) * 4).filter(|n| *n > 0)
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

fn vxlan<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    match rest.skip(8) {
        Some(inner) => {
            counts.unwrapped("VXLAN");
            Step::Go(Next::Ethernet, inner.within(rest.u24(4).unwrap_or(0)))
        }
        None => cut("VXLAN", counts),
    }
}

/// Version 2 carries PPP; version 3 is told by what is behind its session.
fn l2tp<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let Some(flags) = rest.u16(0) else {
        return cut("L2TP", counts);
    };
    if flags & 0x8000 != 0 {
        counts.unused("L2TP control");
        return Step::No;
    }
    if flags & 0x0f == 3 {
        return l2tp3(rest, 8, counts);
    }
    let mut header = 6;
    if flags & 0x4000 != 0 {
        header += 2; // length
    }
    if flags & 0x0800 != 0 {
        header += 4; // sequence numbers
    }
    if flags & 0x0200 != 0 {
        header += 2 + usize::from(rest.u16(header).unwrap_or(0)); // offset and padding
    }
    match rest.skip(header).and_then(ppp) {
        Some((next, left)) => {
            counts.unwrapped("L2TP");
            Step::Go(next, left)
        }
        None => {
            counts.unused("L2TP that carries no IP");
            Step::No
        }
    }
}

/// Behind the session a cookie of 0, 4 or 8 bytes and a sublayer of 0 or 4, of which nothing tells.
#[cold]
pub(super) fn l2tp3<'a>(rest: Rest<'a>, header: usize, counts: &mut Counts) -> Step<'a> {
    for more in [0, 4, 8, 12] {
        if let Some(inner) = rest.skip(header + more).filter(|r| r.looks_like_ethernet()) {
            counts.unwrapped("L2TP");
            return Step::Go(Next::Ethernet, inner);
        }
    }
    counts.unused("L2TP version 3 that carries no Ethernet with IP");
    Step::No
}

/// TaZmen's: tags up to an end mark, and then a frame.
#[cold]
fn tzsp<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let next = match rest.u16(2) {
        Some(1) => Next::Ethernet,
        Some(18) => Next::Wireless,
        _ => {
            counts.unused("TZSP that carries no frame");
            return Step::No;
        }
    };
    let mut at = 4;
    loop {
        match (rest.data.get(at), rest.data.get(at + 1)) {
            (Some(1), _) => break,
            (Some(0), _) => at += 1,
            (Some(_), Some(length)) => at += 2 + usize::from(*length),
            _ => return cut("TZSP", counts),
        }
    }
    match rest.skip(at + 1) {
        Some(inner) => {
            counts.unwrapped("TZSP");
            Step::Go(next, inner)
        }
        None => cut("TZSP", counts),
    }
}

/// Headers with a field of what is next, or none: VXLAN-GPE, GUE, MPLS and Teredo over UDP.
#[cold]
fn typed<'a>(port: u16, rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let byte = |at: usize| rest.data.get(at).copied();
    let (name, next, header) = match port {
        4790 => match byte(3) {
            Some(1) => ("VXLAN-GPE", Next::Ipv4, 8),
            Some(2) => ("VXLAN-GPE", Next::Ipv6, 8),
            _ => ("VXLAN-GPE", Next::Ethernet, 8),
        },
        6080 => {
            let length = usize::from(byte(0).unwrap_or(0) & 0x1f) * 4 + 4;
            match byte(1) {
                Some(4) => ("GUE", Next::Ipv4, length),
                Some(41) => ("GUE", Next::Ipv6, length),
                _ => ("GUE", Next::Ip, length),
            }
        }
        6635 => ("MPLS in UDP", Next::Mpls, 0),
        _ => ("Teredo", Next::Ip, 0),
    };
    match rest.skip(header) {
        Some(inner) => {
            counts.unwrapped(name);
            Step::Go(next, inner)
        }
        None => cut(name, counts),
    }
}
