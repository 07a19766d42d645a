//! What comes out of order: late and repeated data, holes in the sequence, numbers far from all before, SACK blocks.

use super::{diff, Acked, Data, Half, Hole, Sent, FAR, HOLES, OUTSTANDING};
use crate::estimators::bucket::Lost;
use crate::estimators::reordering::fills_late;
use crate::headers::Options;

impl Half {
    /// A segment that begins before the end of what was sent: late, or sent again. It may fill holes, in part or several
    /// at once, repeat what is around them, and add something at the end.
    #[cold]
    pub(super) fn on_old(&mut self, data: Data, end: u32, sent_end: u32) {
        let Data { t_ns, seq, bytes, .. } = data;
        let (filled, late) = self.fill_holes(data, end);
        let beyond = if diff(end, sent_end) > 0 { end.wrapping_sub(sent_end) } else { 0 };
        if late {
            self.reordering.before += 1;
        } else {
            let needless = filled == 0 && self.acked_end.is_some_and(|a| diff(end, a) <= 0);
            self.mark_again(t_ns, seq, end, needless);
            if bytes > 0 {
                self.losses.retransmission(seq, bytes, needless, sent_end, self.low_rtt_ns);
                if !needless {
                    self.limits.again(self.now(t_ns));
                }
            }
        }
        if beyond > 0 {
            // It repeats some and adds some (a probe of the tail, or repacketised).
            self.track(Sent {
                seq: sent_end,
                end,
                t_ns,
                outstanding: 0,
                before: self.sent_bytes,
                again: true,
                sacked: false,
                rtt_behind_ns: None,
                late: false,
            });
            self.sent_end = Some(end);
        }
        let new = (filled + beyond).min(bytes);
        if new > 0 {
            self.active.data(t_ns, new, false, self.last_rtt_ns);
        }
    }

    /// Closes what the segment fills of holes: how many bytes, and whether it was reordered and not sent again.
    fn fill_holes(&mut self, data: Data, end: u32) -> (u32, bool) {
        let Data { t_ns, seq, .. } = data;
        let (mut filled, mut late) = (0, false);
        let mut at = self.holes.partition_point(|h| diff(h.end, seq) <= 0);
        while let Some(hole) = self.holes.get(at).copied().filter(|h| diff(h.seq, end) < 0) {
            let from = if diff(seq, hole.seq) > 0 { seq } else { hole.seq };
            let to = if diff(end, hole.end) < 0 { end } else { hole.end };
            self.holes.remove(at);
            if diff(to, hole.end) < 0 {
                self.holes.insert(at, Hole { seq: to, ..hole });
            }
            if diff(hole.seq, from) < 0 {
                self.holes.insert(at, Hole { end: from, ..hole });
                at += 1;
            }
            // What is more than the hole was packed anew.
            late = from == seq
                && to == end
                && fills_late(t_ns - hole.t_ns, data.tsval, self.newest_tsval, data.round_trip_ns);
            filled += to.wrapping_sub(from);
            if self.sent.len() < OUTSTANDING && self.acked_end.is_none_or(|a| diff(to, a) > 0) {
                let place = self.sent.partition_point(|s| diff(s.seq, from) < 0);
                self.sent.insert(
                    place,
                    Sent {
                        seq: from,
                        end: to,
                        t_ns,
                        outstanding: 0,
                        before: self.sent_bytes,
                        again: !late,
                        sacked: false,
                        rtt_behind_ns: None,
                        late,
                    },
                );
            }
        }
        (filled, late)
    }

    /// What is outstanding of a segment that was sent again: what was sent of it before is lost.
    fn mark_again(&mut self, t_ns: i64, seq: u32, end: u32, needless: bool) {
        let from = self.sent.partition_point(|s| diff(s.end, seq) <= 0);
        // Without data behind it that has arrived, it may only probe the tail.
        let sure = self.sacked_to.is_some_and(|to| diff(to, end) >= 0);
        for segment in self.sent.iter_mut().skip(from).take_while(|s| diff(s.seq, end) < 0) {
            if !needless {
                let lost = Lost {
                    t_ns: segment.t_ns,
                    seq: segment.seq,
                    bytes: segment.end.wrapping_sub(segment.seq),
                    outstanding: segment.outstanding,
                    before: segment.before,
                    sure,
                    rtt_ns: segment.rtt_behind_ns.or(self.low_rtt_ns),
                };
                if !segment.again {
                    self.policing.loss(lost, self.rtt.min());
                }
                self.policing.drop(lost);
            }
            (segment.again, segment.rtt_behind_ns) = (true, None);
            (segment.t_ns, segment.before) = (t_ns, self.sent_bytes);
        }
    }

    /// Data far from all before. Two segments that follow each other, or a segment and an ACK, show that this direction
    /// goes on there, behind more than the log holds. A single one is foreign.
    #[cold]
    pub(super) fn on_far_data(&mut self, data: Data, end: u32) -> bool {
        let follows = |from: u32| (0..=FAR).contains(&diff(end, from));
        if let Some(ack) = self.astray_ack.take_if(|ack| follows(*ack)) {
            self.jump_to(ack);
        } else if let Some(first) = self.astray.take_if(|first| follows(first.seq)) {
            self.jump(first);
        } else {
            self.astray = Some(data);
            self.out_of_window += 1;
            return false;
        }
        self.on_data(data)
    }

