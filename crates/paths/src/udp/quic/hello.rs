//! What the hellos of TLS 1.3 say in QUIC's Initial packets: the client's random, which the key log names it by, the
//! server's name, the application's protocol, and the cipher suite.

use std::collections::BTreeMap;

use super::keys::Suite;

/// A hello is not longer than this.
const MOST: u64 = 1 << 16;

/// The bytes of a CRYPTO stream, in the pieces in which they come.
#[derive(Debug, Default)]
pub struct Crypto {
    pieces: BTreeMap<u64, Vec<u8>>,
    is_done: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Hello {
    Client { random: [u8; 32], server_name: Option<String>, alpn: Option<String> },
    Server { suite: Suite },
}

impl Crypto {
    pub fn add(&mut self, offset: u64, data: &[u8]) {
        if self.is_done || offset >= MOST {
            return;
        }
        let piece = self.pieces.entry(offset).or_default();
        if piece.len() < data.len() {
            *piece = data.to_vec();
        }
    }

    /// The hello, once it is whole.
    pub fn hello(&mut self) -> Option<Hello> {
        if self.is_done {
            return None;
        }
        let mut bytes: Vec<u8> = Vec::new();
        for (offset, piece) in &self.pieces {
            let offset = usize::try_from(*offset).ok()?;
            if offset > bytes.len() {
                break;
            }
            if let Some(more) = piece.get(bytes.len() - offset..) {
                bytes.extend_from_slice(more);
            }
        }
        let head = bytes.get(..4)?;
        let len = usize::from(head[1]) << 16 | usize::from(head[2]) << 8 | usize::from(head[3]);
        let body = bytes.get(4..4 + len)?;
        let hello = match head[0] {
            1 => client(body),
            2 => server(body),
            _ => None,
        };
        self.is_done = true;
        self.pieces.clear();
        hello
    }
}

fn u16_at(data: &[u8], at: usize) -> Option<usize> {
    Some(usize::from(u16::from_be_bytes([*data.get(at)?, *data.get(at + 1)?])))
}

/// Behind the random and the session's id.
fn behind_session(body: &[u8]) -> Option<usize> {
    Some(35 + usize::from(*body.get(34)?))
}

fn client(body: &[u8]) -> Option<Hello> {
    let random = body.get(2..34)?.try_into().ok()?;
    let mut at = behind_session(body)?;
    at += 2 + u16_at(body, at)?;
    at += 1 + usize::from(*body.get(at)?);
    let (mut server_name, mut alpn) = (None, None);
    let extensions = body.get(at + 2..).unwrap_or(&[]);
    let mut at = 0;
    while let (Some(kind), Some(len)) = (u16_at(extensions, at), u16_at(extensions, at + 2)) {
        let Some(data) = extensions.get(at + 4..at + 4 + len) else {
            break;
        };
        let words = |from: usize, len: usize| -> Option<String> {
            let bytes = data.get(from..from + len)?;
            bytes.is_ascii().then(|| String::from_utf8_lossy(bytes).into_owned())
        };
        match kind {
            0 => server_name = u16_at(data, 3).and_then(|len| words(5, len)),
            16 => alpn = data.get(2).and_then(|len| words(3, usize::from(*len))),
            _ => {}
        }
        at += 4 + len;
    }
    Some(Hello::Client { random, server_name, alpn })
}

fn server(body: &[u8]) -> Option<Hello> {
    let suite = u16_at(body, behind_session(body)?)?;
    let suite = Suite(u16::try_from(suite).ok()?);
    (0x1301..=0x1303).contains(&suite.0).then_some(Hello::Server { suite })
}
