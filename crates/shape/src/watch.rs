//! Every packet that passes the WAN interface, from a packet socket: when, which way, how long, and what its TCP
//! header says. Outgoing packets are seen behind the interface's own queue, arriving ones before the IFB's, so nothing
//! of this host's own queues is in what is measured here.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use narrows_wire::netlink::interface_index;
use narrows_wire::stamped::{self, Receiver};
use narrows_wire::sys;

/// IPv6 (40) and the longest TCP header (60), with some to spare.
const SNAP: usize = 128;
const BUFFER_BYTES: i32 = 16 << 20;
const PACKET_OTHERHOST: u8 = 3;
const PACKET_OUTGOING: u8 = 4;
const ETH_P_IP: u16 = 0x0800;
const ETH_P_IPV6: u16 = 0x86dd;
const TCP: u8 = 6;

/// A flow as seen from the home router; IPv4 addresses are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    pub local: [u8; 16],
    pub remote: [u8; 16],
    pub ports: (u16, u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub key: FlowKey,
    pub seq: u32,
    /// Counts only with ACK.
    pub acked: u32,
    pub payload: u32,
    /// TSval and TSecr.
    pub stamps: Option<(u32, u32)>,
    /// TSecr counts only with ACK.
    pub ack: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// CLOCK_MONOTONIC.
    pub t_ns: i64,
    pub up: bool,
    /// The network layer's length.
    pub bytes: u32,
    pub tcp: Option<Tcp>,
}

pub struct Watch {
    fd: OwnedFd,
    receiver: Receiver<libc::sockaddr_ll>,
}

impl Watch {
    pub fn open(iface: &str) -> io::Result<Watch> {
        let index = interface_index(iface)?;
        // Cooked: the link layer's header is taken off, whatever it is.
        let fd = sys::socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0)?;
        let raw = fd.as_raw_fd();
        stamped::enable(raw)?;
        let _ = sys::setsockopt(raw, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER_BYTES);
        // SAFETY: all-zero is a valid sockaddr_ll, and `address` outlives the call.
        let none: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        let mut address = none;
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index as i32;
        let size = std::mem::size_of_val(&address) as u32;
        // SAFETY: as above.
        sys::cvt(unsafe { libc::bind(raw, (&raw const address).cast(), size) })?;
        Ok(Watch { fd, receiver: Receiver::with(SNAP, none) })
    }

    /// Hands over all that has passed since the last call.
    pub fn drain(&mut self, mut each: impl FnMut(&Packet)) -> io::Result<()> {
        loop {
            let to_mono = sys::mono_ns() - sys::real_ns();
            let n = self.receiver.receive(self.fd.as_raw_fd(), |d| {
                if d.from.sll_pkttype == PACKET_OTHERHOST {
                    return;
                }
                let up = d.from.sll_pkttype == PACKET_OUTGOING;
                each(&Packet {
                    t_ns: d.arrived_wall_ns + to_mono,
                    up,
                    bytes: d.len as u32,
                    tcp: tcp(u16::from_be(d.from.sll_protocol), d.data, up),
                });
            })?;
            if n < stamped::BATCH {
                return Ok(());
            }
        }
    }

    /// Packets since the last call that the socket had no room for.
    pub fn missed(&self) -> u32 {
        let mut counts = [0u8; 8];
        match sys::getsockopt_bytes(
            self.fd.as_raw_fd(),
            libc::SOL_PACKET,
            libc::PACKET_STATISTICS,
            &mut counts,
        ) {
            Ok(_) => u32::from_ne_bytes([counts[4], counts[5], counts[6], counts[7]]),
            Err(_) => 0,
        }
    }
}

fn u16_be(b: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(b.get(at..at + 2)?.try_into().ok()?))
}

fn u32_be(b: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(b.get(at..at + 4)?.try_into().ok()?))
}

fn mapped(v4: &[u8]) -> [u8; 16] {
    let mut out = [0; 16];
    out[10..12].fill(0xff);
    out[12..].copy_from_slice(v4);
    out
}

