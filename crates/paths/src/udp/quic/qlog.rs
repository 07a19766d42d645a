//! A connection's opened packets as qlog (draft-ietf-quic-qlog-main-schema, as JSON text sequences), as the client
//! would have written it: what it sent is sent, what came to it is received, at the capture's times.

use serde_json::{json, Value};

use super::frames::Frame;

#[derive(Debug, Default)]
pub struct Qlog {
    events: String,
}

impl Qlog {
    pub fn packet(
        &mut self,
        t_ns: i64,
        is_client: bool,
        kind: &str,
        number: u64,
        len: usize,
        all: &[Frame<'_>],
    ) {
        let frames: Vec<Value> = all.iter().map(frame).collect();
        let event = json!({
            "time": t_ns as f64 / 1e6,
            "name": if is_client { "quic:packet_sent" } else { "quic:packet_received" },
            "data": {
                "header": {"packet_type": kind, "packet_number": number},
                "raw": {"length": len},
                "frames": frames,
            },
        });
        self.events.push_str(&format!("\x1e{event}\n"));
    }

    /// The whole file; None where no packet was opened.
    pub fn text(&self, title: &str, group: &str) -> Option<String> {
        if self.events.is_empty() {
            return None;
        }
        let head = json!({
            "file_schema": "urn:ietf:params:qlog:file:sequential",
            "serialization_format": "application/qlog+json-seq",
            "title": title,
            "trace": {
                "common_fields": {
                    "group_id": group,
                    "time_format": "relative_to_epoch",
                    "reference_time": {"clock_type": "system", "epoch": "1970-01-01T00:00:00.000Z"},
                },
                "vantage_point": {"type": "network", "flow": "client"},
                "event_schemas": ["urn:ietf:params:qlog:events:quic"],
            },
        });
        Some(format!("\x1e{head}\n{}", self.events))
    }
}

fn frame(frame: &Frame<'_>) -> Value {
    let name = frame.name();
    match frame {
        Frame::Ack { ranges, .. } => {
            let ranges: Vec<[u64; 2]> = ranges.iter().map(|(low, high)| [*low, *high]).collect();
            json!({"frame_type": name, "acked_ranges": ranges})
        }
        Frame::Stream { id, offset, len, fin } => {
            json!({"frame_type": name, "stream_id": id, "offset": offset, "raw": {"length": len}, "fin": fin})
        }
        Frame::Crypto { offset, data } => {
            json!({"frame_type": name, "offset": offset, "raw": {"length": data.len()}})
        }
        Frame::Datagram { len } => json!({"frame_type": name, "raw": {"length": len}}),
        Frame::Other(kind) if name == "unknown" => json!({"frame_type": name, "frame_type_bytes": kind}),
        _ => json!({"frame_type": name}),
    }
}
