//! One run from plan to result.json: set-up, calibration, snapshots, traffic, snapshots.
//!
//! Whatever happens, result.json is written last and whole. How the machine around it is prepared (guest or
//! host) is not known here.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::actor::{EventLog, Places};
use crate::clock::Clock;
use crate::conduct::{Conductor, SNAPSHOT_BEFORE_NS};
use crate::error::{During, Result, RunError, Stage};
use crate::host_tap::HostTap;
use crate::nodes::Nodes;
use crate::reactor::Reactor;
use crate::remote::{self, Controller};
use crate::result::RunResult;
use crate::status::Interrupt;
use crate::{calibrate, collect, flow_tap, media, run_ahead, setup, status, sys};
use narrows_plan::Plan;

pub struct Run {
    pub plan: Plan,
    pub places: Places,
    pub guest: bool,
    /// On a host: None once it is finished.
    pub host_tap: Option<HostTap>,
    pub result: RunResult,
}

/// On a host, calibration may take as long as it needs: the epoch comes after it.
const HOST_PATIENCE_NS: i64 = 120_000_000_000;
const HOST_EPOCH_AFTER_NS: i64 = 20_000_000;

pub fn read_plan(dir: &Path) -> Result<Plan> {
    let path = dir.join("plan.json");
    let text = fs::read_to_string(&path).during(|| format!("reading {}", path.display()))?;
    Plan::parse(&text).map_err(RunError::internal)
}

pub fn make_raw(dir: &Path) -> Result<PathBuf> {
    let raw = dir.join("raw");
    fs::create_dir_all(&raw).during(|| format!("creating {}", raw.display()))?;
    let _ = fs::remove_file(raw.join("result.json"));
    Ok(raw)
}

/// Creates the topology and carries out the setup steps.
pub fn set_up(plan: &Plan, nodes: &Nodes, tap: bool) -> Result<()> {
    setup::run(nodes, &plan.setup, |coming| collect::start_taps(nodes, &plan.hops, coming, tap))?;
    collect::start_other_taps(nodes, &plan.hops, tap)
}

pub fn set_up_failed(e: RunError) -> RunError {
    match e.stage {
        Stage::Internal => e.stage(Stage::Setup),
        _ => e,
    }
}

impl Run {
    /// Everything but the machine. The error, if any, is already in `result`.
    pub fn carry_out(
        &mut self,
        nodes: &Nodes,
        interrupt: &Interrupt,
        clock: Clock,
        controller: Option<&mut Controller>,
    ) -> Option<RunError> {
        if !self.guest {
            self.plan.flow_tap = None; // this host's kernel has none
        }
        let outcome = self.stages(nodes, interrupt, clock, controller);
        let error = outcome.err();
        self.result.ended(error.as_ref());
        error
    }

