//! The end of an item that sends and waits for answers: after its stop it is done when all have come, or after
//! `DRAIN_NS`, whichever is first.

use super::DRAIN_NS;
use crate::actor::{Cx, Progress};

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

    /// The item is stopped. A timer of the kind `timer` will say when no more is waited for.
    pub fn begin(&mut self, cx: &mut Cx, timer: u16, all_answered: bool) {
        self.stopped_ns = Some(cx.reactor.now);
        self.done = all_answered;
        cx.reactor.at(cx.reactor.now + DRAIN_NS, cx.token(timer, 0));
    }

    pub fn time_is_up(&mut self) {
        self.done = true;
    }

    /// After each event.
    pub fn look(&mut self, all_answered: bool) {
        self.done |= self.has_begun() && all_answered;
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    pub fn progress(&self) -> Progress {
        self.stopped_ns
            .map_or(Progress::Running, |t_ns| Progress::Ended { t_ns })
    }
}
