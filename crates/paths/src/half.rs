//! One direction of a connection: the data that one end sends and the ACKs that the other returns for it.
//!
//! It keeps what is outstanding, takes RTT samples, and tells the estimators what happened. It knows nothing of files.

mod disorder;

use std::collections::VecDeque;

use crate::copies::Copies;
use crate::distribution::Durations;
use crate::estimators::ack_aggregation::AckAggregation;
use crate::estimators::active_throughput::ActiveThroughput;
use crate::estimators::aggregates::Arrivals;
use crate::estimators::burst::Burst;
use crate::estimators::capacity::Capacity;
use crate::estimators::initial_window::InitialWindow;
use crate::estimators::jitter::Jitter;
use crate::estimators::limits::{Limits, Now};
use crate::estimators::losses::Losses;
use crate::estimators::mss::{Largest, Syn, JUMBO};
use crate::estimators::policing::Policing;
use crate::estimators::reallocations::Reallocations;
use crate::estimators::reordering::Reordering;
use crate::headers::Options;

/// Outstanding segments that are kept. A connection with more loses RTT samples, and says so.
const OUTSTANDING: usize = 1 << 15;
/// The same as long as the other end has not been heard: the log may hold one direction only.
const UNHEARD: usize = 256;
/// Holes in the sequence that are remembered.
const HOLES: usize = 1024;
/// A sequence number further than this from the expected one is not of this connection.
const FAR: i32 = 1 << 29;

/// `a` less `b` in sequence space.
#[inline]
pub fn diff(a: u32, b: u32) -> i32 {
    a.wrapping_sub(b) as i32
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    seq: u32,
    end: u32,
    t_ns: i64,
    /// Bytes that were outstanding with it.
    outstanding: u32,
    /// Payload that had been sent before it, and before it was sent again last.
    before: u64,
    again: bool,
    sacked: bool,
    /// RTT of what passed behind it, while it is a hole itself.
    rtt_behind_ns: Option<i64>,
    /// It came late to the capture: its reordering is counted.
    late: bool,
}

#[derive(Debug, Clone, Copy)]
struct Hole {
    seq: u32,
    end: u32,
    t_ns: i64,
    /// The data before and behind it is of one active period.
    within: bool,
}

/// What one ACK told.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Acked {
    /// Newly acknowledged bytes of payload.
    pub bytes: u32,
    pub rtt_ns: Option<i64>,
    /// Bytes that are outstanding after it.
    pub outstanding: u32,
}

#[derive(Debug, Clone, Default)]
pub struct Half {
    /// This end's SYN.
    pub syn: Option<Syn>,
    pub window_scale: Option<u8>,
    isn: Option<u32>,
    /// The number of an earlier SYN, whose answer may yet come.
    former_isn: Option<u32>,
    /// The timestamp of a SYN that was sent again: whether an answer is to that one.
    resent_syn: Option<u32>,
    fin_end: Option<u32>,
    /// The end of what was sent, and of what was acknowledged.
    sent_end: Option<u32>,
    acked_end: Option<u32>,
    sent: VecDeque<Sent>,
    holes: VecDeque<Hole>,
    /// Data, or an ACK, that is far from all before: it begins what goes on behind a long gap in the log, or is foreign.
    astray: Option<Data>,
    astray_ack: Option<u32>,
    /// The end of a probe of the closed window, which may or may not be accepted.
    probe_end: Option<u32>,
    last_sack: [(u32, u32); 4],
    sacked_to: Option<u32>,
    newest_tsval: Option<u32>,
    heard: bool,
    last_rtt_ns: Option<i64>,
    /// The less of the last two: one of them may have waited for a delayed acknowledgement.
    low_rtt_ns: Option<i64>,
    last_t_ns: i64,
    outstanding_ns: i64,
    /// Payload of all segments, also those sent again.
    sent_bytes: u64,
    /// The end of what the other end's window lets pass; None: the window's scale is not known.
    offered_end: Option<u32>,
    /// When the last of the outstanding data was acknowledged.
    all_acked_ns: i64,

