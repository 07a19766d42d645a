//! Puts segments and datagrams into the order of their times, as far as a few milliseconds allow: captures of several queues or
//! interfaces hold them in the order in which they were fetched. It holds what is younger than the window.

use std::collections::VecDeque;

/// Segments that come later than this behind a younger one stay where they are, and count as times that went back.
const WINDOW_NS: i64 = 10_000_000;
/// Segments that are held at most.
const MOST: usize = 1 << 16;

#[derive(Debug)]
pub struct Sorter<T> {
    held: VecDeque<(i64, T)>,
    newest_ns: i64,
    /// The time of the last one that was handed on.
    passed_ns: i64,
    /// Segments that were put before others, and those that came too late for it.
    pub sorted: u64,
    pub late: u64,
}

impl<T> Default for Sorter<T> {
    fn default() -> Self {
        Sorter { held: VecDeque::new(), newest_ns: i64::MIN, passed_ns: i64::MIN, sorted: 0, late: 0 }
    }
}

impl<T> Sorter<T> {
    /// Takes one, and hands on all for which nothing earlier can come.
    #[inline]
    pub fn push(&mut self, t_ns: i64, unit: T, sink: &mut impl FnMut(i64, &T)) {
        if t_ns >= self.newest_ns {
            self.newest_ns = t_ns;
            self.held.push_back((t_ns, unit));
        } else {
            self.insert(t_ns, unit, sink);
        }
        while let Some((t_ns, unit)) = self.held.front() {
            if self.newest_ns.saturating_sub(*t_ns) <= WINDOW_NS && self.held.len() <= MOST {
                break;
            }
            self.passed_ns = *t_ns;
            sink(*t_ns, unit);
            self.held.pop_front();
        }
    }

    /// Of segments that are not sorted: whether this one belongs before the last, and sorting would put it there.
    #[inline]
    pub fn can_sort(&mut self, t_ns: i64) -> bool {
        let behind = self.newest_ns.saturating_sub(t_ns);
        self.newest_ns = self.newest_ns.max(t_ns);
        self.late += u64::from(behind > 0);
        behind > 0 && behind <= WINDOW_NS
    }

    #[cold]
    fn insert(&mut self, t_ns: i64, unit: T, sink: &mut impl FnMut(i64, &T)) {
        if t_ns < self.passed_ns {
            self.late += 1;
            return sink(t_ns, &unit);
        }
        let at = self.held.partition_point(|(held, _)| *held <= t_ns);
        if at < self.held.len() {
            self.sorted += 1;
        }
        self.held.insert(at, (t_ns, unit));
    }

    /// Hands on all that is left.
    pub fn finish(&mut self, sink: &mut impl FnMut(i64, &T)) {
        for (t_ns, unit) in self.held.drain(..) {
            sink(t_ns, &unit);
        }
    }
}