    /// Goes on at a segment that was taken for a foreign one.
    fn jump(&mut self, first: Data) {
        self.jump_to(first.seq);
        self.on_data(first);
    }

    /// Goes on at a number far away. How often 4 GiB passed meanwhile cannot be known: what is missing is the least.
    fn jump_to(&mut self, seq: u32) {
        let missed = seq.wrapping_sub(self.sent_end.unwrap_or(seq));
        self.go_on_from(seq);
        self.miss(missed, false);
        self.out_of_window -= 1;
    }

    /// Forgets all numbers before this one.
    pub(super) fn go_on_from(&mut self, seq: u32) {
        self.sent.clear();
        self.holes.clear();
        (self.sacked_to, self.last_sack) = (None, [(0, 0); 4]);
        (self.astray, self.astray_ack) = (None, None);
        (self.fin_end, self.probe_end) = (None, None);
        (self.acked_end, self.sent_end) = (Some(seq), Some(seq));
    }

    /// An ACK far from all before: of data that was taken for foreign, or, with another one behind it, of data that
    /// the log misses.
    #[cold]
    pub(super) fn on_far_ack(&mut self, t_ns: i64, ack: u32, options: &Options) -> Acked {
        let near = |from: u32| (0..=FAR).contains(&diff(ack, from));
        if let Some(first) = self.astray.take_if(|first| near(first.seq)) {
            self.jump(first);
        } else if let Some(before) = self.astray_ack.take_if(|before| near(*before)) {
            self.jump_to(before);
        } else {
            self.astray_ack = Some(ack);
            self.out_of_window += 1;
            return Acked::default();
        }
        self.on_ack(t_ns, ack, options)
    }

    /// The other end answers a SYN that a later one had replaced here.
    #[cold]
    pub(super) fn on_ack_of_former(&mut self, t_ns: i64, ack: u32, options: &Options) -> Acked {
        let isn = ack.wrapping_sub(1);
        self.former_isn = None;
        self.begin(t_ns, isn, true);
        self.isn = Some(isn);
        self.on_ack(t_ns, ack, options)
    }

    /// Payload that was acknowledged and is not in the log.
    pub(super) fn miss(&mut self, bytes: u32, within: bool) {
        self.unseen_bytes += u64::from(bytes);
        if within {
            self.active.unseen(bytes);
        }
    }

    pub(super) fn open_hole(&mut self, hole: Hole) {
        if self.holes.len() >= HOLES {
            self.holes.pop_front();
            self.untracked += 1;
        }
        self.holes.push_back(hole);
    }

    /// What `ack` covers of holes arrived, and the log does not hold it.
    #[inline]
    pub(super) fn forget_holes(&mut self, ack: u32) {
        while let Some(hole) = self.holes.front_mut().filter(|h| diff(h.seq, ack) < 0) {
            let (seq, within) = (hole.seq, hole.within);
            let to = if diff(hole.end, ack) > 0 { ack } else { hole.end };
            hole.seq = to;
            if hole.seq == hole.end {
                self.holes.pop_front();
            }
            self.miss(to.wrapping_sub(seq), within);
        }
    }

    /// Marks what SACK blocks cover. A block below the ACK, or within the next, tells of a duplicate (RFC 2883). The RTT
    /// of the latest data that it acknowledges first and that was sent once.
    #[cold]
    pub(super) fn on_sack(&mut self, t_ns: i64, ack: u32, options: &Options) -> Option<i64> {
        let mut latest_ns: Option<i64> = None;
        let blocks = &options.sack[..usize::from(options.sack_blocks)];
        for (i, &(start, end)) in blocks.iter().enumerate() {
            if diff(end, start) <= 0 || diff(end, ack) <= 0 || diff(end, self.sent_end.unwrap_or(end)) > 0 {
                continue;
            }
            let duplicate =
                i == 0 && blocks.get(1).is_some_and(|b| diff(start, b.0) >= 0 && diff(end, b.1) <= 0);
            if duplicate {
                continue;
            }
            // What a block of the ACK before covered is marked already.
            let from = self
                .last_sack
                .iter()
                .find(|b| b.0 == start && diff(b.1, start) > 0 && diff(b.1, end) <= 0)
                .map_or(start, |b| b.1);
            if from != end {
                let at = self.sent.partition_point(|s| diff(s.seq, from) < 0);
                for segment in self.sent.iter_mut().skip(at).take_while(|s| diff(s.end, end) <= 0) {
                    if !segment.sacked && !segment.again && !segment.late {
                        latest_ns = latest_ns.max(Some(segment.t_ns));
                    }
                    segment.sacked = true;
                }
                // What is missing just before it met what it met.
                let rtt = latest_ns.map(|sent| t_ns - sent);
                for hole in
                    self.sent.iter_mut().take(at).rev().take_while(|s| !s.sacked && s.rtt_behind_ns.is_none())
                {
                    hole.rtt_behind_ns = rtt;
                }
            }
            if self.sacked_to.is_none_or(|to| diff(end, to) > 0) {
                self.sacked_to = Some(end);
            }
        }
        self.last_sack = [(0, 0); 4];
        self.last_sack[..blocks.len()].copy_from_slice(blocks);
        latest_ns.map(|sent| t_ns - sent).filter(|rtt| *rtt >= 0)
    }
}
