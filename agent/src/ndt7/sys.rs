//! The few kernel calls that the standard library does not offer: clock, randomness, epoll, timers, signals and
//! TCP socket options. All `unsafe` code of NDT7 is in this file; it knows nothing of the protocol.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

/// CLOCK_MONOTONIC. In a guest this is a system call: not to be called per packet.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps for so long, whatever happens.
pub fn pause(ns: u64) {
    let time = libc::timespec {
        tv_sec: (ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (ns % 1_000_000_000) as libc::c_long,
    };
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

fn set_option<T>(fd: RawFd, level: i32, name: i32, value: &T, bytes: usize) -> io::Result<()> {
    // SAFETY: `value` is readable for `bytes`, which callers derive from its type.
    check(unsafe {
        libc::setsockopt(
            fd,
            level,
            name,
            (value as *const T).cast(),
            bytes as libc::socklen_t,
        )
    })?;
    Ok(())
}

fn get_option(fd: RawFd, level: i32, name: i32, out: &mut [u8]) -> io::Result<usize> {
    let mut bytes = out.len() as libc::socklen_t;
    // SAFETY: `out` is writable for `bytes`; the kernel lowers `bytes` to what it wrote.
    check(unsafe { libc::getsockopt(fd, level, name, out.as_mut_ptr().cast(), &mut bytes) })?;
    Ok((bytes as usize).min(out.len()))
}

fn get_u32(fd: RawFd, level: i32, name: i32) -> io::Result<u32> {
    let mut raw = [0; 4];
    get_option(fd, level, name, &mut raw)?;
    Ok(u32::from_le_bytes(raw))
}

/// Congestion control algorithm of a socket.
pub fn set_cca(fd: RawFd, name: &str) -> io::Result<()> {
    let name = name.as_bytes();
    if name.is_empty() || name.len() > 15 {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a CCA's name has 1 to 15 bytes",
        ));
    }
    let mut raw = [0u8; 16];
    raw[..name.len()].copy_from_slice(name);
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &raw, name.len())
}

pub fn cca(fd: RawFd) -> io::Result<String> {
    let mut raw = [0; 16];
    let n = get_option(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut raw)?;
    let end = raw[..n].iter().position(|b| *b == 0).unwrap_or(n);
    Ok(String::from_utf8_lossy(&raw[..end]).into_owned())
}

/// `struct tcp_info`, as many bytes as the kernel has.
pub fn tcp_info(fd: RawFd) -> io::Result<Vec<u8>> {
    let mut raw = vec![0; 512];
    let n = get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    raw.truncate(n);
    Ok(raw)
}

/// `union tcp_cc_info`: empty where the CCA has nothing to say.
pub fn tcp_cc_info(fd: RawFd) -> io::Result<Vec<u8>> {
    const TCP_CC_INFO: i32 = 26;
    let mut raw = vec![0; 64];
    let n = get_option(fd, libc::IPPROTO_TCP, TCP_CC_INFO, &mut raw)?;
    raw.truncate(n);
    Ok(raw)
}

pub fn receive_buffer_bytes(fd: RawFd) -> io::Result<u32> {
    get_u32(fd, libc::SOL_SOCKET, libc::SO_RCVBUF)
}

/// The socket is readable once this many bytes wait (or the window is nearly closed, or the peer is done).
pub fn set_receive_low_water(fd: RawFd, bytes: u32) -> io::Result<()> {
    set_option(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &(bytes as i32), 4)
}

/// The socket is writable while fewer bytes than this wait unsent: what is written later is not stuck behind more.
pub fn set_notsent_low_water(fd: RawFd, bytes: u32) -> io::Result<()> {
    const TCP_NOTSENT_LOWAT: i32 = 25;
    set_option(fd, libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, 4)
}

/// A number that no other socket of this boot has.
pub fn socket_cookie(fd: RawFd) -> io::Result<u64> {
    let mut raw = [0; 8];
    get_option(fd, libc::SOL_SOCKET, libc::SO_COOKIE, &mut raw)?;
    Ok(u64::from_le_bytes(raw))
}

fn transferred(n: isize) -> io::Result<usize> {
    if n < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(n as usize)
    }
}

/// Never blocks; 0 is the end of the stream.
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: writes at most `buffer.len()` bytes to `buffer`.
    transferred(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) })
}

/// Like `receive`, but the kernel throws the bytes away instead of copying them; `buffer` only sets the limit.
pub fn discard(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: writes at most `buffer.len()` bytes to `buffer` (none, for TCP).
    transferred(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) })
}

/// Never blocks, never raises SIGPIPE.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: reads at most `bytes.len()` bytes of `bytes`.
    transferred(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Raises the limit on open files to the hard limit and returns it.
pub fn raise_file_limit() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
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
        check(libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut()))?;
        let fd = check(libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// A timer on CLOCK_MONOTONIC with absolute deadlines, so that waiting needs no look at the clock.
pub struct Timer(OwnedFd);

impl Timer {
    pub fn new() -> io::Result<Timer> {
        // SAFETY: the new descriptor is owned by nobody else.
        unsafe {
            let fd = check(libc::timerfd_create(
                libc::CLOCK_MONOTONIC,
                libc::TFD_CLOEXEC | libc::TFD_NONBLOCK,
            ))?;
            Ok(Timer(OwnedFd::from_raw_fd(fd)))
        }
    }

    /// Sets (and forgets any expiry of) the timer; `None` stops it.
    pub fn set(&self, deadline_ns: Option<u64>) -> io::Result<()> {
        let at = deadline_ns.map_or(0, |ns| ns.max(1));
        let value = libc::timespec {
            tv_sec: (at / 1_000_000_000) as libc::time_t,
            tv_nsec: (at % 1_000_000_000) as libc::c_long,
        };
        let spec = libc::itimerspec {
            it_interval: libc::timespec {
                tv_sec: 0,
                tv_nsec: 0,
            },
            it_value: value,
        };
        let fd = self.0.as_raw_fd();
        // SAFETY: `spec` is a valid itimerspec.
        check(unsafe { libc::timerfd_settime(fd, libc::TFD_TIMER_ABSTIME, &spec, std::ptr::null_mut()) })?;
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
        unsafe {
            Ok(Epoll(OwnedFd::from_raw_fd(check(libc::epoll_create1(
                libc::EPOLL_CLOEXEC,
            ))?)))
        }
    }

    fn control(&self, op: i32, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        let read = if interest.read {
            libc::EPOLLIN | libc::EPOLLRDHUP
        } else {
            0
        };
        let write = if interest.write { libc::EPOLLOUT } else { 0 };
        let mut event = libc::epoll_event {
            events: (read | write) as u32,
            u64: token,
        };
        // SAFETY: `event` is a valid epoll_event.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), op, fd, &mut event) })?;
        Ok(())
    }

    pub fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Reports every change of readiness once, both ways; never has to be modified.
    pub fn add_edge(&self, fd: RawFd, token: u64) -> io::Result<()> {
        let bits = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event {
            events: bits as u32,
            u64: token,
        };
        // SAFETY: `event` is a valid epoll_event.
        check(unsafe { libc::epoll_ctl(self.0.as_raw_fd(), libc::EPOLL_CTL_ADD, fd, &mut event) })?;
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
        let n = match check(n) {
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
