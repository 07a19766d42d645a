//! The end of an item that sends and waits for answers: after its stop it is done when all have come, or when
//! nothing is on its way any more.
//!
//! What is missing then is lost. Before, it may stand in a queue of many seconds, or in the delay of a long path,
//! which is a queue too (netem's): so the queues of all nodes are asked, first `DRAIN_NS` after the stop.

use serde_json::{json, Value};

use super::DRAIN_NS;
use crate::actor::{Cx, Progress};
use crate::collect;
use crate::error::Result;

/// Of the questions after the first.
const AGAIN_NS: i64 = 500_000_000;

#[derive(Default)]
pub struct Drain {
    stopped_ns: Option<i64>,
    done: bool,
}

impl Drain {
    /// No more is to be sent.
    pub fn has_begun(&self) -> bool {
        self.stopped_ns.is_some()
    }

    /// The item is stopped. Timers of the kind `timer` are for `time_is_up`.
    pub fn begin(&mut self, cx: &mut Cx, timer: u16, all_answered: bool) {
        self.stopped_ns = Some(cx.reactor.now);
        self.done = all_answered;
        cx.reactor.at(cx.reactor.now + DRAIN_NS, cx.token(timer, 0));
    }

    /// Whether more may come; if so, the same question is asked again.
    pub fn time_is_up(&mut self, cx: &mut Cx, timer: u16) -> Result<()> {
        if self.done {
            return Ok(());
        }
        self.done = collect::queued_packets(cx.nodes)? == 0;
        if !self.done {
            cx.reactor.at(cx.reactor.now + AGAIN_NS, cx.token(timer, 0));
        }
        Ok(())
    }

    /// After each event.
    pub fn look(&mut self, all_answered: bool) {
        self.done |= self.has_begun() && all_answered;
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// For the item's details: whether what did not come can be called lost.
    pub fn settled(&self) -> Value {
        json!(self.done)
    }

    pub fn progress(&self) -> Progress {
        self.stopped_ns.map_or(Progress::Running, |t_ns| Progress::Ended { t_ns })
    }
}
