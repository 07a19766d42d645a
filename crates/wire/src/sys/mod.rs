//! Thin wrappers over the system calls that std does not offer: clocks, randomness, limits, signals, epoll, socket
//! options. No policy here, and nothing of any protocol.

mod epoll;
mod socket;

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

pub use epoll::{Epoll, Interest, Ready, Timer};
pub use socket::*;

pub fn cvt(r: libc::c_int) -> io::Result<libc::c_int> {
    if r < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(r)
    }
}

pub fn cvt_len(r: isize) -> io::Result<usize> {
    if r < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(r as usize)
    }
}

fn clock_ns(id: libc::clockid_t) -> i64 {
    // SAFETY: ts is a valid out pointer; these clocks always exist.
    unsafe {
        let mut ts: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(id, &mut ts);
        ts.tv_sec * narrows_units::S + ts.tv_nsec
    }
}

/// CLOCK_MONOTONIC. In a guest this is a system call: not to be called per packet.
pub fn mono_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC)
}

/// The same for those who count in unsigned numbers.
pub fn monotonic_ns() -> u64 {
    mono_ns() as u64
}

pub fn real_ns() -> i64 {
    clock_ns(libc::CLOCK_REALTIME)
}

pub fn timespec(ns: i64) -> libc::timespec {
    libc::timespec { tv_sec: ns / narrows_units::S, tv_nsec: ns % narrows_units::S }
}

/// Sleeps until CLOCK_MONOTONIC reaches `mono_ns`.
pub fn sleep_until(mono_ns: i64) {
    let ts = timespec(mono_ns.max(0));
    // SAFETY: plain system call; EINTR repeats it.
    unsafe {
        while libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &ts, std::ptr::null_mut())
            == libc::EINTR
        {}
    }
}

/// Sleeps for so long, whatever happens.
pub fn pause(ns: u64) {
    let time = timespec(ns as i64);
    // SAFETY: `time` is a valid timespec. A signal may cut the pause short, which does no harm.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, 0, &time, std::ptr::null_mut()) };
}

/// Fills `bytes` from the kernel's generator (in a guest: seeded from the plan).
pub fn random(bytes: &mut [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        let rest = &mut bytes[at..];
        // SAFETY: writes at most `rest.len()` bytes to `rest`.
        let n = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        if n > 0 {
            at += n as usize;
        }
    }
}

pub fn random_u64() -> u64 {
    let mut bytes = [0; 8];
    random(&mut bytes);
    u64::from_le_bytes(bytes)
}

/// Raises the limit on open files to the hard limit and returns it.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid rlimit in both calls.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) != 0 {
            return 256;
        }
        limit.rlim_cur = limit.rlim_max;
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
    }
    limit.rlim_cur
}

/// Blocks SIGINT and SIGTERM and gives a descriptor that becomes readable when one comes.
pub fn stop_signals() -> io::Result<OwnedFd> {
    // SAFETY: `set` is initialised by sigemptyset; the new descriptor is owned by nobody else.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGINT);
        libc::sigaddset(&mut set, libc::SIGTERM);
        cvt(libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let fd = cvt(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}
