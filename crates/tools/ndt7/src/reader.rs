//! Turns a stream of received bytes into WebSocket messages, without keeping the payload of binary messages.
//!
//! Pure: bytes go in by slices, events come out. `skippable` says how many of the next bytes may be dropped
//! unread (in the kernel) because they can only be payload of a binary message. Does no input or output.

use crate::frame::{self, Parsed};
use crate::spec::MAX_MESSAGE_BYTES;

/// Longest text that is kept; a longer one (up to `MAX_MESSAGE_BYTES`) is read past and reported as `LongText`.
pub const MAX_KEPT_TEXT_BYTES: u64 = 1 << 16;
const MAX_HEADER_BYTES: usize = 14;

#[derive(Debug, PartialEq, Eq)]
pub enum Event {
    Text(Vec<u8>),
    /// A text longer than we keep: its size.
    LongText(u64),
    /// The first frame of a binary message (its payload is only counted).
    BinaryStarts,
    BinaryEnds,
    Ping(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<(u16, String)>),
}

/// Why the connection must be failed: a close code and a reason.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure(pub u16, pub &'static str);

pub struct Reader {
    /// Frames from a client are masked, frames from a server are not (RFC 6455, 5.1).
    expect_mask: bool,
    header: [u8; MAX_HEADER_BYTES],
    header_used: usize,
    /// The frame whose payload is being read.
    frame: Option<frame::Header>,
    left: u64,
    /// Opcode of the unfinished message and its bytes so far.
    message: Option<(u8, u64)>,
    text: Vec<u8>,
    control: Vec<u8>,
    /// Payload bytes of text and binary messages.
    pub data_bytes: u64,
}

impl Reader {
    pub fn new(expect_mask: bool) -> Reader {
        Reader {
            expect_mask,
            header: [0; MAX_HEADER_BYTES],
            header_used: 0,
            frame: None,
            left: 0,
            message: None,
            text: Vec::new(),
            control: Vec::new(),
            data_bytes: 0,
        }
    }

    /// How many of the next bytes are payload of a binary message, all of it uninteresting.
    pub fn skippable(&self) -> u64 {
        match (self.frame, self.message) {
            // The frame's last byte is left to `feed`, so that the end of a message is seen in one place.
            (Some(frame), Some((frame::OP_BINARY, _))) if frame.opcode < frame::OP_CLOSE => {
                self.left.saturating_sub(1)
            }
            _ => 0,
        }
    }

    /// Bytes left of the current frame, 0 between frames.
    pub fn left_in_frame(&self) -> u64 {
        self.left
    }

    /// Accounts for `bytes` (at most `skippable`) that were dropped unread.
    pub fn skip(&mut self, bytes: u64) {
        debug_assert!(bytes <= self.skippable());
        self.left -= bytes;
        self.data_bytes += bytes;
    }

    /// Takes all of `bytes`; the events they complete are appended to `events`.
    pub fn feed(&mut self, mut bytes: &[u8], events: &mut Vec<Event>) -> Result<(), Failure> {
        while !bytes.is_empty() || (self.frame.is_some() && self.left == 0) {
            let Some(frame) = self.frame else {
                bytes = self.feed_header(bytes, events)?;
                continue;
            };
            let n = self.left.min(bytes.len() as u64);
            let (part, rest) = bytes.split_at(n as usize);
            bytes = rest;
            let offset = frame.payload_bytes - self.left;
            self.left -= n;
            self.take_payload(frame, part, offset);
            if self.left == 0 {
                self.frame = None;
                self.end_frame(frame, events)?;
            }
        }
        Ok(())
    }

