//! WebSocket frame headers (RFC 6455, section 5): parse and build, as pure functions over byte slices.
//!
//! Knows nothing of messages, sockets or NDT7.

pub const OP_CONTINUATION: u8 = 0x0;
pub const OP_TEXT: u8 = 0x1;
pub const OP_BINARY: u8 = 0x2;
pub const OP_CLOSE: u8 = 0x8;
pub const OP_PING: u8 = 0x9;
pub const OP_PONG: u8 = 0xA;

/// Longest payload of a control frame.
pub const MAX_CONTROL_BYTES: usize = 125;

pub const CLOSE_NORMAL: u16 = 1000;
pub const CLOSE_PROTOCOL: u16 = 1002;
pub const CLOSE_UNSUPPORTED: u16 = 1003;
pub const CLOSE_TOO_BIG: u16 = 1009;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    pub fin: bool,
    pub opcode: u8,
    pub mask: Option<[u8; 4]>,
    pub payload_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// More bytes are needed.
    Incomplete,
    /// A header and how many bytes it takes.
    Header(Header, usize),
    /// Not a frame that RFC 6455 allows; the reason.
    Invalid(&'static str),
}

/// Parses the frame header at the start of `bytes`.
pub fn parse(bytes: &[u8]) -> Parsed {
    let [first, second, rest @ ..] = bytes else {
        return Parsed::Incomplete;
    };
    let opcode = first & 0x0F;
    if first & 0x70 != 0 {
        return Parsed::Invalid("reserved bit set");
    }
    if !matches!(opcode, OP_CONTINUATION | OP_TEXT | OP_BINARY | OP_CLOSE | OP_PING | OP_PONG) {
        return Parsed::Invalid("reserved opcode");
    }
    let fin = first & 0x80 != 0;
    let short = second & 0x7F;
    if opcode >= OP_CLOSE && (!fin || short > 125) {
        return Parsed::Invalid("control frame fragmented or longer than 125 bytes");
    }
    let (payload_bytes, rest, mut used) = match short {
        126 => match rest.split_first_chunk::<2>() {
            Some((n, rest)) => (u64::from(u16::from_be_bytes(*n)), rest, 4),
            None => return Parsed::Incomplete,
        },
        127 => match rest.split_first_chunk::<8>() {
            Some((n, rest)) => (u64::from_be_bytes(*n), rest, 10),
            None => return Parsed::Incomplete,
        },
        n => (u64::from(n), rest, 2),
    };
    if payload_bytes > i64::MAX as u64 {
        return Parsed::Invalid("length with the top bit set");
    }
    if (short == 126 && payload_bytes < 126) || (short == 127 && payload_bytes < 65536) {
        return Parsed::Invalid("length not in its shortest form");
    }
    let mask = if second & 0x80 != 0 {
        let Some(mask) = rest.first_chunk::<4>() else {
            return Parsed::Incomplete;
        };
        used += 4;
        Some(*mask)
    } else {
        None
    };
    Parsed::Header(Header { fin, opcode, mask, payload_bytes }, used)
}

/// Appends the header of an unfragmented frame.
pub fn push_header(out: &mut Vec<u8>, opcode: u8, mask: Option<[u8; 4]>, payload_bytes: usize) {
    let masked = if mask.is_some() { 0x80 } else { 0 };
    out.push(0x80 | opcode);
    match payload_bytes {
        0..=125 => out.push(masked | payload_bytes as u8),
        126..=65535 => {
            out.push(masked | 126);
            out.extend_from_slice(&(payload_bytes as u16).to_be_bytes());
        }
        _ => {
            out.push(masked | 127);
            out.extend_from_slice(&(payload_bytes as u64).to_be_bytes());
        }
    }
    if let Some(mask) = mask {
        out.extend_from_slice(&mask);
    }
}

/// Appends a whole frame, masking a copy of the payload if asked to.
pub fn push_frame(out: &mut Vec<u8>, opcode: u8, mask: Option<[u8; 4]>, payload: &[u8]) {
    push_header(out, opcode, mask, payload.len());
    let at = out.len();
    out.extend_from_slice(payload);
    if let Some(mask) = mask {
        apply_mask(&mut out[at..], mask, 0);
    }
}

/// Masks or unmasks in place; `offset` is the position of `bytes` in the frame's payload.
pub fn apply_mask(bytes: &mut [u8], mask: [u8; 4], offset: u64) {
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte ^= mask[((offset + i as u64) % 4) as usize];
    }
}

