//! For tests over real sockets, whose deadlines run in real time: on a shared machine a process may stand still for
//! seconds, and what a live test then sees is the machine's doing. Such an attempt is made again, never passed over.

use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(20);
/// The shortest deadline of the live tests is a second.
const HELD_UP: Duration = Duration::from_millis(500);
const ATTEMPTS: usize = 5;

/// Runs `test` until it passes, or fails without this process having been held up meanwhile.
pub fn unless_held_up(test: impl Fn()) {
    repeated(test, longest_pause);
}

/// `watch` gives the longest pause until it is told that the attempt is over.
fn repeated(test: impl Fn(), watch: fn(&AtomicBool) -> Duration) {
    for attempt in 1.. {
        let over = AtomicBool::new(false);
        let (result, longest) = thread::scope(|scope| {
            let watcher = scope.spawn(|| watch(&over));
            let result = catch_unwind(AssertUnwindSafe(&test));
            over.store(true, Ordering::Relaxed);
            (result, watcher.join().unwrap())
        });
        match result {
            Ok(()) => return,
            Err(why) if longest < HELD_UP || attempt == ATTEMPTS => resume_unwind(why),
            Err(_) => eprintln!("the process stood still for {longest:?} meanwhile: once more"),
        }
    }
}

fn longest_pause(over: &AtomicBool) -> Duration {
    let (mut longest, mut before) = (Duration::ZERO, Instant::now());
    while !over.load(Ordering::Relaxed) {
        thread::sleep(LOOK);
        longest = longest.max(before.elapsed());
        before = Instant::now();
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// How often a test is tried that passes the n-th time only, and whether it passes in the end.
    fn tried(passes_at: usize, watch: fn(&AtomicBool) -> Duration) -> (usize, bool) {
        let attempts = Cell::new(0);
        let test = || {
            attempts.set(attempts.get() + 1);
            assert_eq!(attempts.get(), passes_at);
        };
        let result = catch_unwind(AssertUnwindSafe(|| repeated(test, watch)));
        (attempts.get(), result.is_ok())
    }

    #[test]
    fn what_fails_without_a_pause_fails_at_once_and_with_one_is_tried_again_but_not_for_ever() {
        assert_eq!(tried(2, |_| Duration::ZERO), (1, false));
        assert_eq!(tried(2, |_| HELD_UP), (2, true));
        assert_eq!(tried(ATTEMPTS + 1, |_| HELD_UP), (ATTEMPTS, false));
    }
}
