//! The plain way of moving a bulk flow's bytes: send() of a buffer while the socket takes it, and one read() of
//! a socket whenever epoll says that it has data. Slow; there to show that the batched way (`kernel_bulk`,
//! `sink`, and the hole here) leaves TCP's behaviour as it is. Knows nothing of flows.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::sys;

/// What is handed to a socket at once, and taken from it. The same for both ways, like the pieces: TCP marks the
/// end of what it was handed (PSH), and a receiver acknowledges that at once when it has read it.
pub const AT_ONCE_BYTES: usize = 4 << 20;

/// sendfile's own pieces: a pipe of 16 pages. Each but the last is sent with MSG_MORE.
const PIECE_BYTES: usize = 64 << 10;

/// Where a sender's bytes come from.
pub enum Source {
    /// A hole of a memory file, spliced: the kernel's zero page.
    Hole(OwnedFd),
    /// A buffer, copied.
    Buffer(Vec<u8>),
}

impl Source {
    pub fn hole() -> io::Result<Source> {
        let hole = sys::memfd("hole")?;
        // SAFETY: plain system call on an open file.
        sys::cvt(unsafe { libc::ftruncate(hole.as_raw_fd(), AT_ONCE_BYTES as libc::off_t) })?;
        Ok(Source::Hole(hole))
    }

    pub fn buffer() -> Source {
        Source::Buffer(vec![0; AT_ONCE_BYTES])
    }

    /// Hands `wanted` bytes, at most AT_ONCE_BYTES, to a socket; how many it took.
    pub fn send(&self, socket: RawFd, wanted: usize) -> io::Result<usize> {
        let wanted = wanted.min(AT_ONCE_BYTES);
        match self {
            Source::Hole(hole) => {
                let mut offset: libc::off_t = 0;
                // SAFETY: both descriptors are open and offset lives through the call.
                sys::cvt_len(unsafe { libc::sendfile(socket, hole.as_raw_fd(), &mut offset, wanted) })
            }
            Source::Buffer(bytes) => send_pieces(socket, &bytes[..wanted]),
        }
    }
}

fn send_pieces(socket: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let mut sent = 0;
    for piece in bytes.chunks(PIECE_BYTES) {
        let more = sent + piece.len() < bytes.len();
        let flags = if more { libc::MSG_MORE } else { 0 };
        // SAFETY: the piece lives through the call.
        let took = unsafe { libc::send(socket, piece.as_ptr().cast(), piece.len(), flags) };
        match sys::cvt_len(took) {
            Ok(n) => sent += n,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock && sent > 0 => break,
            Err(e) => return Err(e),
        }
        if (took as usize) < piece.len() {
            break;
        }
    }
    Ok(sent)
}

/// One read of what has arrived: bytes, 0 at the end, or a negative error number.
pub fn read(socket: RawFd, buffer: &mut Vec<u8>) -> i32 {
    buffer.resize(AT_ONCE_BYTES, 0);
    // SAFETY: the buffer is as long as is said.
    let got = unsafe { libc::read(socket, buffer.as_mut_ptr().cast(), buffer.len()) };
    match sys::cvt_len(got) {
        Ok(n) => n as i32,
        Err(e) => -e.raw_os_error().unwrap_or(libc::EIO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn both_sources_send_zeros_and_a_plain_read_takes_them_and_sees_the_end() {
        for source in [Source::hole().unwrap(), Source::buffer()] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let a = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let b = listener.accept().unwrap().0;
            assert_eq!(source.send(a.as_raw_fd(), 10_000).unwrap(), 10_000);
            drop(a);
            let (mut buffer, mut whole) = (vec![], 0);
            loop {
                match read(b.as_raw_fd(), &mut buffer) {
                    0 => break,
                    n => {
                        assert!(n > 0, "{}", io::Error::from_raw_os_error(-n));
                        assert!(buffer[..n as usize].iter().all(|byte| *byte == 0));
                        whole += n;
                    }
                }
            }
            assert_eq!(whole, 10_000);
        }
    }
}
