//! The datagrams. Pure. Anything that is not one of ours is nothing.

pub const MAGIC: [u8; 4] = *b"nrid";
/// A head, and the smallest datagram.
pub const HEAD_BYTES: usize = 29;
pub const IP_UDP_BYTES: u64 = 28;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// "This flow comes from here", from the client, until the server has them all.
    Hello,
    Load,
    /// To be sent back as it is.
    Echo,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Head {
    pub kind: Kind,
    pub session: u64,
    pub phase: u16,
    pub flow: u16,
    pub number: u32,
    /// CLOCK_REALTIME of the sender.
    pub sent_ns: i64,
}

/// Writes the head over the first bytes of a datagram, which has at least `HEAD_BYTES`.
pub fn write(head: &Head, out: &mut [u8]) {
    out[..4].copy_from_slice(&MAGIC);
    out[4] = match head.kind {
        Kind::Hello => 1,
        Kind::Load => 2,
        Kind::Echo => 3,
    };
    out[5..13].copy_from_slice(&head.session.to_le_bytes());
    out[13..15].copy_from_slice(&head.phase.to_le_bytes());
    out[15..17].copy_from_slice(&head.flow.to_le_bytes());
    out[17..21].copy_from_slice(&head.number.to_le_bytes());
    out[21..29].copy_from_slice(&head.sent_ns.to_le_bytes());
}

pub fn read(bytes: &[u8]) -> Option<Head> {
    let bytes: &[u8; HEAD_BYTES] = bytes.get(..HEAD_BYTES)?.try_into().ok()?;
    if bytes[..4] != MAGIC {
        return None;
    }
    let kind = match bytes[4] {
        1 => Kind::Hello,
        2 => Kind::Load,
        3 => Kind::Echo,
        _ => return None,
    };
    Some(Head {
        kind,
        session: u64::from_le_bytes(bytes[5..13].try_into().ok()?),
        phase: u16::from_le_bytes(bytes[13..15].try_into().ok()?),
        flow: u16::from_le_bytes(bytes[15..17].try_into().ok()?),
        number: u32::from_le_bytes(bytes[17..21].try_into().ok()?),
        sent_ns: i64::from_le_bytes(bytes[21..29].try_into().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_nothing_else_is() {
        let head = Head {
            kind: Kind::Load,
            session: u64::MAX - 1,
            phase: 7,
            flow: 127,
            number: 1_000_000,
            sent_ns: -5,
        };
        let mut bytes = [0u8; HEAD_BYTES + 3];
        write(&head, &mut bytes);
        assert_eq!(read(&bytes), Some(head));
        assert_eq!(read(&bytes[..HEAD_BYTES - 1]), None);
        bytes[4] = 9;
        assert_eq!(read(&bytes), None);
        assert_eq!(read(b"GET / HTTP/1.1\r\nHost: example.org\r\n\r\n"), None);
    }
}
