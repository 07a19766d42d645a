//! `icmp_echo`: ICMP echo requests at fixed times; the server's kernel answers.
//!
//! Sent stamps are read just before sending, received ones are the kernel's.

use std::os::fd::{AsRawFd, OwnedFd};

use serde_json::{json, Value};

use super::drain::Drain;
use super::set_dscp;
use crate::actor::{cell, Actor, Cx, Progress};
use crate::error::{During, Result};
use crate::reactor::{Event, IN};
use crate::sys::{self, sockaddr};
use narrows_plan::IcmpEcho;
use narrows_wire::stamped::{self, Receiver};

const REPLY: u16 = 0;
const SEND: u16 = 1;
const DRAINED: u16 = 2;
const SOL_RAW: i32 = 255;
const ICMP_FILTER: i32 = 1;
const ECHO_REPLY: u8 = 0;
const ECHO_REQUEST: u8 = 8;

pub struct Echo {
    spec: IcmpEcho,
    identifier: u16,
    socket: Option<OwnedFd>,
    receiver: Receiver,
    samples: Vec<(i64, Option<i64>)>,
    received: usize,
    first_ns: i64,
    drain: Drain,
}

/// RFC 792: type, code, checksum, identifier, sequence number, then the payload.
pub fn request(identifier: u16, seq: u16, payload_bytes: usize) -> Vec<u8> {
    let mut b = vec![0u8; 8 + payload_bytes];
    b[0] = ECHO_REQUEST;
    b[4..6].copy_from_slice(&identifier.to_be_bytes());
    b[6..8].copy_from_slice(&seq.to_be_bytes());
    let sum = checksum(&b);
    b[2..4].copy_from_slice(&sum.to_be_bytes());
    b
}

/// RFC 1071.
fn checksum(b: &[u8]) -> u16 {
    let mut sum: u32 = b.chunks(2).map(|c| (c[0] as u32) << 8 | *c.get(1).unwrap_or(&0) as u32).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// (identifier, sequence number) of an echo reply, as a raw socket delivers it: IP header first.
pub fn reply(packet: &[u8]) -> Option<(u16, u16)> {
    let header = (packet.first()? & 0xf) as usize * 4;
    let icmp = packet.get(header..header + 8)?;
    (icmp[0] == ECHO_REPLY)
        .then(|| (u16::from_be_bytes([icmp[4], icmp[5]]), u16::from_be_bytes([icmp[6], icmp[7]])))
}

/// The newest of `sent` probes whose number ends in `seq`: 16 bits wrap at long runs.
fn unwrap_sequence(seq: u16, sent: usize) -> Option<usize> {
    let last = sent.checked_sub(1)?;
    last.checked_sub((last as u16).wrapping_sub(seq) as usize)
}

impl Echo {
    pub fn new(spec: IcmpEcho, index: usize) -> Echo {
        Echo {
            spec,
            identifier: 0x4e00 | index as u16,
            socket: None,
            receiver: Receiver::new(96),
            samples: Vec::new(),
            received: 0,
            first_ns: 0,
            drain: Drain::default(),
        }
    }

    fn send_next(&mut self, cx: &mut Cx) {
        let Some(fd) = &self.socket else { return };
        let packet = request(self.identifier, self.samples.len() as u16, self.spec.payload_bytes);
        self.samples.push((cx.reactor.clock.t(), None));
        // A failure to send is, for the probe, a loss.
        let _ = stamped::send(fd.as_raw_fd(), &packet, None);
        let next = self.first_ns + self.samples.len() as i64 * self.spec.interval_ns;
        cx.reactor.at(next, cx.token(SEND, 0));
    }

    fn receive(&mut self, cx: &mut Cx) -> Result<()> {
        let Some(fd) = &self.socket else { return Ok(()) };
        let (samples, clock, identifier) = (&mut self.samples, cx.reactor.clock, self.identifier);
        let received = &mut self.received;
        self.receiver
            .receive(fd.as_raw_fd(), |d| {
                let Some((id, seq)) = reply(d.data) else { return };
                let Some(at) = unwrap_sequence(seq, samples.len()).filter(|_| id == identifier) else {
                    return;
                };
                if samples[at].1.replace(clock.t_of_wall(d.arrived_wall_ns)).is_none() {
                    *received += 1;
                }
            })
            .map(drop)
            .during(|| "receiving echo replies".into())
    }
}

impl Actor for Echo {
    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        let p = &self.spec;
        let fd = cx.nodes.socket(&p.client, libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)?;
        let filter: u32 = !(1 << ECHO_REPLY);
        sys::setsockopt(fd.as_raw_fd(), SOL_RAW, ICMP_FILTER, &filter).during(|| "filtering ICMP".into())?;
        stamped::enable(fd.as_raw_fd()).during(|| "asking for kernel stamps".into())?;
        set_dscp(fd.as_raw_fd(), p.dscp)?;
        socket2::SockRef::from(&fd)
            .connect(&sockaddr(p.server_address, 0))
            .during(|| format!("connecting to {}", p.server_address))?;
        cx.reactor.watch(fd.as_raw_fd(), IN, cx.token(REPLY, 0)).during(|| "watching a socket".into())?;
        self.socket = Some(fd);
        self.first_ns = cx.reactor.now;
        self.send_next(cx);
        Ok(())
    }

    fn event(&mut self, cx: &mut Cx, event: Event) -> Result<()> {
        match event {
            Event::Timer(t) if t.kind == SEND && !self.drain.has_begun() => self.send_next(cx),
            Event::Timer(t) if t.kind == DRAINED => self.drain.time_is_up(cx, DRAINED)?,
            Event::Io(..) => self.receive(cx)?,
            _ => {}
        }
        self.drain.look(self.received == self.samples.len());
        Ok(())
    }

    fn stop(&mut self, cx: &mut Cx) -> Result<()> {
        self.drain.begin(cx, DRAINED, self.received == self.samples.len());
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.drain.progress()
    }

    fn drained(&self) -> bool {
        self.drain.is_done()
    }

    fn finish(&mut self, cx: &mut Cx) -> Result<Option<Value>> {
        self.socket = None;
        let mut csv = cx.csv(&self.spec.id, "seq,sent_ns,server_ns,received_ns")?;
        for (seq, (sent_ns, received_ns)) in self.samples.iter().enumerate() {
            csv.line(&format!("{seq},{sent_ns},,{}", cell(*received_ns)))?;
        }
        csv.flush()?;
        Ok(Some(json!({
            "sent": self.samples.len(), "received": self.received, "settled": self.drain.settled()
        })))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_checks_to_zero() {
        let b = request(0x4e01, 7, 5);
        assert_eq!(b.len(), 13);
        assert_eq!(checksum(&b), 0);
    }

    #[test]
    fn a_reply_is_found_behind_an_ip_header_with_options() {
        let mut packet = vec![0x46; 24];
        packet.extend([ECHO_REPLY, 0, 0, 0, 0x4e, 1, 0, 9]);
        assert_eq!(reply(&packet), Some((0x4e01, 9)));
        packet[24] = ECHO_REQUEST;
        assert_eq!(reply(&packet), None);
    }

    #[test]
    fn sequence_numbers_wrap_to_the_newest_probe() {
        assert_eq!(unwrap_sequence(3, 10), Some(3));
        assert_eq!(unwrap_sequence(65535, 65537), Some(65535));
        assert_eq!(unwrap_sequence(0, 65537), Some(65536));
        assert_eq!(unwrap_sequence(9, 5), None);
    }
}