    pub packets: u64,
    pub data_segments: u64,
    /// Segments longer than a wire carries: seen before segmentation or after receive offload.
    pub long_segments: u64,
    pub ce_marked: u64,
    pub keep_alives: u64,
    pub window_probes: u64,
    /// Bytes that an ACK covers and the log does not hold.
    pub unseen_bytes: u64,
    /// Segments that were not tracked, as too many were outstanding.
    pub untracked: u64,
    pub out_of_window: u64,
    pub acked_bytes: u64,
    pub options_cut: u64,
    pub largest: Largest,
    pub rtt: Durations,
    /// Samples of data that SACK blocks acknowledge first, which N1 to N3 do not have.
    pub sacked_rtt: Durations,
    pub ack_aggregation: AckAggregation,
    pub active: ActiveThroughput,
    pub capacity: Capacity,
    pub jitter: Jitter,
    pub limits: Limits,
    pub losses: Losses,
    pub policing: Policing,
    pub burst: Burst,
    pub reordering: Reordering,
    /// The data, and the ACKs for it.
    pub data_arrivals: Arrivals,
    pub ack_arrivals: Arrivals,
    pub reallocations: Reallocations,
    /// Windows that this end offers.
    pub window: InitialWindow,
    pub copies: Copies,
}

/// One segment as this direction sees it.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    pub t_ns: i64,
    pub seq: u32,
    pub bytes: u32,
    pub fin: bool,
    pub tsval: Option<u32>,
    /// The least whole round trip seen so far.
    pub round_trip_ns: Option<i64>,
    /// The other end's window is closed: what is sent probes it.
    pub probes: bool,
}

impl Half {
    /// Whether data of this number is new.
    #[inline]
    pub fn is_ahead(&self, seq: u32) -> bool {
        self.sent_end.is_none_or(|end| diff(seq, end) >= 0)
    }

    /// Whether an ACK of this number acknowledges something new.
    #[inline]
    pub fn is_news(&self, ack: u32) -> bool {
        self.acked_end.is_none_or(|end| diff(ack, end) > 0)
    }

    /// This end's SYN (or SYN-ACK).
    pub fn on_syn(&mut self, t_ns: i64, seq: u32, options: &Options) {
        if self.isn == Some(seq) {
            // Sent again: its RTT is ambiguous, unless the answer echoes the timestamp of this one.
            if let Some(first) = self.sent.front_mut().filter(|s| s.seq == seq) {
                first.again = true;
                first.t_ns = t_ns;
                self.resent_syn = options.timestamps.map(|(tsval, _)| tsval);
            }
            return;
        }
        if self.isn.is_some() && self.data_segments > 0 {
            self.out_of_window += 1;
            return;
        }
        self.former_isn = self.isn;
        self.syn = Some(Syn {
            mss: options.mss,
            timestamps: options.timestamps.is_some(),
            options_cut: options.cut,
        });
        self.window_scale = options.window_scale;
        if self.sent_end.is_none() || self.isn.is_some() {
            self.begin(t_ns, seq, false);
        }
        self.isn = Some(seq);
        self.last_t_ns = self.last_t_ns.max(t_ns);
    }

    /// This direction begins, or begins again, with a SYN of this number.
    fn begin(&mut self, t_ns: i64, isn: u32, again: bool) {
        self.go_on_from(isn);
        let end = isn.wrapping_add(1);
        self.sent_end = Some(end);
        self.resent_syn = None;
        self.sent.push_back(Sent {
            seq: isn,
            end,
            t_ns,
            outstanding: 1,
            before: self.sent_bytes,
            again,
            sacked: false,
            rtt_behind_ns: None,
            late: false,
        });
    }

    pub fn is_isn(&self, seq: u32) -> bool {
        self.isn == Some(seq)
    }

