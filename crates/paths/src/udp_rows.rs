//! The columns of the tables of UDP: conversations, their seconds, and streams of RTP.

use std::net::IpAddr;

use crate::rows::{columns, int, maybe, text};
use crate::table::{Column, Kind, Value};
use crate::udp::rtp::{Clock, Stream};
use crate::udp::{Conversation, Second, Side};

/// One conversation.
pub struct UdpRow {
    log: String,
    number: u64,
    client: (IpAddr, u16),
    server: (IpAddr, u16),
    is_from_client: bool,
    protocol: Option<&'static str>,
    first_ns: i64,
    last_ns: i64,
    sent: Side,
    back: Side,
    migrations: u64,
    quic: Option<QuicPart>,
}

/// What is said of QUIC.
struct QuicPart {
    version: u32,
    id: Option<String>,
    server_name: Option<String>,
    alpn: Option<String>,
    is_retried: bool,
    zero_rtt_packets: u64,
    to_server_ns: Option<i64>,
    to_client_ns: Option<i64>,
    handshake_ns: Option<i64>,
    spin_ns: Vec<i64>,
    opened: Option<OpenedPart>,
}

/// What is said with the secrets.
struct OpenedPart {
    packets: u64,
    closed: u64,
    unknown_frames: u64,
    unseen: Option<u64>,
    lost: u64,
    spurious: u64,
    stream_bytes: u64,
    resent_bytes: u64,
    to_receiver_ns: Vec<i64>,
    to_sender_ns: Vec<i64>,
}

impl UdpRow {
    pub fn new(log: &str, c: &Conversation) -> Self {
        let sender = c.sender();
        let has_rtp = c.streams.iter().any(Stream::is_rtp);
        let quic = c.quic.as_deref().map(|q| {
            let (to_server_ns, to_client_ns) = q.handshake_ns();
            let opened = q.has_secrets.then(|| OpenedPart {
                packets: q.sent[0].opened + q.sent[1].opened,
                closed: q.closed_packets,
                unknown_frames: q.unknown_frames,
                unseen: q.sent[sender].unseen(),
                lost: q.sent[sender].lost_packets,
                spurious: q.sent[sender].spurious,
                stream_bytes: q.sent[sender].stream_bytes,
                resent_bytes: q.sent[sender].resent_bytes,
                to_receiver_ns: sorted(&q.sent[sender].rtts_ns),
                to_sender_ns: sorted(&q.sent[1 - sender].rtts_ns),
            });
            QuicPart {
                version: q.version,
                id: q.first_target.map(|cid| cid.hex()),
                server_name: q.server_name.clone(),
                alpn: q.alpn.clone(),
                is_retried: q.retried,
                zero_rtt_packets: q.zero_rtt_packets,
                to_server_ns,
                to_client_ns,
                handshake_ns: q.handshake_rtt_ns(),
                spin_ns: sorted(&q.spin.rtts_ns(q.handshake_rtt_ns())),
                opened,
            }
        });
        UdpRow {
            log: log.to_owned(),
            number: c.number,
            client: c.key.end(c.client),
            server: c.key.end(1 - c.client),
            is_from_client: sender == c.client,
            protocol: match (&quic, has_rtp) {
                (Some(_), _) => Some("quic"),
                (None, true) => Some("rtp"),
                _ => None,
            },
            first_ns: c.first_ns,
            last_ns: c.last_ns,
            sent: c.sides[sender].clone(),
            back: c.sides[1 - sender].clone(),
            migrations: c.migrations,
            quic,
        }
    }

    fn quic<T>(&self, get: impl Fn(&QuicPart) -> Option<T>) -> Option<T> {
        self.quic.as_ref().and_then(get)
    }

    fn opened<T>(&self, get: impl Fn(&OpenedPart) -> Option<T>) -> Option<T> {
        self.quic.as_ref().and_then(|q| q.opened.as_ref()).and_then(get)
    }
}

fn sorted(values: &[i64]) -> Vec<i64> {
    let mut values = values.to_vec();
    values.sort_unstable();
    values
}

/// The quantile `q` of sorted values, the lower of two; None of none.
fn quantile(sorted: &[i64], q: f64) -> Option<i64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((q * last as f64) as usize).copied()
}

fn name_of(version: u32) -> String {
    match version {
        1 => "1".to_owned(),
        crate::udp::quic::header::VERSION_2 => "2".to_owned(),
        other => format!("{other:#010x}"),
    }
}

