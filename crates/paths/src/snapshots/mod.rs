//! Reads what is not packets: snapshots of a kernel's TCP_INFO, as M-Lab archives them.
//!
//! Two forms, told apart by their keys: a result of ndt-server (ndt7), one JSON object with the server's measurements of a
//! download or an upload; and records of tcp-info, JSON lines with netlink's own bytes. Both are a connection's state at
//! some times: counters, the smoothed RTT and the kernel's own minimum, but no single RTT sample and no ACK. So the
//! properties are fewer and have names of their own.

mod ndt7;
mod tcp_info;
mod time;

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;

use crate::counts::Counts;
use crate::distribution::Durations;
use crate::error::{Error, Result};

/// A connection's state at one time. None: the record does not have it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Snapshot {
    /// Within the connection, on the record's own clock.
    pub t_ns: i64,
    pub srtt_us: Option<u64>,
    pub min_rtt_us: Option<u64>,
    pub bytes_acked: Option<u64>,
    pub bytes_received: Option<u64>,
    pub bytes_sent: Option<u64>,
    pub bytes_retrans: Option<u64>,
    pub busy_us: Option<u64>,
    pub rwnd_limited_us: Option<u64>,
    pub sndbuf_limited_us: Option<u64>,
    pub mss: Option<u64>,
    pub reordering: Option<u64>,
    pub dsack_dups: Option<u64>,
    /// BBR's bandwidth, in bytes a second.
    pub bbr_bytes_s: Option<u64>,
}

/// Who the ends are, and when the connection began.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ends {
    pub uuid: Option<String>,
    pub client: Option<(String, u16)>,
    pub server: Option<(String, u16)>,
    pub start_ns: Option<i64>,
    pub cca: Option<String>,
}

/// "No RTT yet": tcp_info's minimum before the first sample.
const NO_RTT: u64 = u32::MAX as u64;

/// All snapshots of one connection, added up as they come.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// "ndt7 download", "ndt7 upload" or "tcp-info".
    pub source: &'static str,
    pub ends: Ends,
    pub count: u64,
    first: Option<Snapshot>,
    last: Snapshot,
    min_rtt_us: Option<u64>,
    srtt: Durations,
    bbr_bytes_s: Option<u64>,
}

impl Series {
    pub fn new(source: &'static str, ends: Ends) -> Self {
        Series { source, ends, ..Series::default() }
    }

    pub fn add(&mut self, s: Snapshot) {
        self.count += 1;
        self.first.get_or_insert(s);
        let valid = |us: &u64| *us > 0 && *us < NO_RTT;
        if let Some(us) = s.min_rtt_us.filter(valid) {
            self.min_rtt_us = Some(self.min_rtt_us.map_or(us, |least| least.min(us)));
        }
        if let Some(us) = s.srtt_us.filter(valid) {
            self.srtt.add((us * 1000) as i64);
        }
        self.bbr_bytes_s = self.bbr_bytes_s.max(s.bbr_bytes_s);
        self.last = Snapshot {
            t_ns: self.last.t_ns.max(s.t_ns),
            srtt_us: None,
            min_rtt_us: None,
            bytes_acked: s.bytes_acked.or(self.last.bytes_acked),
            bytes_received: s.bytes_received.or(self.last.bytes_received),
            bytes_sent: s.bytes_sent.or(self.last.bytes_sent),
            bytes_retrans: s.bytes_retrans.or(self.last.bytes_retrans),
            busy_us: s.busy_us.or(self.last.busy_us),
            rwnd_limited_us: s.rwnd_limited_us.or(self.last.rwnd_limited_us),
            sndbuf_limited_us: s.sndbuf_limited_us.or(self.last.sndbuf_limited_us),
            mss: s.mss.or(self.last.mss),
            reordering: s.reordering.or(self.last.reordering),
            dsack_dups: s.dsack_dups.or(self.last.dsack_dups),
            bbr_bytes_s: None,
        };
    }

