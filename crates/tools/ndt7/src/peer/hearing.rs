//! What the other side says, and what a peer makes of it.

use super::{End, Note, Peer, Side};
use crate::frame;
use crate::measurement::Measurement;
use crate::reader::{Event, Failure};
use narrows_wire::sys;
use std::io;

/// A failed connection gets this long to take our close frame.
const FAILURE_GRACE_NS: u64 = 1_000_000_000;
/// Texts of the other side that are looked at in one test.
const MAX_TEXTS: u32 = 1000;

impl Peer {
    pub(super) fn hear_eof(&mut self) -> io::Result<()> {
        let end = match self.failure.take() {
            Some(why) => End::Failed(why),
            None if self.close_heard && self.outbox.closing => End::Closed,
            None => End::Eof,
        };
        self.finish(end);
        Ok(())
    }

    pub(super) fn take_plain(&mut self) {
        let plain = std::mem::take(&mut self.plain);
        let mut events = std::mem::take(&mut self.events);
        // After a failure or a close frame nothing of the peer is of interest but the end of the stream.
        let failed = if self.failure.is_some() || self.close_heard {
            None
        } else {
            self.reader.feed(&plain, &mut events).err()
        };
        for event in events.drain(..) {
            if self.failure.is_none() && !self.close_heard {
                self.hear(event);
            }
        }
        if let Some(Failure(code, why)) = failed {
            self.fail(code, why);
        }
        self.events = events;
        self.plain = plain;
    }

    fn hear(&mut self, event: Event) {
        match event {
            Event::BinaryStarts if self.sends_bulk() => {
                self.fail(frame::CLOSE_UNSUPPORTED, "binary message where none is expected")
            }
            Event::BinaryStarts | Event::BinaryEnds => {}
            Event::Text(text) => self.hear_text(&text),
            Event::LongText(bytes) => self.warn(format!("a text message of {bytes} bytes was ignored")),
            Event::Ping(payload) => {
                self.outbox.push(frame::OP_PONG, &payload);
            }
            Event::Pong(payload) => self.hear_pong(&payload),
            Event::Close(close) => {
                self.close_heard = true;
                let now = sys::monotonic_ns();
                self.data_end_ns.get_or_insert(now);
                // All data is here: the last measurement. A server that closed already has taken its own.
                if !self.ended || self.settings.side == Side::Client {
                    self.measure(now);
                }
                if let Some((code, reason)) = close.as_ref().filter(|(code, _)| *code != frame::CLOSE_NORMAL)
                {
                    self.warn(format!("the peer closed with code {code} ({reason})"));
                }
                self.ended = true;
                self.close_code = close.map(|(code, _)| code);
                let code = self.close_code.unwrap_or(frame::CLOSE_NORMAL);
                self.outbox.push(frame::OP_CLOSE, &frame::close_payload(code, ""));
                self.outbox.bulk_on = false;
            }
        }
    }

    fn hear_text(&mut self, text: &[u8]) {
        self.texts_heard += 1;
        if self.texts_heard > MAX_TEXTS {
            return;
        }
        match serde_json::from_slice::<Measurement>(text) {
            Ok(mut measurement) => {
                let origin = if self.settings.side == Side::Server { "client" } else { "server" };
                measurement.origin = Some(origin.into());
                measurement.test = Some(self.settings.test.name().into());
                self.last_heard = Some(measurement.clone());
                let at_ns = sys::monotonic_ns();
                self.notes.push(Note::Heard { at_ns, measurement: Box::new(measurement) });
            }
            Err(e) => self.warn(format!("a text message that is no measurement was ignored: {e}")),
        }
    }

    fn hear_pong(&mut self, payload: &[u8]) {
        let now = sys::monotonic_ns();
        let sent_ns = std::str::from_utf8(payload).ok().and_then(|text| text.parse::<u64>().ok());
        // A pong that no ping asked for is allowed and means nothing.
        if let Some(rtt_ns) = sent_ns.and_then(|sent| (now - self.start_ns).checked_sub(sent)) {
            if self.settings.side == Side::Server {
                self.notes.push(Note::PingRtt { at_ns: now, rtt_us: rtt_ns / 1000 });
            }
        }
    }

    fn fail(&mut self, code: u16, why: &str) {
        self.outbox.push(frame::OP_CLOSE, &frame::close_payload(code, why));
        self.outbox.bulk_on = false;
        self.failure = Some(format!("the peer broke the protocol: {why}"));
        self.ended = true;
        self.limit_ns = self.limit_ns.min(sys::monotonic_ns() + FAILURE_GRACE_NS);
    }
}
