//! Carries out the traffic of a run: starts and stops actors as the schedule says, until all has ended.
//!
//! The first failure is kept, everything is stopped in order, and what was measured is still written.

mod outcome;
mod peers;
mod slot;

use serde_json::json;

use self::slot::Slot;
use crate::actor::{Actor, Cx, EventLog, Places, Progress};
use crate::capture::Recorder;
use crate::changes::Changes;
use crate::children::Children;
use crate::clock::Clock;
use crate::collect::{self, SETTLE_STEP_NS, SETTLE_WITHIN_NS};
use crate::error::{During, Result, RunError, Stage};
use crate::moving::MovingShapers;
use crate::nodes::Nodes;
use crate::reactor::{Event, Reactor, Token, IN};
use crate::remote::{self, Controller};
use crate::schedule::{Action, Schedule};
use crate::settle::{Reason, Settling};
use crate::status::{self, Interrupt};
use crate::{flow_tap, sample, traffic};
use narrows_plan::{Item, Plan};

const CHANGES: u16 = 0xfff0;
const WAKE: u16 = 0xfff1;
const TICK: u16 = 0xfff2;
const LIMIT: u16 = 0xfff3;
const SIGNAL: u16 = 0xfff4;
const SETTLE: u16 = 0xfff5;
const MOVING: u16 = 0xfff6;
const PEERS: u16 = 0xfff7;
const TICK_NS: i64 = 1_000_000_000;
/// Servers are given so long before the epoch's snapshot is taken; traffic waits for them in any case.
pub const SNAPSHOT_BEFORE_NS: i64 = 50_000_000;
/// After everything was asked to end, what does not end is left behind.
const PATIENCE_NS: i64 = 10_000_000_000;
/// What has ended and still waits for packets that are on their way: as long as a deep queue on a slow link holds
/// them. In virtual time an idle wait costs nothing.
const DRAIN_PATIENCE_NS: i64 = 600_000_000_000;

pub struct Conductor<'a> {
    plan: &'a Plan,
    nodes: &'a Nodes,
    places: &'a Places,
    log: &'a mut EventLog,
    reactor: Reactor,
    children: Children,
    schedule: Schedule,
    /// Traffic items in the plan's order, then samplers, then captures.
    slots: Vec<Slot>,
    changes: Changes,
    moving: MovingShapers,
    settling: Option<Settling>,
    failure: Option<RunError>,
    woken_for: Option<i64>,
    /// With real hosts: the way to those that have the other nodes.
    controller: Option<&'a mut Controller>,
}

