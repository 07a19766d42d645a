//! What one connection, or a session's connections, add up to, and the properties that follow from it.

use crate::connection::Connection;
use crate::copies::Evidence;
use crate::distribution::{Durations, ERROR};
use crate::estimators::ack_aggregation::AckAggregation;
use crate::estimators::active_throughput::ActiveThroughput;
use crate::estimators::aggregates::Together;
use crate::estimators::base_rtt::{base_rtt, BaseRtt};
use crate::estimators::burst::Burst;
use crate::estimators::capacity::Capacity;
use crate::estimators::jitter::Jitter;
use crate::estimators::limits::{Limited, UNKNOWN};
use crate::estimators::losses::Losses;
use crate::estimators::mss::mss;
use crate::estimators::policing::{Policed, Policing};
use crate::estimators::queueing_delay::{queueing_delay, QueueingDelay};
use crate::estimators::reallocations;
use crate::estimators::vantage::{vantage, Vantage};

/// Sums over the direction that carried most data ("far") and, for RTTs, the other ("near").
#[derive(Debug, Clone, Default)]
pub struct Aggregate {
    far: Durations,
    near: Durations,
    /// Of `far` and of data that SACK blocks acknowledge first.
    far_with_sacked: Durations,
    acks: AckAggregation,
    pub active: ActiveThroughput,
    capacity: Capacity,
    jitter: Jitter,
    losses: Losses,
    limited: Limited,
    policing: Policing,
    burst: Burst,
    together: Together,
    reallocated: Option<reallocations::Found>,
    reordered_before: u64,
    reordered_behind: u64,
    mss: (Option<u32>, Option<&'static str>),
    /// Payload bytes of the connection that the MSS is of.
    mss_bytes_of: u64,
    outstanding_ns: i64,
    connection_ns: i64,
    pub initial_rwnd_bytes: Option<u32>,
    pub packets: u64,
    pub data_segments: u64,
    pub acked_bytes: u64,
    pub ce_marked: u64,
    pub long_segments: u64,
    pub unseen_bytes: u64,
    pub copies: u64,
    pub copies_by: Evidence,
    pub keep_alives: u64,
    pub window_probes: u64,
    notes: Notes,
}

/// Why something cannot be known.
#[derive(Debug, Clone, Copy, Default)]
struct Notes {
    no_syn: bool,
    one_sided: bool,
    options_cut: bool,
    long_segments: bool,
    unseen: bool,
    copies: bool,
    backwards: bool,
    untracked: bool,
    out_of_window: bool,
}

impl Aggregate {
    pub fn of(connection: &Connection) -> Self {
        let sender = connection.sender();
        let (far, near) = (&connection.halves[sender], &connection.halves[1 - sender]);
        let client = &connection.halves[connection.client];
        let server = &connection.halves[1 - connection.client];
        let scales = match (client.syn, server.syn) {
            (Some(a), Some(b)) if !a.options_cut && !b.options_cut => {
                Some((client.window_scale, server.window_scale))
            }
            _ => None,
        };
        let both = |f: fn(&crate::half::Half) -> u64| f(far) + f(near);
        let long_segments = far.long_segments
            + u64::from(
                far.largest.bytes > 0 && mss_of(connection, sender).0.is_some_and(|m| far.largest.bytes > m),
            );
        let mut far_with_sacked = far.rtt.clone();
        far_with_sacked.merge(&far.sacked_rtt);
        Aggregate {
            far: far.rtt.clone(),
            far_with_sacked,
            near: near.rtt.clone(),
            acks: far.ack_aggregation.clone(),
            active: far.active.clone(),
            capacity: far.capacity.clone(),
            jitter: far.jitter,
            losses: far.losses.clone(),
            limited: limited(connection),
            policing: far.policing.settled(far.rtt.min(), &far.burst),
            burst: far.burst.clone(),
            together: together(connection),
            reallocated: far.reallocations.found().filter(|_| connection.vantage() != Vantage::Receiver),
            reordered_before: far.reordering.before,
            reordered_behind: far.reordering.behind,
            mss: mss_of(connection, sender),
            mss_bytes_of: far.active.bytes,
            outstanding_ns: far.outstanding_ns(),
            connection_ns: connection.last_ns - connection.first_ns,
            initial_rwnd_bytes: client.window.bytes(scales),
            packets: both(|h| h.packets),
            data_segments: far.data_segments,
            acked_bytes: far.acked_bytes,
            ce_marked: far.ce_marked,
            long_segments,
            unseen_bytes: far.unseen_bytes,
            copies: connection.copies,
            copies_by: connection.copies_by,
            keep_alives: both(|h| h.keep_alives),
            window_probes: both(|h| h.window_probes),
            notes: Notes {
                no_syn: client.syn.is_none() || server.syn.is_none(),
                one_sided: far.packets == 0 || near.packets == 0,
                options_cut: both(|h| h.options_cut) > 0,
                long_segments: long_segments > 0,
                unseen: both(|h| h.unseen_bytes) > 0,
                copies: connection.copies > 0,
                backwards: connection.backwards > 0,
                untracked: both(|h| h.untracked) > 0,
                out_of_window: both(|h| h.out_of_window) > 0,
            },
        }
    }

