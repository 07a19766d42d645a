//! The sockets: one for each flow, connected, with the kernel's stamps and code points.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

use narrows_wire::{stamped, sys};

const BUFFER_BYTES: i32 = 4 << 20;

/// A socket; `shared`: others may have its address, too. For a port of the kernel's choice that must not be: it would
/// give one port to two flows.
pub fn open(local: SocketAddr, shared: bool) -> io::Result<UdpSocket> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(local), socket2::Type::DGRAM, None)?;
    socket.set_reuse_address(shared)?;
    let fd = socket.as_raw_fd();
    for (forced, plain) in [(libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF)]
    {
        if sys::setsockopt(fd, libc::SOL_SOCKET, forced, &BUFFER_BYTES).is_err() {
            let _ = sys::setsockopt(fd, libc::SOL_SOCKET, plain, &BUFFER_BYTES);
        }
    }
    stamped::enable(fd)?;
    stamped::enable_tos(fd, local.is_ipv6())?;
    socket.bind(&local.into())?;
    Ok(socket.into())
}

pub fn connected(local: SocketAddr, peer: SocketAddr) -> io::Result<UdpSocket> {
    let socket = open(local, local.port() != 0)?;
    socket.connect(peer)?;
    Ok(socket)
}

/// What the sockets themselves dropped so far, because nobody read in time: not the network's doing. None where the
/// kernel does not tell.
pub fn dropped(sockets: &[UdpSocket]) -> Option<u64> {
    const SO_MEMINFO: i32 = 55;
    const DROPS: usize = 8;
    let mut sum = 0;
    for socket in sockets {
        let mut raw = [0u8; 36];
        let n = sys::getsockopt_bytes(socket.as_raw_fd(), libc::SOL_SOCKET, SO_MEMINFO, &mut raw).ok()?;
        let at = DROPS * 4;
        let bytes = raw.get(at..at + 4).filter(|_| n >= at + 4)?;
        sum += u64::from(u32::from_ne_bytes(bytes.try_into().ok()?));
    }
    Some(sum)
}
