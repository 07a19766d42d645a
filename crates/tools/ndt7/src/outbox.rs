//! What one connection has to send: bulk frames (prebuilt once per size), and short frames between them.
//!
//! Decides the order of bytes only; the rules of the test are in `peer`, the socket in `transport`.

use crate::frame;
use crate::spec::{next_message_bytes, INITIAL_MESSAGE_BYTES, MAX_SCALED_MESSAGE_BYTES};
use narrows_wire::random::Random;
use narrows_wire::sys;
use narrows_wire::transport::Transport;
use std::io;
use std::sync::Arc;

/// Short frames waiting beyond this are not added to: a peer that does not read costs no memory.
const MAX_SHORT_BYTES: usize = 64 << 10;
/// Most bulk frames written in one go, so that one fast connection does not starve the others.
const MAX_FRAMES_AT_ONCE: usize = 32;

/// Binary messages of each size, built when first needed and shared by all connections of a process.
///
/// RFC 6455 wants a fresh mask per frame, to keep scripts from choosing bytes on the wire. Nobody chooses these:
/// payload and mask are random, so one masking per size does, and the payload is random before and after it.
pub struct Frames {
    masked: bool,
    built: Vec<Arc<[u8]>>,
}

impl Frames {
    pub fn new(masked: bool) -> Frames {
        Frames { masked, built: Vec::new() }
    }

    /// The frame whose payload is `INITIAL_MESSAGE_BYTES << index`.
    fn get(&mut self, index: usize) -> Arc<[u8]> {
        while self.built.len() <= index {
            let bytes = INITIAL_MESSAGE_BYTES << self.built.len();
            let mask = self.masked.then(|| (sys::random_u64() as u32).to_le_bytes());
            let mut out = Vec::with_capacity(bytes + 14);
            frame::push_header(&mut out, frame::OP_BINARY, mask, bytes);
            let at = out.len();
            out.resize(at + bytes, 0);
            sys::random(&mut out[at..]);
            self.built.push(out.into());
        }
        self.built[index].clone()
    }
}

pub struct Outbox {
    masked: bool,
    random: Random,
    /// Texts, control frames, HTTP heads: written before the next bulk frame.
    short: Vec<u8>,
    short_at: usize,
    bulk: Option<(Arc<[u8]>, usize)>,
    /// Whether another bulk frame follows when the current one is out.
    pub bulk_on: bool,
    message_bytes: usize,
    /// Payload bytes of whole bulk messages sent.
    sent_messages_bytes: u64,
    /// Payload bytes of bulk messages that the socket took.
    pub bulk_bytes: u64,
    /// A close frame was added; nothing may follow it.
    pub closing: bool,
}

impl Outbox {
    pub fn new(masked: bool, seed: u64) -> Outbox {
        Outbox {
            masked,
            random: Random::new(seed),
            short: Vec::new(),
            short_at: 0,
            bulk: None,
            bulk_on: false,
            message_bytes: INITIAL_MESSAGE_BYTES,
            sent_messages_bytes: 0,
            bulk_bytes: 0,
            closing: false,
        }
    }

    /// Adds raw bytes (an HTTP head).
    pub fn push_raw(&mut self, bytes: &[u8]) {
        self.short.extend_from_slice(bytes);
    }

    /// Adds a text, ping, pong or close frame; false if it was left out because too much waits already.
    pub fn push(&mut self, opcode: u8, payload: &[u8]) -> bool {
        let full = self.short.len() - self.short_at + payload.len() > MAX_SHORT_BYTES;
        if self.closing || (full && opcode != frame::OP_CLOSE) {
            return false;
        }
        let mask = self.masked.then(|| (self.random.next_u64() as u32).to_le_bytes());
        frame::push_frame(&mut self.short, opcode, mask, payload);
        if opcode == frame::OP_CLOSE {
            self.closing = true;
            self.bulk_on = false;
        }
        true
    }

    /// A short frame has not gone yet.
    pub fn waits(&self) -> bool {
        self.short_at < self.short.len()
    }

    /// Nothing waits, and nothing will by itself.
    pub fn is_empty(&self) -> bool {
        self.bulk.is_none() && !self.waits() && !self.bulk_on
    }

    /// Writes what the socket takes; true if it should be called again when the socket is writable.
    pub fn write(&mut self, transport: &mut Transport, frames: &mut Frames) -> io::Result<bool> {
        let mut started = 0;
        loop {
            if let Some((bytes, at)) = &mut self.bulk {
                let header_bytes = bytes.len() - self.message_bytes;
                let n = transport.write(&bytes[*at..])?;
                let payload_before = at.saturating_sub(header_bytes);
                *at += n;
                self.bulk_bytes += (at.saturating_sub(header_bytes) - payload_before) as u64;
                if *at < bytes.len() {
                    return Ok(true);
                }
                self.bulk = None;
                self.sent_messages_bytes += self.message_bytes as u64;
                self.message_bytes = next_message_bytes(self.message_bytes, self.sent_messages_bytes);
            } else if self.short_at < self.short.len() {
                self.short_at += transport.write(&self.short[self.short_at..])?;
                if self.short_at < self.short.len() {
                    return Ok(true);
                }
                self.short.clear();
                self.short_at = 0;
            } else if self.bulk_on {
                if started == MAX_FRAMES_AT_ONCE {
                    return Ok(true);
                }
                started += 1;
                debug_assert!(self.message_bytes <= MAX_SCALED_MESSAGE_BYTES);
                let index = (self.message_bytes / INITIAL_MESSAGE_BYTES).trailing_zeros() as usize;
                self.bulk = Some((frames.get(index), 0));
            } else {
                transport.flush()?;
                return Ok(transport.has_pending());
            }
        }
    }
}
