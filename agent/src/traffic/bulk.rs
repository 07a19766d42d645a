//! `tcp_bulk`: any number of TCP flows from one node to another, driven from one thread.
//!
//! A stopped flow falls silent where it stands: what its socket still holds is never sent, and what is in the
//! network arrives unanswered. A flow with `bytes` ends when its receiver has seen its close.

use std::collections::HashMap;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use serde_json::{json, Value};

use super::bulk_flow::{EndedBy, Flow, Sent};
use super::kernel_bulk::{self, KernelBulk};
use super::plain::{self, Source};
use super::sink::{discard, Sink, Taken};
use super::{set_dscp, sockaddr, Random, DRAIN_NS};
use crate::actor::{cell, Actor, Csv, Cx, Progress};
use crate::error::{During, Result, RunError, Stage};
use crate::plan::{BulkIo, TcpBulk};
use crate::reactor::{Event, HUP_OR_ERR, IN, OUT, RDHUP};
use crate::sample::{tcp_diag::TcpDiag, Source as _};
use crate::sys;

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
            random: Random(seed),
            source: None,
            buffer: Vec::new(),
            listener: None,
            kernel_sink: None,
            kernel_source: None,
            sink: None,
            ticking: false,
            taken: Vec::new(),
            flows: (0..spec.flows).map(|_| Flow::new(spec.bytes)).collect(),
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
        let mut name = [0u8; 16];
        let len = cca.len().min(15);
        name[..len].copy_from_slice(&cca.as_bytes()[..len]);
        sys::setsockopt(fd.as_raw_fd(), libc::IPPROTO_TCP, libc::TCP_CONGESTION, &name)
            .map_err(|e| self.failed(format!("this kernel does not offer CCA '{cca}': {e}")))
    }

    fn listen(&mut self, cx: &mut Cx) -> Result<()> {
        let s = &self.spec;
        let fd = cx
            .nodes
            .socket(&s.receiver, libc::AF_INET, libc::SOCK_STREAM, 0)?;
        let socket = socket2::SockRef::from(&fd);
        let at = || {
            format!(
                "listening on {}:{} in node {}",
                s.receiver_address, s.port, s.receiver
            )
        };
        socket.set_reuse_address(true).during(at)?;
        // DCTCP's receiver has a part of its own: it echoes each mark, and takes ECN on an ECT SYN. Other CCAs
        // are the sender's alone.
        if let Some(cca) = s.cca.as_deref().filter(|cca| SCALABLE.contains(cca)) {
            self.set_cca(&fd, cca)?;
        }
        socket.bind(&sockaddr(s.receiver_address, s.port)).during(at)?;
        set_dscp(fd.as_raw_fd(), s.dscp)?;
        socket.listen(BACKLOG).during(at)?;
        cx.reactor
            .watch(fd.as_raw_fd(), IN, cx.token(LISTENER, 0))
            .during(at)?;
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

    fn accept(&mut self, cx: &mut Cx) -> Result<()> {
        let Some(listener) = &self.listener else {
            return Ok(());
        };
        loop {
            // SAFETY: address and length are valid out pointers.
            let (fd, from) = unsafe {
                let mut from: libc::sockaddr_in = std::mem::zeroed();
                let mut len = std::mem::size_of_val(&from) as u32;
                let fd = libc::accept4(
                    listener.as_raw_fd(),
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
            let Some(i) = self.by_port.get(&u16::from_be(from.sin_port)).copied() else {
                continue;
            };
            if let Some(sink) = &mut self.kernel_sink {
                sink.add(fd.as_raw_fd())
                    .during(|| "handing a socket to the kernel's sink".into())?;
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
                sink.add(fd.as_raw_fd(), i)
                    .during(|| "watching a socket".into())?;
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
            let mut name = [0u8; 16];
            if let Ok(n) = sys::getsockopt_bytes(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name) {
                flow.cca = Some(crate::netlink::text(&name[..n]));
            }
        }
        if events & RDHUP != 0 || events & HUP_OR_ERR != 0 {
            // The receiver closes only after it has seen our close.
            if flow.left == Some(0) && events & HUP_OR_ERR == 0 || flow.end_ns.is_some() {
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
            kernel_source
                .add(fd)
                .during(|| "handing a socket to the kernel's source".into())?;
            return cx
                .reactor
                .rewatch(fd, RDHUP, cx.token(SENDER, i))
                .during(|| "watching a socket".into());
        }
        let Some(source) = &self.source else {
            return Ok(());
        };
        match flow.send(source) {
            Ok(Sent::Full) => Ok(()),
            Ok(Sent::All) => {
                // SAFETY: plain system call on an open socket.
                unsafe { libc::shutdown(fd, libc::SHUT_WR) };
                cx.reactor
                    .rewatch(fd, RDHUP, cx.token(SENDER, i))
                    .during(|| "watching a socket".into())
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
            flow.info = crate::sample::tcp_info::TcpInfo::of_socket(fd.as_raw_fd()).ok();
        }
        self.check_end(cx.reactor.now);
    }

    /// Batched: the stream has ended or broken, what is left of it is read at once. Plain: there is data, or that.
    fn receiver_event(&mut self, cx: &mut Cx, i: usize) -> Result<()> {
        if self.spec.io != BulkIo::Batched {
            let Some(fd) = &self.flows[i].receiver else {
                return Ok(());
            };
            let result = plain::read(fd.as_raw_fd(), &mut self.buffer);
            return self.received(cx, i, result);
        }
        while let Some(fd) = &self.flows[i].receiver {
            let result = discard(fd.as_raw_fd());
            if result == -libc::EAGAIN {
                return Ok(());
            }
            self.received(cx, i, result)?;
        }
        Ok(())
    }

    /// Takes what has arrived, at a tick or because a socket has something that cannot wait for the next.
    fn look(&mut self, cx: &mut Cx, is_tick: bool) -> Result<()> {
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        let mut taken = std::mem::take(&mut self.taken);
        let now = cx.reactor.now;
        let done = if is_tick {
            sink.tick(now, &mut taken)
        } else {
            sink.ready(now, &mut taken)
        };
        done.during(|| "reading from sockets".into())?;
        self.ticking &= !is_tick;
        if let (false, Some(after_ns)) = (self.ticking, sink.next_tick_ns(now, self.read_interval_ns)) {
            self.ticking = true;
            cx.reactor.at(now + after_ns, cx.token(SINK, 0));
        }
        for t in &taken {
            self.received(cx, t.index, t.result)?;
        }
        self.taken = taken;
        Ok(())
    }

    /// `result` of a read: bytes, 0 at the end, a negative error number.
    fn received(&mut self, cx: &mut Cx, i: usize, result: i32) -> Result<()> {
        let now = cx.reactor.now;
        let flow = &mut self.flows[i];
        if flow.receiver.is_none() {
            return Ok(());
        }
        match -result {
            n if n < 0 => {
                flow.received += result as u64;
                return Ok(());
            }
            libc::EAGAIN => return Ok(()),
            0 => {
                flow.end_ns.get_or_insert(now);
                flow.ended_by.get_or_insert(EndedBy::Bytes);
            }
            // As it does when it is stopped.
            libc::ECONNRESET if flow.ended_by.is_some() => {}
            e => {
                let e = io::Error::from_raw_os_error(e);
                return Err(self.flow_failed(i, now, format!("receiving: {e}")));
            }
        }
        flow.count();
        if let Some(fd) = flow.receiver.take() {
            cx.reactor.unwatch(fd.as_raw_fd());
            if let Some(sink) = &mut self.sink {
                sink.remove(fd.as_raw_fd());
            }
        }
        self.check_end(now);
        Ok(())
    }

    /// By itself an item ends when every flow has moved its bytes; after that only receivers may linger.
    fn check_end(&mut self, now: i64) {
        let all_sent = self
            .flows
            .iter()
            .all(|f| f.end_ns.is_some() && f.sender.is_none());
        if all_sent {
            self.ended.get_or_insert(now);
        }
        if self.ended.is_some() && self.flows.iter().all(|f| f.receiver.is_none()) {
            self.drained = true;
        }
    }

    fn abort_all(&mut self) -> Result<()> {
        self.flows
            .iter_mut()
            .try_for_each(|f| f.abort().during(|| "resetting a flow".into()))
    }

    fn sample(&mut self, cx: &mut Cx) -> Result<()> {
        let Some((source, csv)) = &mut self.sampler else {
            return Ok(());
        };
        let now = cx.reactor.now;
        source.sample(now, csv).during(|| "sampling TCP_INFO".into())??;
        if let Some(interval_ns) = self.spec.sample_interval_ns {
            cx.reactor
                .at((now / interval_ns + 1) * interval_ns, cx.token(SAMPLE, 0));
        }
        Ok(())
    }
}

impl Actor for Bulk {
    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        let wanted = self.flows.len() as u64 * 2 + 64;
        sys::allow_more_open_files(wanted)
            .map_err(|e| self.failed(format!("{wanted} more open files are needed for the flows: {e}")))?;
        self.source = Some(match self.spec.io {
            BulkIo::Plain => Source::buffer(),
            _ => Source::hole().during(|| "creating a memory file".into())?,
        });
        match self.spec.io {
            BulkIo::Batched => {
                self.kernel_sink =
                    KernelBulk::open(kernel_bulk::SINK).during(|| "opening the kernel's sink".into())?;
                if self.spec.bytes.is_none() {
                    self.kernel_source = KernelBulk::open(kernel_bulk::SOURCE)
                        .during(|| "opening the kernel's source".into())?;
                }
                if self.kernel_sink.is_none() {
                    let sink = Sink::new().during(|| "preparing to receive".into())?;
                    cx.reactor
                        .watch(sink.fd(), IN, cx.token(SINK, 0))
                        .during(|| "watching sockets".into())?;
                    self.sink = Some(sink);
                }
            }
            BulkIo::PlainReceiver | BulkIo::Plain => {}
        }
        self.listen(cx)?;
        if let Some(interval_ns) = self.spec.sample_interval_ns {
            cx.nodes.enter(&self.spec.sender)?;
            let diag = TcpDiag::open(Some(self.spec.port)).during(|| "opening inet_diag".into())?;
            self.sampler = Some((diag, cx.csv(&format!("{}.info", self.spec.id), TcpDiag::HEADER)?));
            cx.reactor.at(cx.reactor.now + interval_ns, cx.token(SAMPLE, 0));
        }
        for i in 0..self.flows.len() {
            let after = self.random.up_to(self.spec.start_spread_ns);
            match after {
                0 => self.begin(cx, i)?,
                _ => cx.reactor.at(cx.reactor.now + after, cx.token(BEGIN, i)),
            }
        }
        Ok(())
    }

    fn event(&mut self, cx: &mut Cx, event: Event) -> Result<()> {
        match event {
            Event::Io(t, events) => match t.kind {
                SENDER => self.sender_event(cx, t.index as usize, events),
                RECEIVER => self.receiver_event(cx, t.index as usize),
                SINK => self.look(cx, false),
                _ => self.accept(cx),
            },
            Event::Timer(t) => match t.kind {
                BEGIN if self.ended.is_none() => self.begin(cx, t.index as usize),
                SAMPLE if self.ended.is_none() => self.sample(cx),
                SINK => self.look(cx, true),
                SILENT => {
                    self.drained = true;
                    // The sockets are about to be closed: a tick that is still due must not look at them.
                    if let Some(sink) = self.sink.take() {
                        cx.reactor.unwatch(sink.fd());
                    }
                    self.abort_all()
                }
                _ => Ok(()),
            },
        }
    }

    fn stop(&mut self, cx: &mut Cx) -> Result<()> {
        let now = cx.reactor.now;
        self.ended = Some(now);
        let mut rtt_ns = 0;
        for flow in &mut self.flows {
            for fd in [&flow.sender, &flow.receiver].into_iter().flatten() {
                cx.reactor.unwatch(fd.as_raw_fd());
            }
            if flow.sender.is_some() {
                flow.end_ns.get_or_insert(now);
                flow.ended_by.get_or_insert(EndedBy::Stop);
            }
            flow.fall_silent().during(|| "stopping a flow".into())?;
            rtt_ns = rtt_ns.max(flow.info("rtt").unwrap_or(0) as i64 * 1000);
        }
        self.listener = None;
        // The acknowledgements under way are in after a round trip; then nothing draws an answer any more.
        cx.reactor
            .at(now + (rtt_ns + SILENCE_NS).min(DRAIN_NS), cx.token(SILENT, 0));
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ended
            .map_or(Progress::Running, |t_ns| Progress::Ended { t_ns })
    }

    fn drained(&self) -> bool {
        self.drained
    }

    fn acknowledged(&self) -> Vec<Option<u64>> {
        self.flows.iter().map(Flow::acknowledged).collect()
    }

    fn finish(&mut self, cx: &mut Cx) -> Result<Option<Value>> {
        let header = "flow,src,sport,dst,dport,cca,start_ns,end_ns,bytes_sent,bytes_received,bytes_acked,\
                      bytes_retrans,segs_out,segs_retrans,min_rtt_us,ended_by";
        let mut csv = cx.csv(&format!("{}.flows", self.spec.id), header)?;
        self.flows.iter_mut().for_each(Flow::count);
        let (dst, dport): (Ipv4Addr, u16) = (self.spec.receiver_address, self.spec.port);
        for (i, f) in self.flows.iter().enumerate() {
            let received = f.connected.then_some(f.received);
            // The kernel's "no sample yet" is not a round-trip time.
            let min_rtt = f.info("min_rtt").filter(|v| *v != u32::MAX as u64);
            csv.line(&format!(
                "{i},{},{},{dst},{dport},{},{},{},{},{},{},{},{},{},{},{}",
                cell(f.source),
                cell(f.source_port),
                cell(f.cca.clone()),
                cell(f.start_ns),
                cell(f.end_ns),
                cell(f.info("bytes_sent")),
                cell(received),
                cell(f.info("bytes_acked")),
                cell(f.info("bytes_retrans")),
                cell(f.info("segs_out")),
                cell(f.info("total_retrans")),
                cell(min_rtt),
                cell(f.ended_by.map(EndedBy::name)),
            ))?;
        }
        csv.flush()?;
        if let Some((_, csv)) = &mut self.sampler {
            csv.flush()?;
        }
        self.abort_all()?;
        let received: u64 = self.flows.iter().map(|f| f.received).sum();
        Ok(Some(
            json!({"flows": self.flows.len(), "bytes_received": received, "read_by": self.read_by(),
                "written_by": self.written_by()}),
        ))
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