pub static UDP: &[Column<UdpRow>] = columns!(@list UdpRow;
    "log", Text, "the packet log: its full path, or - for standard input", |r| text(&r.log);
    "conversation", Int, "number of the conversation within the log, by its first datagram", |r| int(r.number);
    "client", Text, "address of the end that sent first", |r| text(&r.client.0.to_string());
    "client_port", Int, "its port", |r| int(r.client.1);
    "server", Text, "address of the other end", |r| text(&r.server.0.to_string());
    "server_port", Int, "its port", |r| int(r.server.1);
    "protocol", Text, "quic or rtp where the payload shows it; else NULL", |r| Value::Text(r.protocol.map(str::to_owned));
    "sender", Text, "who sent more payload, client or server", |r| text(if r.is_from_client { "client" } else { "server" });
    "start_ns", Int, "first datagram, nanoseconds since 1970", |r| int(r.first_ns);
    "duration_ns", Int, "first to last datagram", |r| int(r.last_ns - r.first_ns);
    "datagrams", Int, "datagrams of the sender", |r| int(r.sent.datagrams);
    "datagrams_back", Int, "datagrams of the other end", |r| int(r.back.datagrams);
    "payload_bytes", Int, "UDP payload of the sender, on the wire", |r| int(r.sent.bytes);
    "payload_back_bytes", Int, "UDP payload of the other end, on the wire", |r| int(r.back.bytes);
    "throughput_bps", Float, "the sender's payload over the time from its first to its last datagram", |r| Value::Float(r.sent.rate_bps());
    "peak_bps", Float, "the sender's payload of its busiest second of the log's clock", |r| Value::Float(Some(r.sent.peak_bytes as f64 * 8.0));
    "longest_gap_ns", Int, "longest time between two datagrams of the sender", |r| Value::Int(r.sent.longest_gap_ns);
    "ect0", Int, "datagrams of the sender that were marked ECT(0) when captured", |r| int(r.sent.marks[1]);
    "ect1", Int, "datagrams of the sender that were marked ECT(1) when captured", |r| int(r.sent.marks[0]);
    "ce_marked", Int, "datagrams of the sender that were marked CE when captured", |r| int(r.sent.marks[2]);
    "migrations", Int, "how often the QUIC connection went on between other addresses or ports, as its ids show", |r| int(r.migrations);
    "quic_version", Text, "the version of its Initial packets: 1, 2", |r| Value::Text(r.quic(|q| (q.version != 0).then(|| name_of(q.version))));
    "quic_id", Text, "the first id that the client chose for the server, in hex", |r| Value::Text(r.quic(|q| q.id.clone()));
    "server_name", Text, "the server's name in the client's hello", |r| Value::Text(r.quic(|q| q.server_name.clone()));
    "alpn", Text, "the first protocol that the client's hello offers", |r| Value::Text(r.quic(|q| q.alpn.clone()));
    "retried", Int, "1 where the server asked for a Retry, else 0", |r| Value::Int(r.quic(|q| Some(i64::from(q.is_retried))));
    "zero_rtt_packets", Int, "packets of the client with 0-RTT data", |r| maybe(r.quic(|q| Some(q.zero_rtt_packets)));
    "handshake_rtt_ns", Int, "RTT of the first exchange: from the capture to the server and back, and to the client and back", |r| Value::Int(r.quic(|q| q.handshake_ns));
    "handshake_rtt_server_ns", Int, "from the client's hello to the server's first answer, at the capture; NULL where the hello was sent again", |r| Value::Int(r.quic(|q| q.to_server_ns));
    "handshake_rtt_client_ns", Int, "from the server's first answer to the client's next datagram, at the capture", |r| Value::Int(r.quic(|q| q.to_client_ns));
    "spin_rtts", Int, "round trips that the spin bit shows; 0 where it shows none that can be trusted", |r| Value::Int(r.quic(|q| i64::try_from(q.spin_ns.len()).ok()));
    "spin_rtt_min_ns", Int, "the least of them", |r| Value::Int(r.quic(|q| quantile(&q.spin_ns, 0.0)));
    "spin_rtt_median_ns", Int, "their median", |r| Value::Int(r.quic(|q| quantile(&q.spin_ns, 0.5)));
    "spin_rtt_p95_ns", Int, "their 95th percentile", |r| Value::Int(r.quic(|q| quantile(&q.spin_ns, 0.95)));
    "opened_packets", Int, "packets that the key log opened, of both ends; NULL without its secrets, as all that follows", |r| maybe(r.opened(|o| Some(o.packets)));
    "closed_packets", Int, "packets that it did not open", |r| maybe(r.opened(|o| Some(o.closed)));
    "unknown_frames", Int, "packets with a frame that is not known", |r| maybe(r.opened(|o| Some(o.unknown_frames)));
    "unseen_packets", Int, "packet numbers of the sender that are not in the log: lost before the capture, not captured, or left out by the sender", |r| maybe(r.opened(|o| o.unseen));
    "lost_packets", Int, "packets of the sender that are in the log and were not acknowledged when one sent three later was", |r| maybe(r.opened(|o| Some(o.lost)));
    "late_packets", Int, "packets of the sender that were acknowledged after that", |r| maybe(r.opened(|o| Some(o.spurious)));
    "stream_bytes", Int, "bytes of streams that the sender sent", |r| maybe(r.opened(|o| Some(o.stream_bytes)));
    "resent_bytes", Int, "those of them that it had sent before", |r| maybe(r.opened(|o| Some(o.resent_bytes)));
    "rtt_samples", Int, "RTT samples of the sender's packets", |r| Value::Int(r.opened(|o| i64::try_from(o.to_receiver_ns.len()).ok()));
    "rtt_min_ns", Int, "from the capture to the receiver and back, least, by acknowledgements, with their delay", |r| Value::Int(r.opened(|o| quantile(&o.to_receiver_ns, 0.0)));
    "rtt_median_ns", Int, "the same, median", |r| Value::Int(r.opened(|o| quantile(&o.to_receiver_ns, 0.5)));
    "rtt_p95_ns", Int, "the same, 95th percentile", |r| Value::Int(r.opened(|o| quantile(&o.to_receiver_ns, 0.95)));
    "near_rtt_min_ns", Int, "from the capture to the sender and back, least, by its acknowledgements", |r| Value::Int(r.opened(|o| quantile(&o.to_sender_ns, 0.0)));
);

