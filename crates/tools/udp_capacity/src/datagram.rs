//! The datagrams. Pure. Anything that is not one of ours, whole and of this test, is nothing.

pub const MAGIC: [u8; 4] = *b"nruc";
/// Payload of a datagram of load, as the reference program's without jumbo frames: an IP packet of 1250 bytes.
pub const LOAD_BYTES: usize = 1222;
pub const IP_UDP_BYTES: u64 = 28;
/// What a receiver needs of one.
pub const SNAP_BYTES: usize = 64;
pub const MOST_SECONDS: u32 = 60;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    pub up: bool,
    pub seconds: u32,
    pub tolerated: u32,
    pub lower_ms: f64,
    pub upper_ms: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    pub number: u32,
    pub anomalies: u32,
    /// NaN: no datagram came.
    pub delay_us: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    Setup(Setup),
    Ready,
    Load {
        number: u32,
        row: u16,
        sent_ns: i64,
    },
    Status(Status),
    Stop,
    /// JSON
    Result(String),
}

pub fn write(token: u64, message: &Message) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let kind = match message {
        Message::Setup(_) => 1u8,
        Message::Ready => 2,
        Message::Load { .. } => 3,
        Message::Status(_) => 4,
        Message::Stop => 5,
        Message::Result(_) => 6,
    };
    out.push(kind);
    out.extend(token.to_le_bytes());
    match message {
        Message::Setup(s) => {
            out.push(u8::from(s.up));
            out.extend(s.seconds.to_le_bytes());
            out.extend(s.tolerated.to_le_bytes());
            out.extend(s.lower_ms.to_le_bytes());
            out.extend(s.upper_ms.to_le_bytes());
        }
        Message::Load { number, row, sent_ns } => {
            out.extend(number.to_le_bytes());
            out.extend(row.to_le_bytes());
            out.extend(sent_ns.to_le_bytes());
            out.resize(LOAD_BYTES, 0);
        }
        Message::Status(s) => {
            out.extend(s.number.to_le_bytes());
            out.extend(s.anomalies.to_le_bytes());
            out.extend(s.delay_us.to_le_bytes());
        }
        Message::Result(text) => out.extend(text.as_bytes()),
        Message::Ready | Message::Stop => {}
    }
    out
}

struct Cursor<'a>(&'a [u8]);

impl Cursor<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
}

/// The token and the message, if it is one.
pub fn read(bytes: &[u8]) -> Option<(u64, Message)> {
    let mut at = Cursor(bytes);
    if at.take::<4>()? != MAGIC {
        return None;
    }
    let kind = at.take::<1>()?[0];
    let token = u64::from_le_bytes(at.take()?);
    let message = match kind {
        1 => {
            let up = match at.take::<1>()?[0] {
                0 => false,
                1 => true,
                _ => return None,
            };
            let setup = Setup {
                up,
                seconds: u32::from_le_bytes(at.take()?),
                tolerated: u32::from_le_bytes(at.take()?),
                lower_ms: f64::from_le_bytes(at.take()?),
                upper_ms: f64::from_le_bytes(at.take()?),
            };
            let sane = (1..=MOST_SECONDS).contains(&setup.seconds)
                && setup.lower_ms.is_finite()
                && setup.upper_ms.is_finite();
            Message::Setup(sane.then_some(setup)?)
        }
        2 => Message::Ready,
        3 => Message::Load {
            number: Some(u32::from_le_bytes(at.take()?)).filter(|n| *n > 0)?,
            row: u16::from_le_bytes(at.take()?),
            sent_ns: i64::from_le_bytes(at.take()?),
        },
        4 => Message::Status(Status {
            number: u32::from_le_bytes(at.take()?),
            anomalies: u32::from_le_bytes(at.take()?),
            delay_us: f64::from_le_bytes(at.take()?),
        }),
        5 => Message::Stop,
        6 => Message::Result(std::str::from_utf8(at.0).ok()?.to_owned()),
        _ => return None,
    };
    Some((token, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written() {
        let setup = Setup { up: true, seconds: 10, tolerated: 10, lower_ms: 30.0, upper_ms: 90.0 };
        let all = [
            Message::Setup(setup),
            Message::Ready,
            Message::Load { number: 7, row: 300, sent_ns: -5 },
            Message::Status(Status { number: 1, anomalies: 2, delay_us: 3.5 }),
            Message::Stop,
            Message::Result("{}".into()),
        ];
        for message in all {
            assert_eq!(read(&write(9, &message)), Some((9, message)));
        }
    }

    #[test]
    fn garbage_and_everything_cut_short_is_nothing() {
        assert_eq!(read(b""), None);
        assert_eq!(read(b"GET / HTTP/1.1\r\n\r\n"), None);
        assert_eq!(read(&[0xff; 2000]), None);
        let setup =
            Message::Setup(Setup { up: false, seconds: 10, tolerated: 0, lower_ms: 30.0, upper_ms: 90.0 });
        let whole = write(1, &setup);
        for n in 0..whole.len() {
            assert_eq!(read(&whole[..n]), None, "{n}");
        }
        let mut endless = whole.clone();
        endless[14..18].copy_from_slice(&u32::MAX.to_le_bytes()); // seconds
        assert_eq!(read(&endless), None);
        assert_eq!(read(&write(1, &Message::Load { number: 0, row: 0, sent_ns: 0 })), None);
    }
}
