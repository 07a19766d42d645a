//! `guest DIR`: PID 1 of a virtual-time guest whose root is the host's file system, read-only.
//!
//! Whatever happens, a result.json is written and the machine powered off.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::actor::Places;
use crate::clock::Clock;
use crate::error::{Result, RunError};
use crate::machine;
use crate::modules;
use crate::nodes::Nodes;
use crate::result::{write_failure, RunResult};
use crate::run::{self, Run};
use crate::status::{self, Interrupt};
use crate::sys;

/// Where a panic leaves its message, once that place is mounted.
static RAW: Mutex<Option<PathBuf>> = Mutex::new(None);

fn install_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        let error = RunError::internal(format!("the agent panicked: {info}"));
        status::line(0, "finish", &format!("failed: {}", error.line()));
        if let Ok(raw) = RAW.try_lock() {
            if let Some(raw) = raw.as_deref() {
                write_failure(raw, &error);
            }
        }
        machine::power_off();
    }));
}

pub fn main(dir: &Path) -> ! {
    install_panic_hook();
    if let Err(e) = carry_out(dir) {
        status::line(0, "finish", &format!("failed: {}", e.line()));
        if let Ok(raw) = RAW.lock() {
            if let Some(raw) = raw.as_deref() {
                write_failure(raw, &e);
            }
        }
    }
    machine::power_off();
}

fn carry_out(dir: &Path) -> Result<()> {
    let agent = machine::prepare(dir)?;
    let run_dir = Path::new(machine::RUN_DIR);
    let raw = run::make_raw(run_dir)?;
    if let Ok(mut kept) = RAW.lock() {
        *kept = Some(raw.clone());
    }
    let plan = run::read_plan(run_dir)?;
    machine::wait_for_exact_clock()?;
    modules::load(run_dir, &plan.machine).map_err(run::set_up_failed)?;
    let nodes = Nodes::create(plan.nodes.iter().map(|n| n.name.as_str()), "").map_err(run::set_up_failed)?;
    machine::connection_limits(&nodes)?;
    let clock = Clock::new(plan.epoch_monotonic_ns);
    let interrupt = Interrupt::install()?;
    let mut run = Run {
        plan,
        places: Places {
            raw: raw.clone(),
            agent,
            checkout: machine::CHECKOUT.into(),
            content: machine::CONTENT.into(),
            guest: true,
        },
        guest: true,
        host_tap: None,
        result: RunResult::new(),
    };
    let error = run.carry_out(&nodes, &interrupt, clock, None);
    run.result.write(&raw)?;
    let note = error.map_or("ok".to_string(), |e| format!("failed: {}", e.line()));
    status::line(sys::mono_ns() - clock.epoch_mono_ns, "finish", &note);
    Ok(())
}
