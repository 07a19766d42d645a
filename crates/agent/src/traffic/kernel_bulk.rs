//! What a guest's kernel has built in for bulk flows: sockets that are handed to `/proc/tcp_sink` are read and
//! discarded by the kernel itself, those handed to `/proc/tcp_source` are kept full, for ever, as `plain::Source`
//! would from its hole. Only the end of a stream and errors still wake this process.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::RawFd;

use narrows_wire::tcp_info::TcpInfo;

pub const SINK: &str = "/proc/tcp_sink";
pub const SOURCE: &str = "/proc/tcp_source";
/// TCP_INFO's states in which the other end's FIN has come.
const FIN_HAS_COME: [u64; 4] = [6, 8, 9, 11];

pub struct KernelBulk(File);

impl KernelBulk {
    /// None: this kernel has none (a host's, or an older one).
    pub fn open(control: &str) -> io::Result<Option<KernelBulk>> {
        match OpenOptions::new().write(true).open(control) {
            Ok(control) => Ok(Some(KernelBulk(control))),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// For good: until the socket is closed.
    pub fn add(&mut self, socket: RawFd) -> io::Result<()> {
        self.0.write_all(socket.to_string().as_bytes())
    }
}

/// What the kernel has taken from a socket so far; None: it does not say.
pub fn taken(socket: RawFd) -> Option<u64> {
    received(&TcpInfo::of_socket(socket).ok()?)
}

/// TCP counts the FIN as a byte.
fn received(info: &TcpInfo) -> Option<u64> {
    let fin = FIN_HAS_COME.contains(&info.get("state")?);
    info.get("bytes_received")?.checked_sub(fin as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fin_is_no_byte_that_was_received() {
        let info = |state: u8, bytes: u64| {
            let mut raw = [0; 248];
            raw[0] = state;
            raw[128..136].copy_from_slice(&bytes.to_ne_bytes());
            TcpInfo::from_bytes(&raw)
        };
        assert_eq!(received(&info(1, 1000)), Some(1000));
        assert_eq!(received(&info(8, 1001)), Some(1000));
        assert_eq!(received(&TcpInfo::from_bytes(&[1; 100])), None);
    }
}
