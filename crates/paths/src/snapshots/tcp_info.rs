//! Records of M-Lab's tcp-info: JSON lines with the bytes of netlink's messages (`struct inet_diag_msg` and the values of its
//! attributes by their number, as uapi/linux/inet_diag.h and tcp.h have them, little endian).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::engine::general_purpose::STANDARD;
use base64::Engine;
use serde_json::Value;

use super::{time, Ends, Series, Snapshot};
use crate::counts::Counts;

/// What tells one connection from another: ports, addresses and the kernel's cookie.
pub type Socket = [u8; 48];

/// What the first record of a file says of its connection.
#[derive(Debug, Clone)]
pub struct Metadata {
    uuid: Option<String>,
    start_ns: Option<i64>,
}

const INFO: usize = 2;
const CONG: usize = 4;
const BBR: usize = 16;
const MESSAGE: usize = 72;

pub fn is_record(value: &Value) -> bool {
    value.get("RawIDM").is_some() || value.get("Metadata").is_some()
}

/// Adds a record to its connection.
pub fn record(
    value: &Value,
    series: &mut BTreeMap<Socket, Series>,
    pending: &mut Option<Metadata>,
    counts: &mut Counts,
) {
    if let Some(metadata) = value.get("Metadata").filter(|m| m.is_object()) {
        let text = |key: &str| metadata.get(key).and_then(Value::as_str);
        *pending = Some(Metadata {
            uuid: text("UUID").map(str::to_owned),
            start_ns: text("StartTime").and_then(time::parse),
        });
    }
    let Some(raw) = value.get("RawIDM").and_then(Value::as_str) else {
        return; // The record of metadata has no message.
    };
    let Some(message) = STANDARD.decode(raw).ok().filter(|m| m.len() >= MESSAGE) else {
        counts.unused("message that is too short, or no base64");
        return;
    };
    let attributes = value.get("Attributes").and_then(Value::as_array);
    let attribute =
        |number: usize| -> Option<Vec<u8>> { STANDARD.decode(attributes?.get(number)?.as_str()?).ok() };
    let Some(info) = attribute(INFO).filter(|info| info.len() >= RTT + 4) else {
        counts.unused("record without TCP_INFO");
        return;
    };
    let Some(t_ns) = value.get("Timestamp").and_then(Value::as_str).and_then(time::parse) else {
        counts.unused("record without a time");
        return;
    };
    let mut socket = [0; 48];
    socket.copy_from_slice(&message[4..52]);
    let own = series.entry(socket).or_insert_with(|| {
        let known = pending.take();
        let (server, client) = ends(&message);
        Series::new(
            "tcp-info",
            Ends {
                uuid: known.as_ref().and_then(|k| k.uuid.clone()),
                client: Some(client),
                server: Some(server),
                start_ns: known.and_then(|k| k.start_ns).or(Some(t_ns)),
                cca: None,
            },
        )
    });
    if own.ends.cca.is_none() {
        let name = attribute(CONG).map(|raw| raw.split(|b| *b == 0).next().unwrap_or(&[]).to_vec());
        own.ends.cca = name.and_then(|raw| String::from_utf8(raw).ok()).filter(|n| !n.is_empty());
    }
    let bbr = attribute(BBR).and_then(|raw| u64_at(&raw, 0));
    own.add(snapshot(t_ns, &info, bbr));
}

const RTT: usize = 68;

fn snapshot(t_ns: i64, info: &[u8], bbr_bytes_s: Option<u64>) -> Snapshot {
    let short = |at: usize| u32_at(info, at).map(u64::from);
    let long = |at: usize| u64_at(info, at);
    Snapshot {
        t_ns,
        srtt_us: short(RTT),
        min_rtt_us: short(148),
        bytes_acked: long(120),
        bytes_received: long(128),
        bytes_sent: long(200),
        bytes_retrans: long(208),
        busy_us: long(168),
        rwnd_limited_us: long(176),
        sndbuf_limited_us: long(184),
        mss: short(16),
        reordering: short(220),
        dsack_dups: short(216),
        bbr_bytes_s,
    }
}

fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(data.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?))
}

/// The server (whose socket it is) and the client.
fn ends(message: &[u8]) -> ((String, u16), (String, u16)) {
    const INET: u8 = 2;
    let port = |at: usize| u16::from_be_bytes([message[at], message[at + 1]]);
    let address = |at: usize| -> IpAddr {
        if message[0] == INET {
            IpAddr::V4(Ipv4Addr::new(message[at], message[at + 1], message[at + 2], message[at + 3]))
        } else {
            let mut whole = [0; 16];
            whole.copy_from_slice(&message[at..at + 16]);
            IpAddr::V6(Ipv6Addr::from(whole)).to_canonical()
        }
    };
    ((address(8).to_string(), port(4)), (address(24).to_string(), port(6)))
}
