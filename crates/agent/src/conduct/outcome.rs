//! What is said of items while they run, and what result.json says of them.

use serde_json::json;

use super::slot::Slot;
use super::Conductor;
use crate::actor::Progress;
use crate::error::{RunError, Stage};
use crate::result::{ItemOutcome, Object};
use crate::settle::{Settled, Settling};
use narrows_plan::Item;

impl Conductor<'_> {
    pub(super) fn note(&self) -> String {
        let running = |s: &&Slot| s.start_ns.is_some() && s.end_ns.is_none();
        let items = self.slots[..self.plan.traffic.len()].iter().filter(running);
        let mut note = items.map(|s| s.id.as_str()).collect::<Vec<_>>().join(" ");
        if let Some(moved) = self.settling.as_ref().and_then(Settling::note) {
            note = format!("{moved} · {note}");
        }
        note
    }

    pub(super) fn limit(&mut self) {
        if self.schedule.all_done() {
            return;
        }
        let running = |i: &usize| {
            let background = matches!(&self.plan.traffic[*i], Item::Command(c) if c.background);
            !background && self.slots[*i].start_ns.is_some() && self.slots[*i].end_ns.is_none()
        };
        let open: Vec<usize> = (0..self.plan.traffic.len()).filter(running).collect();
        let mut words = Vec::new();
        for i in &open {
            let start_s = self.slots[*i].start_ns.unwrap_or(0) as f64 / 1e9;
            let waits = self.with(*i, |a, cx| Ok(a.waits_for(cx))).flatten();
            let waits = waits.map_or(String::new(), |w| format!(": {w}"));
            words.push(format!("{} (started at {start_s:.3} s{waits})", self.slots[*i].id));
        }
        if words.is_empty() {
            words.push(self.note()); // items that wait for one that never comes
        }
        let limit_s = self.plan.limit_ns as f64 / 1e9;
        let message = format!("still running at the run's limit of {limit_s} s: {}", words.join(", "));
        let error = RunError::new(Stage::Limit, message);
        self.fail(match open[..] {
            [only] => error.item(&self.slots[only].id),
            _ => error,
        });
    }

    /// An item whose time was over while a server was still not ready has measured nothing.
    pub(super) fn check_all_started(&mut self) {
        let slots = &self.slots[..self.plan.traffic.len()];
        let unready = |s: &&Slot| {
            s.start_ns.is_some() && s.end_ns.is_none() && matches!(s.actor.progress(), Progress::Starting)
        };
        let never = slots.iter().find(|s| s.start_ns.is_none() && s.end_ns.is_none());
        if let (None, Some(server), Some(item)) = (&self.failure, slots.iter().find(unready), never) {
            let lacks = server.actor.lacks().map(|why| format!(": it {why}")).unwrap_or_default();
            let message = format!("was not ready when {} was to end, which never started{lacks}", item.id);
            let error = RunError::new(Stage::Traffic, message).item(&server.id);
            self.fail(error);
        }
    }

    /// `items` of result.json.
    pub fn items(&self) -> Vec<(String, ItemOutcome)> {
        let outcome = |s: &Slot| ItemOutcome {
            status: match (s.start_ns, s.failed) {
                (None, _) => "not started",
                (_, true) => "failed",
                _ if s.end_ns.is_none() => "failed",
                _ if s.stopped => "stopped",
                _ => "ended",
            },
            start_ns: s.start_ns,
            end_ns: s.end_ns,
            exit_code: s.actor.exit_code(),
            details: s.details.clone(),
        };
        let slots = &self.slots[..self.plan.traffic.len()];
        slots.iter().map(|s| (s.id.clone(), outcome(s))).collect()
    }

    /// `until_settled` of result.json: how the rule ended; None without one.
    pub fn settled(&self) -> Option<Settled> {
        self.settling.as_ref().map(Settling::report)
    }

    /// `captures` of result.json: packets and drops of each.
    pub fn captures(&self) -> Object {
        let first = self.slots.len() - self.plan.captures.len();
        let each = |s: &Slot| (s.id.clone(), json!(s.details));
        self.slots[first..].iter().map(each).collect()
    }
}
