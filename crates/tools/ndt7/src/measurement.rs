//! The measurement message: JSON with the field names of the official server, and the kernel structures behind it.
//!
//! Takes what the kernel says as bytes; does not call it.

use narrows_wire::tcp_info::{place, Bbr};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;

/// One textual message. Unknown fields of other implementations are ignored: they are theirs to add.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Measurement {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app_info: Option<AppInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_info: Option<ConnectionInfo>,
    #[serde(rename = "BBRInfo", skip_serializing_if = "Option::is_none")]
    pub bbr_info: Option<BbrInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub test: Option<String>,
    /// Fields that the kernel does not know are absent, never 0.
    #[serde(rename = "TCPInfo", skip_serializing_if = "Option::is_none")]
    pub tcp_info: Option<Map<String, Value>>,
}

impl Measurement {
    /// A field of TCPInfo, if it is there and a non-negative integer.
    pub fn tcp(&self, name: &str) -> Option<u64> {
        self.tcp_info.as_ref()?.get(name)?.as_u64()
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct AppInfo {
    /// Application bytes sent or received since the test began.
    pub num_bytes: i64,
    /// Microseconds since the test began.
    pub elapsed_time: i64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConnectionInfo {
    #[serde(rename = "Client")]
    pub client: String,
    #[serde(rename = "Server")]
    pub server: String,
    #[serde(rename = "UUID", skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// When the test began, by the server's wall clock: RFC 3339.
    #[serde(rename = "StartTime", skip_serializing_if = "Option::is_none")]
    pub start_time: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct BbrInfo {
    /// Bottleneck bandwidth, bytes per second.
    #[serde(rename = "BW")]
    pub bw: i64,
    /// Microseconds.
    #[serde(rename = "MinRTT")]
    pub min_rtt: u32,
    /// Gains are in units of 1/256.
    #[serde(rename = "PacingGain")]
    pub pacing_gain: u32,
    #[serde(rename = "CwndGain")]
    pub cwnd_gain: u32,
    /// Microseconds since the test began.
    #[serde(rename = "ElapsedTime")]
    pub elapsed_time: i64,
}

/// JSON name and the kernel's name of a field of `struct tcp_info`. Of bit fields the whole byte is meant, and 64-bit
/// values are signed in M-Lab's schema: an unlimited pacing rate is -1. Ends where the official server's list ends.
const TCP_INFO_FIELDS: [(&str, &str); 54] = [
    ("State", "state"),
    ("CAState", "ca_state"),
    ("Retransmits", "retransmits"),
    ("Probes", "probes"),
    ("Backoff", "backoff"),
    ("Options", "options"),
    ("WScale", "snd_wscale"),
    ("AppLimited", "delivery_rate_app_limited"),
    ("RTO", "rto"),
    ("ATO", "ato"),
    ("SndMSS", "snd_mss"),
    ("RcvMSS", "rcv_mss"),
    ("Unacked", "unacked"),
    ("Sacked", "sacked"),
    ("Lost", "lost"),
    ("Retrans", "retrans"),
    ("Fackets", "fackets"),
    ("LastDataSent", "last_data_sent"),
    ("LastAckSent", "last_ack_sent"),
    ("LastDataRecv", "last_data_recv"),
    ("LastAckRecv", "last_ack_recv"),
    ("PMTU", "pmtu"),
    ("RcvSsThresh", "rcv_ssthresh"),
    ("RTT", "rtt"),
    ("RTTVar", "rttvar"),
    ("SndSsThresh", "snd_ssthresh"),
    ("SndCwnd", "snd_cwnd"),
    ("AdvMSS", "advmss"),
    ("Reordering", "reordering"),
    ("RcvRTT", "rcv_rtt"),
    ("RcvSpace", "rcv_space"),
    ("TotalRetrans", "total_retrans"),
    ("PacingRate", "pacing_rate"),
    ("MaxPacingRate", "max_pacing_rate"),
    ("BytesAcked", "bytes_acked"),
    ("BytesReceived", "bytes_received"),
    ("SegsOut", "segs_out"),
    ("SegsIn", "segs_in"),
    ("NotsentBytes", "notsent_bytes"),
    ("MinRTT", "min_rtt"),
    ("DataSegsIn", "data_segs_in"),
    ("DataSegsOut", "data_segs_out"),
    ("DeliveryRate", "delivery_rate"),
    ("BusyTime", "busy_time"),
    ("RWndLimited", "rwnd_limited"),
    ("SndBufLimited", "sndbuf_limited"),
    ("Delivered", "delivered"),
    ("DeliveredCE", "delivered_ce"),
    ("BytesSent", "bytes_sent"),
    ("BytesRetrans", "bytes_retrans"),
    ("DSackDups", "dsack_dups"),
    ("ReordSeen", "reord_seen"),
    ("RcvOooPack", "rcv_ooopack"),
    ("SndWnd", "snd_wnd"),
];

/// TCPInfo from the bytes of `struct tcp_info` (as many as the kernel gave).
pub fn tcp_info(raw: &[u8], elapsed_us: i64) -> Map<String, Value> {
    let mut info = Map::new();
    for (name, field) in &TCP_INFO_FIELDS {
        let found = place(field).and_then(|(offset, width)| raw.get(offset..offset + width.bytes()));
        if let Some(bytes) = found {
            let mut wide = [0; 8];
            wide[..bytes.len()].copy_from_slice(bytes);
            info.insert((*name).to_owned(), i64::from_le_bytes(wide).into());
        }
    }
    info.insert("ElapsedTime".into(), elapsed_us.into());
    info
}

/// BBRInfo from the bytes of `struct tcp_bbr_info`; none if they are not one.
pub fn bbr_info(raw: &[u8], elapsed_us: i64) -> Option<BbrInfo> {
    let found = Bbr::from_bytes(raw)?;
    Some(BbrInfo {
        bw: found.bw as i64,
        min_rtt: found.min_rtt,
        pacing_gain: found.pacing_gain,
        cwnd_gain: found.cwnd_gain,
        elapsed_time: elapsed_us,
    })
}

/// A time since 1970 as RFC 3339, in UTC, to the nanosecond.
pub fn rfc3339(since_1970: Duration) -> String {
    let (days, seconds) = (since_1970.as_secs() / 86400, since_1970.as_secs() % 86400);
    // Years that begin in March, in eras of 400 years: a leap day is then the last of its year.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let nanoseconds = since_1970.subsec_nanos();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanoseconds:09}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_the_specification_is_understood() {
        // The structure of the specification's measurement message, with its extension by BBRInfo.
        let text = r#"{"AppInfo":{"ElapsedTime":1234,"NumBytes":5678},
            "ConnectionInfo":{"Client":"1.2.3.4:5678","Server":"[::1]:2345","UUID":"<platform-specific-string>",
            "StartTime":"2019-07-16T15:26:05.987748459-04:00"},
            "BBRInfo":{"BW":1269047089,"MinRTT":5,"PacingGain":320,"CwndGain":512,"ElapsedTime":98963},
            "Origin":"server","Test":"download",
            "TCPInfo":{"BusyTime":1234,"BytesAcked":1234,"BytesReceived":1234,"BytesSent":1234,"BytesRetrans":1234,
            "ElapsedTime":1234,"MinRTT":1234,"RTT":99,"RTTVar":1234,"RWndLimited":1234,"SndBufLimited":1234}}"#;
        let m: Measurement = serde_json::from_str(text).unwrap();
        assert_eq!(m.app_info, Some(AppInfo { num_bytes: 5678, elapsed_time: 1234 }));
        assert_eq!(m.connection_info.as_ref().unwrap().server, "[::1]:2345");
        assert_eq!(m.bbr_info.as_ref().unwrap().cwnd_gain, 512);
        assert_eq!((m.tcp("RTT"), m.tcp("NoSuch")), (Some(99), None));
        let again: Value = serde_json::to_value(&m).unwrap();
        assert_eq!(again, serde_json::from_str::<Value>(text).unwrap());
    }

    #[test]
    fn our_message_is_byte_for_byte_the_golden_one() {
        let mut raw = [0u8; 232];
        for (i, (_, field)) in TCP_INFO_FIELDS.iter().enumerate() {
            raw[place(field).unwrap().0] = i as u8 + 1;
        }
        raw[112..120].fill(0xFF); // no limit on pacing
        let mut bbr = [0u8; 20];
        (bbr[0], bbr[4], bbr[8], bbr[12], bbr[16]) = (1, 1, 2, 3, 4);
        let m = Measurement {
            app_info: Some(AppInfo { num_bytes: 1, elapsed_time: 2 }),
            connection_info: Some(ConnectionInfo {
                client: "10.0.0.1:4".into(),
                server: "10.0.2.1:80".into(),
                uuid: None,
                start_time: Some(rfc3339(Duration::new(1_767_225_605, 20))),
            }),
            bbr_info: bbr_info(&bbr, 3),
            origin: Some("server".into()),
            test: Some("upload".into()),
            tcp_info: Some(tcp_info(&raw, 3)),
        };
        let golden = include_str!("golden_measurement.json").trim_end();
        assert_eq!(serde_json::to_string(&m).unwrap(), golden);
    }

    #[test]
    fn times_are_rfc_3339_across_leap_days_and_centuries() {
        // The left column by `date -u -d … +%s`.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000000Z"),
            (1_767_225_600, "2026-01-01T00:00:00.000000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_secs(seconds)), text);
        }
        assert!(rfc3339(Duration::new(0, 7)).ends_with(".000000007Z"));
    }

    #[test]
    fn fields_that_an_older_kernel_does_not_know_are_absent() {
        let info = tcp_info(&[0; 104], 9);
        assert!(info.contains_key("TotalRetrans") && !info.contains_key("PacingRate"));
        assert_eq!(info["ElapsedTime"], 9);
        assert_eq!(bbr_info(&[0; 19], 0), None);
    }

    #[test]
    fn messages_of_others_may_be_empty_or_carry_more_but_not_be_something_else() {
        let parse = |text: &str| serde_json::from_str::<Measurement>(text);
        assert_eq!(parse("{}").unwrap(), Measurement::default());
        assert!(parse(r#"{"WSPingInfo":{"LastRTT":1},"AppInfo":{}}"#).is_ok());
        for bad in ["", "[]", "7", r#"{"AppInfo":3}"#, r#"{"TCPInfo":[1]}"#] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
