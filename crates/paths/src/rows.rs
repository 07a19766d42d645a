//! The columns of the tables: connections, sessions, limits, ACKs and snapshots. A column's text here is what the manual prints.

use crate::aggregate::{Aggregate, Properties};
use crate::connection::Connection;
use crate::copies::Evidence;
use crate::estimators::limits::{self, Limited};
use crate::half::Acked;
use crate::sessions::Session;
use crate::table::{Column, Kind, Value};

/// One connection.
pub struct ConnectionRow {
    log: String,
    number: u64,
    client: (String, u16),
    server: (String, u16),
    sender: &'static str,
    first_ns: i64,
    last_ns: i64,
    sums: Sums,
    p: Properties,
}

/// One session.
pub struct SessionRow {
    log: String,
    client: String,
    server: String,
    server_port: Option<u16>,
    first_ns: i64,
    last_ns: i64,
    connections: u64,
    servers: u64,
    connections_counted: u64,
    share_of_bytes: Option<f64>,
    sums: Sums,
    p: Properties,
}

/// What is counted and not estimated.
#[derive(Clone, Copy)]
struct Sums {
    initial_rwnd_bytes: Option<u32>,
    packets: u64,
    data_segments: u64,
    acked_bytes: u64,
    ce_marked: u64,
    long_segments: u64,
    unseen_bytes: u64,
    copies: u64,
    copies_by: Evidence,
    keep_alives: u64,
    window_probes: u64,
}

impl Sums {
    fn of(a: &Aggregate) -> Self {
        Sums {
            initial_rwnd_bytes: a.initial_rwnd_bytes,
            packets: a.packets,
            data_segments: a.data_segments,
            acked_bytes: a.acked_bytes,
            ce_marked: a.ce_marked,
            long_segments: a.long_segments,
            unseen_bytes: a.unseen_bytes,
            copies: a.copies,
            copies_by: a.copies_by,
            keep_alives: a.keep_alives,
            window_probes: a.window_probes,
        }
    }
}

/// One ACK that acknowledged something new.
pub struct AckRow {
    pub log: String,
    pub connection: u64,
    pub sender: &'static str,
    pub t_ns: i64,
    pub acked: Acked,
    pub has_sack: bool,
}

/// "client" or "server".
pub fn role(connection: &Connection, side: usize) -> &'static str {
    if side == connection.client {
        "client"
    } else {
        "server"
    }
}

impl ConnectionRow {
    pub fn new(log: &str, connection: &Connection, aggregate: &Aggregate) -> Self {
        let (client, client_port) = connection.key.end(connection.client);
        let (server, server_port) = connection.key.end(1 - connection.client);
        ConnectionRow {
            log: log.to_owned(),
            number: connection.number,
            client: (client.to_string(), client_port),
            server: (server.to_string(), server_port),
            sender: role(connection, connection.sender()),
            first_ns: connection.first_ns,
            last_ns: connection.last_ns,
            sums: Sums::of(aggregate),
            p: aggregate.properties(),
        }
    }
}

impl SessionRow {
    pub fn new(log: &str, s: &Session) -> Self {
        SessionRow {
            log: log.to_owned(),
            client: s.client.to_string(),
            server: s.server.to_string(),
            server_port: s.server_port,
            first_ns: s.first_ns,
            last_ns: s.last_ns,
            connections: s.connections,
            servers: s.servers,
            connections_counted: s.connections_counted,
            share_of_bytes: s.share_of_bytes,
            sums: Sums::of(&s.aggregate),
            p: s.aggregate.properties(),
        }
    }
}

pub(crate) fn int(value: impl TryInto<i64>) -> Value {
    Value::Int(value.try_into().ok())
}

pub(crate) fn text(value: &str) -> Value {
    Value::Text(Some(value.to_owned()))
}

