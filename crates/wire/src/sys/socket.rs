//! Socket options, and bytes in and out without blocking.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};

use super::{cvt, cvt_len};

/// A new socket, close-on-exec and non-blocking.
pub fn socket(domain: i32, kind: i32, protocol: i32) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the result is owned here.
    let fd = cvt(unsafe { libc::socket(domain, kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK, protocol) })?;
    // SAFETY: fresh descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

pub fn setsockopt<T>(fd: RawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let bytes = std::mem::size_of::<T>() as libc::socklen_t;
    // SAFETY: value is readable for its own size.
    cvt(unsafe { libc::setsockopt(fd, level, name, (value as *const T).cast(), bytes) }).map(drop)
}

/// Reads a socket option into `out`; gives the length that the kernel wrote.
pub fn getsockopt_bytes(fd: RawFd, level: i32, name: i32, out: &mut [u8]) -> io::Result<usize> {
    let mut bytes = out.len() as libc::socklen_t;
    // SAFETY: `out` is writable for `bytes`; the kernel lowers `bytes` to what it wrote.
    cvt(unsafe { libc::getsockopt(fd, level, name, out.as_mut_ptr().cast(), &mut bytes) })?;
    Ok((bytes as usize).min(out.len()))
}

pub fn getsockopt_i32(fd: RawFd, level: i32, name: i32) -> io::Result<i32> {
    let mut raw = [0; 4];
    getsockopt_bytes(fd, level, name, &mut raw)?;
    Ok(i32::from_ne_bytes(raw))
}

/// Congestion control algorithm of a socket.
pub fn set_cca(fd: RawFd, name: &str) -> io::Result<()> {
    let name = name.as_bytes();
    if name.is_empty() || name.len() > 15 {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a CCA's name has 1 to 15 bytes"));
    }
    let mut raw = [0u8; 16];
    raw[..name.len()].copy_from_slice(name);
    setsockopt(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &raw)
}

pub fn cca(fd: RawFd) -> io::Result<String> {
    let mut raw = [0; 16];
    let n = getsockopt_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut raw)?;
    let end = raw[..n].iter().position(|b| *b == 0).unwrap_or(n);
    Ok(String::from_utf8_lossy(&raw[..end]).into_owned())
}

/// `struct tcp_info`, as many bytes as the kernel has.
pub fn tcp_info(fd: RawFd) -> io::Result<Vec<u8>> {
    let mut raw = vec![0; 512];
    let n = getsockopt_bytes(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut raw)?;
    raw.truncate(n);
    Ok(raw)
}

/// `union tcp_cc_info`: empty where the CCA has nothing to say.
pub fn tcp_cc_info(fd: RawFd) -> io::Result<Vec<u8>> {
    const TCP_CC_INFO: i32 = 26;
    let mut raw = vec![0; 64];
    let n = getsockopt_bytes(fd, libc::IPPROTO_TCP, TCP_CC_INFO, &mut raw)?;
    raw.truncate(n);
    Ok(raw)
}

pub fn receive_buffer_bytes(fd: RawFd) -> io::Result<u32> {
    getsockopt_i32(fd, libc::SOL_SOCKET, libc::SO_RCVBUF).map(|bytes| bytes as u32)
}

/// The socket is readable once this many bytes wait (or the window is nearly closed, or the peer is done).
pub fn set_receive_low_water(fd: RawFd, bytes: u32) -> io::Result<()> {
    setsockopt(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, &(bytes as i32))
}

/// The socket is writable while fewer bytes than this wait unsent: what is written later is not stuck behind more.
pub fn set_notsent_low_water(fd: RawFd, bytes: u32) -> io::Result<()> {
    const TCP_NOTSENT_LOWAT: i32 = 25;
    setsockopt(fd, libc::IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes)
}

/// A number that no other socket of this boot has.
pub fn socket_cookie(fd: RawFd) -> io::Result<u64> {
    let mut raw = [0; 8];
    getsockopt_bytes(fd, libc::SOL_SOCKET, libc::SO_COOKIE, &mut raw)?;
    Ok(u64::from_le_bytes(raw))
}

/// Never blocks; 0 is the end of the stream.
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: writes at most `buffer.len()` bytes to `buffer`.
    cvt_len(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_DONTWAIT) })
}

/// Like `receive`, but the kernel throws the bytes away instead of copying them; `buffer` only sets the limit.
pub fn discard(fd: RawFd, buffer: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
    // SAFETY: writes at most `buffer.len()` bytes to `buffer` (none, for TCP).
    cvt_len(unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), flags) })
}

/// Never blocks, never raises SIGPIPE.
pub fn send(fd: RawFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: reads at most `bytes.len()` bytes of `bytes`.
    cvt_len(unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// Sends datagrams without waiting; how many were sent: 0 where the socket is full, or the other end was not there for
/// an earlier one.
///
/// # Safety
/// The headers must point into buffers that outlive the call.
pub unsafe fn send_datagrams(fd: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
    // SAFETY: as the caller promises.
    let sent =
        unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), headers.len() as u32, libc::MSG_DONTWAIT as _) };
    match cvt(sent) {
        Ok(n) => Ok(n as usize),
        Err(e)
            if matches!(
                e.raw_os_error(),
                Some(libc::ECONNREFUSED | libc::ENOBUFS | libc::EAGAIN | libc::EINTR)
            ) =>
        {
            Ok(0)
        }
        Err(e) => Err(e),
    }
}
