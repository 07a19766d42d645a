//! What limited a connection, over time: the application, the receiver's window, the sender's buffer, a queue, a policer,
//! losses, or the congestion window before any of these.
//!
//! Source: the causes are those of T-RAT (Zhang et al., SIGCOMM 2002) and of Siekkinen et al. (Computer Networks 2008); the
//! rules are ours, for a log taken at the sender. Time is cut where the sender could send anew: at every segment and ACK. A
//! pause between two segments of new data is put down to the first of these that holds:
//! - nothing was outstanding and the time is active (N6): the application;
//! - the offered window had no room for a full segment: the receiver;
//! - a recovery was under way (RFC 6582's rule) or ended the pause: the queue, where one stood before it, else loss;
//! - data follows an ACK at once, by which a quarter of the flight had drained, to what is as much each time: the sender's
//!   buffer, as a writer that waits for room is woken when a third of it is free;
//! - the last segment was not full, so nothing more was there to send: the application;
//! - data follows no ACK, in an interval where segments that are not full come regularly: the application, of which Nagle's
//!   rule held the rest of a write;
//! - data follows no ACK and finds as much in flight each time, with neither queue nor loss: the application's own pace;
//! - else the congestion window, or pacing: a queue, where the least RTT of the last round is above the base by 1 ms and by
//!   2 %; a policer, where that is what losses look like (N11); loss, where any came before; else the window itself.
//!
//! PSH says nothing: Linux sets it at the end of every burst (since 5.4).
//!
//! NULL: a log that was not taken at the sender, or whose place is not known. "unknown" is time without a queue where the
//! scale of the offered window is not known (no SYN). Unit: nanoseconds of active time, by intervals of a second.

/// Causes, in the order of [`Limited::ns`].
pub const CAUSES: [&str; 8] =
    ["application", "receiver", "buffer", "queue", "policer", "loss", "window", "unknown"];
pub const APPLICATION: usize = 0;
pub const RECEIVER: usize = 1;
pub const BUFFER: usize = 2;
pub const QUEUE: usize = 3;
pub const POLICER: usize = 4;
pub const LOSS: usize = 5;
pub const WINDOW: usize = 6;
pub const UNKNOWN: usize = 7;

/// The length of an interval; it doubles whenever a connection has more of them than are kept.
const INTERVAL_NS: i64 = 1_000_000_000;
const INTERVALS: usize = 4096;
/// A writer that waits for room is awake within this of the ACK that made it.
const AT_ONCE_NS: i64 = 150_000;
const QUEUE_NS: i64 = 1_000_000;
const ROUND_NS: i64 = 5_000_000;

/// What the time within a pause looked like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Nothing,
    NoRoom,
    Recovery,
    /// The last segment was not full.
    Short,
    Full,
}

/// What ended a pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Data at once after an ACK, by which the flight had drained to this.
    Refill(u32),
    /// Data that follows no ACK.
    Unasked,
    Other,
}

/// What stands behind a congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Window {
    Whole,
    Queue,
    /// No queue stands, and a loss came before.
    Cut,
}

/// The state of a direction after a segment or an ACK.
#[derive(Debug, Clone, Copy)]
pub struct Now {
    pub t_ns: i64,
    pub outstanding: u32,
    /// What the offered window still has room for; None: its scale is not known.
    pub room: Option<i64>,
    /// The RTT before the recovery that is under way.
    pub recovery: Option<Option<i64>>,
    pub base_rtt_ns: Option<i64>,
    pub mss: u32,
}

#[derive(Debug, Clone, Copy, Default)]
struct Interval {
    nothing: i64,
    no_room: i64,
    /// By [`Window`].
    recovery: [i64; 3],
    full: [i64; 3],
    short: [i64; 3],
    /// Of `full`, what data ended that followed no ACK.
    unanswered: [i64; 3],
    /// Of both, [full, short], what data ended that followed an ACK by which the flight had drained.
    refilled: [[i64; 3]; 2],
    /// The least and the most that was left of a flight then; and that was in flight before what followed no ACK, while
    /// neither a queue stood nor a loss had come.
    left: Option<(u32, u32)>,
    paced: Option<(u32, u32)>,
    no_scale: bool,
    segments: u32,
    short_segments: u32,
    acked: u64,
}