/// What one end sent in one second.
pub struct SecondRow {
    pub log: String,
    pub conversation: u64,
    pub is_client: bool,
    pub second: Second,
}

pub static UDP_SECONDS: &[Column<SecondRow>] = columns!(@list SecondRow;
    "log", Text, "the packet log: its full path, or - for standard input", |r| text(&r.log);
    "conversation", Int, "number of the conversation within the log", |r| int(r.conversation);
    "sender", Text, "who sent, client or server", |r| text(if r.is_client { "client" } else { "server" });
    "t_ns", Int, "when the second begins, nanoseconds since 1970", |r| int(r.second.begin_ns);
    "datagrams", Int, "datagrams in it", |r| int(r.second.datagrams);
    "payload_bytes", Int, "their payload, on the wire", |r| int(r.second.bytes);
    "longest_gap_ns", Int, "longest time before one of them since the one before", |r| int(r.second.longest_gap_ns);
);

/// One stream of RTP.
pub struct RtpRow {
    log: String,
    conversation: u64,
    is_client: bool,
    clock: Option<Clock>,
    gaps_ns: Option<Vec<i64>>,
    stream: Stream,
}

impl RtpRow {
    pub fn new(log: &str, c: &Conversation, stream: &Stream) -> Self {
        RtpRow {
            log: log.to_owned(),
            conversation: c.number,
            is_client: stream.side == c.client,
            clock: stream.clock(),
            gaps_ns: stream.has_frames().then(|| sorted(&stream.frame_gaps_ns)),
            stream: stream.clone(),
        }
    }
}

pub static RTP: &[Column<RtpRow>] = columns!(@list RtpRow;
    "log", Text, "the packet log: its full path, or - for standard input", |r| text(&r.log);
    "conversation", Int, "number of the conversation within the log", |r| int(r.conversation);
    "sender", Text, "who sent, client or server", |r| text(if r.is_client { "client" } else { "server" });
    "ssrc", Int, "its synchronisation source", |r| int(r.stream.ssrc);
    "payload_type", Int, "payload type of its first packet", |r| int(r.stream.payload_type);
    "start_ns", Int, "first packet, nanoseconds since 1970", |r| int(r.stream.first_ns);
    "duration_ns", Int, "first to last packet", |r| int(r.stream.last_ns - r.stream.first_ns);
    "packets", Int, "packets", |r| int(r.stream.packets);
    "payload_bytes", Int, "their bytes, with the RTP headers", |r| int(r.stream.bytes);
    "expected_packets", Int, "packets that there should be by the sequence numbers", |r| int(r.stream.expected());
    "lost_packets", Int, "those of them that are not in the log", |r| int(r.stream.lost());
    "reordered_packets", Int, "packets that came behind one with a later number", |r| int(r.stream.reordered);
    "duplicate_packets", Int, "packets that came twice", |r| int(r.stream.duplicates);
    "clock_hz", Int, "rate of its timestamps, as they and the time tell; NULL where it is none that media have", |r| Value::Int(r.clock.map(|c| i64::from(c.rate_hz)));
    "jitter_ns", Float, "interarrival jitter at its end (RFC 3550), of packets with a timestamp of their own", |r| Value::Float(r.clock.map(|c| c.jitter_ns));
    "frames", Int, "frames of a video: timestamps at 90 kHz", |r| maybe(r.gaps_ns.as_ref().map(|_| r.stream.frames()));
    "frame_gap_median_ns", Int, "time between the first packets of two frames, median", |r| Value::Int(r.gaps_ns.as_ref().and_then(|g| quantile(g, 0.5)));
    "frame_gap_p95_ns", Int, "the same, 95th percentile", |r| Value::Int(r.gaps_ns.as_ref().and_then(|g| quantile(g, 0.95)));
    "frame_gap_max_ns", Int, "the same, longest", |r| Value::Int(r.gaps_ns.as_ref().and_then(|g| quantile(g, 1.0)));
);
