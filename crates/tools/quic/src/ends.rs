//! What an end writes of a connection, as a JSON line when it has ended: bytes that it received, and for how long.

use std::cell::Cell;
use std::time::{Duration, Instant};

use narrows_wire::lines::Lines;
use quinn::Connection;
use serde_json::json;

use crate::transport::{cca_of, STACK};

pub const CHUNK: usize = 64 << 10;

/// What an end received on the streams of a connection.
pub struct Received {
    since: Instant,
    until: Cell<Instant>,
    bytes: Cell<u64>,
    open: Cell<u32>,
    /// Since when no stream is being read.
    quiet: Cell<Option<Instant>>,
    /// How long that was in all, before a stream that followed.
    idle: Cell<Duration>,
}

impl Received {
    pub fn begin() -> Received {
        Received {
            since: Instant::now(),
            until: Cell::new(Instant::now()),
            bytes: Cell::new(0),
            open: Cell::new(0),
            quiet: Cell::new(None),
            idle: Cell::new(Duration::ZERO),
        }
    }

    /// Reads a stream to its end, or until the connection ends.
    pub async fn read(&self, stream: &mut quinn::RecvStream) {
        self.open.set(self.open.get() + 1);
        if let Some(quiet) = self.quiet.take() {
            self.idle.set(self.idle.get() + quiet.elapsed());
        }
        while let Ok(Some(chunk)) = stream.read_chunk(1 << 20, true).await {
            self.bytes.set(self.bytes.get() + chunk.bytes.len() as u64);
            self.until.set(Instant::now());
        }
        self.open.set(self.open.get() - 1);
        if self.open.get() == 0 {
            self.quiet.set(Some(Instant::now()));
        }
    }

    /// The connection's line.
    pub fn write(&self, connection: &Connection) -> Result<(), String> {
        let path = connection.stats().path;
        Lines::open(None)?.write(&json!({
            "kind": "end", "stack": STACK, "cca": cca_of(connection.congestion_state()),
            "received_bytes": self.bytes.get(),
            "seconds": self.until.get().duration_since(self.since + self.idle.get()).as_secs_f64(),
            "sent_packets": path.sent_packets, "lost_packets": path.lost_packets,
            "rtt_ms": path.rtt.as_secs_f64() * 1e3, "congestion_events": path.congestion_events,
        }))
    }
}

/// Writes so many zeros, or until the connection ends.
pub async fn send(stream: &mut quinn::SendStream, bytes: u64) {
    let zeros = vec![0; CHUNK];
    let mut left = bytes;
    while left > 0 {
        let part = left.min(CHUNK as u64) as usize;
        if stream.write_all(&zeros[..part]).await.is_err() {
            return;
        }
        left -= part as u64;
    }
    let _ = stream.finish();
}
