//! `tcp_bulk`: any number of TCP flows from one node to another, driven from one thread.
//!
//! A stopped flow falls silent where it stands: what its socket still holds is never sent, and what is in the
//! network arrives unanswered. A flow with `bytes` ends when its receiver has seen its close.

mod acting;
mod receiving;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::bulk_flow::{EndedBy, Flow, Sent};
use super::kernel_bulk::KernelBulk;
use super::plain::Source;
use super::set_dscp;
use super::sink::{Sink, Taken};
use crate::actor::{Csv, Cx};
use crate::error::{During, Result, RunError, Stage};
use crate::reactor::{HUP_OR_ERR, IN, OUT, RDHUP};
use crate::sample::{tcp_diag::TcpDiag, Source as _};
use crate::sys::{self, sockaddr};
use narrows_plan::{BulkIo, TcpBulk};
use narrows_wire::random::Random;
use narrows_wire::tcp_info::TcpInfo;

const LISTENER: u16 = 0;
const SENDER: u16 = 1;
const RECEIVER: u16 = 2;
const BEGIN: u16 = 3;
const SAMPLE: u16 = 4;
const SILENT: u16 = 5;
const SINK: u16 = 6;
/// As far as net.core.somaxconn allows: thousands of flows may connect within one round trip.
const BACKLOG: i32 = 65_535;
/// CCAs whose receiver has a part of its own.
const SCALABLE: [&str; 2] = ["dctcp", "prague"];
/// On top of a round trip.
const SILENCE_NS: i64 = 10_000_000;

pub struct Bulk {
    spec: TcpBulk,
    read_interval_ns: i64,
    random: Random,
    source: Option<Source>,
    /// Of the plain way; the batched one has its sink.
    buffer: Vec<u8>,
    listener: Option<OwnedFd>,
    kernel_sink: Option<KernelBulk>,
    kernel_source: Option<KernelBulk>,
    /// Where the kernel has none.
    sink: Option<Sink>,
    ticking: bool,
    taken: Vec<Taken>,
    flows: Vec<Flow>,
    /// Which ends are on this machine: with real hosts, one.
    sends: bool,
    receives: bool,
    /// Flows that a receiver on a host of its own has accepted.
    accepted: usize,
    by_port: HashMap<u16, usize>,
    sampler: Option<(TcpDiag, Csv)>,
    ended: Option<i64>,
    drained: bool,
}

/// How often busy receivers are read: every millisecond, less often with many flows (their reads add up), but
/// well within a round trip, or the receive window would open late.
fn read_interval_ns(flows: u32, base_rtt_ns: i64) -> i64 {
    (flows as i64 * 50_000).clamp(1_000_000, (base_rtt_ns / 4).max(1_000_000))
}

impl Bulk {
    pub fn new(spec: TcpBulk, base_rtt_ns: i64, seed: u64) -> Bulk {
        Bulk {
            read_interval_ns: read_interval_ns(spec.flows, base_rtt_ns),
            random: Random::new(seed),
            source: None,
            buffer: Vec::new(),
            listener: None,
            kernel_sink: None,
            kernel_source: None,
            sink: None,
            ticking: false,
            taken: Vec::new(),
            flows: (0..spec.flows).map(|_| Flow::new(spec.bytes)).collect(),
            sends: true,
            receives: true,
            accepted: 0,
            by_port: HashMap::new(),
            sampler: None,
            ended: None,
            drained: false,
            spec,
        }
    }

    fn failed(&self, message: String) -> RunError {
        RunError::new(Stage::Traffic, message).item(&self.spec.id)
    }