    /// Bytes that are sent and not acknowledged.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        match (self.sent_end, self.acked_end) {
            (Some(sent), Some(acked)) => diff(sent, acked).max(0) as u32,
            _ => 0,
        }
    }

    /// Counts the time up to `t_ns` as spent with data outstanding, if there is any.
    #[inline]
    fn pass(&mut self, t_ns: i64) {
        // A FIN that nobody answers is no data.
        let fin = u32::from(self.fin_end.is_some() && self.fin_end == self.sent_end);
        if self.outstanding() > fin {
            self.outstanding_ns = self.outstanding_ns.saturating_add((t_ns - self.last_t_ns).max(0));
        }
        self.last_t_ns = t_ns;
    }

    pub fn outstanding_ns(&self) -> i64 {
        self.outstanding_ns
    }

    /// A segment without payload and flags. At one before the end, where all is acknowledged, it wants nothing but an answer.
    #[inline]
    pub fn on_empty(&mut self, seq: u32, probes: bool) {
        if self.sent_end == Some(seq.wrapping_add(1)) && self.acked_end == self.sent_end {
            self.on_question(probes);
        }
    }

    fn on_question(&mut self, probes: bool) {
        if probes {
            self.window_probes += 1;
        } else {
            self.keep_alives += 1;
        }
    }

    /// A segment with payload or FIN. Whether it holds payload that is new.
    #[inline]
    pub fn on_data(&mut self, data: Data) -> bool {
        let Data { t_ns, seq, bytes, fin, .. } = data;
        let end = seq.wrapping_add(bytes + u32::from(fin));
        let Some(sent_end) = self.sent_end else {
            // The log begins within the connection.
            self.acked_end.get_or_insert(seq);
            self.sent_end = Some(seq);
            return self.on_data(data);
        };
        let ahead = diff(seq, sent_end);
        if !(-FAR..=FAR).contains(&ahead) {
            return self.on_far_data(data, end);
        }
        // A keep-alive repeats the last acknowledged byte; a probe sends the next one into a closed window.
        if bytes == 1
            && self.acked_end == Some(sent_end)
            && (ahead == -1 || (ahead == 0 && data.probes))
            && !fin
        {
            self.probe_end = (ahead == 0).then_some(end).or(self.probe_end);
            self.on_question(data.probes);
            return false;
        }
        let before = self.active.bytes;
        self.astray = None;
        self.pass(t_ns);
        if bytes > 0 {
            self.data_segments += 1;
            self.largest.see(bytes);
            self.data_arrivals.see(t_ns, bytes);
            if bytes > JUMBO {
                self.long_segments += 1;
            }
        }
        if ahead >= 0 {
            let left = self.outstanding();
            let idle = left == 0;
            // What was sent before the log began is none of its holes.
            if ahead > 0 && (self.isn.is_some() || self.data_segments > u64::from(bytes > 0)) {
                self.open_hole(Hole {
                    seq: sent_end,
                    end: seq,
                    t_ns,
                    within: self.active.goes_on(t_ns, idle, self.last_rtt_ns),
                });
            }
            self.sent_end = Some(end);
            self.track(Sent {
                seq,
                end,
                t_ns,
                outstanding: self.outstanding(),
                before: self.sent_bytes,
                again: data.probes,
                sacked: false,
                rtt_behind_ns: None,
                late: false,
            });
            if bytes > 0 {
                let paused = t_ns - self.all_acked_ns > self.rtt.min().unwrap_or(0);
                if idle && (paused || self.active.bytes == 0) {
                    self.burst.pause();
                }
                let goes_on = idle && self.active.goes_on(t_ns, idle, self.last_rtt_ns);
                self.active.data(t_ns, bytes, idle, self.last_rtt_ns);
                let from = self.active.began_ns().filter(|_| idle && !goes_on);
                self.limits.before_data(t_ns, from, left);
                self.limits.data(self.now(t_ns), bytes);
            }
        } else {
            self.on_old(data, end, sent_end);
        }
        self.policing.sends.see(t_ns, self.sent_bytes);
        self.sent_bytes += u64::from(bytes);
        if fin {
            self.fin_end = Some(end);
        }
        if data.tsval.is_some_and(|mine| self.newest_tsval.is_none_or(|newest| diff(mine, newest) > 0)) {
            self.newest_tsval = data.tsval;
        }
        self.active.bytes > before
    }

    /// The payload of a full segment.
    #[inline]
    fn full_bytes(&self) -> u32 {
        let syn =
            self.syn.and_then(|syn| Some(u32::from(syn.mss?).saturating_sub(12 * u32::from(syn.timestamps))));
        self.largest.bytes.min(syn.unwrap_or(1460))
    }

    #[inline]
    fn now(&self, t_ns: i64) -> Now {
        Now {
            t_ns,
            outstanding: self.outstanding(),
            room: self.offered_end.zip(self.sent_end).map(|(offered, sent)| i64::from(diff(offered, sent))),
            recovery: self.losses.recovery(self.acked_end),
            base_rtt_ns: self.rtt.min(),
            mss: self.full_bytes(),
        }
    }

    /// The window that the other end offers with an ACK; the shift is None where it is not known.
    #[inline]
    pub fn on_window(&mut self, ack: u32, window: u16, shift: Option<u8>) {
        if self.acked_end.is_none_or(|acked| diff(ack, acked) >= 0) {
            self.offered_end = shift.map(|shift| ack.wrapping_add(u32::from(window) << shift));
        }
    }

    fn track(&mut self, segment: Sent) {
        let limit = if self.heard { OUTSTANDING } else { UNHEARD };
        if self.sent.len() >= limit {
            self.sent.pop_front();
            self.untracked += 1;
        }
        self.sent.push_back(segment);
    }

    /// An ACK of the other end for this direction's data.
    #[inline]
    pub fn on_ack(&mut self, t_ns: i64, ack: u32, options: &Options) -> Acked {
        self.heard = true;
        let Some(acked_end) = self.acked_end else {
            // Nothing of this direction has been seen: this is where it begins.
            self.acked_end = Some(ack);
            self.sent_end = Some(ack);
            return Acked::default();
        };
        if self.data_segments == 0 && self.former_isn == Some(ack.wrapping_sub(1)) {
            return self.on_ack_of_former(t_ns, ack, options);
        }
        let newly = diff(ack, acked_end);
        if !(-FAR..=FAR).contains(&newly) {
            return self.on_far_ack(t_ns, ack, options);
        }
        let mut sent_end = self.sent_end.unwrap_or(acked_end);
        self.pass(t_ns);
        let mut told = Acked::default();
        if newly > 0 {
            let (mut ambiguous, mut fetched) = (false, true);
            if diff(ack, sent_end) > 0 && self.probe_end == Some(sent_end.wrapping_add(1)) {
                // The probe's byte was accepted, of whichever probe.
                sent_end = sent_end.wrapping_add(1);
                self.sent_end = Some(sent_end);
                self.active.bytes += 1;
                ambiguous = true;
            }
            let unseen = diff(ack, sent_end);
            if unseen > 0 {
                // The log misses what this acknowledges. No sample, and the estimators go on from here.
                fetched = self.active.goes_on(t_ns, self.outstanding() == 0, self.last_rtt_ns);
                self.miss(unseen as u32, fetched);
                self.sent_end = Some(ack);
                ambiguous = true;
            }
            if self.isn == Some(acked_end) && self.resent_syn.is_some() {
                let answered = options.timestamps.map(|(_, tsecr)| tsecr) == self.resent_syn;
                if let Some(first) = self.sent.front_mut().filter(|_| answered) {
                    first.again = false;
                }
            }
            told.rtt_ns = self.take_acked(t_ns, ack, ambiguous);
            self.acked_end = Some(ack);
            let controls = u32::from(self.isn == Some(acked_end)) + u32::from(self.fin_end == Some(ack));
            told.bytes = (newly as u32).saturating_sub(controls);
            self.acked_bytes += u64::from(told.bytes);
            self.forget_holes(ack);
            if told.bytes > 0 && fetched {
                self.active.acked(t_ns);
            }
        }
        if options.sack_blocks > 0 {
            self.burst.hole();
            let sacked_rtt = self.on_sack(t_ns, ack, options);
            if let Some(rtt) = sacked_rtt.filter(|_| told.rtt_ns.is_none()) {
                self.sacked_rtt.add(rtt);
            }
        }
        told.outstanding = self.outstanding();
        // ACKs of nothing but SYN or FIN are none of data.
        if newly <= 0 || told.bytes > 0 {
            self.ack_aggregation.ack(told.bytes, options.sack_blocks > 0, options.cut);
        }
        self.ack_arrivals.ack(t_ns, told.bytes, options.sack_blocks > 0);
        if let Some(rtt) = told.rtt_ns {
            self.rtt.add(rtt);
            self.reallocations.sample(t_ns, rtt);
            self.jitter.sample(rtt);
            self.low_rtt_ns = Some(self.last_rtt_ns.map_or(rtt, |last| last.min(rtt)));
            self.last_rtt_ns = Some(rtt);
        }
        if newly > 0 {
            if told.outstanding == 0 {
                self.all_acked_ns = t_ns;
            }
            if told.bytes > 0 {
                self.burst.ack(t_ns, told.bytes);
            }
            self.capacity.ack(t_ns, told.bytes, told.rtt_ns, self.rtt.min(), told.outstanding > 0);
        }
        self.limits.ack(self.now(t_ns), told.bytes, told.rtt_ns);
        told
    }

    /// Removes what `ack` covers; the RTT sample that this gives.
    #[inline]
    fn take_acked(&mut self, t_ns: i64, ack: u32, mut ambiguous: bool) -> Option<i64> {
        let mut latest: Option<i64> = None;
        while let Some(first) = self.sent.front_mut() {
            if diff(first.seq, ack) >= 0 {
                break;
            }
            ambiguous |= first.again;
            if !first.sacked {
                latest = Some(latest.map_or(first.t_ns, |l| l.max(first.t_ns)));
                if !first.again && !first.late && self.sacked_to.is_some_and(|to| diff(to, first.end) > 0) {
                    self.reordering.behind += 1;
                }
            }
            if diff(first.end, ack) > 0 {
                // Covered in part: what was captured as one was acknowledged as several.
                first.seq = ack;
                break;
            }
            self.sent.pop_front();
        }
        if self.sacked_to.is_some_and(|to| diff(to, ack) <= 0) {
            self.sacked_to = None;
        }
        if ambiguous {
            return None;
        }
        latest.map(|l| t_ns - l).filter(|rtt| *rtt >= 0)
    }
}
