//! Frames of an opened QUIC packet (RFC 9000, 19; RFC 9221; draft-ietf-quic-ack-frequency).

use super::header::{variable, Cid};

#[derive(Debug, Clone, PartialEq)]
pub enum Frame<'a> {
    Padding,
    Ping,
    /// Ranges of packet numbers, the largest first, both ends included.
    Ack {
        ranges: Vec<(u64, u64)>,
        delay: u64,
    },
    Crypto {
        offset: u64,
        data: &'a [u8],
    },
    Stream {
        id: u64,
        offset: u64,
        len: u64,
        fin: bool,
    },
    NewConnectionId(Cid),
    ConnectionClose,
    Datagram {
        len: u64,
    },
    /// Any other that asks for an acknowledgement, by its type.
    Other(u64),
}

impl Frame<'_> {
    pub fn name(&self) -> &'static str {
        match self {
            Frame::Padding => "padding",
            Frame::Ping => "ping",
            Frame::Ack { .. } => "ack",
            Frame::Crypto { .. } => "crypto",
            Frame::Stream { .. } => "stream",
            Frame::NewConnectionId(_) => "new_connection_id",
            Frame::ConnectionClose => "connection_close",
            Frame::Datagram { .. } => "datagram",
            Frame::Other(kind) => match kind {
                0x04 => "reset_stream",
                0x05 => "stop_sending",
                0x07 => "new_token",
                0x10 => "max_data",
                0x11 => "max_stream_data",
                0x12 | 0x13 => "max_streams",
                0x14 => "data_blocked",
                0x15 => "stream_data_blocked",
                0x16 | 0x17 => "streams_blocked",
                0x19 => "retire_connection_id",
                0x1a => "path_challenge",
                0x1b => "path_response",
                0x1e => "handshake_done",
                _ => "unknown",
            },
        }
    }

    /// Whether it asks for an acknowledgement.
    pub fn elicits(&self) -> bool {
        !matches!(self, Frame::Padding | Frame::Ack { .. } | Frame::ConnectionClose)
    }
}

/// The frames, and whether all were understood: one of an unknown type ends them, as its length is not known.
pub fn frames(data: &[u8]) -> (Vec<Frame<'_>>, bool) {
    let mut all = Vec::new();
    let mut at = 0;
    while at < data.len() {
        if data[at] == 0 {
            if all.last() != Some(&Frame::Padding) {
                all.push(Frame::Padding);
            }
            at += 1;
            continue;
        }
        match frame(data, at) {
            Some((frame, behind)) => {
                all.push(frame);
                at = behind;
            }
            None => return (all, false),
        }
    }
    (all, true)
}

fn frame(data: &[u8], at: usize) -> Option<(Frame<'_>, usize)> {
    let (kind, mut at) = variable(data, at)?;
    let mut next = || {
        let (value, behind) = variable(data, at)?;
        at = behind;
        Some(value)
    };
    let frame = match kind {
        0x01 => Frame::Ping,
        0x02 | 0x03 => {
            let (largest, delay, count, first) = (next()?, next()?, next()?, next()?);
            let mut low = largest.checked_sub(first)?;
            let mut ranges = vec![(low, largest)];
            for _ in 0..count {
                let (gap, len) = (next()?, next()?);
                let high = low.checked_sub(gap)?.checked_sub(2)?;
                low = high.checked_sub(len)?;
                ranges.push((low, high));
            }
            if kind == 0x03 {
                for _ in 0..3 {
                    next()?;
                }
            }
            Frame::Ack { ranges, delay }
        }
        0x06 => {
            let (offset, len) = (next()?, usize::try_from(next()?).ok()?);
            let data = data.get(at..at.checked_add(len)?)?;
            at += len;
            Frame::Crypto { offset, data }
        }
        0x08..=0x0f => {
            let id = next()?;
            let offset = if kind & 4 != 0 { next()? } else { 0 };
            let len = if kind & 2 != 0 { next()? } else { (data.len() - at) as u64 };
            at = behind(data, at, len)?;
            Frame::Stream { id, offset, len, fin: kind & 1 != 0 }
        }
        0x18 => {
            next()?;
            next()?;
            let len = usize::from(*data.get(at)?);
            let cid = Cid::new(data.get(at + 1..at + 1 + len)?)?;
            at = behind(data, at, 1 + len as u64 + 16)?;
            Frame::NewConnectionId(cid)
        }
        0x1c | 0x1d => {
            next()?;
            if kind == 0x1c {
                next()?;
            }
            let len = next()?;
            at = behind(data, at, len)?;
            Frame::ConnectionClose
        }
        0x30 => {
            let len = (data.len() - at) as u64;
            at = data.len();
            Frame::Datagram { len }
        }
        0x31 => {
            let len = next()?;
            at = behind(data, at, len)?;
            Frame::Datagram { len }
        }
        0x1e | 0x1f => Frame::Other(kind),
        0x07 => {
            let len = next()?;
            at = behind(data, at, len)?;
            Frame::Other(kind)
        }
        0x1a | 0x1b => {
            at = behind(data, at, 8)?;
            Frame::Other(kind)
        }
        0x04 | 0x05 | 0x10..=0x17 | 0x19 | 0xaf => {
            let numbers = match kind {
                0x04 => 3,
                0x05 | 0x11 | 0x15 => 2,
                0xaf => 4,
                _ => 1,
            };
            for _ in 0..numbers {
                next()?;
            }
            Frame::Other(kind)
        }
        _ => return None,
    };
    Some((frame, at))
}

fn behind(data: &[u8], at: usize, len: u64) -> Option<usize> {
    at.checked_add(usize::try_from(len).ok()?).filter(|end| *end <= data.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ack_has_its_ranges_from_the_largest_on() {
        let (all, whole) = frames(&[0x02, 10, 3, 1, 2, 1, 1, 0, 0, 0x01]);
        let ranges = vec![(8, 10), (4, 5)];
        assert_eq!(all, [Frame::Ack { ranges, delay: 3 }, Frame::Padding, Frame::Ping]);
        assert!(whole);
    }

    #[test]
    fn what_is_not_known_ends_it() {
        assert_eq!(frames(&[0x01, 0x3f, 0x00]), (vec![Frame::Ping], false));
        assert_eq!(frames(&[0x06, 0x00, 0x05, 0x01]), (vec![], false));
    }
}