impl<'a> Conductor<'a> {
    pub fn new(
        plan: &'a Plan,
        nodes: &'a Nodes,
        places: &'a Places,
        log: &'a mut EventLog,
        reactor: Reactor,
        interrupt: &Interrupt,
        controller: Option<&'a mut Controller>,
    ) -> Result<Conductor<'a>> {
        let schedule = Schedule::new(&plan.traffic, reactor.now.min(-1)).map_err(RunError::internal)?;
        let mut slots: Vec<Slot> = Vec::new();
        for (i, item) in plan.traffic.iter().enumerate() {
            let actor = match remote::is_elsewhere(item, nodes) {
                true => Box::new(remote::Elsewhere),
                false => traffic::build(item, plan, i),
            };
            slots.push(Slot::new(item.id(), actor));
        }
        slots.extend(plan.samplers.iter().map(|s| Slot::new(s.id(), sample::build(s))));
        slots.extend(plan.captures.iter().map(|c| Slot::new(&c.id, Box::new(Recorder::new(c.clone())))));
        reactor
            .watch(interrupt.fd(), IN, Token { owner: SIGNAL, kind: 0, index: 0 })
            .during(|| "watching for signals".into())?;
        if let Some(controller) = &controller {
            let token = Self::special(PEERS, 0);
            reactor.watch(controller.fd(), IN, token).during(|| "watching the controlling machine".into())?;
        }
        Ok(Conductor {
            controller,
            plan,
            nodes,
            places,
            log,
            reactor,
            children: Children::default(),
            schedule,
            slots,
            changes: Changes::new(&plan.changes),
            moving: MovingShapers::default(),
            settling: plan.until_settled.as_ref().map(|rule| Settling::new(rule, &plan.traffic)),
            failure: None,
            woken_for: None,
        })
    }

    pub fn now(&self) -> i64 {
        self.reactor.now
    }

    /// From here on t is counted by `clock`; what has a time already keeps its instant.
    pub fn set_clock(&mut self, clock: Clock) {
        let moved_ns = clock.epoch_mono_ns - self.reactor.clock.epoch_mono_ns;
        for start_ns in self.slots.iter_mut().filter_map(|s| s.start_ns.as_mut()) {
            *start_ns -= moved_ns;
        }
        if moved_ns != 0 {
            self.log.event(clock.t(), "epoch moved", None, json!({"by_ns": moved_ns}));
        }
        self.reactor.clock = clock;
        self.reactor.now = clock.t();
    }

    fn special(owner: u16, index: usize) -> Token {
        Token { owner, kind: 0, index: index as u32 }
    }

    /// Runs `f` on an actor; its error becomes the run's, with the item's name.
    fn with<T>(&mut self, i: usize, f: impl FnOnce(&mut dyn Actor, &mut Cx) -> Result<T>) -> Option<T> {
        let slot = &mut self.slots[i];
        let mut cx = Cx {
            reactor: &mut self.reactor,
            nodes: self.nodes,
            children: &mut self.children,
            log: self.log,
            places: self.places,
            owner: i as u16,
        };
        match f(slot.actor.as_mut(), &mut cx) {
            Ok(v) => Some(v),
            Err(e) => {
                let e = e.item(&slot.id);
                slot.failed = true;
                self.fail(match e.stage {
                    Stage::Internal => e.stage(Stage::Traffic),
                    _ => e,
                });
                None
            }
        }
    }

    fn fail(&mut self, e: RunError) {
        self.log.event(self.reactor.now, "failed", e.item.as_deref(), json!({"message": e.line()}));
        self.failure.get_or_insert(e);
    }

    /// Starts background items that must be up when traffic starts, and waits for them until `until_t`.
    pub fn early(&mut self, until_t: i64) -> Result<()> {
        self.reactor.at(until_t, Self::special(WAKE, 0));
        let mut events = Vec::new();
        self.prepare();
        self.act();
        while !self.schedule.early_ready() && self.failure.is_none() && self.reactor.now < until_t {
            self.turn(&mut events)?;
        }
        let Some(e) = self.failure.take() else {
            return Ok(());
        };
        self.children.kill_all();
        Err(e)
    }

    /// Starts samplers and captures; the limit and the changes are counted from the epoch.
    fn begin(&mut self) {
        for i in self.plan.traffic.len()..self.slots.len() {
            self.start(i);
        }
        self.reactor.at(self.plan.limit_ns, Self::special(LIMIT, 0));
        self.reactor.at(0, Self::special(TICK, 0));
        for (i, change) in self.plan.changes.iter().enumerate() {
            self.reactor.at(change.at_ns, Self::special(CHANGES, i));
        }
        match MovingShapers::begin(self.plan.moving.as_ref(), self.nodes, &mut self.reactor, MOVING) {
            Ok(moving) => self.moving = moving,
            Err(e) => self.fail(e),
        }
        self.next_settle_tick(0);
    }

    fn next_settle_tick(&mut self, after_ns: i64) {
        if let Some(settling) = self.settling.as_mut().filter(|s| s.open()) {
            let due_ns = settling.next_due(after_ns, self.reactor.clock.epoch_mono_ns);
            self.reactor.at(due_ns, Self::special(SETTLE, 0));
        }
    }

    /// Once everything has settled, the schedule is told to stop the bulk items now.
    fn look_whether_settled(&mut self) {
        let Some(settling) = self.settling.as_mut().filter(|s| s.open()) else {
            return;
        };
        let bulk = |i: &usize| matches!(self.plan.traffic[*i], Item::TcpBulk(_));
        let items: Vec<usize> = (0..self.plan.traffic.len()).filter(bulk).collect();
        let counters = items.iter().flat_map(|i| self.slots[*i].actor.acknowledged());
        if !settling.sample(&counters.collect::<Vec<_>>()) {
            return self.next_settle_tick(self.reactor.now);
        }
        let now = self.reactor.now;
        settling.end(Reason::Settled, now);
        self.log.event(now, "settled", None, json!(settling.report()));
        items.into_iter().for_each(|i| self.schedule.stop_at(i, now));
    }

    fn start(&mut self, i: usize) {
        self.slots[i].start_ns = Some(self.reactor.now);
        self.log.event(self.reactor.now, "start", Some(&self.slots[i].id), json!({}));
        // Said before it has the processor: a program that never gives it back is the last that was named.
        if i < self.plan.traffic.len() {
            status::line(self.reactor.now, "traffic", &self.note());
        }
        self.with(i, |a, cx| a.start(cx));
    }

    fn stop(&mut self, i: usize) {
        self.slots[i].stopped = true;
        self.log.event(self.reactor.now, "stop", Some(&self.slots[i].id), json!({}));
        if matches!(self.plan.traffic.get(i), Some(Item::TcpBulk(_))) {
            if let Some(settling) = &mut self.settling {
                settling.end(Reason::Limit, self.reactor.now);
            }
            if let Err(e) = flow_tap::flows_stop(self.plan.flow_tap.as_ref()) {
                self.fail(e);
            }
        }
        self.with(i, |a, cx| a.stop(cx));
    }

    /// Lets the schedule act until it has nothing more to do now; then sets a timer for its next instant.
    fn act(&mut self) {
        loop {
            self.look_at_progress();
            if self.failure.is_some() {
                return;
            }
            let due = self.schedule.due(self.reactor.now);
            if due.is_empty() {
                break;
            }
            for action in due {
                match action {
                    Action::Start(i) => self.start(i),
                    Action::Stop(i) => self.stop(i),
                }
            }
        }
        if let Some(next) = self.schedule.next_time().filter(|t| *t > self.reactor.now) {
            if self.woken_for != Some(next) {
                self.woken_for = Some(next);
                self.reactor.at(next, Self::special(WAKE, 0));
            }
        }
    }

    fn look_at_progress(&mut self) {
        for i in 0..self.plan.traffic.len() {
            let slot = &mut self.slots[i];
            if slot.start_ns.is_none() || slot.end_ns.is_some() {
                continue;
            }
            let progress = match &mut self.controller {
                None => slot.actor.progress(),
                Some(controller) => {
                    peers::progress(controller, &self.plan.traffic[i], slot.actor.as_ref(), self.nodes)
                }
            };
            match progress {
                Progress::Starting => {}
                Progress::Running => self.schedule.started(i),
                Progress::Ended { t_ns } => {
                    slot.end_ns = Some(t_ns);
                    let exit = slot.actor.exit_code();
                    self.log.event(t_ns, "end", Some(&slot.id), json!({"exit_code": exit}));
                    self.schedule.ended(i, t_ns);
                    // Its own host has ended it: what is here of it has no stop of its own to wait for.
                    if self.controller.is_some() && !self.nodes.has(remote::owner(&self.plan.traffic[i])) {
                        self.stop(i);
                    }
                }
            }
        }
    }

    fn turn(&mut self, events: &mut Vec<Event>) -> Result<()> {
        self.reactor.wait(events).during(|| "waiting for events".into())?;
        for event in events.iter().copied() {
            self.dispatch(event);
        }
        if self.failure.is_none() {
            self.act();
        } else {
            self.look_at_progress();
        }
        Ok(())
    }

    fn dispatch(&mut self, event: Event) {
        let token = match event {
            Event::Io(t, _) | Event::Timer(t) => t,
        };
        match token.owner {
            WAKE => {}
            SIGNAL => {
                self.fail(RunError::new(Stage::Internal, "interrupted by a signal"));
            }
            LIMIT => self.limit(),
            SETTLE => self.look_whether_settled(),
            PEERS => self.hear(),
            TICK => {
                self.children.sweep();
                self.reactor.clock.refresh_wall_offset();
                self.reactor.at(self.reactor.now / TICK_NS * TICK_NS + TICK_NS, token);
                status::line(self.reactor.now, "traffic", &self.note());
                self.hear();
            }
            CHANGES => {
                let outcome = self.changes.event(
                    event,
                    &mut self.reactor,
                    self.nodes,
                    &mut self.children,
                    self.log,
                    CHANGES,
                );
                if let Err(e) = outcome {
                    self.fail(e);
                }
            }
            MOVING => {
                if let Err(e) = self.moving.event(token.index as usize, &mut self.reactor, MOVING) {
                    self.fail(e);
                }
            }
            i => {
                let is_part = self.controller.is_some();
                if self.slots.get(i as usize).is_some_and(|s| is_part || s.start_ns.is_some()) {
                    self.with(i as usize, |a, cx| a.event(cx, event));
                }
            }
        }
    }

    /// The whole of traffic, from just before the epoch to the last straggler.
    pub fn run(&mut self) -> Result<()> {
        let mut events = Vec::new();
        self.begin();
        self.act();
        while self.failure.is_none() && !self.schedule.all_done() {
            self.turn(&mut events)?;
        }
        self.check_all_started();
        self.wind_down(&mut events)?;
        for i in 0..self.slots.len() {
            if self.slots[i].start_ns.is_some() {
                self.slots[i].details = self.with(i, |a, cx| a.finish(cx)).flatten();
            }
        }
        self.children.kill_all();
        let cost = json!({"wakes": self.reactor.wakes, "events": self.reactor.events});
        self.log.event(self.reactor.now, "cost", None, cost);
        self.log.flush()?;
        match self.failure.take() {
            Some(e) => Err(e),
            None => Ok(()),
        }
    }

    /// Stops what still runs (servers; everything after a failure) and waits for stragglers.
    fn wind_down(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let failed = self.failure.is_some();
        for i in 0..self.plan.traffic.len() {
            // A server may still be draining somebody's straggler, but nobody's traffic needs it any more.
            if self.slots[i].start_ns.is_some() && self.slots[i].end_ns.is_none() {
                self.stop(i);
            }
        }
        let begun = self.reactor.now;
        for patience_ns in [PATIENCE_NS, DRAIN_PATIENCE_NS] {
            self.reactor.at(begun + patience_ns, Self::special(WAKE, 0));
        }
        loop {
            self.look_at_progress();
            let waited_ns = self.reactor.now - begun;
            let traffic = &self.slots[..self.plan.traffic.len()];
            let open = |s: &Slot| match s.end_ns {
                _ if s.start_ns.is_none() || s.failed => false,
                None => waited_ns < PATIENCE_NS,
                Some(_) => !failed && !s.actor.drained() && waited_ns < DRAIN_PATIENCE_NS,
            };
            if !(traffic.iter().any(open) || self.changes.busy() && waited_ns < PATIENCE_NS) {
                break;
            }
            self.reactor.wait(events).during(|| "waiting for events".into())?;
            for event in events.iter().copied() {
                self.dispatch(event);
            }
        }
        let captures = self.plan.traffic.len() + self.plan.samplers.len();
        for i in self.plan.traffic.len()..captures {
            self.stop(i);
        }
        if !failed && captures < self.slots.len() {
            self.let_arrive(events)?;
        }
        for i in captures..self.slots.len() {
            self.stop(i);
        }
        Ok(())
    }

    /// What the last item still sent (the end of its connections) arrives before captures stop: a capture that
    /// ends with the items lacks the last packets that the tap has.
    fn let_arrive(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let begun = self.reactor.now;
        let rtt_ns = self.plan.calibration.rtt_ns;
        while self.reactor.now - begun < SETTLE_WITHIN_NS {
            let until = self.reactor.now + rtt_ns + SETTLE_STEP_NS;
            self.reactor.at(until, Self::special(WAKE, 0));
            while self.reactor.now < until {
                self.reactor.wait(events).during(|| "waiting for events".into())?;
                for event in events.iter().copied() {
                    self.dispatch(event);
                }
            }
            if collect::queued_packets(self.nodes)? == 0 {
                break;
            }
        }
        Ok(())
    }
}