    /// What the snapshots say of the connection.
    pub fn properties(&self) -> Properties {
        let last = &self.last;
        let server_sends = last.bytes_acked.unwrap_or(0) >= last.bytes_received.unwrap_or(0);
        let moved = |s: &Snapshot| {
            if server_sends {
                s.bytes_acked
            } else {
                s.bytes_received
            }
        };
        let from = self.first.unwrap_or_default();
        let grown = |a: Option<u64>, b: Option<u64>| Some(b?.saturating_sub(a.unwrap_or(0)));
        let bytes = grown(moved(&from), moved(last));
        let time_ns = (last.t_ns - from.t_ns).max(0);
        let rate = |bytes: Option<u64>, ns: i64| {
            bytes.filter(|b| *b > 0 && ns > 0).map(|b| b as f64 * 8e9 / ns as f64)
        };
        let busy_us = last.busy_us.filter(|us| server_sends && *us > 0);
        let of_busy = |us: Option<u64>| Some(us? as f64 / busy_us? as f64);
        let base_rtt_ns = self.min_rtt_us.map(|us| (us * 1000) as i64);
        let srtt_max_ns = self.srtt.percentile(1.0);
        Properties {
            sender: if server_sends { "server" } else { "client" },
            duration_ns: (self.count > 1).then_some(time_ns),
            base_rtt_ns,
            srtt_median_ns: self.srtt.percentile(0.5),
            srtt_max_ns,
            // The client's queue does not show in what the server's kernel measures.
            smoothed_queueing_delay_ns: base_rtt_ns
                .zip(srtt_max_ns)
                .filter(|_| server_sends && self.srtt.count() >= SNAPSHOTS)
                .map(|(base, most)| (most - base).max(0)),
            payload_bytes: moved(last),
            throughput_bps: rate(bytes, time_ns),
            busy_ns: busy_us.map(|us| (us * 1000) as i64),
            busy_throughput_bps: busy_us.and_then(|us| rate(last.bytes_acked, (us * 1000) as i64)),
            rwnd_limited_share: of_busy(last.rwnd_limited_us),
            sndbuf_limited_share: of_busy(last.sndbuf_limited_us),
            retransmitted_share: last
                .bytes_retrans
                .zip(last.bytes_sent)
                .filter(|(_, sent)| server_sends && *sent > 0)
                .map(|(again, sent)| again as f64 / sent as f64),
            bbr_bandwidth_bps: self.bbr_bytes_s.filter(|_| server_sends).map(|b| b as f64 * 8.0),
            mss_bytes: last.mss,
            reordering_events: last.reordering,
            dsack_dups: last.dsack_dups,
        }
    }
}

/// Fewer snapshots than this show no peak.
const SNAPSHOTS: u64 = 10;

/// What snapshots say; see the table's columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Properties {
    pub sender: &'static str,
    pub duration_ns: Option<i64>,
    pub base_rtt_ns: Option<i64>,
    pub srtt_median_ns: Option<i64>,
    pub srtt_max_ns: Option<i64>,
    pub smoothed_queueing_delay_ns: Option<i64>,
    pub payload_bytes: Option<u64>,
    pub throughput_bps: Option<f64>,
    pub busy_ns: Option<i64>,
    pub busy_throughput_bps: Option<f64>,
    pub rwnd_limited_share: Option<f64>,
    pub sndbuf_limited_share: Option<f64>,
    pub retransmitted_share: Option<f64>,
    pub bbr_bandwidth_bps: Option<f64>,
    pub mss_bytes: Option<u64>,
    pub reordering_events: Option<u64>,
    pub dsack_dups: Option<u64>,
}

/// What a file of snapshots holds.
#[derive(Debug, Default)]
pub struct Found {
    /// "ndt7" or "tcp-info".
    pub format: &'static str,
    pub series: Vec<Series>,
    /// Why reading ended before the end.
    pub damage: Option<String>,
}

/// Reads every JSON value of `input`, one or one a line. What is not understood is counted by its reason.
pub fn read(input: impl Read, place: &str, counts: &mut Counts) -> Result<Found> {
    let mut found = Found::default();
    let mut by_socket: BTreeMap<tcp_info::Socket, Series> = BTreeMap::new();
    let mut pending: Option<tcp_info::Metadata> = None;
    let values = serde_json::Deserializer::from_reader(input).into_iter::<Value>();
    let mut number = 0u64;
    for value in values {
        number += 1;
        let value = match value {
            Ok(value) => value,
            Err(error) if number == 1 => {
                return Err(Error::new(
                    place,
                    format!("this is no JSON: {error}"),
                    "a result of ndt-server or records of tcp-info, whole",
                ));
            }
            Err(error) => {
                found.damage = Some(format!("value {number}: {error}; what came before is used"));
                break;
            }
        };
        if ndt7::is_result(&value) {
            found.format = "ndt7";
            found.series.extend(ndt7::series(&value, counts));
        } else if tcp_info::is_record(&value) {
            found.format = "tcp-info";
            tcp_info::record(&value, &mut by_socket, &mut pending, counts);
        } else if number == 1 {
            return Err(Error::new(
                place,
                "this JSON is neither a result of ndt-server nor a record of tcp-info",
                "ndt7-*.json or *.jsonl of an M-Lab archive, plain or as .gz, .zst, .xz",
            ));
        } else {
            counts.block("JSON that is neither of ndt7 nor of tcp-info");
        }
    }
    found.series.extend(by_socket.into_values());
    Ok(found)
}
