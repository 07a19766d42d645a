//! Just enough netlink: requests, dumps and changes, attributes read and written, and the two interface ioctls that
//! the agent needs.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::sys;

pub const NETLINK_ROUTE: i32 = 0;
pub const NETLINK_SOCK_DIAG: i32 = 4;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const HEADER: usize = 16;

/// A netlink socket of the namespace the thread is in when it is opened.
pub struct Netlink {
    fd: OwnedFd,
    buf: Vec<u8>,
    seq: u32,
}

impl Netlink {
    pub fn open(protocol: i32) -> io::Result<Netlink> {
        // SAFETY: plain system call; the result is owned here. Blocking: replies are made while sending.
        let fd = sys::cvt(unsafe {
            libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol)
        })?;
        // SAFETY: fresh descriptor.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(Netlink { fd, buf: vec![0; 65536], seq: 0 })
    }

    /// Sends one dump request and hands every answer to `each` as (message type, payload).
    pub fn dump(&mut self, kind: u16, body: &[u8], each: impl FnMut(u16, &[u8])) -> io::Result<()> {
        self.request(kind, NLM_F_REQUEST | NLM_F_DUMP, body, each)
    }

    /// Sends one request for one object.
    pub fn get(&mut self, kind: u16, body: &[u8], each: impl FnMut(u16, &[u8])) -> io::Result<()> {
        self.request(kind, NLM_F_REQUEST, body, each)
    }

    /// Asks for a change. The kernel carries it out before this returns, and answers only if it refuses: that
    /// is what `refused` reads.
    pub fn change(&mut self, kind: u16, body: &[u8]) -> io::Result<()> {
        self.send(kind, NLM_F_REQUEST, body)
    }

    /// The first refusal of the changes since the last call.
    pub fn refused(&mut self) -> io::Result<()> {
        let mut first = Ok(());
        loop {
            // SAFETY: buf is writable for its length.
            let got = sys::cvt_len(unsafe {
                libc::recv(
                    self.fd.as_raw_fd(),
                    self.buf.as_mut_ptr() as *mut libc::c_void,
                    self.buf.len(),
                    libc::MSG_DONTWAIT,
                )
            });
            match got {
                Ok(n) if n >= HEADER + 4 && u16::from_ne_bytes([self.buf[4], self.buf[5]]) == NLMSG_ERROR => {
                    let errno = -(u32_at(&self.buf, HEADER) as i32);
                    if errno != 0 && first.is_ok() {
                        first = Err(io::Error::from_raw_os_error(errno));
                    }
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return first,
                Err(e) => return first.and(Err(e)),
            }
        }
    }

    fn send(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.seq += 1;
        let mut msg = Vec::with_capacity(HEADER + body.len());
        msg.extend_from_slice(&((HEADER + body.len()) as u32).to_ne_bytes());
        msg.extend_from_slice(&kind.to_ne_bytes());
        msg.extend_from_slice(&flags.to_ne_bytes());
        msg.extend_from_slice(&self.seq.to_ne_bytes());
        msg.extend_from_slice(&0u32.to_ne_bytes());
        msg.extend_from_slice(body);
        // SAFETY: msg is readable for its length.
        sys::cvt_len(unsafe {
            libc::send(self.fd.as_raw_fd(), msg.as_ptr() as *const libc::c_void, msg.len(), 0)
        })?;
        Ok(())
    }

    fn request(
        &mut self,
        kind: u16,
        flags: u16,
        body: &[u8],
        mut each: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        self.send(kind, flags, body)?;
        let is_dump = flags & NLM_F_DUMP == NLM_F_DUMP;
        loop {
            // SAFETY: buf is writable for its length.
            let n = sys::cvt_len(unsafe {
                libc::recv(self.fd.as_raw_fd(), self.buf.as_mut_ptr() as *mut libc::c_void, self.buf.len(), 0)
            })?;
            let mut rest = &self.buf[..n];
            while rest.len() >= HEADER {
                let len = u32_at(rest, 0) as usize;
                if len < HEADER || len > rest.len() {
                    return Err(io::Error::other("malformed netlink message"));
                }
                let kind = u16::from_ne_bytes([rest[4], rest[5]]);
                let payload = &rest[HEADER..len];
                match kind {
                    NLMSG_DONE => return Ok(()),
                    NLMSG_ERROR => {
                        let errno = -(u32_at(payload, 0) as i32);
                        return if errno == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(errno)) };
                    }
                    _ if u32_at(rest, 8) == self.seq => each(kind, payload),
                    _ => {}
                }
                rest = &rest[align4(len).min(rest.len())..];
            }
            if !is_dump {
                return Ok(());
            }
        }
    }
}