/// What one interval, or a whole connection, was limited by.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Limited {
    /// Nanoseconds from the connection's first payload, and the interval's length.
    pub at_ns: i64,
    pub length_ns: i64,
    pub ns: [i64; 8],
    pub acked: u64,
}

impl Limited {
    pub fn active_ns(&self) -> i64 {
        self.ns.iter().sum()
    }

    /// A cause's share; where nothing is known there is only one.
    pub fn share(&self, cause: usize) -> Option<f64> {
        let active = self.active_ns();
        let known = cause == UNKNOWN || self.ns[UNKNOWN] < active;
        (active > 0 && known).then(|| self.ns[cause] as f64 / active as f64)
    }

    pub fn cause(&self) -> Option<&'static str> {
        let most = (0..CAUSES.len()).rev().max_by_key(|cause| self.ns[*cause])?;
        (self.ns[most] > 0).then(|| CAUSES[most])
    }

    pub fn add(&mut self, other: &Limited) {
        for (mine, theirs) in self.ns.iter_mut().zip(other.ns) {
            *mine = mine.saturating_add(theirs);
        }
        self.acked += other.acked;
    }
}

#[derive(Debug, Clone, Default)]
pub struct Limits {
    start_ns: Option<i64>,
    length_ns: i64,
    intervals: Vec<Interval>,
    /// When the latest of them ends, from the start on.
    end_ns: i64,
    /// When it was last looked at, and what the time since then looks like.
    last_ns: i64,
    look: Option<(Look, Window)>,
    /// When the last new payload was sent or acknowledged.
    active_end_ns: i64,
    /// Parts of the pause since the last new data.
    pause: Vec<(i64, i64, Look, Window)>,
    short: bool,
    /// Outstanding bytes at the last segment.
    flight: u32,
    /// Less in flight is no sender's buffer.
    least_flight: u32,
    hurt: bool,
    last_ack_ns: Option<i64>,
    between_acks_ns: i64,
    /// Least RTT of the last round and of this, and when this began.
    rounds: [i64; 2],
    round_ns: i64,
}

impl Limits {
    /// New data, before it is counted: `from` is when the time began that it ends, where nothing was outstanding.
    #[inline]
    pub fn before_data(&mut self, t_ns: i64, from: Option<i64>, outstanding: u32) {
        if self.start_ns.is_none() {
            let start = from.unwrap_or(t_ns);
            (self.start_ns, self.last_ns, self.length_ns) = (Some(start), start, INTERVAL_NS);
            self.look = Some((Look::Nothing, Window::Whole));
        }
        if let Some(from) = from {
            self.last_ns = from.clamp(self.last_ns, t_ns.max(self.last_ns));
        }
        if t_ns > self.last_ns || !self.pause.is_empty() {
            self.pass(t_ns);
            self.end_pause(t_ns, Some(outstanding));
        }
    }

    /// The time up to now is of the state before.
    #[inline]
    fn pass(&mut self, t_ns: i64) {
        if t_ns <= self.last_ns {
            return;
        }
        if let Some((look, queued)) = self.look {
            match self.pause.last_mut() {
                Some(last) if last.2 == look && last.3 == queued && last.1 == self.last_ns => last.1 = t_ns,
                _ => {
                    if self.pause.len() >= 64 {
                        self.end_pause(t_ns, None);
                    }
                    self.pause.push((self.last_ns, t_ns, look, queued));
                }
            }
        }
        self.last_ns = t_ns;
    }