/// Payload of a close frame.
pub fn close_payload(code: u16, reason: &str) -> Vec<u8> {
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(&reason.as_bytes()[..reason.len().min(MAX_CONTROL_BYTES - 2)]);
    payload
}

/// Code and reason of a close frame: none when it is empty, an error when it is malformed.
pub fn parse_close(payload: &[u8]) -> Result<Option<(u16, String)>, &'static str> {
    match payload.split_first_chunk::<2>() {
        None if payload.is_empty() => Ok(None),
        None => Err("close frame with half a code"),
        Some((code, reason)) => {
            Ok(Some((u16::from_be_bytes(*code), String::from_utf8_lossy(reason).into_owned())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(fin: bool, opcode: u8, mask: Option<[u8; 4]>, payload_bytes: u64, used: usize) -> Parsed {
        let header = Header { fin, opcode, mask, payload_bytes };
        Parsed::Header(header, used)
    }

    #[test]
    fn the_examples_of_rfc_6455_section_5_7_are_understood() {
        let key = Some([0x37, 0xfa, 0x21, 0x3d]);
        let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
        let large = b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00";
        for (bytes, expected) in [
            (&b"\x81\x05Hello"[..], header(true, OP_TEXT, None, 5, 2)),
            (masked, header(true, OP_TEXT, key, 5, 6)),
            (b"\x01\x03Hel", header(false, OP_TEXT, None, 3, 2)),
            (b"\x80\x02lo", header(true, OP_CONTINUATION, None, 2, 2)),
            (b"\x89\x05Hello", header(true, OP_PING, None, 5, 2)),
            (b"\x8a\x85\x37\xfa\x21\x3d", header(true, OP_PONG, key, 5, 6)),
            (b"\x82\x7e\x01\x00", header(true, OP_BINARY, None, 256, 4)),
            (large, header(true, OP_BINARY, None, 65536, 10)),
        ] {
            assert_eq!(parse(bytes), expected, "{bytes:x?}");
        }
        let mut text = masked[6..].to_vec();
        apply_mask(&mut text, [0x37, 0xfa, 0x21, 0x3d], 0);
        assert_eq!(text, b"Hello");
    }

    #[test]
    fn frames_that_we_build_are_those_of_the_rfc() {
        let mut out = vec![];
        push_frame(&mut out, OP_TEXT, Some([0x37, 0xfa, 0x21, 0x3d]), b"Hello");
        assert_eq!(out, b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58");
        for size in [0usize, 1, 125, 126, 65535, 65536, 1 << 24] {
            for mask in [None, Some([1, 2, 3, 4])] {
                let mut out = vec![];
                push_header(&mut out, OP_BINARY, mask, size);
                assert_eq!(parse(&out), header(true, OP_BINARY, mask, size as u64, out.len()));
                for cut in 0..out.len() {
                    assert_eq!(parse(&out[..cut]), Parsed::Incomplete, "size {size}, cut {cut}");
                }
            }
        }
    }

    #[test]
    fn frames_that_the_rfc_forbids_are_invalid() {
        for (bytes, why) in [
            (&b"\xc1\x00"[..], "reserved bit"),
            (b"\x83\x00", "reserved opcode"),
            (b"\x8b\x00", "reserved control opcode"),
            (b"\x09\x00", "fragmented ping"),
            (b"\x89\x7e\x00\x80", "long ping"),
            (b"\x82\x7e\x00\x05", "long form of 5"),
            (b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", "longest form of 65535"),
            (b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", "top bit"),
        ] {
            assert!(matches!(parse(bytes), Parsed::Invalid(_)), "{why}");
        }
    }

    #[test]
    fn close_payloads_survive_a_round_trip_and_half_a_code_does_not() {
        let payload = close_payload(CLOSE_NORMAL, "Done sending");
        assert_eq!(parse_close(&payload), Ok(Some((1000, "Done sending".into()))));
        assert_eq!(parse_close(b""), Ok(None));
        assert!(parse_close(b"\x03").is_err());
        assert!(close_payload(1000, &"x".repeat(500)).len() <= MAX_CONTROL_BYTES);
    }

    #[test]
    fn no_bytes_make_the_parser_panic() {
        let mut random = narrows_wire::random::Random::new(3);
        for _ in 0..20_000 {
            let bytes: Vec<u8> = (0..random.next_u64() % 16).map(|_| random.next_u64() as u8).collect();
            if let Parsed::Header(_, used) = parse(&bytes) {
                assert!(used <= bytes.len());
            }
        }
    }
}