    /// Adds another connection of the same session and server.
    pub fn merge(&mut self, other: &Aggregate) {
        self.far.merge(&other.far);
        self.near.merge(&other.near);
        self.far_with_sacked.merge(&other.far_with_sacked);
        self.acks.merge(&other.acks);
        self.active.merge(&other.active);
        self.capacity.merge(&other.capacity);
        self.jitter.merge(&other.jitter);
        self.losses.merge(&other.losses);
        self.limited.add(&other.limited);
        self.policing.merge(&other.policing);
        self.burst.merge(&other.burst);
        self.together.merge(&other.together);
        self.reallocated =
            [self.reallocated, other.reallocated].into_iter().flatten().max_by_key(|found| found.steps);
        self.reordered_before += other.reordered_before;
        self.reordered_behind += other.reordered_behind;
        if other.mss.0.is_some() && (self.mss.0.is_none() || other.mss_bytes_of > self.mss_bytes_of) {
            (self.mss, self.mss_bytes_of) = (other.mss, other.mss_bytes_of);
        }
        self.outstanding_ns = self.outstanding_ns.saturating_add(other.outstanding_ns);
        self.connection_ns = self.connection_ns.saturating_add(other.connection_ns);
        self.initial_rwnd_bytes = self.initial_rwnd_bytes.or(other.initial_rwnd_bytes);
        self.packets += other.packets;
        self.data_segments += other.data_segments;
        self.acked_bytes += other.acked_bytes;
        self.ce_marked += other.ce_marked;
        self.long_segments += other.long_segments;
        self.unseen_bytes += other.unseen_bytes;
        self.copies += other.copies;
        self.copies_by.merge(other.copies_by);
        self.keep_alives += other.keep_alives;
        self.window_probes += other.window_probes;
        let (a, b) = (&mut self.notes, other.notes);
        a.no_syn |= b.no_syn;
        a.one_sided |= b.one_sided;
        a.options_cut |= b.options_cut;
        a.long_segments |= b.long_segments;
        a.unseen |= b.unseen;
        a.copies |= b.copies;
        a.backwards |= b.backwards;
        a.untracked |= b.untracked;
        a.out_of_window |= b.out_of_window;
    }