/// What the TCP header says; None for all else, and for what is cut short.
fn tcp(protocol: u16, b: &[u8], up: bool) -> Option<Tcp> {
    let (from, to, segment, length) = match protocol {
        ETH_P_IP => {
            let header = usize::from(b.first()? & 0xf) * 4;
            let fragment = u16_be(b, 6)? & 0x1fff;
            if *b.get(9)? != TCP || fragment != 0 {
                return None;
            }
            let length = usize::from(u16_be(b, 2)?).saturating_sub(header);
            (mapped(b.get(12..16)?), mapped(b.get(16..20)?), b.get(header..)?, length)
        }
        ETH_P_IPV6 if *b.get(6)? == TCP => (
            b.get(8..24)?.try_into().ok()?,
            b.get(24..40)?.try_into().ok()?,
            b.get(40..)?,
            usize::from(u16_be(b, 4)?),
        ),
        _ => return None,
    };
    let (source, destination) = (u16_be(segment, 0)?, u16_be(segment, 2)?);
    let header = usize::from(segment.get(12)? >> 4) * 4;
    let flags = *segment.get(13)?;
    let options = segment.get(20..header.min(segment.len())).unwrap_or_default();
    let key = if up {
        FlowKey { local: from, remote: to, ports: (source, destination) }
    } else {
        FlowKey { local: to, remote: from, ports: (destination, source) }
    };
    Some(Tcp {
        key,
        stamps: stamps(options),
        ack: flags & 0x10 != 0,
        seq: u32_be(segment, 4)?,
        acked: u32_be(segment, 8)?,
        payload: length.saturating_sub(header) as u32,
    })
}

fn stamps(mut options: &[u8]) -> Option<(u32, u32)> {
    loop {
        match *options.first()? {
            0 => return None,
            1 => options = &options[1..],
            kind => {
                let length = usize::from(*options.get(1)?);
                if kind == 8 && length == 10 {
                    return Some((u32_be(options, 2)?, u32_be(options, 6)?));
                }
                options = options.get(length.max(2)..)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(options: &[u8]) -> Vec<u8> {
        let mut b = vec![0x45, 0, 0, 0, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 2, 1, 192, 168, 1, 2];
        b.extend([0x01, 0xbb, 0xc3, 0x50, 0, 0, 0, 1, 0, 0, 0, 2]);
        b.extend([(((20 + options.len()) / 4) as u8) << 4, 0x10, 0, 0, 0, 0, 0, 0]);
        b.extend(options);
        b
    }

    #[test]
    fn timestamps_are_found_behind_padding_and_other_options() {
        let mut options = vec![1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0];
        options.extend([8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0]);
        let found = tcp(ETH_P_IP, &segment(&options), false).unwrap();
        assert_eq!(found.stamps, Some((7, 9)));
        assert_eq!(found.key.ports, (50000, 443));
        assert_eq!(found.key.remote[12..], [10, 0, 2, 1]);
        assert!(found.ack && (found.seq, found.acked, found.payload) == (1, 2, 0));
    }

    #[test]
    fn a_flow_has_one_key_both_ways() {
        let down = tcp(ETH_P_IP, &segment(&[]), false).unwrap();
        let mut back = segment(&[]);
        let (from, to) = (back[12..16].to_vec(), back[16..20].to_vec());
        back[12..16].copy_from_slice(&to);
        back[16..20].copy_from_slice(&from);
        let (from, to) = (back[20..22].to_vec(), back[22..24].to_vec());
        back[20..22].copy_from_slice(&to);
        back[22..24].copy_from_slice(&from);
        assert_eq!(tcp(ETH_P_IP, &back, true).unwrap().key, down.key);
    }

    #[test]
    fn what_is_cut_short_or_no_tcp_is_none_and_never_a_panic() {
        let whole = segment(&[8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 0, 0]);
        for n in 0..whole.len() {
            let _ = tcp(ETH_P_IP, &whole[..n], true);
            let _ = tcp(ETH_P_IPV6, &whole[..n], true);
        }
        let mut udp = whole.clone();
        udp[9] = 17;
        assert_eq!(tcp(ETH_P_IP, &udp, true), None);
        assert_eq!(tcp(ETH_P_IP, &segment(&[8, 0, 0, 0]), true).unwrap().stamps, None);
    }
}