    /// Who reads the receivers' sockets.
    fn read_by(&self) -> &'static str {
        match (self.spec.io, &self.kernel_sink) {
            (BulkIo::PlainReceiver | BulkIo::Plain, _) => "each",
            (BulkIo::Batched, Some(_)) => "kernel",
            (BulkIo::Batched, None) => "ticks",
        }
    }

    /// Who writes to the senders' sockets.
    fn written_by(&self) -> &'static str {
        match &self.kernel_source {
            Some(_) => "kernel",
            None => "each",
        }
    }

    fn set_cca(&self, fd: &OwnedFd, cca: &str) -> Result<()> {
        sys::set_cca(fd.as_raw_fd(), cca)
            .map_err(|e| self.failed(format!("this kernel does not offer CCA '{cca}': {e}")))
    }

    fn listen(&mut self, cx: &mut Cx) -> Result<()> {
        let s = &self.spec;
        let fd = cx.nodes.socket(&s.receiver, libc::AF_INET, libc::SOCK_STREAM, 0)?;
        let socket = socket2::SockRef::from(&fd);
        let at = || format!("listening on {}:{} in node {}", s.receiver_address, s.port, s.receiver);
        socket.set_reuse_address(true).during(at)?;
        // DCTCP's receiver has a part of its own: it echoes each mark, and takes ECN on an ECT SYN. Other CCAs
        // are the sender's alone.
        if let Some(cca) = s.cca.as_deref().filter(|cca| SCALABLE.contains(cca)) {
            self.set_cca(&fd, cca)?;
        }
        socket.bind(&sockaddr(s.receiver_address, s.port)).during(at)?;
        set_dscp(fd.as_raw_fd(), s.dscp)?;
        socket.listen(BACKLOG).during(at)?;
        cx.reactor.watch(fd.as_raw_fd(), IN, cx.token(LISTENER, 0)).during(at)?;
        self.listener = Some(fd);
        Ok(())
    }

    fn begin(&mut self, cx: &mut Cx, i: usize) -> Result<()> {
        let s = &self.spec;
        let fd = cx.nodes.socket(&s.sender, libc::AF_INET, libc::SOCK_STREAM, 0)?;
        if let Some(cca) = &s.cca {
            self.set_cca(&fd, cca)?;
        }
        set_dscp(fd.as_raw_fd(), s.dscp)?;
        let flow = &mut self.flows[i];
        flow.start_ns = Some(cx.reactor.now);
        let socket = socket2::SockRef::from(&fd);
        let to = format!("{}:{}", s.receiver_address, s.port);
        match socket.connect(&sockaddr(s.receiver_address, s.port)) {
            Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => {
                return Err(self.failed(format!("flow {i}: connecting to {to}: {e}")))
            }
            _ => {}
        }
        let local = socket.local_addr().ok().and_then(|a| a.as_socket_ipv4());
        flow.source_port = local.map(|a| a.port());
        flow.source = local.map(|a| *a.ip());
        if let Some(a) = local {
            self.by_port.insert(a.port(), i);
        }
        cx.reactor
            .watch(fd.as_raw_fd(), OUT | RDHUP, cx.token(SENDER, i))
            .during(|| "watching a socket".into())?;
        self.flows[i].sender = Some(fd);
        Ok(())
    }

    /// The flow that comes from an address. A receiver on a host of its own numbers them as they come.
    fn flow_of(&mut self, from: &libc::sockaddr_in) -> Option<usize> {
        let port = u16::from_be(from.sin_port);
        if self.sends {
            return self.by_port.get(&port).copied();
        }
        let flow = self.flows.get_mut(self.accepted)?;
        flow.source_port = Some(port);
        flow.source = Some(u32::from_be(from.sin_addr.s_addr).into());
        flow.connected = true;
        self.accepted += 1;
        Some(self.accepted - 1)
    }

    fn accept(&mut self, cx: &mut Cx) -> Result<()> {
        let Some(listener) = self.listener.as_ref().map(AsRawFd::as_raw_fd) else {
            return Ok(());
        };
        loop {
            // SAFETY: address and length are valid out pointers.
            let (fd, from) = unsafe {
                let mut from: libc::sockaddr_in = std::mem::zeroed();
                let mut len = std::mem::size_of_val(&from) as u32;
                let fd = libc::accept4(
                    listener,
                    &mut from as *mut _ as *mut libc::sockaddr,
                    &mut len,
                    libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                );
                match sys::cvt(fd) {
                    Ok(fd) => (OwnedFd::from_raw_fd(fd), from),
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                    Err(e) => return Err(self.failed(format!("accepting: {e}"))),
                }
            };
            let Some(i) = self.flow_of(&from) else { continue };
            if let Some(sink) = &mut self.kernel_sink {
                sink.add(fd.as_raw_fd()).during(|| "handing a socket to the kernel's sink".into())?;
                self.flows[i].kernel_reads = true;
            }
            // Data may wait for the sink's next look; an end is stamped when it comes.
            let events = match self.spec.io {
                BulkIo::Batched => RDHUP,
                BulkIo::PlainReceiver | BulkIo::Plain => IN | RDHUP,
            };
            cx.reactor
                .watch(fd.as_raw_fd(), events, cx.token(RECEIVER, i))
                .during(|| "watching a socket".into())?;
            if let Some(sink) = &mut self.sink {
                sink.add(fd.as_raw_fd(), i).during(|| "watching a socket".into())?;
            }
            self.flows[i].receiver = Some(fd);
        }
    }

    fn sender_event(&mut self, cx: &mut Cx, i: usize, events: u32) -> Result<()> {
        let flow = &mut self.flows[i];
        let Some(fd) = flow.sender.as_ref().map(|f| f.as_raw_fd()) else {
            return Ok(());
        };
        if !flow.connected {
            let error = sys::getsockopt_i32(fd, libc::SOL_SOCKET, libc::SO_ERROR).unwrap_or(0);
            if error != 0 {
                let e = io::Error::from_raw_os_error(error);
                return Err(self.flow_failed(i, cx.reactor.now, format!("connecting: {e}")));
            }
            flow.connected = true;
            flow.cca = sys::cca(fd).ok();
        }
        if events & RDHUP != 0 || events & HUP_OR_ERR != 0 {
            // The receiver closes only after it has seen our close.
            if flow.left == Some(0) && events & HUP_OR_ERR == 0 || flow.end_ns.is_some() {
                if !self.receives {
                    // The receiver's host has the exact end; this one learns of it a way later.
                    flow.end_ns.get_or_insert(cx.reactor.now);
                    flow.ended_by.get_or_insert(EndedBy::Bytes);
                }
                self.close_sender(cx, i);
                return Ok(());
            }
            let error = sys::getsockopt_i32(fd, libc::SOL_SOCKET, libc::SO_ERROR).unwrap_or(0);
            if error != 0 {
                let e = io::Error::from_raw_os_error(error);
                return Err(self.flow_failed(i, cx.reactor.now, e.to_string()));
            }
        }
        if flow.kernel_writes {
            return Ok(());
        }
        if let Some(kernel_source) = &mut self.kernel_source {
            flow.kernel_writes = true;
            kernel_source.add(fd).during(|| "handing a socket to the kernel's source".into())?;
            return cx.reactor.rewatch(fd, RDHUP, cx.token(SENDER, i)).during(|| "watching a socket".into());
        }
        let Some(source) = &self.source else {
            return Ok(());
        };
        match flow.send(source) {
            Ok(Sent::Full) => Ok(()),
            Ok(Sent::All) => {
                // SAFETY: plain system call on an open socket.
                unsafe { libc::shutdown(fd, libc::SHUT_WR) };
                cx.reactor.rewatch(fd, RDHUP, cx.token(SENDER, i)).during(|| "watching a socket".into())
            }
            Err(e) => Err(self.flow_failed(i, cx.reactor.now, format!("sending: {e}"))),
        }
    }

    fn flow_failed(&mut self, i: usize, now: i64, message: String) -> RunError {
        self.flows[i].end_ns = Some(now);
        self.flows[i].ended_by = Some(EndedBy::Error);
        self.failed(format!("flow {i}: {message}"))
    }

    fn close_sender(&mut self, cx: &mut Cx, i: usize) {
        let flow = &mut self.flows[i];
        if let Some(fd) = flow.sender.take() {
            cx.reactor.unwatch(fd.as_raw_fd());
            flow.info = TcpInfo::of_socket(fd.as_raw_fd()).ok();
        }
        self.check_end(cx.reactor.now);
    }

    fn abort_all(&mut self) -> Result<()> {
        self.flows.iter_mut().try_for_each(|f| f.abort().during(|| "resetting a flow".into()))
    }

    fn sample(&mut self, cx: &mut Cx) -> Result<()> {
        let Some((source, csv)) = &mut self.sampler else {
            return Ok(());
        };
        let now = cx.reactor.now;
        source.sample(now, csv).during(|| "sampling TCP_INFO".into())??;
        if let Some(interval_ns) = self.spec.sample_interval_ns {
            cx.reactor.at((now / interval_ns + 1) * interval_ns, cx.token(SAMPLE, 0));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receivers_are_read_every_millisecond_and_with_many_flows_within_a_quarter_round_trip() {
        assert_eq!(read_interval_ns(1, 1_000_000), 1_000_000);
        assert_eq!(read_interval_ns(100, 100_000_000), 5_000_000);
        assert_eq!(read_interval_ns(5000, 20_000_000), 5_000_000);
    }
}
