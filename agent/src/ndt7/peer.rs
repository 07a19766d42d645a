//! One NDT7 test over one upgraded connection, for either side: what is sent when, and how it ends.
//!
//! Driven from outside by readiness and time (`on_ready`, `on_time`); what happened comes out as `Note`s.
//! Does not wait, print, or know of other connections.

use super::frame;
use super::measurement::{self, AppInfo, ConnectionInfo, Measurement};
use super::outbox::{Frames, Outbox};
use super::reader::{Event, Failure, Reader};
use super::spec::{Rng, Test, CLIENT_GRACE_NS, SERVER_GRACE_NS};
use super::sys::{self, Interest, Ready};
use super::transport::{Received, Transport};
use std::io;

/// Below this, bytes are read rather than discarded, and the socket wakes us at once.
const MIN_DISCARD_BYTES: u64 = 4 << 10;
const MAX_LOW_WATER_BYTES: u64 = 512 << 10;
const FIRST_LOW_WATER_AT_BYTES: u64 = 256 << 10;
/// Longest TLS record with its overhead: that much may be inside the TLS library instead of the socket.
const TLS_RECORD_BYTES: u64 = 17 << 10;
/// A failed connection gets this long to take our close frame.
const FAILURE_GRACE_NS: u64 = 1_000_000_000;
/// Texts of the other side that are looked at in one test.
const MAX_TEXTS: u32 = 1000;
/// Reads of one connection before the others get their turn.
const MAX_READS_AT_ONCE: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Server,
    Client,
}

/// Something worth writing down.
#[derive(Debug)]
pub enum Note {
    Measured {
        at_ns: u64,
        sent: bool,
        measurement: Box<Measurement>,
    },
    Heard {
        at_ns: u64,
        measurement: Box<Measurement>,
    },
    PingRtt {
        at_ns: u64,
        rtt_us: u64,
    },
    Warning {
        at_ns: u64,
        message: String,
    },
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The closing handshake was completed.
    Closed,
    /// The stream ended without it.
    Eof,
    /// The time limit passed without it.
    TimeLimit,
    /// An error of the socket, or of the peer against the protocol.
    Failed(String),
}

impl End {
    pub fn text(&self) -> String {
        match self {
            End::Closed => "closing handshake".into(),
            End::Eof => "end of stream".into(),
            End::TimeLimit => "time limit".into(),
            End::Failed(why) => why.clone(),
        }
    }
}

pub struct Settings {
    pub side: Side,
    pub test: Test,
    pub duration_ns: u64,
    pub early_exit_bytes: Option<u64>,
    /// Sent with each measurement of a server.
    pub connection_info: Option<ConnectionInfo>,
}

pub struct Peer {
    pub settings: Settings,
    pub transport: Transport,
    pub outbox: Outbox,
    reader: Reader,
    rng: Rng,
    pub start_ns: u64,
    /// When the side that sends bulk stops, and when the server starts closing.
    end_ns: u64,
    limit_ns: u64,
    grace_ns: u64,
    tick_ns: u64,
    ended: bool,
    want_write: bool,
    close_heard: bool,
    /// Code of the other side's close frame.
    pub close_code: Option<u16>,
    texts_heard: u32,
    low_water: u32,
    low_water_target: u64,
    low_water_due_bytes: u64,
    failure: Option<String>,
    pub notes: Vec<Note>,
    pub last_measured: Option<Measurement>,
    pub last_heard: Option<Measurement>,
    /// When the last application data had come: at the close frame, the end of the stream or the limit.
    pub data_end_ns: Option<u64>,
    pub end: Option<End>,
    plain: Vec<u8>,
    events: Vec<Event>,
}