    fn feed_header<'a>(&mut self, bytes: &'a [u8], events: &mut Vec<Event>) -> Result<&'a [u8], Failure> {
        let before = self.header_used;
        let n = bytes.len().min(MAX_HEADER_BYTES - before);
        self.header[before..before + n].copy_from_slice(&bytes[..n]);
        match frame::parse(&self.header[..before + n]) {
            Parsed::Invalid(why) => Err(Failure(frame::CLOSE_PROTOCOL, why)),
            Parsed::Incomplete => {
                self.header_used += n;
                Ok(&bytes[n..])
            }
            Parsed::Header(header, used) => {
                self.header_used = 0;
                self.begin_frame(header, events)?;
                Ok(&bytes[used - before..])
            }
        }
    }

    fn begin_frame(&mut self, header: frame::Header, events: &mut Vec<Event>) -> Result<(), Failure> {
        if header.mask.is_some() != self.expect_mask {
            let why = if self.expect_mask { "frame without a mask" } else { "masked frame from a server" };
            return Err(Failure(frame::CLOSE_PROTOCOL, why));
        }
        match (header.opcode, self.message) {
            (frame::OP_CLOSE.., _) => self.control.clear(),
            (frame::OP_CONTINUATION, None) => {
                return Err(Failure(frame::CLOSE_PROTOCOL, "continuation of no message"))
            }
            (frame::OP_CONTINUATION, Some((opcode, so_far))) => {
                self.message = Some((opcode, so_far.saturating_add(header.payload_bytes)));
            }
            (_, Some(_)) => return Err(Failure(frame::CLOSE_PROTOCOL, "message inside a message")),
            (opcode, None) => {
                self.message = Some((opcode, header.payload_bytes));
                self.text.clear();
                if opcode == frame::OP_BINARY {
                    events.push(Event::BinaryStarts);
                }
            }
        }
        if self.message.is_some_and(|(_, size)| size > MAX_MESSAGE_BYTES) {
            return Err(Failure(frame::CLOSE_TOO_BIG, "message longer than 1 << 24 bytes"));
        }
        self.frame = Some(header);
        self.left = header.payload_bytes;
        Ok(())
    }

    fn take_payload(&mut self, frame: frame::Header, part: &[u8], offset: u64) {
        let keep = if frame.opcode >= frame::OP_CLOSE {
            &mut self.control
        } else {
            self.data_bytes += part.len() as u64;
            if !matches!(self.message, Some((frame::OP_TEXT, size)) if size <= MAX_KEPT_TEXT_BYTES) {
                return;
            }
            &mut self.text
        };
        let at = keep.len();
        keep.extend_from_slice(part);
        if let Some(mask) = frame.mask {
            frame::apply_mask(&mut keep[at..], mask, offset);
        }
    }

    fn end_frame(&mut self, frame: frame::Header, events: &mut Vec<Event>) -> Result<(), Failure> {
        match frame.opcode {
            frame::OP_PING => events.push(Event::Ping(std::mem::take(&mut self.control))),
            frame::OP_PONG => events.push(Event::Pong(std::mem::take(&mut self.control))),
            frame::OP_CLOSE => match frame::parse_close(&self.control) {
                Ok(close) => events.push(Event::Close(close)),
                Err(why) => return Err(Failure(frame::CLOSE_PROTOCOL, why)),
            },
            _ if !frame.fin => {}
            _ => match self.message.take() {
                Some((frame::OP_BINARY, _)) => events.push(Event::BinaryEnds),
                Some((_, size)) if size > MAX_KEPT_TEXT_BYTES => events.push(Event::LongText(size)),
                _ => events.push(Event::Text(std::mem::take(&mut self.text))),
            },
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::random::Random;

    fn read(expect_mask: bool, pieces: &[&[u8]]) -> Result<Vec<Event>, Failure> {
        let (mut reader, mut events) = (Reader::new(expect_mask), vec![]);
        for piece in pieces {
            reader.feed(piece, &mut events)?;
        }
        Ok(events)
    }

    fn stream(mask: Option<[u8; 4]>) -> Vec<u8> {
        let mut out = vec![];
        frame::push_frame(&mut out, frame::OP_BINARY, mask, &[7; 70_000]);
        frame::push_frame(&mut out, frame::OP_TEXT, mask, b"{\"AppInfo\":null}");
        frame::push_frame(&mut out, frame::OP_PING, mask, b"abc");
        frame::push_frame(&mut out, frame::OP_BINARY, mask, b"");
        frame::push_frame(&mut out, frame::OP_CLOSE, mask, &frame::close_payload(1000, "bye"));
        out
    }

    fn expected() -> Vec<Event> {
        vec![
            Event::BinaryStarts,
            Event::BinaryEnds,
            Event::Text(b"{\"AppInfo\":null}".to_vec()),
            Event::Ping(b"abc".to_vec()),
            Event::BinaryStarts,
            Event::BinaryEnds,
            Event::Close(Some((1000, "bye".into()))),
        ]
    }

    #[test]
    fn messages_are_the_same_however_the_stream_is_cut() {
        let mut random = Random::new(5);
        for mask in [None, Some([9, 8, 7, 6])] {
            let bytes = stream(mask);
            assert_eq!(read(mask.is_some(), &[&bytes]).unwrap(), expected());
            for _ in 0..50 {
                let (mut rest, mut pieces) = (&bytes[..], vec![]);
                while !rest.is_empty() {
                    let most = if random.next_u64().is_multiple_of(4) { 20_000 } else { 5 };
                    let (piece, tail) =
                        rest.split_at((random.next_u64() as usize % most + 1).min(rest.len()));
                    pieces.push(piece);
                    rest = tail;
                }
                assert_eq!(read(mask.is_some(), &pieces).unwrap(), expected());
            }
        }
    }

    #[test]
    fn binary_payload_can_be_skipped_and_is_still_counted() {
        let bytes = stream(None);
        let (mut reader, mut events, mut at) = (Reader::new(false), vec![], 0);
        while at < bytes.len() {
            let skip = reader.skippable() as usize;
            if skip > 0 {
                reader.skip(skip as u64);
                at += skip;
            } else {
                reader.feed(&bytes[at..at + 1], &mut events).unwrap();
                at += 1;
            }
        }
        assert_eq!(events, expected());
        assert_eq!(reader.data_bytes, 70_000 + 16);
    }

    #[test]
    fn a_fragmented_text_with_a_ping_inside_is_one_text() {
        let events = read(false, &[b"\x01\x03Hel\x89\x01p\x80\x02lo"]).unwrap();
        assert_eq!(events, [Event::Ping(b"p".to_vec()), Event::Text(b"Hello".to_vec())]);
    }

    #[test]
    fn broken_streams_fail_with_the_right_close_code() {
        let code = |mask, bytes: &[u8]| read(mask, &[bytes]).unwrap_err().0;
        assert_eq!(code(true, b"\x82\x01x"), frame::CLOSE_PROTOCOL); // a client must mask
        assert_eq!(code(false, b"\x82\x81\0\0\0\0x"), frame::CLOSE_PROTOCOL); // a server must not
        assert_eq!(code(false, b"\x80\x01x"), frame::CLOSE_PROTOCOL); // continues nothing
        assert_eq!(code(false, b"\x02\x01x\x82\x01x"), frame::CLOSE_PROTOCOL); // starts inside a message
        assert_eq!(code(false, b"\x88\x01x"), frame::CLOSE_PROTOCOL); // half a close code
        assert_eq!(code(false, b"\x82\x7f\0\0\0\0\x01\0\0\x01"), frame::CLOSE_TOO_BIG);
        let mut fragments = b"\x02\x7f\0\0\0\0\x01\0\0\0".to_vec();
        fragments.resize(fragments.len() + (1 << 24), 0);
        fragments.extend_from_slice(b"\x80\x01x");
        assert_eq!(code(false, &fragments), frame::CLOSE_TOO_BIG); // the sum of fragments counts
    }

    #[test]
    fn a_message_of_the_largest_allowed_size_passes_and_long_texts_are_not_kept() {
        for (opcode, last) in [(0x82u8, Event::BinaryEnds), (0x81, Event::LongText(1 << 24))] {
            let mut bytes = vec![opcode, 0x7f, 0, 0, 0, 0, 1, 0, 0, 0];
            bytes.resize(bytes.len() + (1 << 24), 0);
            assert_eq!(read(false, &[&bytes]).unwrap().pop(), Some(last));
        }
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        let mut random = Random::new(11);
        for _ in 0..20_000 {
            let bytes: Vec<u8> =
                (0..random.next_u64() % 64).map(|_| (random.next_u64() % 140) as u8).collect();
            let _ = read(random.next_u64().is_multiple_of(2), &[&bytes]);
        }
    }
}
