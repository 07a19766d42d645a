//! `udp_probe`: isochronous datagrams, echoed by our own responder.
//!
//! All three stamps are this kernel's: sent (read just before sending), server and received (kernel arrival
//! stamps). Both ends live in this process, so the server's stamp is kept even if the echo is lost. With real hosts
//! each end lives on its own, and writes what it saw.

use std::os::fd::{AsRawFd, OwnedFd};

use serde_json::{json, Value};

use super::drain::Drain;
use super::set_dscp;
use crate::actor::{cell, Actor, Cx, Progress};
use crate::error::{During, Result};
use crate::reactor::{Event, IN};
use crate::sys::sockaddr;
use narrows_plan::UdpProbe;
use narrows_wire::stamped::{self, Receiver};

const SERVER: u16 = 0;
const CLIENT: u16 = 1;
const SEND: u16 = 2;
const DRAINED: u16 = 3;
/// As many as a server on a host of its own can keep stamps of.
const MOST_PROBES: usize = 1 << 24;
const MAGIC: u32 = 0x6e72_7770;

#[derive(Clone, Copy, Default)]
struct Sample {
    sent_ns: i64,
    server_ns: Option<i64>,
    received_ns: Option<i64>,
}

pub struct Probe {
    spec: UdpProbe,
    /// Those of the ends that are on this machine.
    server: Option<OwnedFd>,
    client: Option<OwnedFd>,
    receiver: Receiver,
    samples: Vec<Sample>,
    received: usize,
    first_ns: i64,
    send_errors: u64,
    drain: Drain,
}

impl Probe {
    pub fn new(spec: UdpProbe) -> Probe {
        let receiver = Receiver::new(spec.payload_bytes.max(8));
        Probe {
            spec,
            server: None,
            client: None,
            receiver,
            samples: Vec::new(),
            received: 0,
            first_ns: 0,
            send_errors: 0,
            drain: Drain::default(),
        }
    }

    fn open_server(&mut self, cx: &mut Cx) -> Result<()> {
        let p = &self.spec;
        let server = cx.nodes.socket(&p.server, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        prepare(&server, p.dscp)?;
        socket2::SockRef::from(&server)
            .bind(&sockaddr(p.server_address, p.port))
            .during(|| format!("binding the echo server to {}:{}", p.server_address, p.port))?;
        watch(cx, &server, SERVER)?;
        self.server = Some(server);
        Ok(())
    }

    fn open_client(&mut self, cx: &mut Cx) -> Result<()> {
        let p = &self.spec;
        let client = cx.nodes.socket(&p.client, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        prepare(&client, p.dscp)?;
        socket2::SockRef::from(&client)
            .connect(&sockaddr(p.server_address, p.port))
            .during(|| format!("connecting to {}:{}", p.server_address, p.port))?;
        watch(cx, &client, CLIENT)?;
        self.client = Some(client);
        Ok(())
    }

    fn send_next(&mut self, cx: &mut Cx) -> Result<()> {
        let Some(client) = &self.client else {
            return Ok(());
        };
        let mut payload = vec![0u8; self.spec.payload_bytes];
        payload[..4].copy_from_slice(&MAGIC.to_be_bytes());
        payload[4..8].copy_from_slice(&(self.samples.len() as u32).to_be_bytes());
        // The stamp is read here and not taken from the loop's `now`: other work may have come between.
        let sent_ns = cx.reactor.clock.t();
        self.samples.push(Sample { sent_ns, ..Sample::default() });
        if stamped::send(client.as_raw_fd(), &payload, None).is_err() {
            // A full device queue or an unreachable peer: for the probe, a loss.
            self.send_errors += 1;
        }
        let next = self.first_ns + self.samples.len() as i64 * self.spec.interval_ns;
        cx.reactor.at(next, cx.token(SEND, 0));
        Ok(())
    }

    fn receive(&mut self, cx: &mut Cx, at_server: bool) -> Result<()> {
        let Some(socket) = (if at_server { &self.server } else { &self.client }) else {
            return Ok(());
        };
        let (fd, alone) = (socket.as_raw_fd(), self.client.is_none());
        let (samples, clock, received) = (&mut self.samples, cx.reactor.clock, &mut self.received);
        let result = self.receiver.receive(fd, |d| {
            let Some(seq) = sequence(d.data).map(|seq| seq as usize) else {
                return;
            };
            if alone && seq < MOST_PROBES {
                // What the other host has sent shows only by what comes.
                samples.resize(samples.len().max(seq + 1), Sample::default());
            }
            let Some(sample) = samples.get_mut(seq) else {
                return;
            };
            let t = clock.t_of_wall(d.arrived_wall_ns);
            if at_server {
                sample.server_ns.get_or_insert(t);
                // Sent at once; a failure shows as a lost echo.
                let _ = stamped::send(fd, d.data, Some(&d.from));
            } else if sample.received_ns.replace(t).is_none() {
                *received += 1;
            }
        });
        match result {
            // An ICMP error for an earlier datagram is reported here: the loss itself shows in the samples.
            Err(e) if e.raw_os_error() == Some(libc::ECONNREFUSED) => Ok(()),
            r => r.map(drop).during(|| "receiving probes".into()),
        }
    }
}

impl Actor for Probe {
    fn prepare(&mut self, cx: &mut Cx) -> Result<()> {
        match cx.nodes.has(&self.spec.server) {
            true => self.open_server(cx),
            false => Ok(()),
        }
    }

    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        if self.server.is_none() {
            self.prepare(cx)?;
        }
        if !cx.nodes.has(&self.spec.client) {
            return Ok(());
        }
        self.open_client(cx)?;
        self.first_ns = cx.reactor.now;
        self.send_next(cx)
    }

    fn event(&mut self, cx: &mut Cx, event: Event) -> Result<()> {
        match event {
            Event::Timer(t) if t.kind == SEND && !self.drain.has_begun() => self.send_next(cx)?,
            Event::Timer(t) if t.kind == DRAINED => self.drain.time_is_up(cx, DRAINED)?,
            Event::Io(t, _) => self.receive(cx, t.kind == SERVER)?,
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
        let alone = self.client.is_none();
        (self.server, self.client) = (None, None);
        let mut csv = cx.csv(&self.spec.id, "seq,sent_ns,server_ns,received_ns")?;
        for (seq, s) in self.samples.iter().enumerate() {
            csv.line(&format!(
                "{seq},{},{},{}",
                cell((!alone).then_some(s.sent_ns)),
                cell(s.server_ns),
                cell(s.received_ns)
            ))?;
        }
        csv.flush()?;
        Ok(Some(json!({
            "sent": self.samples.len(), "received": self.received, "send_errors": self.send_errors,
            "settled": self.drain.settled()
        })))
    }
}

fn prepare(fd: &OwnedFd, dscp: u8) -> Result<()> {
    stamped::enable(fd.as_raw_fd()).during(|| "asking for kernel stamps".into())?;
    set_dscp(fd.as_raw_fd(), dscp)
}

fn watch(cx: &mut Cx, fd: &OwnedFd, kind: u16) -> Result<()> {
    cx.reactor.watch(fd.as_raw_fd(), IN, cx.token(kind, 0)).during(|| "watching a socket".into())
}

/// Number of one of our probes; none of any other datagram.
pub fn sequence(data: &[u8]) -> Option<u32> {
    let (magic, rest) = data.split_first_chunk()?;
    (*magic == MAGIC.to_be_bytes()).then_some(u32::from_be_bytes(*rest.first_chunk()?))
}
