//! Who is being tested, and whom a new client replaces when all places are taken: a client that is gone. Pure.
//!
//! Gone is who sent a set-up and nothing since, or nothing for a second. A client that takes part is never replaced.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::Arc;

/// A client that takes part says something at least every 50 ms.
const SILENT_NS: i64 = 1_000_000_000;
/// Threads of replaced tests take a moment to end: so many in all for each place.
const THREADS_PER_PLACE: usize = 4;
const NEVER: i64 = i64::MIN;

/// What a test and the table of tests know of each other.
pub struct Watch {
    heard_ns: AtomicI64,
    replaced: AtomicBool,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch { heard_ns: AtomicI64::new(NEVER), replaced: AtomicBool::new(false) }
    }
}

impl Watch {
    /// The client takes part: it said something other than its set-up.
    pub fn heard(&self, now_ns: i64) {
        self.heard_ns.store(now_ns, Ordering::Relaxed);
    }

    /// An error once another client has this test's place.
    pub fn check(&self) -> io::Result<()> {
        if self.replaced.load(Ordering::Relaxed) {
            return Err(io::Error::new(ErrorKind::ConnectionAborted, "another client has its place"));
        }
        Ok(())
    }
}

/// The tests that have a place, the oldest first.
pub struct Places {
    most: usize,
    taken: Vec<(SocketAddr, Arc<Watch>)>,
    threads: usize,
}

impl Places {
    pub fn new(most: usize) -> Places {
        Places { most, taken: Vec::new(), threads: 0 }
    }

    /// A place for a test that its thread will `leave`. None: this client has one, or no place can be had now.
    pub fn take(&mut self, peer: SocketAddr, now_ns: i64) -> Option<Arc<Watch>> {
        let known = self.taken.iter().any(|(other, _)| *other == peer);
        if known || self.threads >= self.most * THREADS_PER_PLACE {
            return None;
        }
        if self.taken.len() >= self.most {
            let (_, watch) = self.taken.remove(self.gone(now_ns)?);
            watch.replaced.store(true, Ordering::Relaxed);
        }
        let watch = Arc::new(Watch::default());
        self.taken.push((peer, watch.clone()));
        self.threads += 1;
        Some(watch)
    }

    /// Of the clients that never took part the oldest, else the one that has been silent for longest.
    fn gone(&self, now_ns: i64) -> Option<usize> {
        let heard = (self.taken.iter().enumerate())
            .map(|(place, (_, watch))| (watch.heard_ns.load(Ordering::Relaxed), place));
        heard.filter(|(at_ns, _)| now_ns.saturating_sub(*at_ns) > SILENT_NS).min().map(|(_, place)| place)
    }

    /// The test's thread has ended.
    pub fn leave(&mut self, watch: &Arc<Watch>) {
        self.taken.retain(|(_, other)| !Arc::ptr_eq(other, watch));
        self.threads -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(port: u16) -> SocketAddr {
        ([127, 0, 0, 1], port).into()
    }

    fn full(most: u16) -> (Places, Vec<Arc<Watch>>) {
        let mut places = Places::new(most.into());
        let watches = (0..most).map(|port| places.take(peer(port), 0).unwrap()).collect();
        (places, watches)
    }

    #[test]
    fn a_new_client_replaces_the_oldest_that_sent_only_its_set_up() {
        let (mut places, watches) = full(3);
        watches[0].heard(5);
        assert!(places.take(peer(9), 6).is_some());
        let replaced: Vec<bool> = watches.iter().map(|w| w.check().is_err()).collect();
        assert_eq!(replaced, [false, true, false]);
        // The thread of the replaced one ends later, and takes nobody's place with it.
        places.leave(&watches[1]);
        assert_eq!(places.taken.len(), 3);
        assert!(places.take(peer(1), 6).is_some(), "it may come again");
    }

    #[test]
    fn who_takes_part_is_never_replaced_and_who_fell_silent_is() {
        let (mut places, watches) = full(3);
        for (watch, at_ns) in watches.iter().zip([SILENT_NS, 5, 6]) {
            watch.heard(at_ns);
        }
        assert!(places.take(peer(9), SILENT_NS + 5).is_none(), "all were heard of");
        assert!(places.take(peer(9), SILENT_NS + 7).is_some());
        assert!(watches[1].check().is_err(), "silent for longest");
        assert!(watches[0].check().is_ok() && watches[2].check().is_ok());
    }

    #[test]
    fn a_client_has_one_place_and_threads_are_bounded() {
        let (mut places, watches) = full(2);
        assert!(places.take(peer(0), 0).is_none());
        let more: Vec<_> = (10..40).filter_map(|port| places.take(peer(port), 0)).collect();
        assert_eq!(more.len() + 2, 2 * THREADS_PER_PLACE);
        for watch in watches.iter().chain(&more) {
            places.leave(watch);
        }
        assert!(places.taken.is_empty());
        assert!(places.take(peer(0), 0).is_some());
    }
}
