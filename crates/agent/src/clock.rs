//! Time of a run: `t`, nanoseconds since the run's epoch on CLOCK_MONOTONIC.
//!
//! Kernel packet stamps are CLOCK_REALTIME; this also turns them into `t`.

use crate::sys;

#[derive(Clone, Copy, Debug)]
pub struct Clock {
    pub epoch_mono_ns: i64,
    /// CLOCK_REALTIME − CLOCK_MONOTONIC; constant in virtual time, refreshed each second on a host.
    real_minus_mono_ns: i64,
}

impl Clock {
    pub fn new(epoch_mono_ns: i64) -> Clock {
        let mut clock = Clock { epoch_mono_ns, real_minus_mono_ns: 0 };
        clock.refresh_wall_offset();
        clock
    }

    /// A clock read is a system call, and in virtual time costs a little of both times: read sparingly.
    pub fn t(&self) -> i64 {
        sys::mono_ns() - self.epoch_mono_ns
    }

    pub fn t_of_wall(&self, wall_ns: i64) -> i64 {
        wall_ns - self.real_minus_mono_ns - self.epoch_mono_ns
    }

    /// CLOCK_REALTIME at t = 0, as it is now.
    pub fn wall_of_epoch(&self) -> i64 {
        self.real_minus_mono_ns + self.epoch_mono_ns
    }

    pub fn refresh_wall_offset(&mut self) {
        let before = sys::mono_ns();
        let real = sys::real_ns();
        let after = sys::mono_ns();
        self.real_minus_mono_ns = real - (before + (after - before) / 2);
    }
}