impl Peer {
    /// `outbox` may still hold the HTTP response; `received` is what came after the HTTP head.
    pub fn new(settings: Settings, transport: Transport, outbox: Outbox, received: &[u8]) -> Peer {
        let now = sys::monotonic_ns();
        let mut rng = Rng::new(sys::random_u64());
        let grace_ns = if settings.side == Side::Server {
            SERVER_GRACE_NS
        } else {
            CLIENT_GRACE_NS
        };
        let mut peer = Peer {
            reader: Reader::new(settings.side == Side::Server),
            start_ns: now,
            end_ns: now + settings.duration_ns,
            limit_ns: now + settings.duration_ns + grace_ns,
            grace_ns,
            tick_ns: now + rng.tick_ns(),
            ended: false,
            want_write: true,
            close_heard: false,
            close_code: None,
            texts_heard: 0,
            low_water: 1,
            low_water_target: 1,
            low_water_due_bytes: FIRST_LOW_WATER_AT_BYTES,
            failure: None,
            notes: Vec::new(),
            last_measured: None,
            last_heard: None,
            data_end_ns: None,
            end: None,
            plain: received.to_vec(),
            events: Vec::new(),
            settings,
            transport,
            outbox,
            rng,
        };
        peer.outbox.bulk_on = peer.sends_bulk();
        peer.take_plain();
        peer
    }

    fn sends_bulk(&self) -> bool {
        (self.settings.side == Side::Server) == (self.settings.test == Test::Download)
    }

    /// Application bytes so far: received by the receiver, taken by the socket at the sender.
    pub fn app_bytes(&self) -> u64 {
        if self.sends_bulk() {
            self.outbox.bulk_bytes
        } else {
            self.reader.data_bytes
        }
    }