/// Columns that connections and sessions share, behind those of their own.
macro_rules! columns {
    ($row:ty; $($own:tt)*) => {
        columns!(@list $row; $($own)*
            "packets", Int, "packets of both directions", |r| int(r.sums.packets);
            "payload_bytes", Int, "payload that the sender sent, each byte once", |r| int(r.p.payload_bytes);
            "acked_bytes", Int, "payload of the sender that was acknowledged", |r| int(r.sums.acked_bytes);
            "data_segments", Int, "segments with payload of the sender, also those sent again", |r| int(r.sums.data_segments);
            "vantage", Text, "where the log was taken: sender, middle, receiver or unknown", |r| text(r.p.vantage.name());
            "base_rtt_ns", Int, "base RTT (N1): the least RTT sample; of a log not taken at the sender, far and near half added", |r| Value::Int(r.p.base.min_ns);
            "base_rtt_p01_ns", Int, "the same with the 1st percentile in place of the minimum", |r| Value::Int(r.p.base.p01_ns);
            "base_rtt_method", Text, "how base RTT was had: sender, two halves, or far half (a lower bound)", |r| Value::Text(r.p.base.method.map(str::to_owned));
            "far_rtt_min_ns", Int, "least RTT sample from the capture to the receiver and back", |r| Value::Int(r.p.far_min_ns);
            "near_rtt_min_ns", Int, "least RTT sample from the capture to the sender and back", |r| Value::Int(r.p.near_min_ns);
            "rtt_samples", Int, "RTT samples of the sender's data", |r| int(r.p.rtt_samples);
            "rtt_median_ns", Int, "median of the RTT samples of the sender's data", |r| Value::Int(r.p.rtt_median_ns);
            "rtt_p99_ns", Int, "99th percentile of the RTT samples (nearest rank)", |r| Value::Int(r.p.queueing.p99_rtt_ns);
            "rtt_p999_ns", Int, "99.9th percentile of the RTT samples (nearest rank)", |r| Value::Int(r.p.rtt_p999_ns);
            "percentile_error", Float, "largest relative error of the percentiles of RTT samples: 0 up to 1024 of them", |r| Value::Float(Some(r.p.percentile_error));
            "peak_queueing_delay_ns", Int, "peak queueing delay (N2): 99th percentile less least RTT sample; a lower bound of what the path can queue", |r| Value::Int(r.p.queueing.peak_ns);
            "peak_queueing_delay_sack_ns", Int, "the same with the samples of data that SACK blocks acknowledge first, which N2 does not have: also of recoveries", |r| Value::Int(r.p.peak_with_sacked_ns);
            "sack_rtt_samples", Int, "how many of these there are", |r| int(r.p.sacked_samples);
            "peak_queueing_ratio", Float, "peak queueing delay over base RTT", |r| Value::Float(r.p.queueing.ratio);
            "outstanding_share", Float, "share of the connections' time with data outstanding", |r| Value::Float(r.p.outstanding_share);
            "mss_bytes", Int, "MSS, less timestamps where both ends agreed on them", |r| Value::Int(r.p.mss.0.map(i64::from));
            "mss_source", Text, "where the MSS is from: syn or largest payload", |r| Value::Text(r.p.mss.1.map(str::to_owned));
            "acks_counted", Int, "ACKs that ACK aggregation is of", |r| int(r.p.acks);
            "ack_median_bytes", Float, "median of the bytes that an ACK newly acknowledges", |r| Value::Float(r.p.ack_median_bytes);
            "ack_aggregation", Float, "ACK aggregation (N3): that median over the MSS", |r| Value::Float(r.p.ack_aggregation);
            "initial_rwnd_bytes", Int, "first window that the client offers after the handshake, scaled (for N4)", |r| Value::Int(r.sums.initial_rwnd_bytes.map(i64::from));
            "throughput_bps", Float, "throughput over active time (N6), of payload", |r| Value::Float(r.p.throughput_bps);
            "active_ns", Int, "time in which data was being fetched", |r| Value::Int(r.p.active_ns);
            "active_periods", Int, "periods that this time is made of", |r| int(r.p.active_periods);
            "jitter_ns", Int, "mean absolute difference of RTT samples that follow each other", |r| Value::Int(r.p.jitter_ns);
            "capacity_bps", Float, "median rate of acknowledged payload while a queue stood: the bottleneck's rate, or the share of it", |r| Value::Float(r.p.capacity_bps);
            "capacity_variation", Float, "difference of the 90th and 10th percentiles of that rate over its median", |r| Value::Float(r.p.capacity_variation);
            "capacity_windows", Int, "windows of at least 100 ms that these are of", |r| int(r.p.capacity_windows);
            "retransmitted_segments", Int, "segments of the sender that were sent again", |r| int(r.p.retransmitted);
            "retransmitted_bytes", Int, "their payload", |r| int(r.p.retransmitted_bytes);
            "needless_retransmissions", Int, "of these, segments whose data had been acknowledged before", |r| int(r.p.needless);
            "loss_events", Int, "recoveries: first retransmissions, one for all that had been sent by then", |r| int(r.p.loss_events);
            "loss_events_low_rtt", Int, "of these, the ones before which the RTT was below the middle of its range, so that no full queue explains them", |r| Value::Int(r.p.low_rtt.map(|v| v.0 as i64));
            "lost_segments_low_rtt", Int, "segments that were sent again, and not in vain, in the recoveries of these", |r| Value::Int(r.p.low_rtt.map(|v| v.1 as i64));
            "limited_by", Text, "what limited the sender for most of its active time: application, receiver, buffer, queue, policer, loss, window or unknown", |r| Value::Text(r.p.limited.cause().map(str::to_owned));
            "application_limited_share", Float, "share of active time that was limited by the application: nothing to send while data was asked for, or less than the path would have taken", |r| Value::Float(r.p.limited.share(limits::APPLICATION));
            "receiver_limited_share", Float, "share of active time that was limited by the receiver's window, which had no room for a full segment", |r| Value::Float(r.p.limited.share(limits::RECEIVER));
            "buffer_limited_share", Float, "share of active time that was limited by the sender's buffer: what is written follows ACKs at once, and then nothing is left", |r| Value::Float(r.p.limited.share(limits::BUFFER));
            "queue_limited_share", Float, "share of active time that was limited by the path: the congestion window, with a queue that stood", |r| Value::Float(r.p.limited.share(limits::QUEUE));
            "policer_limited_share", Float, "share of active time that was limited by a policer: losses, and a window cut by them", |r| Value::Float(r.p.limited.share(limits::POLICER));
            "loss_limited_share", Float, "share of active time that was limited by losses that no queue explains: recoveries, and a window cut by them, while no queue stood", |r| Value::Float(r.p.limited.share(limits::LOSS));
            "window_limited_share", Float, "share of active time that was limited by the congestion window, with neither queue nor loss before: it was still growing, or paces so", |r| Value::Float(r.p.limited.share(limits::WINDOW));
            "unknown_limited_share", Float, "share of active time of which the cause cannot be told (a log not taken at the sender, or no SYN)", |r| Value::Float(r.p.limited.share(limits::UNKNOWN));
            "policed", Int, "1 when losses look like a policer's: no queue stood, and they come only above one rate, when a bucket is empty; 0 when a queue stood, or they come at any flight or level of a bucket; else NULL", |r| r.p.policed.map_or(Value::Int(None), |p| Value::Int(Some(i64::from(p))));
            "policed_rate_bps", Float, "the policer's rate, of payload; NULL unless it is known to 3 %", |r| Value::Float(r.p.policed_rate_bps);
            "burst_bytes", Int, "payload that passed at once after a pause, beyond what the policer's rate or the capacity allows; NULL of no more than 4 segments or two ACKs", |r| Value::Int(r.p.burst_bytes.and_then(|v| i64::try_from(v).ok()));
            "aggregates_counted", Int, "bursts, of one packet or more, that the aggregates are of", |r| int(r.p.aggregates);
            "aggregate_bytes", Float, "payload that comes together, on average: at the receiver data, at the sender what ACKs newly acknowledge; NULL where packets come one by one", |r| Value::Float(r.p.aggregate_bytes);
            "aggregate_segments", Float, "the same over the MSS", |r| Value::Float(r.p.aggregate_segments);
            "turn_period_ns", Int, "period of the grid on which they come: a TTI, a MAP, a frame; NULL where there is none", |r| Value::Int(r.p.turn_period_ns);
            "reallocations", Int, "steps of the base RTT at regular times; NULL where there are none", |r| Value::Int(r.p.reallocated.map(|found| found.steps as i64));
            "reallocation_period_ns", Int, "time between two of these times", |r| Value::Int(r.p.reallocated.map(|found| found.period_ns));
            "reordered_before", Int, "segments of the sender that were reordered before the capture", |r| int(r.p.reordered_before);
            "reordered_behind", Int, "segments of the sender that were reordered behind the capture, as SACKs show", |r| int(r.p.reordered_behind);
            "ce_marked", Int, "packets of the sender that were marked CE when captured", |r| int(r.sums.ce_marked);
            "long_segments", Int, "segments longer than a wire carries (before segmentation, or after receive offload)", |r| int(r.sums.long_segments);
            "unseen_bytes", Int, "payload of the sender that was acknowledged and is not in the log", |r| int(r.sums.unseen_bytes);
            "copies", Int, "packets that came twice in the log and were used once", |r| int(r.sums.copies);
            "copies_known_by", Text, "what showed that: identification, ttl, timestamp, time (words with commas)", |r| Value::Text(r.sums.copies_by.words());
            "keep_alives", Int, "keep-alives of both ends, with a byte or none", |r| int(r.sums.keep_alives);
            "window_probes", Int, "probes of a closed window, of both ends, with a byte or none", |r| int(r.sums.window_probes);
            "notes", Text, "what stands in the way of estimators, as words with commas", |r| Value::Text(r.p.notes.clone());
        )
    };
    (@list $row:ty; $($name:literal, $kind:ident, $about:literal, |$r:ident| $get:expr;)*) => {
        &[$(Column::<$row> { name: $name, kind: Kind::$kind, about: $about, get: |$r| $get },)*]
    };
}

