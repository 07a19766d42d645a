//! `changes` of the plan: tool runs at fixed times during traffic, without holding up the event loop.

use std::os::fd::OwnedFd;
use std::process::Stdio;

use serde_json::json;

use crate::actor::EventLog;
use crate::children::{exit_number, Child, Children};
use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::reactor::{Event, Reactor, Token, IN};
use crate::{setup, sys};
use narrows_plan::{Change, Step};

pub struct Changes {
    plan: Vec<Change>,
    running: Vec<Option<(Child, OwnedFd)>>,
}

impl Changes {
    pub fn new(plan: &[Change]) -> Changes {
        Changes { plan: plan.to_vec(), running: plan.iter().map(|_| None).collect() }
    }

    pub fn busy(&self) -> bool {
        self.running.iter().any(Option::is_some)
    }

    /// A timer begins a change, a readable pidfd ends it.
    pub fn event(
        &mut self,
        event: Event,
        reactor: &mut Reactor,
        nodes: &Nodes,
        children: &mut Children,
        log: &mut EventLog,
        owner: u16,
    ) -> Result<()> {
        match event {
            Event::Timer(t) => {
                let i = t.index as usize;
                let change = &self.plan[i];
                let more =
                    json!({"node": change.node, "command": setup::command_text(&change.tool, &change.args)});
                log.event(reactor.now, "change", None, more);
                let token = Token { owner, kind: 1, index: t.index };
                self.running[i] = begin(change, nodes, children)?;
                if let Some((child, _)) = &self.running[i] {
                    reactor.watch(child.watch_fd(), IN, token).during(|| "watching a change".into())?;
                }
                Ok(())
            }
            Event::Io(t, _) => self.ended(t.index as usize, reactor, children),
        }
    }

    fn ended(&mut self, i: usize, reactor: &mut Reactor, children: &mut Children) -> Result<()> {
        let Some((child, _)) = &self.running[i] else {
            return Ok(());
        };
        let Some(status) = children.exit_of(child) else {
            return Ok(());
        };
        reactor.unwatch(child.watch_fd());
        let change = &self.plan[i];
        let Some((_, stderr)) = self.running[i].take().filter(|_| !status.success()) else {
            return Ok(());
        };
        let mut e = failed(change, format!("{} failed", change.tool));
        e.stderr =
            Some(String::from_utf8_lossy(&sys::read_fd_from_start(&stderr).unwrap_or_default()).into());
        e.exit_code = Some(exit_number(status));
        Err(e)
    }
}

fn failed(change: &Change, message: String) -> RunError {
    RunError::new(Stage::Traffic, message)
        .node(&change.node)
        .command(setup::command_text(&change.tool, &change.args))
}

/// Starts a tool; what the agent does by itself is done at once and leaves nothing running.
fn begin(change: &Change, nodes: &Nodes, children: &mut Children) -> Result<Option<(Child, OwnedFd)>> {
    if matches!(change.tool.as_str(), "sysctl" | "ethtool") {
        let step = Step { node: change.node.clone(), tool: change.tool.clone(), args: change.args.clone() };
        return setup::run_steps(nodes, &[step]).map(|()| None).map_err(|e| e.stage(Stage::Traffic));
    }
    nodes.enter(&change.node)?;
    let stderr = sys::memfd("stderr").during(|| "creating a memory file".into())?;
    let mut argv = vec![change.tool.clone()];
    argv.extend(nodes.rewrite(&change.args));
    let copy = stderr.try_clone().during(|| "duplicating a descriptor".into())?;
    let child =
        children.spawn(&argv, &[], Stdio::null(), copy.into()).map_err(|e| failed(change, e.message))?;
    Ok(Some((child, stderr)))
}