    /// Counts the pause that something ends: new data, which finds so much outstanding, or something else.
    fn end_pause(&mut self, t_ns: i64, data: Option<u32>) {
        let at_once = AT_ONCE_NS.min(self.between_acks_ns / 3);
        let answers = self.last_ack_ns.is_some_and(|ack| t_ns - ack <= at_once);
        let end = match data {
            Some(left) if answers && self.drained(left) => End::Refill(left),
            Some(_) if !answers => End::Unasked,
            _ => End::Other,
        };
        let mut pause = std::mem::take(&mut self.pause);
        for (from, to, look, window) in pause.drain(..) {
            self.put(from, to, look, window as usize, end);
        }
        self.pause = pause;
    }

    /// Counts the time of one look, by the intervals that it lies in.
    fn put(&mut self, mut from: i64, to: i64, look: Look, window: usize, pause_end: End) {
        let flight = self.flight;
        while from < to {
            let place = self.place(from);
            let end = self.start_ns.unwrap_or(from) + (place as i64 + 1) * self.length_ns;
            let ns = to.min(end) - from;
            from = to.min(end);
            let Some(interval) = self.intervals.get_mut(place) else {
                return;
            };
            match look {
                Look::Nothing => interval.nothing += ns,
                Look::NoRoom => interval.no_room += ns,
                Look::Recovery => interval.recovery[window] += ns,
                Look::Short | Look::Full => {
                    let short = usize::from(look == Look::Short);
                    [&mut interval.full, &mut interval.short][short][window] += ns;
                    match pause_end {
                        End::Refill(left) => {
                            interval.refilled[short][window] += ns;
                            interval.left = both(interval.left, Some((left, left)));
                        }
                        End::Unasked if short == 0 => {
                            interval.unanswered[window] += ns;
                            if window == Window::Whole as usize {
                                interval.paced = both(interval.paced, Some((flight, flight)));
                            }
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// Whether so little is left of the last flight, and that was more than a few segments.
    fn drained(&self, left: u32) -> bool {
        self.flight > self.least_flight && left <= self.flight - self.flight / 4
    }

    /// The place of the interval that a time is in, which is there then.
    #[inline]
    fn place(&mut self, t_ns: i64) -> usize {
        let since = (t_ns - self.start_ns.unwrap_or(t_ns)).max(0);
        if since < self.end_ns && since >= self.end_ns - self.length_ns {
            return self.intervals.len() - 1;
        }
        self.place_of(since)
    }

    #[cold]
    fn place_of(&mut self, since: i64) -> usize {
        while since / self.length_ns >= INTERVALS as i64 {
            self.length_ns *= 2;
            let halves = std::mem::take(&mut self.intervals);
            self.intervals = halves.chunks(2).map(Interval::of).collect();
        }
        let place = (since / self.length_ns) as usize;
        if self.intervals.len() <= place {
            self.intervals.resize(place + 1, Interval::default());
        }
        self.end_ns = self.intervals.len() as i64 * self.length_ns;
        place
    }

    /// New data was sent.
    #[inline]
    pub fn data(&mut self, now: Now, bytes: u32) {
        (self.short, self.flight) = (bytes < now.mss, now.outstanding);
        self.active_end_ns = now.t_ns;
        self.least_flight = 8 * now.mss;
        let short = u32::from(self.short);
        let place = self.place(now.t_ns);
        if let Some(interval) = self.intervals.get_mut(place) {
            interval.segments += 1;
            interval.short_segments += short;
        }
        self.see(now);
    }

    /// Data was sent again: the pause that it ends was one of recovery.
    #[cold]
    pub fn again(&mut self, now: Now) {
        if self.start_ns.is_none() {
            return;
        }
        self.pass(now.t_ns);
        self.hurt = true;
        let window = self.window_before(now);
        for part in &mut self.pause {
            if part.2 != Look::NoRoom {
                (part.2, part.3) = (Look::Recovery, window);
            }
        }
        self.see(now);
    }

    /// An ACK came.
    #[inline]
    pub fn ack(&mut self, now: Now, bytes: u32, rtt_ns: Option<i64>) {
        if self.start_ns.is_none() {
            return;
        }
        self.pass(now.t_ns);
        if bytes > 0 {
            if let Some(last) = self.last_ack_ns {
                let gap = now.t_ns - last;
                self.between_acks_ns += (gap - self.between_acks_ns) / 8;
            }
            self.last_ack_ns = Some(now.t_ns);
            self.active_end_ns = now.t_ns;
            let place = self.place(now.t_ns);
            if let Some(interval) = self.intervals.get_mut(place) {
                interval.acked += u64::from(bytes);
            }
        }
        if let (Some(rtt), Some(base)) = (rtt_ns, now.base_rtt_ns) {
            if now.t_ns - self.round_ns > ROUND_NS.max(base / 2) {
                self.rounds = [self.rounds[1], rtt];
                self.round_ns = now.t_ns;
            } else {
                self.rounds[1] = self.rounds[1].min(rtt);
            }
        }
        self.see(now);
        if now.outstanding == 0 && now.room.is_none_or(|room| room >= i64::from(now.mss)) {
            // Whether what follows is a pause, the next data says.
            self.end_pause(now.t_ns, None);
            self.look = Some((Look::Nothing, Window::Whole));
        }
    }

    /// What the time from now on looks like.
    #[inline]
    fn see(&mut self, now: Now) {
        let look = if now.room.is_some_and(|room| room < i64::from(now.mss)) {
            Look::NoRoom
        } else if now.recovery.is_some() {
            Look::Recovery
        } else if self.short {
            Look::Short
        } else {
            Look::Full
        };
        let window = if look == Look::Recovery {
            self.window_before(now)
        } else {
            self.window(Some(self.rounds[0].min(self.rounds[1])), now.base_rtt_ns)
        };
        self.look = Some((look, window));
        self.last_ns = self.last_ns.max(now.t_ns);
        if now.room.is_none() {
            if let Some(interval) = self.intervals.last_mut() {
                interval.no_scale = true;
            }
        }
    }

    fn window_before(&self, now: Now) -> Window {
        self.window(now.recovery.flatten(), now.base_rtt_ns)
    }

    fn window(&self, rtt_ns: Option<i64>, base_ns: Option<i64>) -> Window {
        let least = |base: i64| base + QUEUE_NS.max(base / 50);
        if rtt_ns.zip(base_ns).is_some_and(|(rtt, base)| rtt > least(base)) {
            Window::Queue
        } else if self.hurt {
            Window::Cut
        } else {
            Window::Whole
        }
    }

    /// The intervals with active time, of a connection that is policed or not.
    pub fn judge(&self, policed: bool) -> Vec<Limited> {
        let mut all = self.clone();
        // What comes after the last new payload and its ACK is not active.
        all.pause.retain(|part| part.0 < all.active_end_ns);
        if let Some(last) = all.pause.last_mut() {
            last.1 = last.1.min(all.active_end_ns);
        }
        all.end_pause(all.last_ns, None);
        let intervals = all.intervals.iter().enumerate();
        intervals
            .map(|(place, interval)| Limited {
                at_ns: place as i64 * all.length_ns,
                length_ns: all.length_ns,
                ns: interval.causes(policed),
                acked: interval.acked,
            })
            .filter(|limited| limited.active_ns() > 0)
            .collect()
    }

    pub fn start_ns(&self) -> Option<i64> {
        self.start_ns
    }
}

/// The range of two.
fn both(a: Option<(u32, u32)>, b: Option<(u32, u32)>) -> Option<(u32, u32)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        _ => a.or(b),
    }
}

impl Interval {
    fn of(parts: &[Interval]) -> Interval {
        let mut sum = Interval::default();
        for part in parts {
            sum.nothing += part.nothing;
            sum.no_room += part.no_room;
            for window in 0..3 {
                sum.recovery[window] += part.recovery[window];
                sum.full[window] += part.full[window];
                sum.unanswered[window] += part.unanswered[window];
                sum.short[window] += part.short[window];
                sum.refilled[0][window] += part.refilled[0][window];
                sum.refilled[1][window] += part.refilled[1][window];
            }
            sum.left = both(sum.left, part.left);
            sum.paced = both(sum.paced, part.paced);
            sum.no_scale |= part.no_scale;
            sum.segments += part.segments;
            sum.short_segments += part.short_segments;
            sum.acked += part.acked;
        }
        sum
    }

    fn causes(&self, policed: bool) -> [i64; 8] {
        let mut ns = [0; 8];
        ns[RECEIVER] = self.no_room;
        let sum = |by: [i64; 3]| by.iter().sum::<i64>();
        let mut windowed = self.full;
        let mut give = |part: [i64; 3]| {
            for (left, part) in windowed.iter_mut().zip(part) {
                *left -= part;
            }
            sum(part)
        };
        let [full, short] = self.refilled;
        let even = |flights: Option<(u32, u32)>, part: u64| {
            flights.is_some_and(|(least, most)| u64::from(most - least) * part <= u64::from(most))
        };
        // A writer that waits for room has a full segment to send; what Nagle held goes with an ACK, too.
        let chunks = 20 * self.short_segments > self.segments;
        if !chunks && even(self.left, 4) && 5 * (sum(full) + sum(short)) > sum(self.full) + sum(self.short) {
            ns[BUFFER] = give(full) + sum(short);
        }
        ns[APPLICATION] = self.nothing + sum(self.short) - ns[BUFFER].min(sum(short));
        if ns[BUFFER] == 0 && (self.short_segments > 4 || chunks) {
            ns[APPLICATION] += give(self.unanswered);
            if chunks {
                ns[APPLICATION] += give(full);
            }
        } else if even(self.paced, 8) && 5 * self.unanswered[0] > 4 * self.full[0] {
            // A window grows, and a model of the path is tried: what stays as it is, is the application's pace.
            ns[APPLICATION] += give([self.unanswered[0], 0, 0]);
        }
        let [whole, queue, cut] = windowed;
        ns[QUEUE] += queue;
        ns[if policed { POLICER } else { QUEUE }] += self.recovery[Window::Queue as usize];
        ns[if self.no_scale { UNKNOWN } else { WINDOW }] += whole;
        ns[if policed { POLICER } else { LOSS }] += cut + self.recovery[0] + self.recovery[2];
        ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_units::MS;

    fn now(t_ns: i64, outstanding: u32, room: i64) -> Now {
        Now { t_ns, outstanding, room: Some(room), recovery: None, base_rtt_ns: Some(10 * MS), mss: 1000 }
    }

    /// Segments of so many bytes, a round trip apart, each acknowledged after `rtt_ns`, when the next is sent at once.
    fn rounds(bytes: u32, room: i64, rtt_ns: i64, pause_ns: i64) -> Limited {
        let mut limits = Limits::default();
        let mut t = 0;
        for _ in 0..100 {
            limits.before_data(t, None, 0);
            limits.data(now(t, 2 * bytes, room), bytes);
            t += rtt_ns;
            limits.ack(now(t, bytes, room), bytes, Some(rtt_ns));
            t += pause_ns;
        }
        let mut sum = Limited::default();
        limits.judge(false).iter().for_each(|each| sum.add(each));
        sum
    }

    #[test]
    fn a_window_without_room_is_the_receivers() {
        assert_eq!(rounds(1000, 999, 10 * MS, 0).cause(), Some("receiver"));
        assert_eq!(rounds(1000, 5000, 10 * MS, 0).cause(), Some("window"));
    }

    #[test]
    fn a_short_segment_shows_that_nothing_more_was_there() {
        assert_eq!(rounds(900, 5000, 10 * MS, 5 * MS).cause(), Some("application"));
    }

    #[test]
    fn round_trips_above_the_base_show_a_queue() {
        let limited = rounds(1000, 5000, 30 * MS, 0);
        assert_eq!(limited.cause(), Some("queue"));
        assert!(limited.share(QUEUE).is_some_and(|share| share > 0.9));
        assert_eq!(limited.share(RECEIVER), Some(0.0));
    }

    #[test]
    fn nothing_is_known_of_a_connection_that_sent_nothing() {
        assert_eq!(Limited::default().cause(), None);
        assert_eq!(Limited::default().share(LOSS), None);
    }
}