pub(crate) use columns;

pub static CONNECTIONS: &[Column<ConnectionRow>] = columns!(ConnectionRow;
    "log", Text, "the packet log: its full path, or - for standard input", |r| text(&r.log);
    "connection", Int, "number of the connection within the log, by its first packet", |r| int(r.number);
    "client", Text, "address of the end that opened it (without a SYN in the log: of the higher port)", |r| text(&r.client.0);
    "client_port", Int, "its port", |r| int(r.client.1);
    "server", Text, "address of the other end", |r| text(&r.server.0);
    "server_port", Int, "its port", |r| int(r.server.1);
    "sender", Text, "who sent more payload, client or server; the properties are of this direction", |r| text(r.sender);
    "start_ns", Int, "first packet, nanoseconds since 1970", |r| int(r.first_ns);
    "duration_ns", Int, "first to last packet", |r| int(r.last_ns - r.first_ns);
);

/// What limited a connection within one interval.
pub struct LimitRow {
    pub log: String,
    pub connection: u64,
    pub sender: &'static str,
    pub start_ns: i64,
    pub limited: Limited,
}

pub static LIMITS: &[Column<LimitRow>] = columns!(@list LimitRow;
    "log", Text, "the packet log: its full path, or - for standard input", |r| text(&r.log);
    "connection", Int, "number of the connection within the log", |r| int(r.connection);
    "sender", Text, "who sent more payload; the interval is of its data", |r| text(r.sender);
    "t_ns", Int, "when the interval begins, ns since 1970; the first begins with the request or the first payload", |r| int(r.start_ns + r.limited.at_ns);
    "length_ns", Int, "how long it is: a second, or more in connections of more than 4096 s", |r| int(r.limited.length_ns);
    "active_ns", Int, "active time within it, which the others add up to", |r| int(r.limited.active_ns());
    "acked_bytes", Int, "payload that was acknowledged in it", |r| int(r.limited.acked);
    "limited_by", Text, "what limited the sender for most of it", |r| Value::Text(r.limited.cause().map(str::to_owned));
    "application_ns", Int, "of it, limited by the application", |r| int(r.limited.ns[limits::APPLICATION]);
    "receiver_ns", Int, "of it, limited by the receiver", |r| int(r.limited.ns[limits::RECEIVER]);
    "buffer_ns", Int, "of it, limited by the buffer", |r| int(r.limited.ns[limits::BUFFER]);
    "queue_ns", Int, "of it, limited by the queue", |r| int(r.limited.ns[limits::QUEUE]);
    "policer_ns", Int, "of it, limited by the policer", |r| int(r.limited.ns[limits::POLICER]);
    "loss_ns", Int, "of it, limited by the loss", |r| int(r.limited.ns[limits::LOSS]);
    "window_ns", Int, "of it, limited by the window", |r| int(r.limited.ns[limits::WINDOW]);
    "unknown_ns", Int, "of it, the cause cannot be told", |r| int(r.limited.ns[limits::UNKNOWN]);
);

