//! What happened in a test as JSON lines, and the figures of a finished one. Computes and formats; sends and measures nothing.

use crate::measurement::Measurement;
use crate::peer::{Note, Peer, Side};
use narrows_wire::args::Way;
use narrows_wire::lines::keyed;
use serde_json::{json, Map, Value};

/// A note as a line; `about` (which connection, which test) is added to its `Value`-less part.
pub fn note_line(note: &Note, about: &[(&str, Value)]) -> Value {
    let mut line = match note {
        Note::Measured { at_ns, sent, measurement } => {
            let mut line = keyed("measurement", *at_ns, json!(measurement));
            line["sent"] = json!(sent);
            line
        }
        Note::Heard { at_ns, measurement } => {
            let mut line = keyed("measurement", *at_ns, json!(measurement));
            line["received"] = json!(true);
            line
        }
        Note::PingRtt { at_ns, rtt_us } => keyed("ping", *at_ns, json!({"rtt_us": rtt_us})),
        Note::Warning { at_ns, message } => keyed("warning", *at_ns, json!({"message": message})),
    };
    for (name, value) in about {
        line[*name] = value.clone();
    }
    line
}

/// Bits per second, if there was any time.
fn rate_bps(bytes: Option<u64>, elapsed_us: Option<u64>) -> Option<f64> {
    match (bytes, elapsed_us) {
        (Some(bytes), Some(us)) if us > 0 => Some(bytes as f64 * 8e6 / us as f64),
        _ => None,
    }
}

fn ratio(part: Option<u64>, whole: Option<u64>) -> Option<f64> {
    match (part, whole) {
        (Some(part), Some(whole)) if whole > 0 => Some(part as f64 / whole as f64),
        _ => None,
    }
}

/// The figures of one test; what is not known is null. The sender's TCPInfo tells of retransmission and RTT,
/// the server's `BytesReceived` is the upload, the client's received application bytes are the download.
pub fn figures(peer: &Peer) -> Map<String, Value> {
    let (ours, theirs) = (peer.last_measured.as_ref(), peer.last_heard.as_ref());
    let is_server = peer.settings.side == Side::Server;
    let (server, client) = if is_server { (ours, theirs) } else { (theirs, ours) };
    let sender = if peer.settings.test == Way::Download { server } else { client };
    let tcp = |of: Option<&Measurement>, name| of.and_then(|m| m.tcp(name));
    let elapsed_us = peer.data_end_ns.map(|ns| peer.elapsed_us(ns));
    let (bytes, rate_us) = match (peer.settings.test, is_server) {
        (Way::Download, false) => (Some(peer.app_bytes()), elapsed_us),
        // A server cannot know what its client received: what was acknowledged is the nearest.
        (Way::Download, true) => (tcp(server, "BytesAcked"), tcp(server, "ElapsedTime")),
        (Way::Upload, _) => (tcp(server, "BytesReceived"), tcp(server, "ElapsedTime")),
    };
    let mut figures = Map::new();
    let mut put = |name: &str, value: Value| figures.insert(name.to_owned(), value);
    put("test", json!(peer.settings.test.name()));
    put("rate_bps", json!(rate_bps(bytes, rate_us)));
    put("bytes", json!(bytes));
    put("elapsed_us", json!(rate_us));
    put("app_bytes", json!(peer.app_bytes()));
    put("app_elapsed_us", json!(elapsed_us));
    put("min_rtt_us", json!(tcp(sender, "MinRTT")));
    put("bytes_sent", json!(tcp(sender, "BytesSent")));
    put("bytes_retrans", json!(tcp(sender, "BytesRetrans")));
    put("retransmission", json!(ratio(tcp(sender, "BytesRetrans"), tcp(sender, "BytesSent"))));
    put("ended_by", json!(peer.end.as_ref().map(|end| end.text())));
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_bits_per_second_and_null_without_time_or_bytes() {
        assert_eq!(rate_bps(Some(125_000_000), Some(10_000_000)), Some(1e8));
        assert_eq!(rate_bps(Some(1), Some(0)), None);
        assert_eq!(rate_bps(None, Some(5)), None);
        assert_eq!(ratio(Some(1), Some(4)), Some(0.25));
        assert_eq!(ratio(Some(0), Some(0)), None);
    }

    #[test]
    fn a_line_has_key_time_value_and_what_it_is_about() {
        let note = Note::PingRtt { at_ns: 5, rtt_us: 7 };
        let line = note_line(&note, &[("connection", json!(3))]).to_string();
        assert_eq!(line, r#"{"Key":"ping","monotonic_ns":5,"Value":{"rtt_us":7},"connection":3}"#);
    }
}
