//! The one event loop: descriptors of all namespaces and timers in `t`, in one thread.
//!
//! One thread because in a guest every switch between processes costs two host context switches; a timerfd
//! and not epoll's own timeout because the kernel may round that one by 0.1 %.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::clock::Clock;
use crate::sys;

/// Says whose event it is: an actor and what that actor calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Token {
    pub owner: u16,
    pub kind: u16,
    pub index: u32,
}

impl Token {
    fn pack(self) -> u64 {
        (self.owner as u64) << 48 | (self.kind as u64) << 32 | self.index as u64
    }

    fn unpack(v: u64) -> Token {
        Token { owner: (v >> 48) as u16, kind: (v >> 32) as u16, index: v as u32 }
    }
}

const TIMERFD: u64 = u64::MAX;

pub const IN: u32 = libc::EPOLLIN as u32;
pub const OUT: u32 = libc::EPOLLOUT as u32;
pub const RDHUP: u32 = libc::EPOLLRDHUP as u32;
pub const HUP_OR_ERR: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;

#[derive(Clone, Copy, Debug)]
pub enum Event {
    Io(Token, u32),
    Timer(Token),
}

pub struct Reactor {
    epoll: OwnedFd,
    timerfd: OwnedFd,
    timers: BinaryHeap<Reverse<(i64, u64, Token)>>,
    sequence: u64,
    armed_for: Option<i64>,
    pub clock: Clock,
    /// `t` as read when the current events were fetched; good enough for bookkeeping, not for stamps.
    pub now: i64,
    raw: Vec<libc::epoll_event>,
    /// Wake-ups and events so far: in a guest, what a run costs.
    pub wakes: u64,
    pub events: u64,
}

impl Reactor {
    pub fn new(clock: Clock) -> io::Result<Reactor> {
        // SAFETY: plain system calls; the results are owned here.
        let (epoll, timerfd) = unsafe {
            let e = sys::cvt(libc::epoll_create1(libc::EPOLL_CLOEXEC))?;
            let t = sys::cvt(libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
            ))?;
            (OwnedFd::from_raw_fd(e), OwnedFd::from_raw_fd(t))
        };
        let reactor = Reactor {
            epoll,
            timerfd,
            timers: BinaryHeap::new(),
            sequence: 0,
            armed_for: None,
            clock,
            now: clock.t(),
            raw: Vec::with_capacity(1024),
            wakes: 0,
            events: 0,
        };
        // Edge-triggered: setting the timer anew clears it, so it is never read.
        reactor.control(
            libc::EPOLL_CTL_ADD,
            reactor.timerfd.as_raw_fd(),
            (libc::EPOLLIN | libc::EPOLLET) as u32,
            TIMERFD,
        )?;
        Ok(reactor)
    }

    fn control(&self, op: i32, fd: RawFd, events: u32, data: u64) -> io::Result<()> {
        let mut ev = libc::epoll_event { events, u64: data };
        // SAFETY: ev lives through the call.
        sys::cvt(unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), op, fd, &mut ev) }).map(drop)
    }

    pub fn watch(&self, fd: RawFd, events: u32, token: Token) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, events, token.pack())
    }

    pub fn rewatch(&self, fd: RawFd, events: u32, token: Token) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, events, token.pack())
    }

    pub fn unwatch(&self, fd: RawFd) {
        let _ = self.control(libc::EPOLL_CTL_DEL, fd, 0, 0);
    }

    /// A timer cannot be taken back: its owner ignores what it no longer wants.
    pub fn at(&mut self, t_ns: i64, token: Token) {
        self.sequence += 1;
        self.timers.push(Reverse((t_ns, self.sequence, token)));
    }

    /// Waits for the next events and hands them over, timers first and in order of their times.
    pub fn wait(&mut self, out: &mut Vec<Event>) -> io::Result<()> {
        out.clear();
        let next = self.timers.peek().map(|Reverse((t, _, _))| *t);
        let due = next.is_some_and(|t| t <= self.now);
        if !due && next != self.armed_for {
            self.arm(next)?;
        }
        let timeout = if due { 0 } else { -1 };
        // SAFETY: raw has room for its capacity; the kernel tells how many it wrote.
        let n = unsafe {
            let n = libc::epoll_wait(
                self.epoll.as_raw_fd(),
                self.raw.as_mut_ptr(),
                self.raw.capacity() as i32,
                timeout,
            );
            match sys::cvt(n) {
                Ok(n) => n as usize,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
                Err(e) => return Err(e),
            }
        };
        // SAFETY: the kernel wrote n events.
        unsafe { self.raw.set_len(n) };
        self.now = self.clock.t();
        while let Some(Reverse((t, _, token))) = self.timers.peek().copied() {
            if t > self.now {
                break;
            }
            self.timers.pop();
            out.push(Event::Timer(token));
        }
        for ev in &self.raw {
            let (data, events) = (ev.u64, ev.events);
            if data == TIMERFD {
                self.armed_for = None;
            } else {
                out.push(Event::Io(Token::unpack(data), events));
            }
        }
        self.raw.clear();
        self.wakes += 1;
        self.events += out.len() as u64;
        Ok(())
    }

    fn arm(&mut self, next: Option<i64>) -> io::Result<()> {
        // A time of 0 disarms, so an instant that is already past is set to 1 ns.
        let value = next.map_or(0, |t| (t + self.clock.epoch_mono_ns).max(1));
        let spec = libc::itimerspec { it_interval: sys::timespec(0), it_value: sys::timespec(value) };
        // SAFETY: spec lives through the call.
        sys::cvt(unsafe {
            libc::timerfd_settime(
                self.timerfd.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &spec,
                std::ptr::null_mut(),
            )
        })?;
        self.armed_for = next;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_order_of_their_times_then_of_their_making() {
        let mut r = Reactor::new(Clock::new(sys::mono_ns())).unwrap();
        let token = |index| Token { owner: 1, kind: 2, index };
        r.at(2_000_000, token(3));
        r.at(1_000_000, token(1));
        r.at(1_000_000, token(2));
        let (mut got, mut events) = (vec![], vec![]);
        while got.len() < 3 {
            r.wait(&mut events).unwrap();
            for e in &events {
                let Event::Timer(t) = e else { panic!("{e:?}") };
                got.push(t.index);
            }
        }
        assert_eq!(got, [1, 2, 3]);
    }

    #[test]
    fn a_token_survives_the_kernel() {
        let t = Token { owner: 65000, kind: 513, index: u32::MAX - 1 };
        assert_eq!(Token::unpack(t.pack()), t);
    }
}