pub static SESSIONS: &[Column<SessionRow>] = columns!(SessionRow;
    "log", Text, "the packet log: its full path, or - for standard input", |r| text(&r.log);
    "client", Text, "address of the client", |r| text(&r.client);
    "server", Text, "address of the busiest server; the properties are of it alone", |r| text(&r.server);
    "server_port", Int, "the service's port; NULL with --service all", |r| Value::Int(r.server_port.map(i64::from));
    "start_ns", Int, "first packet, nanoseconds since 1970", |r| int(r.first_ns);
    "duration_ns", Int, "first to last packet", |r| int(r.last_ns - r.first_ns);
    "connections", Int, "connections of the session", |r| int(r.connections);
    "servers", Int, "server addresses of the session", |r| int(r.servers);
    "connections_counted", Int, "connections with the busiest server", |r| int(r.connections_counted);
    "share_of_bytes", Float, "the busiest server's share of the payload", |r| Value::Float(r.share_of_bytes);
);

pub static ACKS: &[Column<AckRow>] = &[
    Column {
        name: "log",
        kind: Kind::Text,
        about: "the packet log: its full path, or - for standard input",
        get: |r| text(&r.log),
    },
    Column {
        name: "connection",
        kind: Kind::Int,
        about: "number of the connection within the log",
        get: |r| int(r.connection),
    },
    Column { name: "sender", kind: Kind::Text, about: "whose data it acknowledges", get: |r| text(r.sender) },
    Column {
        name: "t_ns",
        kind: Kind::Int,
        about: "when it was captured, ns since 1970",
        get: |r| int(r.t_ns),
    },
    Column {
        name: "acked_bytes",
        kind: Kind::Int,
        about: "payload that it newly acknowledges",
        get: |r| int(r.acked.bytes),
    },
    Column {
        name: "rtt_ns",
        kind: Kind::Int,
        about: "its RTT sample; NULL when ambiguous",
        get: |r| Value::Int(r.acked.rtt_ns),
    },
    Column {
        name: "outstanding_bytes",
        kind: Kind::Int,
        about: "sequence space outstanding after it",
        get: |r| int(r.acked.outstanding),
    },
    Column {
        name: "has_sack",
        kind: Kind::Int,
        about: "1 when it carries SACK blocks, else 0",
        get: |r| int(i64::from(r.has_sack)),
    },
];