    pub fn properties(&self) -> Properties {
        let vantage = vantage(&self.far, &self.near);
        let base = base_rtt(&self.far, &self.near, vantage);
        let queueing = queueing_delay(&self.far, base.min_ns, vantage);
        let with_sacked = queueing_delay(&self.far_with_sacked, base.min_ns, vantage).peak_ns;
        let mut policed = match vantage {
            Vantage::Receiver => Policed::default(),
            _ => self.policing.judge(self.losses.rtt_before(), self.far.min()),
        };
        let let_pass = |bps: f64| {
            let ns = self.active.active_ns().unwrap_or(0);
            1.01 * bps * ns as f64 / 8e9 + self.burst.bytes(Some(bps)).unwrap_or(0) as f64
        };
        policed.rate_bps = policed.rate_bps.filter(|bps| let_pass(*bps) >= self.acked_bytes as f64);
        let rate = policed.rate_bps.or(self.capacity.bps()).filter(|_| vantage != Vantage::Receiver);
        Properties {
            vantage,
            base,
            far_min_ns: self.far.min(),
            near_min_ns: self.near.min(),
            rtt_samples: self.far.count(),
            rtt_median_ns: self.far.percentile(0.5).filter(|_| vantage != Vantage::Receiver),
            rtt_p999_ns: self.far.percentile(0.999).filter(|_| vantage != Vantage::Receiver),
            percentile_error: if self.far.is_exact() { 0.0 } else { ERROR },
            queueing,
            sacked_samples: self.far_with_sacked.count() - self.far.count(),
            peak_with_sacked_ns: with_sacked,
            // At the receiver, what was captured is acknowledged at once, whatever the path holds.
            outstanding_share: (self.connection_ns > 0 && vantage != Vantage::Receiver)
                .then(|| self.outstanding_ns as f64 / self.connection_ns as f64),
            mss: self.mss,
            acks: self.acks.count(),
            ack_median_bytes: self.acks.median_bytes(),
            ack_aggregation: self.acks.in_mss(self.mss.0),
            throughput_bps: self.active.bps(),
            active_ns: self.active.active_ns(),
            active_periods: self.active.periods(),
            payload_bytes: self.active.bytes,
            jitter_ns: self.jitter.mean_ns().filter(|_| vantage != Vantage::Receiver),
            capacity_bps: self.capacity.bps(),
            capacity_variation: self.capacity.variation(),
            capacity_windows: self.capacity.windows(),
            retransmitted: self.losses.retransmitted,
            retransmitted_bytes: self.losses.retransmitted_bytes,
            needless: self.losses.needless,
            loss_events: self.losses.events,
            low_rtt: self.losses.at_low_rtt(self.far.min(), queueing.peak_ns),
            limited: self.limited,
            policed: policed.policed,
            policed_rate_bps: policed.rate_bps,
            burst_bytes: self.burst.bytes(rate).filter(|burst| *burst > self.at_once_bytes()),
            aggregates: self.together.bursts(),
            aggregate_bytes: self.together.bytes(),
            aggregate_segments: self.together.in_mss(self.mss.0),
            turn_period_ns: self.together.period_ns(),
            reallocated: self.reallocated,
            reordered_before: self.reordered_before,
            reordered_behind: self.reordered_behind,
            notes: self.notes(is_hidden_peak(queueing.peak_ns, with_sacked)),
        }
    }

    /// Less than this at once is what one or two ACKs bring, and shows no bucket.
    fn at_once_bytes(&self) -> u64 {
        let of_acks = 2.0 * self.acks.median_bytes().unwrap_or(0.0);
        (4 * u64::from(self.mss.0.unwrap_or(1460))).max(of_acks as u64)
    }

