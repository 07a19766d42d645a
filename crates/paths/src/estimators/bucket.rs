//! Whether losses come when a token bucket would be empty.
//!
//! What a policer drops exceeds its bucket, so each of its losses finds the bucket at its lowest, and what passed found
//! more in it. A loss at random finds it as any other packet does. So the bucket is filled at a rate and emptied by what passed,
//! and how much was missing at losses stands beside how much was missing at all other packets: the share of pairs in which more
//! was missing at the loss (Mann and Whitney's U over its range) is 1 behind a policer and 1/2 where losses come at random.
//! The rate is only roughly known, and the share does not depend on it much: the largest of several counts. A queue that
//! drops when it is full looks the same but for its delay, so that only losses that no queue came before are asked.

/// What is kept of the course of sending.
const POINTS: usize = 4096;
/// Rates that are tried, as parts of what passed from the first loss to the last.
const RATES: (i32, i32, i32) = (80, 150, 3);

/// A lost segment: when its original was sent, and how much was outstanding with it.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    pub t_ns: i64,
    pub seq: u32,
    pub bytes: u32,
    pub outstanding: u32,
    /// Payload that had been sent before it, also in vain.
    pub before: u64,
    /// Data behind it has arrived.
    pub sure: bool,
    /// RTT of what passed next to it, or before it.
    pub rtt_ns: Option<i64>,
}

/// When how much had been sent, at steps of payload that grow with a connection.
#[derive(Debug, Clone, Default)]
pub struct Sends {
    points: Vec<(i64, u64)>,
    step: u64,
    next: u64,
}

impl Sends {
    #[inline]
    pub fn see(&mut self, t_ns: i64, before: u64) {
        if before >= self.next {
            self.keep(t_ns, before);
        }
    }

    #[cold]
    fn keep(&mut self, t_ns: i64, before: u64) {
        if self.points.len() == POINTS {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.step = (2 * self.step).max(1 << 10);
        }
        self.points.push((t_ns, before));
        self.next = before + self.step;
    }

    /// The share, of losses in order of time, which are all up to then; those that `counts` are asked.
    pub fn share_at_losses(
        &self,
        drops: &[Lost],
        until_ns: i64,
        bps: f64,
        counts: impl Fn(&Lost) -> bool,
    ) -> Option<f64> {
        let first = drops.first()?;
        let (mut at_losses, mut at_others) = (Vec::new(), Vec::new());
        let mut best = None::<f64>;
        for percent in (RATES.0..=RATES.1).step_by(RATES.2 as usize) {
            let of_time = bps * f64::from(percent) / 8e11;
            at_losses.clear();
            at_others.clear();
            let (mut full, mut lost, mut next) = (f64::MAX, 0, drops.iter().peekable());
            let mut missing = |t_ns: i64, passed: u64| {
                let level = passed as f64 - of_time * (t_ns - first.t_ns) as f64;
                full = full.min(level);
                level - full
            };
            for &(t_ns, before) in self.points.iter().take_while(|point| point.0 <= until_ns) {
                while let Some(drop) = next.next_if(|drop| (drop.t_ns, drop.before) < (t_ns, before)) {
                    let much = missing(drop.t_ns, drop.before.saturating_sub(lost));
                    if counts(drop) {
                        at_losses.push(much);
                    }
                    lost += u64::from(drop.bytes);
                }
                at_others.push(missing(t_ns, before.saturating_sub(lost)));
            }
            at_others.sort_unstable_by(f64::total_cmp);
            let below = |much: &f64| {
                at_others.partition_point(|other| other < much)
                    + at_others.partition_point(|other| other <= much)
            };
            let pairs = 2 * at_losses.len() * at_others.len();
            let share = at_losses.iter().map(below).sum::<usize>() as f64 / pairs as f64;
            best = (pairs > 0).then_some(best.map_or(share, |best| best.max(share))).or(best);
        }
        best
    }
}