/// What snapshots of one connection's TCP_INFO say.
pub struct SnapshotRow {
    pub log: String,
    pub series: crate::snapshots::Series,
    pub p: crate::snapshots::Properties,
}

pub(crate) fn maybe(value: Option<u64>) -> Value {
    Value::Int(value.and_then(|v| i64::try_from(v).ok()))
}

pub static SNAPSHOTS: &[Column<SnapshotRow>] = columns!(@list SnapshotRow;
    "log", Text, "the file: its full path, or - for standard input", |r| text(&r.log);
    "source", Text, "what it is of: ndt7 download, ndt7 upload or tcp-info", |r| text(r.series.source);
    "uuid", Text, "M-Lab's name of the connection", |r| Value::Text(r.series.ends.uuid.clone());
    "client", Text, "address of the client", |r| Value::Text(r.series.ends.client.as_ref().map(|e| e.0.clone()));
    "client_port", Int, "its port", |r| Value::Int(r.series.ends.client.as_ref().map(|e| i64::from(e.1)));
    "server", Text, "address of the server, whose kernel it is", |r| Value::Text(r.series.ends.server.as_ref().map(|e| e.0.clone()));
    "server_port", Int, "its port", |r| Value::Int(r.series.ends.server.as_ref().map(|e| i64::from(e.1)));
    "sender", Text, "who sent more payload, client or server", |r| text(r.p.sender);
    "start_ns", Int, "when it began, nanoseconds since 1970", |r| Value::Int(r.series.ends.start_ns);
    "duration_ns", Int, "first to last snapshot", |r| Value::Int(r.p.duration_ns);
    "snapshots", Int, "how many there are", |r| int(r.series.count);
    "cca", Text, "the server's congestion control, where it is known", |r| Value::Text(r.series.ends.cca.clone());
    "base_rtt_ns", Int, "the least RTT that the kernel had (tcpi_min_rtt, of a window of 300 s)", |r| Value::Int(r.p.base_rtt_ns);
    "srtt_median_ns", Int, "median of the smoothed RTTs", |r| Value::Int(r.p.srtt_median_ns);
    "srtt_max_ns", Int, "largest smoothed RTT", |r| Value::Int(r.p.srtt_max_ns);
    "smoothed_queueing_delay_ns", Int, "that less base RTT; below the peak queueing delay (N2), as it is smoothed", |r| Value::Int(r.p.smoothed_queueing_delay_ns);
    "payload_bytes", Int, "payload of the sender that arrived, by the last snapshot", |r| maybe(r.p.payload_bytes);
    "throughput_bps", Float, "payload between the first and the last snapshot over the time between them", |r| Value::Float(r.p.throughput_bps);
    "busy_ns", Int, "time in which the server had data to send", |r| Value::Int(r.p.busy_ns);
    "busy_throughput_bps", Float, "throughput over busy time (as N6)", |r| Value::Float(r.p.busy_throughput_bps);
    "rwnd_limited_share", Float, "share of busy time that the client's window limited", |r| Value::Float(r.p.rwnd_limited_share);
    "sndbuf_limited_share", Float, "share of busy time that the server's buffer limited", |r| Value::Float(r.p.sndbuf_limited_share);
    "retransmitted_share", Float, "bytes sent again over all bytes sent", |r| Value::Float(r.p.retransmitted_share);
    "bbr_bandwidth_bps", Float, "largest bandwidth that BBR had", |r| Value::Float(r.p.bbr_bandwidth_bps);
    "mss_bytes", Int, "MSS of the server's segments", |r| maybe(r.p.mss_bytes);
    "reordering_events", Int, "reordering that the server's kernel saw", |r| maybe(r.p.reordering_events);
    "dsack_dups", Int, "duplicates that the client reported", |r| maybe(r.p.dsack_dups);
);