    fn notes(&self, has_hidden_peak: bool) -> Option<String> {
        let n = self.notes;
        let words = [
            (n.no_syn, "no_syn"),
            (n.one_sided, "one_sided"),
            (n.options_cut, "options_cut"),
            (n.long_segments, "before_segmentation"),
            (n.unseen, "packets_missing"),
            (n.copies, "copies_dropped"),
            (n.backwards, "time_went_back"),
            (n.untracked, "too_many_outstanding"),
            (n.out_of_window, "foreign_numbers"),
            (has_hidden_peak, "peak_in_recoveries"),
        ];
        let said: Vec<&str> = words.iter().filter(|w| w.0).map(|w| w.1).collect();
        (!said.is_empty()).then(|| said.join(","))
    }
}

/// Whether N2 misses more than 1 ms and a tenth of what SACKed data shows.
fn is_hidden_peak(peak_ns: Option<i64>, with_sacked_ns: Option<i64>) -> bool {
    peak_ns.zip(with_sacked_ns).is_some_and(|(peak, all)| all - peak > (all / 10).max(1_000_000))
}

/// What limited the sender of a connection, by intervals; None: the log was not taken there.
pub fn limits(connection: &Connection) -> Option<Vec<Limited>> {
    let far = &connection.halves[connection.sender()];
    (connection.vantage() == Vantage::Sender).then(|| {
        let settled = far.policing.settled(far.rtt.min(), &far.burst);
        let policed = settled.judge(far.losses.rtt_before(), far.rtt.min());
        far.limits.judge(policed.policed == Some(true))
    })
}

fn limited(connection: &Connection) -> Limited {
    let mut sum = Limited::default();
    match limits(connection) {
        Some(intervals) => intervals.iter().for_each(|each| sum.add(each)),
        None => sum.ns[UNKNOWN] = connection.halves[connection.sender()].active.active_ns().unwrap_or(0),
    }
    sum
}

/// What passed the link and came together: data at the receiver, ACKs at the sender.
fn together(connection: &Connection) -> Together {
    let sender = connection.sender();
    let (far, near) = (&connection.halves[sender], &connection.halves[1 - sender]);
    match connection.vantage() {
        Vantage::Sender => far.ack_arrivals.settled(far.rtt.percentile(0.5)),
        Vantage::Receiver => far.data_arrivals.settled(near.rtt.min()),
        Vantage::Middle | Vantage::Unknown => Together::default(),
    }
}

fn mss_of(connection: &Connection, sender: usize) -> (Option<u32>, Option<&'static str>) {
    let (far, near) = (&connection.halves[sender], &connection.halves[1 - sender]);
    mss(far.syn, near.syn, connection.key.v6, far.largest)
}

/// The properties of a connection or session; see the table's columns for what each is.
#[derive(Debug, Clone)]
pub struct Properties {
    pub vantage: Vantage,
    pub base: BaseRtt,
    pub far_min_ns: Option<i64>,
    pub near_min_ns: Option<i64>,
    pub rtt_samples: u64,
    pub rtt_median_ns: Option<i64>,
    pub rtt_p999_ns: Option<i64>,
    pub percentile_error: f64,
    pub queueing: QueueingDelay,
    pub sacked_samples: u64,
    pub peak_with_sacked_ns: Option<i64>,
    pub outstanding_share: Option<f64>,
    pub mss: (Option<u32>, Option<&'static str>),
    pub acks: u64,
    pub ack_median_bytes: Option<f64>,
    pub ack_aggregation: Option<f64>,
    pub throughput_bps: Option<f64>,
    pub active_ns: Option<i64>,
    pub active_periods: u64,
    pub payload_bytes: u64,
    pub jitter_ns: Option<i64>,
    pub capacity_bps: Option<f64>,
    pub capacity_variation: Option<f64>,
    pub capacity_windows: u64,
    pub retransmitted: u64,
    pub retransmitted_bytes: u64,
    pub needless: u64,
    pub loss_events: u64,
    /// Loss events with a low RTT, and their lost segments.
    pub low_rtt: Option<(u64, u64)>,
    pub limited: Limited,
    pub policed: Option<bool>,
    pub policed_rate_bps: Option<f64>,
    pub burst_bytes: Option<u64>,
    pub aggregates: u64,
    pub aggregate_bytes: Option<f64>,
    pub aggregate_segments: Option<f64>,
    pub turn_period_ns: Option<i64>,
    pub reallocated: Option<reallocations::Found>,
    pub reordered_before: u64,
    pub reordered_behind: u64,
    pub notes: Option<String>,
}
