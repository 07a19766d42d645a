//! `remote`: one host's part of a run, from the first message to the last.

use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde_json::{json, Value};

use super::controller::{say, Controller};
use super::guardian::{self, Borrowed, Guardian};
use super::lent::{Lent, Wanted};
use crate::actor::Places;
use crate::clock::Clock;
use crate::error::{During, Result, RunError, Stage};
use crate::host_tap::{self, HostTap};
use crate::nodes::{self, Nodes, NETNS_DIR};
use crate::result::RunResult;
use crate::run::{self, Run};
use crate::status::Interrupt;
use crate::sys;
use narrows_plan::Plan;

/// Where tools are that a shell without a login does not look for.
const SYSTEM_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

pub fn main() -> ExitCode {
    let mut controller = Controller::new();
    let outcome = carry_out(&mut controller);
    if let Err(e) = &outcome {
        say(&json!({ "failed": e }));
    }
    controller.finish();
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// `undo`: puts back what runs on this host borrowed that were killed together with their guardians.
pub fn undo() -> ExitCode {
    find_tools();
    say(&json!({"restored": guardian::undo_stale()}));
    ExitCode::SUCCESS
}

fn find_tools() {
    let path = std::env::var("PATH").unwrap_or_default();
    std::env::set_var("PATH", format!("{path}:{SYSTEM_PATH}"));
    std::env::set_var("LANG", "C");
}

/// What the controlling machine says first.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Begin {
    plan: Value,
    /// Nodes of the plan that are on this host.
    nodes: Vec<String>,
    lend: Vec<Wanted>,
}

fn carry_out(controller: &mut Controller) -> Result<()> {
    // SAFETY: plain system call.
    if unsafe { libc::geteuid() } != 0 {
        return Err(RunError::internal("the agent is not root: sudo did not make it so"));
    }
    find_tools();
    let interrupt = Interrupt::install()?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    say(&json!({"hello": {"boot_id": boot.trim(), "kernel": sys::kernel_version()}}));
    let begin = controller.wait_for(&["plan"], &interrupt)?;
    let begin: Begin =
        serde_json::from_value(begin).map_err(|e| RunError::internal(format!("the first message: {e}")))?;
    let plan = Plan::parse(&begin.plan.to_string()).map_err(RunError::internal)?;
    nodes::remove_stale();
    host_tap::remove_stale();
    sys::exact_timers();
    let prefix = format!("nrw{}-", std::process::id());
    let namespace = |node: &str| PathBuf::from(format!("{NETNS_DIR}/{prefix}{node}"));
    let directory = std::env::temp_dir().join(format!("narrows-run-{}", std::process::id()));
    let failed = |why: String| RunError::new(Stage::Setup, why);
    let looked: std::result::Result<Vec<Lent>, String> =
        begin.lend.iter().map(|w| Lent::look(w, namespace(&w.node))).collect();
    let mut borrowed = Borrowed::new(
        looked.map_err(failed)?,
        begin.nodes.iter().map(|n| namespace(n)).collect(),
        directory.clone(),
    );
    controller.guard(Guardian::start(&mut borrowed)?);
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&directory)
        .during(|| format!("creating {}", directory.display()))?;
    let nodes = Nodes::create(begin.nodes.iter().map(String::as_str), &prefix).map_err(run::set_up_failed)?;
    let home = std::fs::File::open(format!("/proc/{}/ns/net", borrowed.guardian()))
        .during(|| "finding this host's own namespace".into())?;
    nodes.leave(&home)?;
    borrowed.lend().map_err(failed)?;
    with_nodes(controller, plan, &nodes, &interrupt, &directory)
}

fn with_nodes(
    controller: &mut Controller,
    plan: Plan,
    nodes: &Nodes,
    interrupt: &Interrupt,
    directory: &Path,
) -> Result<()> {
    let raw = run::make_raw(directory)?;
    let clock = Clock::new(sys::mono_ns() + plan.epoch_monotonic_ns);
    let places = Places {
        raw: raw.clone(),
        agent: std::env::current_exe().during(|| "finding the agent's own binary".into())?,
        checkout: PathBuf::new(),
        content: PathBuf::new(),
        guest: false,
    };
    let mut run = Run {
        host_tap: Some(HostTap::start(&plan.hops, nodes, &raw)),
        plan,
        places,
        guest: false,
        result: RunResult::new(),
    };
    let error = run.carry_out(nodes, interrupt, clock, Some(controller));
    drop(run.host_tap.take());
    run.result.write(&raw)?;
    controller.send_files(&raw)?;
    say(&json!({"finished": error}));
    Ok(())
}