    fn stages(
        &mut self,
        nodes: &Nodes,
        interrupt: &Interrupt,
        mut clock: Clock,
        mut controller: Option<&mut Controller>,
    ) -> Result<()> {
        let mut log = EventLog::create(&self.places.raw)?;
        status::line(clock.t(), "setup", "");
        set_up(&self.plan, nodes, self.guest).map_err(set_up_failed)?;
        if self.guest {
            run_ahead::start(&self.plan, nodes).map_err(set_up_failed)?;
        }
        media::set_up(&self.plan.media, nodes, self.guest)?;
        self.result.kept = collect::kept(nodes)?;
        self.result.tools = collect::tools(&self.plan);
        self.result.sysctls = collect::sysctls(nodes, &self.plan.setup)?;
        log.event(clock.t(), "set up", None, json!({}));
        interrupt.check()?;
        match controller.as_deref_mut() {
            // The rig is several hosts: the controlling machine judges it.
            Some(controller) => remote::calibrate(&self.plan, nodes, clock, controller, interrupt)?,
            None => self.calibrate(nodes, clock, &mut log)?,
        }
        interrupt.check()?;

        media::start(&self.plan.media, clock)?;
        if let Some(tap) = &self.plan.flow_tap {
            flow_tap::start(nodes, tap, clock)?;
        }
        let reactor = Reactor::new(clock).during(|| "creating the event loop".into())?;
        let is_part = controller.is_some();
        let mut conductor =
            Conductor::new(&self.plan, nodes, &self.places, &mut log, reactor, interrupt, controller)?;
        let snapshot_t = match self.guest {
            true => -SNAPSHOT_BEFORE_NS,
            false => conductor.now() + HOST_PATIENCE_NS,
        };
        if let Err(e) = conductor.early(snapshot_t) {
            self.result.items = conductor.items();
            return Err(e);
        }
        if self.guest {
            sys::sleep_until(snapshot_t + clock.epoch_mono_ns);
        }
        self.result.tc_before = collect::tc(nodes)?;
        self.result.links_before = collect::links(nodes)?;
        self.result.ip_before = collect::ip(nodes)?;
        if !self.guest {
            // Only now is it known when traffic can start.
            clock.epoch_mono_ns = match is_part {
                true => conductor.agreed_epoch(interrupt)?,
                false => sys::mono_ns() + HOST_EPOCH_AFTER_NS,
            };
        }
        conductor.set_clock(clock);
        self.result.epoch_monotonic_ns = Some(clock.epoch_mono_ns);
        if !self.guest {
            // A guest's is the plan's.
            self.result.wall_epoch_ns = Some(clock.wall_of_epoch());
        }
        let outcome = conductor.run();
        self.result.items = conductor.items();
        self.result.captures = conductor.captures();
        self.result.until_settled = conductor.settled();
        let end_ns = clock.t();
        let outcome = match is_part {
            true => conductor.all_have_ended(outcome, interrupt),
            false => outcome,
        };
        drop(conductor);
        self.result.end_ns = Some(end_ns);
        status::line(end_ns, "finish", "");
        if interrupt.check().is_err() {
            self.host_tap = None; // whoever interrupts does not want to wait for it
        }
        // A failed run keeps its own error, and what can still be collected.
        let after = self.after(nodes, clock);
        log.event(clock.t(), "finished", None, json!({}));
        outcome.and(after).and(log.flush())
    }

    fn calibrate(&mut self, nodes: &Nodes, clock: Clock, log: &mut EventLog) -> Result<()> {
        let plan = &self.plan.calibration;
        status::line(clock.t(), "calibration", "");
        let deadline_t = match self.guest {
            true => -SNAPSHOT_BEFORE_NS,
            false => clock.t() + HOST_PATIENCE_NS,
        };
        let mut report = calibrate::Report::default();
        let outcome = calibrate::run(plan, nodes, clock, deadline_t, &mut report);
        if let Err(e) = &outcome {
            report.ok = false;
            // Where packets stand tells why none arrived; the run's own error is kept all the same.
            self.result.tc_after = collect::tc(nodes).unwrap_or_default();
            if report.problems.is_empty() {
                report.problems.push(e.message.clone());
            }
        }
        log.event(clock.t(), "calibrated", None, json!(report));
        self.result.calibration = Some(report);
        outcome
    }

    /// Waits until nothing is queued any more (or for a few seconds): totals of tap, tc and links then agree.
    fn settle(&mut self, nodes: &Nodes) -> Result<()> {
        let begun = sys::mono_ns();
        let rtt_ns = self.plan.calibration.rtt_ns;
        while sys::mono_ns() - begun < collect::SETTLE_WITHIN_NS {
            // What has left a queue is still under way for a while.
            sys::sleep_until(sys::mono_ns() + rtt_ns + collect::SETTLE_STEP_NS);
            if collect::queued_packets(nodes)? == 0 {
                return Ok(());
            }
        }
        Ok(())
    }

    fn after(&mut self, nodes: &Nodes, clock: Clock) -> Result<()> {
        self.settle(nodes)?;
        if self.guest {
            self.result.hops = collect::hops(&self.plan.hops)?;
        }
        self.result.media = media::finish(&self.plan.media)?;
        if self.plan.flow_tap.is_some() {
            self.result.flow_tap = Some(flow_tap::finish()?);
        }
        let tc = collect::tc(nodes)?;
        if let Some(tap) = self.host_tap.take() {
            let (hops, said) = tap.finish(&self.plan.hops, nodes, &tc, clock.epoch_mono_ns as u64);
            self.result.hops = hops;
            self.result.host_tap = said;
        }
        self.result.tc_after = tc;
        self.result.links_after = collect::links(nodes)?;
        self.result.ip_after = collect::ip(nodes)?;
        Ok(())
    }
}
