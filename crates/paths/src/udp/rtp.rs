//! RTP (RFC 3550) in clear text or as SRTP, whose header is in clear text: sequence, jitter, and the frames of a video.

use narrows_units::S;

/// Packets in a row of one source, each with the next sequence number, before it is taken for RTP.
const LEAST: u64 = 5;
/// Sources that are followed in one conversation; those beyond are not told apart from other payload.
const MOST: usize = 32;

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
    first_seq: u32,
    /// The highest sequence number, with the times that it went round.
    high: u32,
    /// Which of the last 64 came.
    window: u64,
    pub duplicates: u64,
    first_timestamp: u32,
    timestamp: u32,
    /// The last packet of each kind that the clock's rate and jitter need.
    transits: Vec<(i64, u32)>,
    /// When each frame's first packet came, of streams whose packets share timestamps or have marks.
    frame_ns: i64,
    pub frame_gaps_ns: Vec<i64>,
    marked: u64,
}

/// What a stream's timestamps show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    pub rate_hz: u32,
    pub jitter_ns: f64,
}

/// Clock rates that media have.
const RATES: [u32; 7] = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000, 90_000];

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
    let is_marked = head[1] & 0x80 != 0;
    if let Some(stream) = streams.iter_mut().find(|s| s.ssrc == ssrc && s.side == side) {
        stream.packet(t_ns, seq, timestamp, payload.len(), is_marked);
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
        first_seq: 0x1_0000 + u32::from(seq),
        high: 0x1_0000 + u32::from(seq),
        window: 1,
        duplicates: 0,
        first_timestamp: timestamp,
        timestamp,
        transits: vec![(t_ns, timestamp)],
        frame_ns: t_ns,
        frame_gaps_ns: Vec::new(),
        marked: u64::from(is_marked),
    });
}

impl Stream {
    /// Whether enough packets came in a row that it is no chance.
    pub fn is_rtp(&self) -> bool {
        self.in_row >= LEAST
    }

    fn packet(&mut self, t_ns: i64, seq: u16, timestamp: u32, len: usize, is_marked: bool) {
        self.packets += 1;
        self.bytes += len as u64;
        self.last_ns = self.last_ns.max(t_ns);
        self.marked += u64::from(is_marked);
        let ahead = seq.wrapping_sub(self.high as u16) as i16;
        if ahead <= 0 {
            let back = u32::from(ahead.unsigned_abs());
            let bit = 1u64.checked_shl(back).unwrap_or(0);
            if self.window & bit != 0 {
                self.duplicates += 1;
            } else {
                self.reordered += 1;
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
            self.timestamp = timestamp;
            self.frame_gaps_ns.push(t_ns - self.frame_ns);
            self.frame_ns = t_ns;
            self.transits.push((t_ns, timestamp));
        }
    }

    /// Sequence numbers that should have come.
    pub fn expected(&self) -> u64 {
        u64::from(self.high.wrapping_sub(self.first_seq)) + 1
    }

    /// Packets that did not come, by the sequence numbers (RFC 3550, 6.4.1).
    pub fn lost(&self) -> u64 {
        self.expected().saturating_sub(self.packets - self.duplicates)
    }

    /// Its clock's rate, by the timestamps over the time that passed, and with it the interarrival jitter at its end
    /// (RFC 3550, 6.4.1), of packets with a timestamp of their own. None where no rate of media is within 3 %.
    pub fn clock(&self) -> Option<Clock> {
        let (first, last) = (self.transits.first()?, self.transits.last()?);
        let span_s = (last.0 - first.0) as f64 / S as f64;
        let ticks = last.1.wrapping_sub(self.first_timestamp);
        if span_s < 0.5 || self.transits.len() < 10 {
            return None;
        }
        let rate = f64::from(ticks) / span_s;
        let rate_hz = RATES
            .into_iter()
            .find(|known| (rate / f64::from(*known) - 1.0).abs() < 0.03)?;
        let mut jitter_ns = 0.0;
        for pair in self.transits.windows(2) {
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
        self.clock().is_some_and(|clock| clock.rate_hz == 90_000)
    }

    pub fn frames(&self) -> u64 {
        self.frame_gaps_ns.len() as u64 + 1
    }
}
