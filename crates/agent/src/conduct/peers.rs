//! With real hosts: what this host's part of a run says to the others, and hears of them.

use serde_json::json;

use super::Conductor;
use crate::actor::{Actor, Progress};
use crate::error::{Result, RunError};
use crate::nodes::Nodes;
use crate::remote::{self, say, Controller};
use crate::status::Interrupt;
use narrows_plan::Item;

/// An item's progress as its own host says it; what is this host's is passed on.
pub(super) fn progress(
    controller: &mut Controller,
    item: &Item,
    actor: &dyn Actor,
    nodes: &Nodes,
) -> Progress {
    if !nodes.has(remote::owner(item)) {
        return controller.of_elsewhere(item.id());
    }
    let progress = actor.progress();
    controller.tell(item.id(), progress);
    progress
}

impl Conductor<'_> {
    /// Whoever is sent to from another host listens before anything is sent.
    pub(super) fn prepare(&mut self) {
        for i in 0..self.plan.traffic.len() {
            if self.controller.is_some() && !remote::is_elsewhere(&self.plan.traffic[i], self.nodes) {
                self.with(i, |actor, cx| actor.prepare(cx));
            }
        }
    }

    /// Takes in what the controlling machine says; a run that it ends, or that it is gone from, has failed.
    pub(super) fn hear(&mut self) {
        let heard = self.controller.as_deref_mut().map_or(Ok(()), Controller::look);
        if let (Err(e), None) = (heard, &self.failure) {
            self.fail(e);
        }
    }

    /// Says that this host is ready, and waits for the instant that all begin at, by this host's own clock.
    pub fn agreed_epoch(&mut self, interrupt: &Interrupt) -> Result<i64> {
        let Some(controller) = self.controller.as_deref_mut() else {
            return Err(RunError::internal("a run on one machine agrees with nobody"));
        };
        say(&json!({"ready": true}));
        let message = controller.wait_for(&["epoch_mono_ns"], interrupt)?;
        message["epoch_mono_ns"].as_i64().ok_or_else(|| RunError::internal("epoch_mono_ns is not a number"))
    }

    /// Says that this host's traffic has ended, and waits until that of all has: only then do totals stand still.
    pub fn all_have_ended(&mut self, outcome: Result<()>, interrupt: &Interrupt) -> Result<()> {
        let Some(controller) = self.controller.as_deref_mut() else {
            return outcome;
        };
        say(&json!({"ended": outcome.as_ref().err()}));
        let heard = controller.wait_for(&["all_ended"], interrupt).map(drop);
        outcome.and(heard)
    }
}
