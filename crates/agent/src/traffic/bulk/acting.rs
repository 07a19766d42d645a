//! A bulk item as the event loop drives it.

use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

use serde_json::{json, Value};

use super::{Bulk, BEGIN, RECEIVER, SAMPLE, SENDER, SILENCE_NS, SILENT, SINK};
use crate::actor::{cell, Actor, Cx, Progress};
use crate::error::{During, Result};
use crate::reactor::{Event, IN};
use crate::sample::{tcp_diag::TcpDiag, Source as _};
use crate::sys;
use crate::traffic::bulk_flow::{EndedBy, Flow};
use crate::traffic::kernel_bulk::{self, KernelBulk};
use crate::traffic::plain::Source;
use crate::traffic::sink::Sink;
use crate::traffic::DRAIN_NS;
use narrows_plan::BulkIo;

/// As long as a receiver on a host of its own, which does not know the round trip, waits for silence.
const ALONE_NS: i64 = 1_000_000_000;

impl Bulk {
    /// What both ends need before the first connection.
    pub(super) fn open(&mut self, cx: &mut Cx) -> Result<()> {
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
        Ok(())
    }
}

impl Actor for Bulk {
    fn prepare(&mut self, cx: &mut Cx) -> Result<()> {
        self.sends = cx.nodes.has(&self.spec.sender);
        self.receives = cx.nodes.has(&self.spec.receiver);
        if self.receives && !self.sends {
            self.open(cx)?;
            self.listen(cx)?;
        }
        Ok(())
    }

    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        if !self.sends {
            return Ok(());
        }
        self.open(cx)?;
        if self.receives {
            self.listen(cx)?;
        }
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
        let mut rtt_ns = if self.sends { 0 } else { ALONE_NS };
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
        cx.reactor.at(now + (rtt_ns + SILENCE_NS).min(DRAIN_NS), cx.token(SILENT, 0));
        Ok(())
    }

    fn progress(&self) -> Progress {
        self.ended.map_or(Progress::Running, |t_ns| Progress::Ended { t_ns })
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
            let received = (f.connected && self.receives).then_some(f.received);
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
        let received: Option<u64> = self.receives.then(|| self.flows.iter().map(|f| f.received).sum());
        Ok(Some(json!({"flows": self.flows.len(), "bytes_received": received, "read_by": self.read_by(),
                "written_by": self.written_by()})))
    }
}
