//! Throughput over active time (N6): bytes delivered, divided by the time in which they were being fetched.
//!
//! Source: Philip 2025, section 5.7, where the client reports both: bytes of all chunks, and the time that fetching each
//! took, so that pauses with a full video buffer do not count. In a log, an active period begins with the request that
//! the data answers or, without one, with the data, and ends with the last ACK of new payload (not of a FIN), or the last
//! data where no ACKs are in the log. The request is the last payload of the other direction before the data, with all
//! that came before it without a pause: what the client said earlier (a WINDOW_UPDATE, its part of TLS) asked for nothing.
//! A pause is a time with nothing outstanding that is longer than 3 RTTs and than 200 ms. Payload that was acknowledged
//! in a period and is not in the log counts as delivered in it.
//!
//! NULL: no payload; or no time passed. Unit: bit/s of payload, each byte counted once.

#[derive(Debug, Clone, Default)]
pub struct ActiveThroughput {
    pub bytes: u64,
    /// Acknowledged within periods, and not in the log.
    unseen: u64,
    closed: Vec<(i64, i64)>,
    current: Option<(i64, i64)>,
    /// First and last payload of what the other direction said last.
    request: Option<(i64, i64)>,
    /// More periods than are kept: the time is unknown.
    overflow: bool,
}

const PAUSE_NS: i64 = 200_000_000;
const PERIODS: usize = 16_384;

impl ActiveThroughput {
    /// New payload of the other direction.
    #[inline]
    pub fn request(&mut self, t_ns: i64, rtt_ns: Option<i64>) {
        match &mut self.request {
            Some((_, last)) if t_ns - *last <= pause(rtt_ns) => *last = t_ns,
            request => *request = Some((t_ns, t_ns)),
        }
    }

    /// Whether data now is of the period that runs. `idle`: nothing was outstanding.
    #[inline]
    pub fn goes_on(&self, t_ns: i64, idle: bool, rtt_ns: Option<i64>) -> bool {
        self.current.is_some_and(|(_, end)| !idle || t_ns - end <= pause(rtt_ns))
    }

    /// Payload that an ACK within a period covers and that is not in the log.
    pub fn unseen(&mut self, bytes: u32) {
        self.unseen += u64::from(bytes);
    }

    /// New payload is sent. `idle`: nothing was outstanding.
    #[inline]
    pub fn data(&mut self, t_ns: i64, bytes: u32, idle: bool, rtt_ns: Option<i64>) {
        self.bytes += u64::from(bytes);
        let goes_on = self.goes_on(t_ns, idle, rtt_ns);
        match &mut self.current {
            Some((_, end)) if goes_on => *end = t_ns.max(*end),
            _ => {
                self.close();
                let begin = self.request.map_or(t_ns, |(begin, _)| begin.min(t_ns));
                self.current = Some((begin, t_ns));
            }
        }
        self.request = None;
    }

    /// When the period that runs began.
    pub fn began_ns(&self) -> Option<i64> {
        self.current.map(|(begin, _)| begin)
    }

    /// New payload was acknowledged.
    #[inline]
    pub fn acked(&mut self, t_ns: i64) {
        if let Some((_, end)) = &mut self.current {
            *end = t_ns.max(*end);
        }
    }

    fn close(&mut self) {
        if let Some(period) = self.current.take() {
            if self.closed.len() < PERIODS {
                self.closed.push(period);
            } else {
                self.overflow = true;
            }
        }
    }

    /// Adds another connection's: its bytes, and its periods to the union of both.
    pub fn merge(&mut self, other: &ActiveThroughput) {
        self.close();
        self.bytes += other.bytes;
        self.unseen += other.unseen;
        self.overflow |= other.overflow;
        self.closed.extend(other.closed.iter().chain(other.current.iter()).copied());
        self.closed = union(std::mem::take(&mut self.closed));
        self.overflow |= self.closed.len() > PERIODS;
    }

    pub fn active_ns(&self) -> Option<i64> {
        if self.overflow || self.bytes == 0 {
            return None;
        }
        let periods = union(self.closed.iter().chain(self.current.iter()).copied().collect());
        Some(periods.iter().fold(0i64, |sum, (begin, end)| sum.saturating_add(end - begin)))
    }

    pub fn periods(&self) -> u64 {
        (self.closed.len() + usize::from(self.current.is_some())) as u64
    }

    pub fn bps(&self) -> Option<f64> {
        let active = self.active_ns().filter(|ns| *ns > 0)?;
        Some((self.bytes + self.unseen) as f64 * 8e9 / active as f64)
    }
}

fn pause(rtt_ns: Option<i64>) -> i64 {
    rtt_ns.map_or(PAUSE_NS, |rtt| PAUSE_NS.max(rtt.saturating_mul(3)))
}

fn union(mut periods: Vec<(i64, i64)>) -> Vec<(i64, i64)> {
    periods.sort_unstable();
    let mut out: Vec<(i64, i64)> = Vec::with_capacity(periods.len());
    for (begin, end) in periods {
        match out.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => out.push((begin, end)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::MS;

    #[test]
    fn a_pause_is_left_out_and_a_wait_for_acks_is_not() {
        let mut a = ActiveThroughput::default();
        a.data(0, 1000, true, None);
        a.acked(50 * MS);
        a.data(100 * MS, 1000, true, Some(50 * MS)); // 50 ms idle: the same period
        a.acked(150 * MS);
        a.request(500 * MS, Some(50 * MS)); // nobody answers this
        a.request(990 * MS, Some(50 * MS));
        a.data(1000 * MS, 1000, true, Some(50 * MS)); // 850 ms idle: another, from its request
        a.data(1900 * MS, 1000, false, Some(50 * MS)); // data was outstanding all the time: still the same
        a.acked(1990 * MS);
        assert_eq!(a.active_ns(), Some((150 + 1000) * MS));
        assert_eq!(a.periods(), 2);
        assert_eq!(a.bps(), Some(4000.0 * 8.0 / 1.15));
    }

    #[test]
    fn parallel_connections_share_their_time() {
        let (mut a, mut b) = (ActiveThroughput::default(), ActiveThroughput::default());
        a.data(0, 10, true, None);
        a.acked(100 * MS);
        b.data(50 * MS, 10, true, None);
        b.acked(200 * MS);
        a.merge(&b);
        assert_eq!((a.active_ns(), a.bytes), (Some(200 * MS), 20));
    }

    #[test]
    fn nothing_sent_has_no_throughput() {
        assert_eq!(ActiveThroughput::default().bps(), None);
    }
}
