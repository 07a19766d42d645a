//! What a receiver concludes while packets still arrive: that the bottleneck is saturated, that its queue is full. Pure.

use std::collections::VecDeque;

use crate::phase::Until;
use narrows_units::MS;

/// Packets that a judgement rests on.
const WINDOW: usize = 64;
const FEW: usize = 16;
/// Delay above the smallest that no jitter of a wired path explains.
const STANDING_NS: i64 = 30 * MS;
const SPAN_NS: i64 = 50 * MS;
const SLOWER: f64 = 0.75;
/// Full: so many lost, and so many of what was sent within this time.
const LOST: u32 = 30;
const FULL_SPAN_NS: i64 = 400 * MS;
const FULL_SHARE: f64 = 0.26;

pub struct Watch {
    until: Option<Until>,
    /// Number, sent, arrived.
    recent: VecDeque<(u32, i64, i64)>,
    least_ns: i64,
    next: u32,
    lost: u32,
    done: bool,
}

impl Watch {
    pub fn new(until: Option<Until>) -> Watch {
        Watch { until, recent: VecDeque::new(), least_ns: i64::MAX, next: 0, lost: 0, done: false }
    }

    /// A packet of the first flow.
    pub fn take(&mut self, number: u32, sent_ns: i64, arrived_ns: i64) {
        if self.until.is_none() || self.done {
            return;
        }
        self.least_ns = self.least_ns.min(arrived_ns - sent_ns);
        self.lost += number.saturating_sub(self.next);
        self.next = self.next.max(number + 1);
        self.recent.push_back((number, sent_ns, arrived_ns));
        self.done = match self.until {
            None => false,
            Some(Until::Saturated) => {
                if self.recent.len() > WINDOW {
                    self.recent.pop_front();
                }
                self.saturated()
            }
            Some(Until::Full) => {
                while self.recent.front().is_some_and(|f| arrived_ns - f.2 > FULL_SPAN_NS) {
                    self.recent.pop_front();
                }
                self.full()
            }
        };
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Sent between the first and the last of those that arrived, and how many of them did.
    fn share_lost(&self) -> f64 {
        let (Some(first), Some(last)) = (self.recent.front(), self.recent.back()) else {
            return 0.0;
        };
        let sent = f64::from(last.0.saturating_sub(first.0)) + 1.0;
        1.0 - self.recent.len() as f64 / sent
    }

    fn saturated(&self) -> bool {
        if self.recent.len() < FEW {
            return false;
        }
        let mut late: Vec<i64> =
            (self.recent.iter().rev().take(FEW)).map(|(_, sent, arrived)| arrived - sent).collect();
        late.sort_unstable();
        if late[FEW / 2] - self.least_ns > STANDING_NS || self.share_lost() > 0.2 {
            return true;
        }
        let (first, last) = (self.recent[0], self.recent[self.recent.len() - 1]);
        let (sent, arrived) = (last.1 - first.1, last.2 - first.2);
        arrived > SPAN_NS && (sent as f64) < SLOWER * arrived as f64
    }

    fn full(&self) -> bool {
        let span = match (self.recent.front(), self.recent.back()) {
            (Some(first), Some(last)) => last.2 - first.2,
            _ => 0,
        };
        self.lost >= LOST && span > FULL_SPAN_NS * 9 / 10 && self.share_lost() > FULL_SHARE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets sent every ms; every `every`-th arrives, `late` ms later than the one before at most.
    fn watched(until: Until, sent: u32, every: u32, grows_us: i64) -> bool {
        let mut watch = Watch::new(Some(until));
        for number in (0..sent).filter(|n| n % every == 0) {
            let at = i64::from(number) * MS;
            watch.take(number, at, at + 5 * MS + i64::from(number) * grows_us * 1000);
        }
        watch.is_done()
    }

    #[test]
    fn an_idle_link_is_not_saturated_and_a_growing_delay_or_loss_is() {
        assert!(!watched(Until::Saturated, 1000, 1, 0));
        assert!(watched(Until::Saturated, 100, 1, 500));
        assert!(watched(Until::Saturated, 100, 2, 0));
        assert!(!watched(Until::Saturated, 10, 2, 500), "too few to say");
    }

    #[test]
    fn a_queue_is_full_once_much_is_lost_for_long() {
        assert!(watched(Until::Full, 1000, 2, 0));
        assert!(!watched(Until::Full, 1000, 1, 600), "it still grows");
        assert!(!watched(Until::Full, 100, 2, 0), "not for long");
    }
}
