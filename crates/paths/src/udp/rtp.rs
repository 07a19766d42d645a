//! RTP (RFC 3550) in clear text or as SRTP, whose header is in clear text: sequence, jitter, and the frames of a video.
//!
//! A source may begin again, or jump, with the same SSRC, as when an SFU switches it: numbers far from all before that two
//! packets in a row confirm start anew (RFC 3550, A.1), and what lies between is not lost. Sums go on over all such parts.

use narrows_units::S;

/// Packets in a row of one source, each with the next sequence number, before it is taken for RTP.
const LEAST: u64 = 5;
/// Sources that are followed in one conversation; those beyond are not told apart from other payload.
const MOST: usize = 32;
/// How far ahead and behind a packet may be that belongs to those before (RFC 3550, A.1).
const MAX_DROPOUT: i16 = 3000;
const MAX_MISORDER: i16 = 100;
/// Timestamps that move further than by this and the time that passed, at the fastest clock, were set anew.
const LEAP_S: f64 = 1.0;

/// One synchronisation source.
#[derive(Debug, Clone)]
pub struct Stream {
    pub side: usize,
    pub ssrc: u32,
    pub payload_type: u8,
    pub packets: u64,
    pub bytes: u64,
    /// Packets that came behind a later one, and that came twice.
    pub reordered: u64,
    pub first_ns: i64,
    pub last_ns: i64,
    in_row: u64,
    /// Packets that should have come in the parts that are over.
    before: u64,
    first_seq: u32,
    stray: Option<Stray>,
    /// The highest sequence number, with the times that it went round.
    high: u32,
    /// Which of the last 64 came.
    window: u64,
    pub duplicates: u64,
    timestamp: u32,
    /// The packets that the clock's rate and jitter need, of each part whose timestamps go on.
    transits: Vec<Vec<(i64, u32)>>,
    /// When each frame's first packet came, of streams whose packets share timestamps or have marks.
    frame_ns: i64,
    pub frame_gaps_ns: Vec<i64>,
}

/// A packet far from all before: the next number behind it shows that the source goes on there.
#[derive(Debug, Clone, Copy)]
struct Stray {
    t_ns: i64,
    seq: u16,
    timestamp: u32,
    is_behind: bool,
}

/// What a stream's timestamps show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    pub rate_hz: u32,
    pub jitter_ns: f64,
}

/// Clock rates that media have.
const RATES: [u32; 9] = [8_000, 11_025, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, VIDEO_HZ];
const VIDEO_HZ: u32 = 90_000;

/// Takes a payload if it is a packet of RTP.
pub fn follow(streams: &mut Vec<Stream>, t_ns: i64, side: usize, payload: &[u8]) {
    let Some(head) = payload.get(..12) else { return };
    let payload_type = head[1] & 0x7f;
    // Version 2; RTCP's types lie where payload types 64 to 95 would (RFC 5761).
    if head[0] >> 6 != 2 || (64..96).contains(&payload_type) {
        return;
    }
    let seq = u16::from_be_bytes([head[2], head[3]]);
    let timestamp = u32::from_be_bytes([head[4], head[5], head[6], head[7]]);
    let ssrc = u32::from_be_bytes([head[8], head[9], head[10], head[11]]);
    if let Some(stream) = streams.iter_mut().find(|s| s.ssrc == ssrc && s.side == side) {
        stream.packet(t_ns, seq, timestamp, payload.len());
        return;
    }
    if streams.len() == MOST {
        match streams.iter().position(|s| !s.is_rtp()) {
            Some(at) => drop(streams.swap_remove(at)),
            None => return,
        }
    }
    streams.push(Stream {
        side,
        ssrc,
        payload_type,
        packets: 1,
        bytes: payload.len() as u64,
        reordered: 0,
        first_ns: t_ns,
        last_ns: t_ns,
        in_row: 1,
        before: 0,
        stray: None,
        first_seq: 0x1_0000 + u32::from(seq),
        high: 0x1_0000 + u32::from(seq),
        window: 1,
        duplicates: 0,
        timestamp,
        transits: vec![vec![(t_ns, timestamp)]],
        frame_ns: t_ns,
        frame_gaps_ns: Vec::new(),
    });
}

impl Stream {
    /// Whether enough packets came in a row that it is no chance.
    pub fn is_rtp(&self) -> bool {
        self.in_row >= LEAST
    }

