//! One entry for fuzzers (`crates/fuzz`) and for the test that replays the kept corpus: a whole packet log of any bytes.
//!
//! What must hold of any log is asserted here; a panic anywhere is a defect. Results that cannot be wrong are not checked.

use crate::aggregate::Aggregate;
use crate::connection::Connection;
use crate::container::{self, Packet};
use crate::counts::Counts;
use crate::flows::{Flows, Limits, Sink};
use crate::half::Acked;
use crate::headers::{self, Segment};
use crate::sessions::{Rules, Service, Session};
use crate::snapshots;
use crate::sorting::Sorter;

struct Check;

impl Check {
    fn aggregate(aggregate: &Aggregate) {
        let p = aggregate.properties();
        let queue = p.queueing.peak_ns;
        assert!(p.base.min_ns.is_none_or(|rtt| rtt >= 0), "a negative base RTT");
        assert!(queue.is_none_or(|wait| wait >= 0), "a negative queueing delay");
        assert!(
            queue.is_none() || p.rtt_samples >= 100,
            "a 99th percentile of fewer than 100 samples"
        );
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

/// Reads `log` as `narrows paths` reads a file, with room for four connections only.
pub fn packet_log(log: &[u8]) {
    let limits = Limits {
        connections: 4,
        idle_ns: 10_000_000_000,
    };
    let rules = Rules {
        gap_ns: 1_000_000_000,
        min_ns: 0,
        service: Service::Port,
    };
    let mut flows = Flows::new(limits, rules);
    let mut counts = Counts::default();
    if log.first() == Some(&b'{') {
        for series in snapshots::read(log, "log", &mut counts).map_or(Vec::new(), |found| found.series) {
            let p = series.properties();
            assert!(
                p.smoothed_queueing_delay_ns.is_none_or(|ns| ns >= 0),
                "a negative queueing delay"
            );
            assert!(p.throughput_bps.is_none_or(|bps| bps.is_finite() && bps > 0.0));
        }
        return;
    }
    let mut sorter = Sorter::default();
    let mut follow = |t_ns: i64, segment: &Segment| flows.segment(t_ns, segment, &mut Check);
    // A log that is refused is as good as one that is read.
    let _ = container::read(
        log,
        "log",
        &mut counts,
        &mut |packet: Packet<'_>, counts: &mut Counts| {
            if let Some(segment) = headers::parse(&packet, counts) {
                sorter.push(packet.t_ns, segment, &mut follow);
            }
        },
    );
    sorter.finish(&mut follow);
    flows.close(&mut Check);
}
