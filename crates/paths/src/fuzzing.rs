//! One entry for fuzzers (`crates/fuzz`) and for the test that replays the kept corpus: a whole packet log of any bytes.
//!
//! What must hold of any log is asserted here; a panic anywhere is a defect. Results that cannot be wrong are not checked.

use crate::aggregate::Aggregate;
use crate::connection::Connection;
use crate::container::{self, Packet};
use crate::counts::Counts;
use crate::flows::{Flows, Limits, Sink};
use crate::half::Acked;
use crate::headers::{self, Unit};
use crate::sessions::{Rules, Service, Session};
use crate::snapshots;
use crate::sorting::Sorter;
use crate::table::Value;
use crate::udp::quic::keys::KeyLog;
use crate::udp::{self, Conversation, Conversations, Second};
use crate::udp_rows::{UdpRow, UDP};

struct Check;

impl Check {
    fn aggregate(aggregate: &Aggregate) {
        let p = aggregate.properties();
        let queue = p.queueing.peak_ns;
        assert!(p.base.min_ns.is_none_or(|rtt| rtt >= 0), "a negative base RTT");
        assert!(queue.is_none_or(|wait| wait >= 0), "a negative queueing delay");
        assert!(queue.is_none() || p.rtt_samples >= 100, "a 99th percentile of fewer than 100 samples");
        assert!(p.limited.ns.iter().all(|ns| *ns >= 0), "a negative time of a cause");
        assert!(p.ack_aggregation.is_none_or(|x| x.is_finite() && x > 0.0));
    }
}

impl Sink for Check {
    fn connection(&mut self, _: &Connection, aggregate: &Aggregate) {
        Self::aggregate(aggregate);
    }
    fn session(&mut self, session: &Session) {
        assert!(session.last_ns >= session.first_ns);
        Self::aggregate(&session.aggregate);
    }
    fn ack(&mut self, _: &Connection, _: usize, _: i64, acked: Acked, _: bool) {
        assert!(acked.rtt_ns.is_none_or(|rtt| rtt >= 0), "a negative RTT");
    }
}

impl udp::Sink for Check {
    fn conversation(&mut self, conversation: &Conversation) {
        let row = UdpRow::new("log", conversation);
        for column in UDP {
            if let Value::Int(Some(value)) = (column.get)(&row) {
                assert!(value >= 0 || column.name == "start_ns", "{} below 0", column.name);
            }
        }
        for stream in &conversation.streams {
            assert!(stream.clock().is_none_or(|clock| clock.jitter_ns.is_finite()));
        }
    }
    fn second(&mut self, _: u64, _: bool, second: &Second) {
        assert!(second.longest_gap_ns >= 0);
    }
}

/// Reads `log` as `narrows paths` reads a file, with room for four connections only.
pub fn packet_log(log: &[u8]) {
    let limits = Limits { connections: 4, idle_ns: 10_000_000_000 };
    let rules = Rules { gap_ns: 1_000_000_000, min_ns: 0, service: Service::Port };
    let mut flows = Flows::new(limits, rules);
    let mut counts = Counts::default();
    if log.first() == Some(&b'{') {
        for series in snapshots::read(log, "log", &mut counts).map_or(Vec::new(), |found| found.series) {
            let p = series.properties();
            assert!(p.smoothed_queueing_delay_ns.is_none_or(|ns| ns >= 0), "a negative queueing delay");
            assert!(p.throughput_bps.is_none_or(|bps| bps.is_finite() && bps > 0.0));
        }
        return;
    }
    let mut sorter = Sorter::default();
    let mut conversations = Conversations::new(4, 10_000_000_000, KeyLog::default(), true);
    let mut follow = |t_ns: i64, unit: &Unit| match unit {
        Unit::Segment(segment) => flows.segment(t_ns, segment, &mut Check),
        Unit::Datagram(datagram) => conversations.datagram(t_ns, datagram, &mut Check),
        Unit::Secrets(text) => conversations.add_keys(text),
    };
    // A log that is refused is as good as one that is read.
    let _ = container::read(log, "log", &mut counts, &mut |packet: Packet<'_>, counts: &mut Counts| {
        let unit = headers::unwrap(&packet, counts);
        for text in counts.secrets.drain(..) {
            follow(packet.t_ns, &Unit::Secrets(text));
        }
        if let Some(unit) = unit {
            sorter.push(packet.t_ns, unit, &mut follow);
        }
    });
    sorter.finish(&mut follow);
    flows.close(&mut Check);
    conversations.close(&mut Check);
}
