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
    for attempt in 1.. {
        let over = AtomicBool::new(false);
        let (result, longest) = thread::scope(|scope| {
            let watch = scope.spawn(|| longest_pause(&over));
            let result = catch_unwind(AssertUnwindSafe(&test));
            over.store(true, Ordering::Relaxed);
            (result, watch.join().unwrap())
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

    #[test]
    fn a_test_that_fails_by_itself_fails_at_once() {
        let attempts = Cell::new(0);
        let result = catch_unwind(AssertUnwindSafe(|| {
            unless_held_up(|| {
                attempts.set(attempts.get() + 1);
                assert!(attempts.get() > ATTEMPTS);
            })
        }));
        // This test's own process may be held up, too.
        assert!(result.is_err() && (1..=ATTEMPTS).contains(&attempts.get()));
    }
}
