//! PPP, which links and tunnels carry.

use super::{Next, Rest};

/// The protocol field of PPP, which may be compressed to one byte, behind an optional ff 03.
pub(super) fn ppp<'a>(rest: Rest<'a>) -> Option<(Next, Rest<'a>)> {
    let rest = if rest.data.starts_with(&[0xff, 0x03]) { rest.skip(2)? } else { rest };
    let first = *rest.data.first()?;
    let (protocol, used) = if first & 1 == 1 { (u16::from(first), 1) } else { (rest.u16(0)?, 2) };
    let next = match protocol {
        0x0021 => Next::Ipv4,
        0x0057 => Next::Ipv6,
        0x0281 => Next::Mpls,
        _ => return None,
    };
    Some((next, rest.skip(used)?))
}
