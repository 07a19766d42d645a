//! Results of ndt-server (its `spec/data-format.md`, v0.3.0): the server's measurements of a download or an upload.

use serde_json::Value;

use super::{time, Ends, Series, Snapshot};
use crate::counts::Counts;

/// Whether it is a result: of ndt7, or of the older ndt5, which has none of what is read here.
pub fn is_result(value: &Value) -> bool {
    value.get("ServerIP").is_some() && value.get("ClientIP").is_some()
}

/// The tests in a result; usually one.
pub fn series(value: &Value, counts: &mut Counts) -> Vec<Series> {
    let mut found = Vec::new();
    for (key, source) in [("Download", "ndt7 download"), ("Upload", "ndt7 upload")] {
        let Some(test) = value.get(key).filter(|test| test.is_object()) else {
            continue;
        };
        let mut series = Series::new(source, ends(value, test));
        let measurements = test.get("ServerMeasurements").and_then(Value::as_array);
        for each in measurements.into_iter().flatten() {
            match snapshot(each) {
                Some(snapshot) => series.add(snapshot),
                None => counts.unused("measurement without TCPInfo"),
            }
        }
        if series.count == 0 {
            counts.block("test without measurements of the server");
        }
        found.push(series);
    }
    for key in ["Control", "C2S", "S2C"] {
        if value.get(key).is_some_and(Value::is_object) {
            counts.block("test of ndt5");
        }
    }
    if found.is_empty() {
        counts.block("result without a download or an upload");
    }
    found
}

fn ends(value: &Value, test: &Value) -> Ends {
    let text = |of: &Value, key: &str| of.get(key).and_then(Value::as_str).map(str::to_owned);
    let end = |who: &str| {
        let port = value.get(format!("{who}Port")).and_then(Value::as_u64)?;
        Some((text(value, &format!("{who}IP"))?, u16::try_from(port).ok()?))
    };
    let start = text(test, "StartTime").or_else(|| text(value, "StartTime"));
    Ends {
        uuid: text(test, "UUID"),
        client: end("Client"),
        server: end("Server"),
        start_ns: start.and_then(|text| time::parse(&text)),
        // BBRInfo is there under BBR only.
        cca: test
            .get("ServerMeasurements")
            .and_then(Value::as_array)
            .is_some_and(|all| all.iter().any(|each| each.get("BBRInfo").is_some_and(Value::is_object)))
            .then(|| "bbr".to_owned()),
    }
}

fn snapshot(measurement: &Value) -> Option<Snapshot> {
    let info = measurement.get("TCPInfo").filter(|info| info.is_object())?;
    let field = |name: &str| info.get(name).and_then(Value::as_u64);
    let bandwidth = measurement.get("BBRInfo").and_then(|bbr| bbr.get("BW")).and_then(Value::as_u64);
    Some(Snapshot {
        t_ns: i64::try_from(field("ElapsedTime")?).ok()?.checked_mul(1000)?,
        srtt_us: field("RTT"),
        min_rtt_us: field("MinRTT"),
        bytes_acked: field("BytesAcked"),
        bytes_received: field("BytesReceived"),
        bytes_sent: field("BytesSent"),
        bytes_retrans: field("BytesRetrans"),
        busy_us: field("BusyTime"),
        rwnd_limited_us: field("RWndLimited"),
        sndbuf_limited_us: field("SndBufLimited"),
        mss: field("SndMSS"),
        reordering: field("ReordSeen"),
        dsack_dups: field("DSackDups"),
        bbr_bytes_s: bandwidth,
    })
}