fn align4(n: usize) -> usize {
    (n + 3) & !3
}

pub fn u32_at(b: &[u8], at: usize) -> u32 {
    b.get(at..at + 4).map_or(0, |s| u32::from_ne_bytes([s[0], s[1], s[2], s[3]]))
}

pub fn u64_at(b: &[u8], at: usize) -> u64 {
    b.get(at..at + 8).map_or(0, |s| u64::from_ne_bytes([s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]]))
}

/// Iterates over (type, payload) of a run of attributes; the nested flag is masked off.
pub fn attributes(mut b: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        if b.len() < 4 {
            return None;
        }
        let len = u16::from_ne_bytes([b[0], b[1]]) as usize;
        let kind = u16::from_ne_bytes([b[2], b[3]]) & 0x3fff;
        if len < 4 || len > b.len() {
            return None;
        }
        let payload = &b[4..len];
        b = &b[align4(len).min(b.len())..];
        Some((kind, payload))
    })
}

/// Appends an attribute, padded.
pub fn attribute(out: &mut Vec<u8>, kind: u16, payload: &[u8]) {
    out.extend_from_slice(&((4 + payload.len()) as u16).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(payload);
    out.resize(align4(out.len()), 0);
}

/// An attribute's text, without the closing NUL.
pub fn text(b: &[u8]) -> String {
    String::from_utf8_lossy(b).trim_end_matches('\0').to_string()
}

pub fn interface_index(name: &str) -> io::Result<u32> {
    let c = std::ffi::CString::new(name)?;
    // SAFETY: valid C string.
    match unsafe { libc::if_nametoindex(c.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        i => Ok(i),
    }
}

pub fn ifreq(name: &str) -> io::Result<libc::ifreq> {
    if name.len() >= libc::IFNAMSIZ {
        return Err(io::Error::other(format!("interface name '{name}' is too long")));
    }
    // SAFETY: ifreq is plain data.
    let mut req: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in req.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Ok(req)
}

pub fn interface_up(name: &str) -> io::Result<()> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let mut req = ifreq(name)?;
    // SAFETY: req is a valid ifreq for both calls; the flags member is the one in use.
    unsafe {
        sys::cvt(libc::ioctl(fd.as_raw_fd(), libc::SIOCGIFFLAGS as _, &mut req))?;
        req.ifr_ifru.ifru_flags |= libc::IFF_UP as libc::c_short;
        sys::cvt(libc::ioctl(fd.as_raw_fd(), libc::SIOCSIFFLAGS as _, &req))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_walked_with_padding_and_end_at_garbage() {
        let mut b = vec![];
        b.extend_from_slice(&7u16.to_ne_bytes());
        b.extend_from_slice(&1u16.to_ne_bytes());
        b.extend_from_slice(b"abc\0");
        b.extend_from_slice(&8u16.to_ne_bytes());
        b.extend_from_slice(&(0x8002u16).to_ne_bytes());
        b.extend_from_slice(&5u32.to_ne_bytes());
        b.extend_from_slice(&[9, 9]);
        let got: Vec<(u16, Vec<u8>)> = attributes(&b).map(|(k, p)| (k, p.to_vec())).collect();
        assert_eq!(got, vec![(1, b"abc".to_vec()), (2, 5u32.to_ne_bytes().to_vec())]);
    }

    #[test]
    fn a_link_dump_of_this_namespace_contains_lo() {
        let mut nl = Netlink::open(NETLINK_ROUTE).unwrap();
        let mut names = vec![];
        nl.dump(18, &[0; 16], |_, p| {
            names.extend(attributes(&p[16..]).filter(|(k, _)| *k == 3).map(|(_, v)| text(v)));
        })
        .unwrap();
        assert!(names.contains(&"lo".to_string()), "{names:?}");
    }
}
