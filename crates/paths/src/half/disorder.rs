//! What comes out of order: late and repeated data, holes in the sequence, SACK blocks.

use super::{diff, Data, Half, Hole, Sent, HOLES, OUTSTANDING};
use crate::estimators::policing::Lost;
use crate::estimators::reordering::fills_late;
use crate::headers::Options;

impl Half {
    /// A segment that begins before the end of what was sent: late, or sent again.
    #[cold]
    pub(super) fn on_old(&mut self, data: Data, end: u32, sent_end: u32) {
        let Data { t_ns, seq, bytes, .. } = data;
        if let Some(at) = self
            .holes
            .iter()
            .position(|h| diff(seq, h.seq) >= 0 && diff(end, h.end) <= 0)
        {
            let hole = self.holes[at];
            self.holes.remove(at);
            if diff(end, hole.end) < 0 {
                self.holes.insert(at, Hole { seq: end, ..hole });
            }
            if diff(hole.seq, seq) < 0 {
                self.holes.insert(at, Hole { end: seq, ..hole });
            }
            let late = fills_late(
                t_ns - hole.t_ns,
                data.tsval,
                self.newest_tsval,
                data.round_trip_ns,
            );
            if late {
                self.reordering.before += 1;
            } else {
                self.losses
                    .retransmission(seq, bytes, false, sent_end, self.last_rtt_ns);
            }
            self.active.data(t_ns, bytes, false, self.last_rtt_ns);
            let at = self.sent.partition_point(|s| diff(s.seq, seq) < 0);
            if self.sent.len() < OUTSTANDING && self.acked_end.is_none_or(|a| diff(end, a) > 0) {
                self.sent.insert(
                    at,
                    Sent {
                        seq,
                        end,
                        t_ns,
                        outstanding: 0,
                        again: !late,
                        sacked: false,
                        late,
                    },
                );
            }
            return;
        }
        let needless = self.acked_end.is_some_and(|a| diff(end, a) <= 0);
        let from = self.sent.partition_point(|s| diff(s.end, seq) <= 0);
        for segment in self
            .sent
            .iter_mut()
            .skip(from)
            .take_while(|s| diff(s.seq, end) < 0)
        {
            if !segment.again && !needless {
                self.policing.loss(
                    Lost {
                        t_ns: segment.t_ns,
                        seq: segment.seq,
                        bytes: segment.end.wrapping_sub(segment.seq),
                        outstanding: segment.outstanding,
                    },
                    self.rtt.min(),
                );
            }
            segment.again = true;
        }
        self.losses
            .retransmission(seq, bytes, needless, sent_end, self.last_rtt_ns);
        let beyond = diff(end, sent_end);
        if beyond > 0 {
            // It repeats some and adds some (a probe of the tail, or repacketised).
            self.track(Sent {
                seq: sent_end,
                end,
                t_ns,
                outstanding: 0,
                again: true,
                sacked: false,
                late: false,
            });
            self.sent_end = Some(end);
            self.active
                .data(t_ns, (beyond as u32).min(bytes), false, self.last_rtt_ns);
        }
    }

    pub(super) fn open_hole(&mut self, hole: Hole) {
        if self.holes.len() >= HOLES {
            self.holes.pop_front();
        }
        self.holes.push_back(hole);
    }

    #[cold]
    pub(super) fn forget_holes(&mut self, ack: u32) {
        while self.holes.front().is_some_and(|h| diff(h.end, ack) <= 0) {
            self.holes.pop_front();
        }
    }

    /// Marks what SACK blocks cover. A block below the ACK, or within the next, tells of a duplicate (RFC 2883).
    #[cold]
    pub(super) fn on_sack(&mut self, ack: u32, options: &Options) {
        let blocks = &options.sack[..usize::from(options.sack_blocks)];
        for (i, &(start, end)) in blocks.iter().enumerate() {
            if diff(end, start) <= 0 || diff(end, ack) <= 0 || diff(end, self.sent_end.unwrap_or(end)) > 0 {
                continue;
            }
            let duplicate = i == 0
                && blocks
                    .get(1)
                    .is_some_and(|b| diff(start, b.0) >= 0 && diff(end, b.1) <= 0);
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
                for segment in self
                    .sent
                    .iter_mut()
                    .skip(at)
                    .take_while(|s| diff(s.end, end) <= 0)
                {
                    segment.sacked = true;
                }
            }
            if self.sacked_to.is_none_or(|to| diff(end, to) > 0) {
                self.sacked_to = Some(end);
            }
        }
        self.last_sack = [(0, 0); 4];
        self.last_sack[..blocks.len()].copy_from_slice(blocks);
    }
}
