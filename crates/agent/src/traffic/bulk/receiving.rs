//! The receivers of a bulk item: what has come, and when a flow has ended.

use std::io;
use std::os::fd::AsRawFd;

use super::{Bulk, SINK};
use crate::actor::Cx;
use crate::error::{During, Result};
use crate::traffic::bulk_flow::EndedBy;
use crate::traffic::{plain, sink::discard};
use narrows_plan::BulkIo;

impl Bulk {
    /// Batched: the stream has ended or broken, what is left of it is read at once. Plain: there is data, or that.
    pub(super) fn receiver_event(&mut self, cx: &mut Cx, i: usize) -> Result<()> {
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
    pub(super) fn look(&mut self, cx: &mut Cx, is_tick: bool) -> Result<()> {
        let Some(sink) = &mut self.sink else {
            return Ok(());
        };
        let mut taken = std::mem::take(&mut self.taken);
        let now = cx.reactor.now;
        let done = if is_tick { sink.tick(now, &mut taken) } else { sink.ready(now, &mut taken) };
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
    pub(super) fn received(&mut self, cx: &mut Cx, i: usize, result: i32) -> Result<()> {
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
            // As it does when it is stopped; on a host of its own the sender may be stopped a little earlier.
            libc::ECONNRESET if flow.ended_by.is_some() || !self.sends => {}
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
    pub(super) fn check_end(&mut self, now: i64) {
        let all_sent = self.flows.iter().all(|f| f.end_ns.is_some() && f.sender.is_none());
        if all_sent {
            self.ended.get_or_insert(now);
        }
        if self.ended.is_some() && self.flows.iter().all(|f| f.receiver.is_none()) {
            self.drained = true;
        }
    }
}
