//! `host DIR`: one run on this host's kernel, as root, in namespaces made for it and always removed.
//!
//! In real time: how loaded the machine is shows in the results.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use crate::actor::Places;
use crate::clock::Clock;
use crate::error::{During, Result, RunError};
use crate::host_tap::{self, HostTap};
use crate::nodes::{self, Nodes};
use crate::result::{write_failure, RunResult};
use crate::run::{self, Run};
use crate::status::{self, Interrupt};
use crate::sys;

/// What a panic must still undo: namespaces and the run's raw directory.
static LEFT_BEHIND: Mutex<(Vec<PathBuf>, Option<PathBuf>)> = Mutex::new((Vec::new(), None));

fn install_panic_hook() {
    let default = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        host_tap::abandon();
        if let Ok(left) = LEFT_BEHIND.try_lock() {
            for path in &left.0 {
                let _ = sys::umount_detach(path);
                let _ = std::fs::remove_file(path);
            }
            if let Some(raw) = &left.1 {
                write_failure(raw, &RunError::internal(format!("the agent panicked: {info}")));
            }
        }
    }));
}

pub fn main(dir: &Path) -> ExitCode {
    install_panic_hook();
    let outcome = carry_out(dir);
    match outcome {
        Ok(None) => ExitCode::SUCCESS,
        Ok(Some(e)) => {
            status::line(0, "finish", &format!("failed: {}", e.line()));
            ExitCode::FAILURE
        }
        Err(e) => {
            eprintln!("narrows-agent: {}", e.line());
            ExitCode::from(2)
        }
    }
}

/// Ok(Some) is a run that failed and says so in its result.json; Err is no run at all.
fn carry_out(dir: &Path) -> Result<Option<RunError>> {
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        return Err(RunError::internal("host mode makes network namespaces and needs root"));
    }
    let dir = dir.canonicalize().during(|| format!("finding {}", dir.display()))?;
    let raw = run::make_raw(&dir)?;
    let failed = |e: RunError| {
        write_failure(&raw, &e);
        Ok(Some(e))
    };
    let plan = match run::read_plan(&dir) {
        Ok(p) => p,
        Err(e) => return failed(e),
    };
    let agent = std::env::current_exe().during(|| "finding the agent's own binary".into())?;
    sys::exact_timers();
    let interrupt = Interrupt::install()?;
    nodes::remove_stale();
    host_tap::remove_stale();
    let prefix = format!("nrw{}-", std::process::id());
    let mut nodes = match Nodes::create(plan.nodes.iter().map(|n| n.name.as_str()), &prefix) {
        Ok(n) => n,
        Err(e) => return failed(run::set_up_failed(e)),
    };
    if let Ok(mut left) = LEFT_BEHIND.lock() {
        *left = (nodes.paths(), Some(raw.clone()));
    }
    let clock = Clock::new(sys::mono_ns() + plan.epoch_monotonic_ns);
    let places = Places {
        raw: raw.clone(),
        agent,
        checkout: std::env::var_os("narrows_checkout").unwrap_or_default().into(),
        content: std::env::var_os("narrows_content").unwrap_or_default().into(),
        guest: false,
    };
    let mut run = Run {
        host_tap: Some(HostTap::start(&plan.hops, &nodes, &raw)),
        plan,
        places,
        guest: false,
        result: RunResult::new(),
    };
    let error = run.carry_out(&nodes, &interrupt, clock, None);
    drop(run.host_tap.take());
    nodes::end_processes(&nodes.paths());
    nodes.remove();
    run.result.write(&raw)?;
    Ok(error)
}
