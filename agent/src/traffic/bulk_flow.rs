//! One flow of a `tcp_bulk` item: its two sockets and what is known of them.
//!
//! The sender splices a hole of a memory file (the kernel's zero page) into its socket, the receiver discards
//! in the kernel (MSG_TRUNC): no payload byte is ever copied, and TCP does exactly what it does for data.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::sample::tcp_info::TcpInfo;
use crate::sys;

/// As much as one call may move; the socket's buffers are the real bound.
const WHOLE: usize = 1 << 30;
/// One splice from the hole.
pub const HOLE_BYTES: usize = 4 << 20;
const LARGEST_LOWAT: i64 = 64 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndedBy {
    Bytes,
    Stop,
    Error,
}

impl EndedBy {
    pub fn name(self) -> &'static str {
        match self {
            EndedBy::Bytes => "bytes",
            EndedBy::Stop => "stop",
            EndedBy::Error => "error",
        }
    }
}

#[derive(Default)]
pub struct Flow {
    pub sender: Option<OwnedFd>,
    pub receiver: Option<OwnedFd>,
    pub source_port: Option<u16>,
    pub source: Option<std::net::Ipv4Addr>,
    pub connected: bool,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub ended_by: Option<EndedBy>,
    pub cca: Option<String>,
    /// Still to be written; None = without end.
    pub left: Option<u64>,
    pub received: u64,
    pub info: Option<TcpInfo>,
    lowat: i64,
    lowat_since: (i64, u64),
}

#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// The socket is full: more when it says so.
    Full,
    /// Everything asked for has been handed to TCP.
    All,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    More,
    /// The sender has closed, in order.
    End,
    /// The sender has reset, as it does when it is stopped.
    Reset,
}

impl Flow {
    pub fn new(bytes: Option<u64>) -> Flow {
        Flow {
            left: bytes,
            ..Flow::default()
        }
    }

    pub fn send(&mut self, hole: &OwnedFd) -> io::Result<Sent> {
        let Some(fd) = &self.sender else {
            return Ok(Sent::All);
        };
        loop {
            let wanted = self
                .left
                .map_or(HOLE_BYTES, |l| l.min(HOLE_BYTES as u64) as usize);
            if wanted == 0 {
                return Ok(Sent::All);
            }
            let mut offset: libc::off_t = 0;
            // SAFETY: both descriptors are open and offset lives through the call.
            let sent = unsafe { libc::sendfile(fd.as_raw_fd(), hole.as_raw_fd(), &mut offset, wanted) };
            let sent = match sys::cvt_len(sent) {
                Ok(n) => n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Sent::Full),
                Err(e) => return Err(e),
            };
            if let Some(left) = &mut self.left {
                *left -= sent as u64;
            }
            if sent < wanted {
                return Ok(Sent::Full);
            }
        }
    }

    /// Takes what has arrived. `interval_ns` is how often the receiver would like to be woken.
    pub fn receive(&mut self, now: i64, interval_ns: i64, last: bool) -> io::Result<Received> {
        let Some(fd) = &self.receiver else {
            return Ok(Received::End);
        };
        loop {
            // SAFETY: with MSG_TRUNC, TCP discards and never touches the buffer (tcp_recvmsg_locked). It is null
            // because the kernel checks that address and length lie within user space.
            let got = unsafe {
                libc::recv(
                    fd.as_raw_fd(),
                    std::ptr::null_mut(),
                    WHOLE,
                    libc::MSG_TRUNC | libc::MSG_DONTWAIT,
                )
            };
            match sys::cvt_len(got) {
                Ok(0) => return Ok(Received::End),
                Ok(n) => self.received += n as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Received::More),
                Err(e) if e.raw_os_error() == Some(libc::ECONNRESET) => return Ok(Received::Reset),
                Err(e) => return Err(e),
            }
            if !last {
                self.adapt_lowat(now, interval_ns)?;
                return Ok(Received::More);
            }
        }
    }

    /// Grows SO_RCVLOWAT with the flow, so that a fast flow wakes its reader about once per interval. It
    /// stays below 1/16 of what has been received: a mark too high at the start outruns the window.
    /// The kernel acknowledges and opens windows below the mark as ever (tcp_data_ready, __tcp_ack_snd_check).
    fn adapt_lowat(&mut self, now: i64, interval_ns: i64) -> io::Result<()> {
        let (since, bytes) = self.lowat_since;
        let (elapsed, got) = (now - since, (self.received - bytes) as i64);
        if elapsed < 8 * interval_ns {
            return Ok(());
        }
        self.lowat_since = (now, self.received);
        let wanted = lowat(got, elapsed, interval_ns, self.received);
        if wanted < self.lowat * 2 && wanted * 2 > self.lowat {
            return Ok(());
        }
        self.lowat = wanted;
        let Some(fd) = &self.receiver else { return Ok(()) };
        sys::setsockopt(
            fd.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_RCVLOWAT,
            &(wanted as i32),
        )
    }

    /// Remembers the sender's last TCP_INFO; then resets the connection, dropping what is not sent yet.
    pub fn abort(&mut self) -> io::Result<()> {
        if let Some(fd) = self.sender.take() {
            self.info = TcpInfo::of_socket(fd.as_raw_fd()).ok();
            let linger = libc::linger {
                l_onoff: 1,
                l_linger: 0,
            };
            sys::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)?;
        }
        Ok(())
    }

    pub fn info(&self, name: &str) -> Option<u64> {
        self.info.as_ref().and_then(|i| i.get(name))
    }
}

fn lowat(got: i64, elapsed_ns: i64, interval_ns: i64, received: u64) -> i64 {
    let per_interval = (got as i128 * interval_ns as i128 / elapsed_ns.max(1) as i128) as i64;
    per_interval.min((received / 16) as i64).clamp(1, LARGEST_LOWAT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_follows_the_rate_and_stays_low_at_the_start() {
        // 1 Gbit/s: 125 kB per ms, bounded by 64 KiB; 10 Mbit/s: 1250 B per ms
        assert_eq!(lowat(1_250_000, 10_000_000, 1_000_000, 100_000_000), 65536);
        assert_eq!(lowat(12_500, 10_000_000, 1_000_000, 100_000_000), 1250);
        // after 16 kB the mark is at most 1 kB
        assert_eq!(lowat(1_250_000, 10_000_000, 1_000_000, 16_000), 1000);
        assert_eq!(lowat(0, 10_000_000, 1_000_000, 16_000), 1);
    }
}