    pub fn elapsed_us(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.start_ns) / 1000
    }

    pub fn interest(&self) -> Interest {
        Interest {
            read: true,
            write: self.want_write,
        }
    }

    /// When `on_time` is next due.
    pub fn deadline_ns(&self) -> u64 {
        if self.ended {
            self.limit_ns
        } else {
            self.tick_ns.min(self.end_ns).min(self.limit_ns)
        }
    }

    pub fn on_ready(&mut self, ready: Ready, frames: &mut Frames, scratch: &mut [u8]) {
        let mut result = Ok(());
        if ready.read {
            result = self.read(scratch);
        }
        // A full socket is not tried again before it says that it has room.
        if self.end.is_none() && result.is_ok() && (ready.write || !self.want_write) {
            result = self.write(frames);
        }
        if let Err(e) = result {
            self.finish(End::Failed(format!("connection lost: {e}")));
        }
    }

    /// Called at `deadline_ns` or later.
    pub fn on_time(&mut self, now: u64, frames: &mut Frames, scratch: &mut [u8]) {
        // What waits in the socket belongs to this measurement, however high the low-water mark is.
        let mut result = if self.end.is_none() {
            self.read(scratch)
        } else {
            Ok(())
        };
        let due = !self.ended && now >= self.end_ns;
        if due {
            // A process that was held up beyond the limit still measures, and closes in order.
            self.limit_ns = self.limit_ns.max(now + self.grace_ns);
        }
        if self.end.is_none() && now >= self.limit_ns {
            let end = self.failure.take().map_or(End::TimeLimit, End::Failed);
            return self.finish(end);
        }
        if !self.ended && self.end.is_none() && (due || now >= self.tick_ns) {
            self.tick_ns = now + self.rng.tick_ns();
            // As in the official server, the ticks pass while a measurement waits behind a bulk message.
            if due || !self.outbox.waits() {
                self.measure(now);
            }
            self.retarget_low_water(now);
        }
        if due && self.end.is_none() {
            self.stop(now);
        }
        // Also what the read above called for: a close frame may come right now.
        if self.end.is_none() && result.is_ok() {
            result = self.write(frames);
        }
        if let Err(e) = result {
            self.finish(End::Failed(format!("connection lost: {e}")));
        }
    }

    /// The expected time is over: senders stop, and all but a downloading client start the closing handshake.
    fn stop(&mut self, now: u64) {
        self.ended = true;
        self.outbox.bulk_on = false;
        if self.settings.side == Side::Server || self.sends_bulk() {
            self.outbox.push(
                frame::OP_CLOSE,
                &frame::close_payload(frame::CLOSE_NORMAL, "Done sending"),
            );
        }
        if self.settings.side == Side::Server && !self.sends_bulk() {
            self.data_end_ns = Some(now);
        }
    }

    fn measure(&mut self, now: u64) {
        let elapsed_us = self.elapsed_us(now) as i64;
        let fd = self.transport.fd();
        let origin = if self.settings.side == Side::Server {
            "server"
        } else {
            "client"
        };
        let is_bbr = sys::cca(fd).is_ok_and(|name| name.starts_with("bbr"));
        let bbr = if is_bbr { sys::tcp_cc_info(fd).ok() } else { None };
        let measured = Measurement {
            app_info: Some(AppInfo {
                num_bytes: self.app_bytes() as i64,
                elapsed_time: elapsed_us,
            }),
            connection_info: self.settings.connection_info.clone(),
            bbr_info: bbr.and_then(|raw| measurement::bbr_info(&raw, elapsed_us)),
            origin: Some(origin.into()),
            test: Some(self.settings.test.name().into()),
            tcp_info: sys::tcp_info(fd)
                .ok()
                .map(|raw| measurement::tcp_info(&raw, elapsed_us)),
        };
        if self
            .settings
            .early_exit_bytes
            .is_some_and(|limit| measured.tcp("BytesAcked") >= Some(limit))
        {
            self.end_ns = now;
        }
        // A downloading client only listens, as the official clients do.
        let speaks = self.settings.side == Side::Server || self.sends_bulk();
        let mut sent = false;
        if speaks {
            // Who measured what is known to the other side: the fields are for where it would not be.
            let wire = Measurement {
                origin: None,
                test: None,
                ..measured.clone()
            };
            let text = serde_json::to_vec(&wire).unwrap_or_default();
            sent = self.outbox.push(frame::OP_TEXT, &text);
        }
        // Pings must not be more frequent than texts.
        if sent && self.settings.side == Side::Server {
            self.outbox
                .push(frame::OP_PING, (now - self.start_ns).to_string().as_bytes());
        }
        self.last_measured = Some(measured.clone());
        self.notes.push(Note::Measured {
            at_ns: now,
            sent,
            measurement: Box::new(measured),
        });
        if self.settings.early_exit_bytes.is_some() && self.end_ns == now {
            self.stop(now);
        }
    }

    fn write(&mut self, frames: &mut Frames) -> io::Result<()> {
        self.want_write = self.outbox.write(&mut self.transport, frames)?;
        self.check_closed();
        Ok(())
    }

    /// Ends the test once both close frames are through: the server goes first, the client waits for it.
    fn check_closed(&mut self) {
        let sent = self.outbox.closing && self.outbox.is_empty() && !self.transport.has_pending();
        if !sent || self.end.is_some() {
            return;
        }
        if self.failure.is_some() || (self.close_heard && self.settings.side == Side::Server) {
            let end = self.failure.take().map_or(End::Closed, End::Failed);
            self.finish(end);
        }
    }

    fn read(&mut self, scratch: &mut [u8]) -> io::Result<()> {
        for _ in 0..MAX_READS_AT_ONCE {
            let skippable = self.reader.skippable();
            let received = if skippable >= MIN_DISCARD_BYTES && !self.transport.is_tls() {
                let (received, bytes) = self.transport.discard(skippable, scratch)?;
                self.reader.skip(bytes);
                received
            } else {
                self.plain.clear();
                let received = self.transport.read(scratch, &mut self.plain)?;
                self.take_plain();
                received
            };
            if received == Received::Eof {
                return self.hear_eof();
            }
            if self.end.is_some() || received == Received::Blocked {
                break;
            }
            if received == Received::Drained {
                break;
            }
        }
        if self.reader.data_bytes >= self.low_water_due_bytes {
            self.retarget_low_water(sys::monotonic_ns());
        }
        self.adjust_low_water();
        Ok(())
    }

    fn hear_eof(&mut self) -> io::Result<()> {
        let end = match self.failure.take() {
            Some(why) => End::Failed(why),
            None if self.close_heard && self.outbox.closing => End::Closed,
            None => End::Eof,
        };
        self.finish(end);
        Ok(())
    }

    fn take_plain(&mut self) {
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
                let origin = if self.settings.side == Side::Server {
                    "client"
                } else {
                    "server"
                };
                measurement.origin = Some(origin.into());
                measurement.test = Some(self.settings.test.name().into());
                self.last_heard = Some(measurement.clone());
                let at_ns = sys::monotonic_ns();
                self.notes.push(Note::Heard {
                    at_ns,
                    measurement: Box::new(measurement),
                });
            }
            Err(e) => self.warn(format!("a text message that is no measurement was ignored: {e}")),
        }
    }

    fn hear_pong(&mut self, payload: &[u8]) {
        let now = sys::monotonic_ns();
        let sent_ns = std::str::from_utf8(payload)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        // A pong that no ping asked for is allowed and means nothing.
        if let Some(rtt_ns) = sent_ns.and_then(|sent| (now - self.start_ns).checked_sub(sent)) {
            if self.settings.side == Side::Server {
                self.notes.push(Note::PingRtt {
                    at_ns: now,
                    rtt_us: rtt_ns / 1000,
                });
            }
        }
    }

    fn fail(&mut self, code: u16, why: &str) {
        self.outbox
            .push(frame::OP_CLOSE, &frame::close_payload(code, why));
        self.outbox.bulk_on = false;
        self.failure = Some(format!("the peer broke the protocol: {why}"));
        self.ended = true;
        self.limit_ns = self.limit_ns.min(sys::monotonic_ns() + FAILURE_GRACE_NS);
    }

    fn warn(&mut self, message: String) {
        self.notes.push(Note::Warning {
            at_ns: sys::monotonic_ns(),
            message,
        });
    }

    pub fn finish(&mut self, end: End) {
        if self.end.is_none() {
            self.data_end_ns.get_or_insert_with(sys::monotonic_ns);
            if end != End::Closed {
                self.warn(format!(
                    "the test ended without a closing handshake: {}",
                    end.text()
                ));
            }
            self.transport.shutdown_write();
            self.end = Some(end);
        }
    }

    /// A receiver of bulk is woken about once per millisecond of data instead of once per segment, as soon as
    /// the kernel's receive buffer is far larger than that: a mark close to the buffer would stall the flow.
    fn retarget_low_water(&mut self, now: u64) {
        if self.sends_bulk() || self.end.is_some() {
            return;
        }
        let bytes = self.reader.data_bytes;
        self.low_water_due_bytes = (2 * bytes).max(FIRST_LOW_WATER_AT_BYTES);
        let elapsed_ms = (now.saturating_sub(self.start_ns) / 1_000_000).max(1);
        let buffer = u64::from(sys::receive_buffer_bytes(self.transport.fd()).unwrap_or(0));
        self.low_water_target = (bytes / elapsed_ms).min(buffer / 8).min(MAX_LOW_WATER_BYTES);
    }

    /// Never more than what is left of the frame, so that a text, a close or a pause behind it is seen at once.
    fn adjust_low_water(&mut self) {
        if self.sends_bulk() {
            return;
        }
        let mut left = if self.reader.skippable() > 0 && !self.close_heard {
            self.reader.left_in_frame()
        } else {
            0
        };
        if self.transport.is_tls() {
            left = left.saturating_sub(TLS_RECORD_BYTES);
        }
        let want = left.min(self.low_water_target);
        let want = if want < MIN_DISCARD_BYTES { 1 } else { want as u32 };
        if want != self.low_water && sys::set_receive_low_water(self.transport.fd(), want).is_ok() {
            self.low_water = want;
        }
    }
}
