//! Datagrams in batches, with the kernel's own arrival stamps (SO_TIMESTAMPNS, CLOCK_REALTIME).
//!
//! One recvmmsg takes whatever has arrived, so that a wake-up costs one call however many packets came.

use std::io;
use std::os::fd::RawFd;

use crate::sys;

pub const BATCH: usize = 64;
const CONTROL: usize = 64;

/// `A` is the socket's kind of address.
pub struct Datagram<'a, A = libc::sockaddr_in> {
    pub from: A,
    /// What fitted into the receiver's buffer.
    pub data: &'a [u8],
    /// The datagram's whole length.
    pub len: usize,
    pub arrived_wall_ns: i64,
    /// Code point and ECN; None unless asked for (`enable_tos`).
    pub tos: Option<u8>,
}

pub struct Receiver<A = libc::sockaddr_in> {
    snap: usize,
    data: Vec<u8>,
    control: Vec<u8>,
    names: Vec<A>,
    iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

pub fn enable(fd: RawFd) -> io::Result<()> {
    sys::setsockopt(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &1i32)
}

/// The TOS byte, or IPv6's traffic class, with each datagram.
pub fn enable_tos(fd: RawFd, ipv6: bool) -> io::Result<()> {
    let (level, name) =
        if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS) } else { (libc::IPPROTO_IP, libc::IP_RECVTOS) };
    sys::setsockopt(fd, level, name, &1i32)
}

impl Receiver {
    /// Keeps the first `snap` bytes of each datagram of an IPv4 socket.
    pub fn new(snap: usize) -> Receiver {
        // SAFETY: all-zero is a valid address.
        Receiver::with(snap, unsafe { std::mem::zeroed() })
    }
}

impl<A: Copy> Receiver<A> {
    /// The same for another kind of address, of which `none` is one.
    pub fn with(snap: usize, none: A) -> Receiver<A> {
        // SAFETY: all-zero is valid for these plain structs.
        unsafe {
            Receiver {
                snap,
                data: vec![0; snap * BATCH],
                control: vec![0; CONTROL * BATCH],
                names: vec![none; BATCH],
                iovecs: vec![std::mem::zeroed(); BATCH],
                headers: vec![std::mem::zeroed(); BATCH],
            }
        }
    }

    /// Takes up to a batch of what has arrived. Returns how many; fewer than a batch means no more is there.
    pub fn receive(&mut self, fd: RawFd, mut each: impl FnMut(Datagram<A>)) -> io::Result<usize> {
        for i in 0..BATCH {
            self.iovecs[i] = libc::iovec {
                iov_base: self.data[i * self.snap..].as_mut_ptr() as *mut libc::c_void,
                iov_len: self.snap,
            };
            let h = &mut self.headers[i].msg_hdr;
            h.msg_name = &mut self.names[i] as *mut _ as *mut libc::c_void;
            h.msg_namelen = std::mem::size_of::<A>() as u32;
            h.msg_iov = &mut self.iovecs[i];
            h.msg_iovlen = 1;
            h.msg_control = self.control[i * CONTROL..].as_mut_ptr() as *mut libc::c_void;
            h.msg_controllen = CONTROL as _;
            h.msg_flags = 0;
        }
        // SAFETY: every header points into buffers of self that outlive the call.
        let got = unsafe {
            libc::recvmmsg(
                fd,
                self.headers.as_mut_ptr(),
                BATCH as u32,
                (libc::MSG_DONTWAIT | libc::MSG_TRUNC) as _,
                std::ptr::null_mut(),
            )
        };
        let got = match sys::cvt(got) {
            Ok(n) => n as usize,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(e),
        };
        for i in 0..got {
            let len = self.headers[i].msg_len as usize;
            let (stamp, tos) = control(&self.headers[i].msg_hdr);
            let arrived_wall_ns =
                stamp.ok_or_else(|| io::Error::other("the kernel gave no arrival stamp"))?;
            let data = &self.data[i * self.snap..i * self.snap + len.min(self.snap)];
            each(Datagram { from: self.names[i], data, len, arrived_wall_ns, tos });
        }
        Ok(got)
    }
}

/// The arrival stamp and the TOS byte, where the kernel gave them.
fn control(header: &libc::msghdr) -> (Option<i64>, Option<u8>) {
    let (mut stamp, mut tos) = (None, None);
    // SAFETY: the kernel filled header and its control buffer.
    unsafe {
        let mut c = libc::CMSG_FIRSTHDR(header);
        while !c.is_null() {
            match ((*c).cmsg_level, (*c).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                    let ts = std::ptr::read_unaligned(libc::CMSG_DATA(c) as *const libc::timespec);
                    stamp = Some(ts.tv_sec * narrows_units::S + ts.tv_nsec);
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => tos = Some(*libc::CMSG_DATA(c)),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    tos = Some(std::ptr::read_unaligned(libc::CMSG_DATA(c) as *const i32) as u8)
                }
                _ => {}
            }
            c = libc::CMSG_NXTHDR(header, c);
        }
    }
    (stamp, tos)
}

/// Sends one datagram on a connected socket, or to `to`.
pub fn send(fd: RawFd, data: &[u8], to: Option<&libc::sockaddr_in>) -> io::Result<()> {
    let (name, len) = match to {
        Some(a) => (a as *const _ as *const libc::sockaddr, std::mem::size_of::<libc::sockaddr_in>()),
        None => (std::ptr::null(), 0),
    };
    // SAFETY: data and name are readable for their lengths.
    sys::cvt_len(unsafe {
        libc::sendto(fd, data.as_ptr() as *const libc::c_void, data.len(), 0, name, len as u32)
    })
    .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::fd::AsRawFd;

    #[test]
    fn a_batch_of_datagrams_is_taken_at_once_with_lengths_and_stamps() {
        let a = UdpSocket::bind("127.0.0.1:0").unwrap();
        let b = UdpSocket::bind("127.0.0.1:0").unwrap();
        enable(b.as_raw_fd()).unwrap();
        for n in 1..=3usize {
            a.send_to(&vec![n as u8; n * 100], b.local_addr().unwrap()).unwrap();
        }
        let mut got = vec![];
        let n = Receiver::new(16)
            .receive(b.as_raw_fd(), |d| got.push((d.len, d.data.len(), d.data[0], d.arrived_wall_ns > 0)))
            .unwrap();
        assert_eq!(n, 3);
        assert_eq!(got, [(100, 16, 1, true), (200, 16, 2, true), (300, 16, 3, true)]);
    }
}
