//! One NDT7 test over one upgraded connection, for either side: what is sent when, and how it ends.
//!
//! Driven from outside by readiness and time (`on_ready`, `on_time`); what happened comes out as `Note`s.
//! Does not wait, print, or know of other connections.

mod hearing;
mod low_water;

use crate::frame;
use crate::measurement::{self, AppInfo, ConnectionInfo, Measurement};
use crate::outbox::{Frames, Outbox};
use crate::reader::{Event, Reader};
use crate::spec::{tick_ns, CLIENT_GRACE_NS, SERVER_GRACE_NS};
use narrows_wire::args::Way;
use narrows_wire::random::Random;
use narrows_wire::sys::{self, Interest, Ready};
use narrows_wire::transport::{Received, Transport};
use std::io;

/// Below this, bytes are read rather than discarded, and the socket wakes us at once.
const MIN_DISCARD_BYTES: u64 = 4 << 10;
const FIRST_LOW_WATER_AT_BYTES: u64 = 256 << 10;
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
    Measured { at_ns: u64, sent: bool, measurement: Box<Measurement> },
    Heard { at_ns: u64, measurement: Box<Measurement> },
    PingRtt { at_ns: u64, rtt_us: u64 },
    Warning { at_ns: u64, message: String },
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
    pub test: Way,
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
    random: Random,
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
        let mut random = Random::new(sys::random_u64());
        let grace_ns = if settings.side == Side::Server { SERVER_GRACE_NS } else { CLIENT_GRACE_NS };
        let mut peer = Peer {
            reader: Reader::new(settings.side == Side::Server),
            start_ns: now,
            end_ns: now + settings.duration_ns,
            limit_ns: now + settings.duration_ns + grace_ns,
            grace_ns,
            tick_ns: now + tick_ns(&mut random),
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
            random,
        };
        peer.outbox.bulk_on = peer.sends_bulk();
        peer.take_plain();
        peer
    }

    fn sends_bulk(&self) -> bool {
        (self.settings.side == Side::Server) == (self.settings.test == Way::Download)
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
        Interest { read: true, write: self.want_write }
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
        let mut result = if self.end.is_none() { self.read(scratch) } else { Ok(()) };
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
            self.tick_ns = now + tick_ns(&mut self.random);
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
            self.outbox.push(frame::OP_CLOSE, &frame::close_payload(frame::CLOSE_NORMAL, "Done sending"));
        }
        if self.settings.side == Side::Server && !self.sends_bulk() {
            self.data_end_ns = Some(now);
        }
    }

    fn measure(&mut self, now: u64) {
        let elapsed_us = self.elapsed_us(now) as i64;
        let fd = self.transport.fd();
        let origin = if self.settings.side == Side::Server { "server" } else { "client" };
        let is_bbr = sys::cca(fd).is_ok_and(|name| name.starts_with("bbr"));
        let bbr = if is_bbr { sys::tcp_cc_info(fd).ok() } else { None };
        let measured = Measurement {
            app_info: Some(AppInfo { num_bytes: self.app_bytes() as i64, elapsed_time: elapsed_us }),
            connection_info: self.settings.connection_info.clone(),
            bbr_info: bbr.and_then(|raw| measurement::bbr_info(&raw, elapsed_us)),
            origin: Some(origin.into()),
            test: Some(self.settings.test.name().into()),
            tcp_info: sys::tcp_info(fd).ok().map(|raw| measurement::tcp_info(&raw, elapsed_us)),
        };
        if self.settings.early_exit_bytes.is_some_and(|limit| measured.tcp("BytesAcked") >= Some(limit)) {
            self.end_ns = now;
        }
        // A downloading client only listens, as the official clients do.
        let speaks = self.settings.side == Side::Server || self.sends_bulk();
        let mut sent = false;
        if speaks {
            // Who measured what is known to the other side: the fields are for where it would not be.
            let wire = Measurement { origin: None, test: None, ..measured.clone() };
            let text = serde_json::to_vec(&wire).unwrap_or_default();
            sent = self.outbox.push(frame::OP_TEXT, &text);
        }
        // Pings must not be more frequent than texts.
        if sent && self.settings.side == Side::Server {
            self.outbox.push(frame::OP_PING, (now - self.start_ns).to_string().as_bytes());
        }
        self.last_measured = Some(measured.clone());
        self.notes.push(Note::Measured { at_ns: now, sent, measurement: Box::new(measured) });
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

    fn warn(&mut self, message: String) {
        self.notes.push(Note::Warning { at_ns: sys::monotonic_ns(), message });
    }

    pub fn finish(&mut self, end: End) {
        if self.end.is_none() {
            self.data_end_ns.get_or_insert_with(sys::monotonic_ns);
            if end != End::Closed {
                self.warn(format!("the test ended without a closing handshake: {}", end.text()));
            }
            self.transport.shutdown_write();
            self.end = Some(end);
        }
    }
}
