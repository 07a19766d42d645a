//! LLC with SNAP, and what carries it: IEEE 802.3 frames, FDDI, token ring, 802.11 with radiotap or PPI around it.

use super::{cut, Next, Rest, Step};
use crate::counts::Counts;

/// What LLC carries, by SNAP's EtherType (of OUI 0 and of bridge tunnels) or as IP's own service access point.
pub(super) fn llc<'a>(rest: Rest<'a>) -> Option<(Next, Rest<'a>)> {
    match *rest.data.get(..6)? {
        [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8] => Some((Next::EtherType(rest.u16(6)?), rest.skip(8)?)),
        [6, 6, 3, ..] => Some((Next::Ipv4, rest.skip(3)?)),
        _ => None,
    }
}

/// A frame whose EtherType is a length.
#[cold]
pub(super) fn of_802_3<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    match llc(rest) {
        Some((next, left)) => {
            counts.unwrapped("LLC/SNAP");
            Step::Go(next, left)
        }
        None => {
            counts.unused("IEEE 802.3 frame");
            Step::No
        }
    }
}

/// An 802.11 frame. Only data that is not encrypted and not aggregated can be followed.
pub(super) fn wireless<'a>(rest: Rest<'a>, counts: &mut Counts) -> Step<'a> {
    let Some(&[kind, flags]) = rest.data.get(..2) else {
        return cut("802.11", counts);
    };
    let (is_data, is_null, is_qos) = (kind >> 2 & 3 == 2, kind & 0x40 != 0, kind & 0x80 != 0);
    let reason = if !is_data {
        "802.11 management or control frame"
    } else if is_null {
        "802.11 frame without data"
    } else if flags & 0x40 != 0 {
        "802.11 data, encrypted"
    } else {
        let mut header = 24;
        if flags & 3 == 3 {
            header += 6; // the fourth address
        }
        let control = rest.data.get(header).copied().unwrap_or(0);
        if is_qos {
            header += if flags & 0x80 != 0 { 6 } else { 2 };
        }
        if is_qos && control & 0x80 != 0 {
            "802.11 aggregate (A-MSDU)"
        } else {
            // Some drivers pad the header to words.
            for at in [header, header.next_multiple_of(4)] {
                if let Some((next, left)) = rest.skip(at).and_then(llc) {
                    counts.unwrapped("802.11");
                    return Step::Go(next, left);
                }
            }
            "802.11 data that carries no IP"
        }
    };
    counts.unused(reason);
    Step::No
}

/// The length of radiotap's header, or of PPI's.
pub(super) fn behind_its_length<'a>(rest: Rest<'a>) -> Option<Rest<'a>> {
    let length = rest.u16(2)?.swap_bytes();
    rest.skip(usize::from(length))
}
