//! One flow of a `tcp_bulk` item: its two sockets and what is known of them.
//!
//! Batched, the kernel keeps a flow without end full and discards what comes (`kernel_bulk`). Where it cannot, the
//! sender splices a hole of a memory file (the kernel's zero page) into its socket, and the receiver's side is
//! `sink`. No payload byte is ever copied, and TCP does exactly what it does for data. See also `plain`.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use super::kernel_bulk;
use super::plain::{Source, AT_ONCE_BYTES};
use super::sink::discard;
use crate::sys;
use narrows_wire::tcp_info::TcpInfo;

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
    /// The kernel's own sink reads the receiver's socket, and TCP counts.
    pub kernel_reads: bool,
    /// The kernel's own source writes to the sender's socket.
    pub kernel_writes: bool,
    pub info: Option<TcpInfo>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Sent {
    /// The socket is full: more when it says so.
    Full,
    /// Everything asked for has been handed to TCP.
    All,
}

impl Flow {
    pub fn new(bytes: Option<u64>) -> Flow {
        Flow { left: bytes, ..Flow::default() }
    }

    pub fn send(&mut self, source: &Source) -> io::Result<Sent> {
        let Some(fd) = &self.sender else {
            return Ok(Sent::All);
        };
        loop {
            let wanted = self.left.map_or(AT_ONCE_BYTES, |l| l.min(AT_ONCE_BYTES as u64) as usize);
            if wanted == 0 {
                return Ok(Sent::All);
            }
            let sent = match source.send(fd.as_raw_fd(), wanted) {
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

    /// Makes both ends deaf: the flow falls silent where it stands. Without this, the acknowledgements of what
    /// is still queued would draw more data, or, from a closed socket, a reset each.
    pub fn fall_silent(&mut self) -> io::Result<()> {
        if let Some(fd) = &self.sender {
            self.info = TcpInfo::of_socket(fd.as_raw_fd()).ok();
            sys::keep_bytes(fd.as_raw_fd(), 0)?;
        }
        if let Some(fd) = &self.receiver {
            // Deaf first: what arrives from here on does not count.
            sys::keep_bytes(fd.as_raw_fd(), 0)?;
            while let n @ 1.. = discard(fd.as_raw_fd()) {
                self.received += n as u64;
            }
        }
        self.count();
        Ok(())
    }

    /// What the kernel's sink has taken until now, while the socket is still there.
    pub fn count(&mut self) {
        let taken = self.receiver.as_ref().filter(|_| self.kernel_reads);
        if let Some(bytes) = taken.and_then(|fd| kernel_bulk::taken(fd.as_raw_fd())) {
            self.received = bytes;
        }
    }

    /// Resets the connection, dropping what is not sent yet.
    pub fn abort(&mut self) -> io::Result<()> {
        let linger = libc::linger { l_onoff: 1, l_linger: 0 };
        for fd in [self.sender.take(), self.receiver.take()].into_iter().flatten() {
            sys::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)?;
        }
        Ok(())
    }

    /// Bytes acknowledged so far; None before it is connected.
    pub fn acknowledged(&self) -> Option<u64> {
        let now = self.sender.as_ref().filter(|_| self.connected);
        let now = now.and_then(|fd| TcpInfo::of_socket(fd.as_raw_fd()).ok());
        now.as_ref().or(self.info.as_ref())?.get("bytes_acked")
    }

    pub fn info(&self, name: &str) -> Option<u64> {
        self.info.as_ref().and_then(|i| i.get(name))
    }
}