    fn packet(&mut self, t_ns: i64, seq: u16, timestamp: u32, len: usize) {
        self.packets += 1;
        self.bytes += len as u64;
        self.last_ns = self.last_ns.max(t_ns);
        let mut ahead = seq.wrapping_sub(self.high as u16) as i16;
        let stray = self.stray.take();
        if !(1 - MAX_MISORDER..MAX_DROPOUT).contains(&ahead) {
            let Some(first) = stray.filter(|stray| stray.seq.wrapping_add(1) == seq) else {
                // Until then it is late, or came for itself.
                let is_behind = ahead < 0;
                *self.count_of_stray(is_behind) += 1;
                self.stray = Some(Stray { t_ns, seq, timestamp, is_behind });
                return;
            };
            *self.count_of_stray(first.is_behind) -= 1;
            self.begin_again(first);
            ahead = 1;
        }
        if ahead <= 0 {
            let back = u32::from(ahead.unsigned_abs());
            let bit = 1u64.checked_shl(back).unwrap_or(0);
            if self.window & bit != 0 {
                self.duplicates += 1;
            } else {
                self.reordered += 1;
                self.first_seq = self.first_seq.min(self.high - back);
            }
            self.window |= bit;
            return;
        }
        if self.in_row < LEAST {
            self.in_row = if ahead == 1 { self.in_row + 1 } else { 1 };
        }
        self.window = self.window.checked_shl(ahead as u32).unwrap_or(0) | 1;
        self.high = self.high.wrapping_add(ahead as u32);
        if timestamp != self.timestamp {
            let moved_s = f64::from(timestamp.wrapping_sub(self.timestamp) as i32) / f64::from(VIDEO_HZ);
            let is_leap = moved_s.abs() > (t_ns - self.frame_ns) as f64 / S as f64 + LEAP_S;
            self.frame(t_ns, timestamp, is_leap);
        }
    }

    fn count_of_stray(&mut self, is_behind: bool) -> &mut u64 {
        if is_behind {
            &mut self.reordered
        } else {
            &mut self.before
        }
    }

    fn begin_again(&mut self, first: Stray) {
        self.before = self.expected();
        self.high = 0x1_0000 + u32::from(first.seq);
        (self.first_seq, self.window) = (self.high, 1);
        self.frame(first.t_ns, first.timestamp, true);
    }

    /// The first packet of a timestamp.
    fn frame(&mut self, t_ns: i64, timestamp: u32, is_anew: bool) {
        self.frame_gaps_ns.push(t_ns - self.frame_ns);
        (self.frame_ns, self.timestamp) = (t_ns, timestamp);
        match self.transits.last_mut() {
            Some(part) if !is_anew => part.push((t_ns, timestamp)),
            _ => self.transits.push(vec![(t_ns, timestamp)]),
        }
    }

    /// Sequence numbers that should have come.
    pub fn expected(&self) -> u64 {
        self.before + u64::from(self.high.wrapping_sub(self.first_seq)) + 1
    }

    /// Packets that did not come, by the sequence numbers (RFC 3550, 6.4.1).
    pub fn lost(&self) -> u64 {
        self.expected().saturating_sub(self.packets - self.duplicates)
    }

    /// Its clock's rate, by the timestamps over the time that passed, and with it the interarrival jitter at its end
    /// (RFC 3550, 6.4.1), of packets with a timestamp of their own. None where no rate of media is within 3 %.
    pub fn clock(&self) -> Option<Clock> {
        let (mut span_s, mut ticks, mut packets) = (0.0, 0.0, 0);
        for part in &self.transits {
            let [first, .., last] = &part[..] else { continue };
            span_s += (last.0 - first.0) as f64 / S as f64;
            ticks += f64::from(last.1.wrapping_sub(first.1));
            packets += part.len();
        }
        if span_s < 0.5 || packets < 10 {
            return None;
        }
        let rate = ticks / span_s;
        let rate_hz = RATES.into_iter().find(|known| (rate / f64::from(*known) - 1.0).abs() < 0.03)?;
        let mut jitter_ns = 0.0;
        for pair in self.transits.iter().flat_map(|part| part.windows(2)) {
            let [(before_ns, before), (after_ns, after)] = pair else {
                continue;
            };
            let media_ns = f64::from(after.wrapping_sub(*before) as i32) / f64::from(rate_hz) * S as f64;
            let difference_ns = ((after_ns - before_ns) as f64 - media_ns).abs();
            jitter_ns += (difference_ns - jitter_ns) / 16.0;
        }
        Some(Clock { rate_hz, jitter_ns })
    }

    /// Whether packets share timestamps, as those of a video's frames do.
    pub fn has_frames(&self) -> bool {
        self.clock().is_some_and(|clock| clock.rate_hz == VIDEO_HZ)
    }

    pub fn frames(&self) -> u64 {
        self.frame_gaps_ns.len() as u64 + 1
    }
}
