//! One client's connection, from its head to its end.

use crate::handshake::{self, Refusal, Request};
use crate::outbox::{Frames, Outbox};
use crate::peer::Peer;
use narrows_wire::lines::{keyed, Lines};
use narrows_wire::sys::Interest;
use narrows_wire::transport::Transport;
use serde_json::json;

/// A refused client gets this long to read why.
const REFUSED_TIMEOUT_NS: u64 = 1_000_000_000;

pub enum Stage {
    /// TLS handshake and HTTP request.
    Head {
        transport: Transport,
        outbox: Outbox,
        head: Vec<u8>,
    },
    Test(Box<Peer>),
    /// A refusal is being sent; what the client still sends is thrown away.
    Refused {
        transport: Transport,
        outbox: Outbox,
    },
    Over,
}

pub struct Connection {
    pub stage: Stage,
    pub client: String,
    pub deadline_ns: u64,
    pub interest: Interest,
    pub request: Option<Request>,
}

impl Connection {
    pub fn refuse(&mut self, refusal: Refusal, now: u64, log: &mut Lines) -> Result<(), String> {
        let Stage::Head { mut transport, mut outbox, .. } = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return Ok(());
        };
        let value = json!({"status": refusal.status, "why": refusal.why, "client": self.client});
        log.write(&keyed("refused", now, value))?;
        if transport.is_handshaking() {
            return Ok(());
        }
        outbox.push_raw(&handshake::refusal_response(&refusal));
        // No bulk is on: the frames are not used.
        if outbox.write(&mut transport, &mut Frames::new(false)).is_ok() {
            if outbox.is_empty() {
                transport.shutdown_write();
            }
            self.stage = Stage::Refused { transport, outbox };
            self.deadline_ns = now + REFUSED_TIMEOUT_NS;
        }
        Ok(())
    }
}
