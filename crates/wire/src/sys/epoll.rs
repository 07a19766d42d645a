//! Waiting: a timer with absolute deadlines, and epoll.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use super::{cvt, timespec};

/// A timer on CLOCK_MONOTONIC with absolute deadlines, so that waiting needs no look at the clock.
pub struct Timer(OwnedFd);

impl Timer {
    pub fn new() -> io::Result<Timer> {
        // SAFETY: the new descriptor is owned by nobody else.
        unsafe {
            let fd =
                cvt(libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_CLOEXEC | libc::TFD_NONBLOCK))?;
            Ok(Timer(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sets (and forgets any expiry of) the timer; `None` stops it.
    pub fn set(&self, deadline_ns: Option<u64>) -> io::Result<()> {
        let at = deadline_ns.map_or(0, |ns| ns.max(1));
        let spec = libc::itimerspec { it_interval: timespec(0), it_value: timespec(at as i64) };
        let fd = self.0.as_raw_fd();
        // SAFETY: `spec` is a valid itimerspec.
        cvt(unsafe { libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut()) })?;
        Ok(())
    }
}

impl AsRawFd for Timer {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interest {
    pub read: bool,
    pub write: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub token: u64,
    /// Bytes, the end of the stream or an error wait.
    pub read: bool,
    pub write: bool,
    /// The end of the stream or an error was announced.
    pub closed: bool,
}

/// Level-triggered epoll, but for what `add_edge` adds.
pub struct Epoll(OwnedFd);

impl Epoll {
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: the new descriptor is owned by nobody else.
        unsafe { Ok(Epoll(OwnedFd::from_raw_fd(cvt(libc::epoll_create1(libc::EPOLL_CLOEXEC))?))) }
    }

    fn control(&self, op: i32, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        let read = if interest.read { libc::EPOLLIN | libc::EPOLLRDHUP } else { 0 };
        let write = if interest.write { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event { events: (read | write) as u32, u64: token };
        // SAFETY: `event` is a valid epoll_event.
        cvt(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), op, fd, &mut event) })?;
        Ok(())
    }

    pub fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Reports every change of readiness once, both ways; never has to be modified.
    pub fn add_edge(&self, fd: RawFd, token: u64) -> io::Result<()> {
        let bits = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: bits as u32, u64: token };
        // SAFETY: `event` is a valid epoll_event.
        cvt(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })?;
        Ok(())
    }

    pub fn modify(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Waits without limit for the next events.
    pub fn wait(&self, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.events(ready, -1)
    }

    /// The events that are there now.
    pub fn look(&self, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.events(ready, 0)
    }

    fn events(&self, ready: &mut Vec<Ready>, timeout_ms: i32) -> io::Result<()> {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        // SAFETY: `events` has room for 64 events.
        let n = unsafe { libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 64, timeout_ms) };
        ready.clear();
        let n = match cvt(n) {
            Ok(n) => n as usize,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            Err(e) => return Err(e),
        };
        for event in &events[..n] {
            let bits = event.events as i32;
            let failed = bits & (libc::EPOLLERR | libc::EPOLLHUP) != 0;
            let read = bits & (libc::EPOLLIN | libc::EPOLLRDHUP) != 0 || failed;
            ready.push(Ready {
                token: event.u64,
                read,
                write: bits & libc::EPOLLOUT != 0 || failed,
                closed: bits & libc::EPOLLRDHUP != 0 || failed,
            });
        }
        Ok(())
    }
}
