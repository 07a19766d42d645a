//! `command`: an outside program in a node, its output kept, its readiness looked at without touching the wire.

use std::fs::File;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};

use serde_json::{json, Value};

use crate::actor::{Actor, Cx, Places, Progress};
use crate::children::{exit_number, signal_number, Child};
use crate::error::{During, Result, RunError, Stage};
use crate::reactor::{Event, IN};
use crate::sample::tcp_diag;
use crate::traffic::polling::Polling;
use narrows_plan::Command;

const EXITED: u16 = 0;
const LOOK: u16 = 1;
const KILL: u16 = 2;

/// A program that does not obey its stop signal within this time is killed.
const OBEY_NS: i64 = 5_000_000_000;
/// A server that does not accept within this time has failed.
const READY_WITHIN_NS: i64 = 30_000_000_000;

pub struct Program {
    spec: Command,
    child: Option<Child>,
    polling: Option<Polling>,
    ready_at: Option<SocketAddr>,
    started_ns: i64,
    looks: u32,
    progress: Progress,
    stop_asked: bool,
    exit: Option<i32>,
}

/// `@agent`, `@out`, `@checkout` and `@content` in arguments and environment.
fn substitute(text: &str, places: &Places) -> String {
    text.replace("@agent", &places.agent.to_string_lossy())
        .replace("@out", &places.raw.to_string_lossy())
        .replace("@checkout", &places.checkout.to_string_lossy())
        .replace("@content", &places.content.to_string_lossy())
}

impl Program {
    pub fn new(spec: Command) -> Program {
        Program {
            spec,
            child: None,
            polling: None,
            ready_at: None,
            started_ns: 0,
            looks: 0,
            progress: Progress::Starting,
            stop_asked: false,
            exit: None,
        }
    }

    fn output(&self, cx: &Cx, stream: &str) -> Result<Stdio> {
        let path = cx.places.raw.join(format!("{}.{stream}", self.spec.id));
        Ok(File::create(&path)
            .during(|| format!("creating {}", path.display()))?
            .into())
    }

    fn failed(&self, cx: &Cx, message: String) -> RunError {
        let path = cx.places.raw.join(format!("{}.stderr", self.spec.id));
        let stderr = std::fs::read(path).unwrap_or_default();
        let tail = String::from_utf8_lossy(&stderr[stderr.len().saturating_sub(2000)..]).into_owned();
        let mut e = RunError::new(Stage::Traffic, message)
            .item(&self.spec.id)
            .node(&self.spec.node)
            .command(self.spec.argv.join(" "));
        e.stderr = Some(tail);
        e.exit_code = self.exit;
        e
    }

    fn look(&mut self, cx: &mut Cx) -> Result<()> {
        let (Some(at), Progress::Starting) = (self.ready_at, self.progress) else {
            return Ok(());
        };
        cx.nodes.enter(&self.spec.node)?;
        if tcp_diag::listens(at.ip(), at.port()).during(|| "looking for listening sockets".into())? {
            self.progress = Progress::Running;
            return Ok(());
        }
        let waited = cx.reactor.now - self.started_ns;
        if waited > READY_WITHIN_NS {
            return Err(self.failed(
                cx,
                format!("does not accept on {at} after {} s", waited / 1_000_000_000),
            ));
        }
        self.looks += 1;
        // Quick at first; a program that waits for something else is asked less often.
        let pause_ns = if self.looks < 50 { 1_000_000 } else { 20_000_000 };
        cx.reactor.at(cx.reactor.now + pause_ns, cx.token(LOOK, 0));
        Ok(())
    }

    fn exited(&mut self, cx: &mut Cx, status: ExitStatus) -> Result<()> {
        if let Some(polling) = self.polling.take() {
            polling.end(cx);
        }
        if let Some(child) = self.child.take() {
            cx.reactor.unwatch(child.watch_fd());
            // What it may have left behind must not go on sending.
            child.signal(libc::SIGKILL);
        }
        let was_ready = self.progress == Progress::Running;
        self.progress = Progress::Ended { t_ns: cx.reactor.now };
        let number = exit_number(status);
        self.exit = Some(number);
        if self.stop_asked {
            return Ok(());
        }
        if !was_ready {
            return Err(self.failed(cx, format!("exited with {number} before it was ready")));
        }
        if !self.spec.ok_exits.contains(&number) {
            let expected = self
                .spec
                .ok_exits
                .iter()
                .map(i32::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            return Err(self.failed(cx, format!("exited with {number}, expected {expected}")));
        }
        Ok(())
    }
}

impl Actor for Program {
    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        let argv: Vec<String> = self.spec.argv.iter().map(|a| substitute(a, cx.places)).collect();
        let env: Vec<(String, String)> = self
            .spec
            .env
            .iter()
            .map(|(k, v)| (k.clone(), substitute(v, cx.places)))
            .collect();
        if let Some(ready) = &self.spec.ready {
            let at = ready.tcp.parse().map_err(|_| {
                RunError::new(
                    Stage::Traffic,
                    format!("ready.tcp '{}' is not ADDRESS:PORT", ready.tcp),
                )
            })?;
            self.ready_at = Some(at);
        }
        let (stdout, stderr) = (self.output(cx, "stdout")?, self.output(cx, "stderr")?);
        cx.nodes.enter(&self.spec.node)?;
        let child = cx
            .children
            .spawn(&argv, &env, stdout, stderr)
            .map_err(|e| e.stage(Stage::Traffic).node(&self.spec.node))?;
        cx.reactor
            .watch(child.watch_fd(), IN, cx.token(EXITED, 0))
            .during(|| "watching a program".into())?;
        self.started_ns = cx.reactor.now;
        let more = json!({"node": self.spec.node, "argv": argv, "pid": child.pid});
        cx.log.event(cx.reactor.now, "spawned", Some(&self.spec.id), more);
        if cx.places.guest {
            let polling = Polling::watch(cx, &self.spec.id, child.pid, &self.spec.node)?;
            self.polling = Some(polling);
        }
        self.child = Some(child);
        if self.ready_at.is_none() {
            self.progress = Progress::Running;
        }
        self.look(cx)
    }

    fn event(&mut self, cx: &mut Cx, event: Event) -> Result<()> {
        if let Some(polling) = &mut self.polling {
            if polling.event(cx, event)? {
                return Ok(());
            }
        }
        match event {
            Event::Io(t, _) if t.kind == EXITED => {
                let status = self.child.as_ref().and_then(|c| cx.children.exit_of(c));
                status.map_or(Ok(()), |s| self.exited(cx, s))
            }
            Event::Timer(t) if t.kind == LOOK => self.look(cx),
            Event::Timer(t) if t.kind == KILL => {
                if let Some(child) = &self.child {
                    cx.log
                        .event(cx.reactor.now, "killed", Some(&self.spec.id), json!({}));
                    child.signal(libc::SIGKILL);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn stop(&mut self, cx: &mut Cx) -> Result<()> {
        self.stop_asked = true;
        match &self.child {
            Some(child) => {
                let name = &self.spec.stop_signal;
                let signal = signal_number(name).ok_or_else(|| {
                    RunError::new(
                        Stage::Traffic,
                        format!("stop_signal '{name}' is not a known signal"),
                    )
                })?;
                child.signal(signal);
                if let Some(polling) = self.polling.take() {
                    // What is held does not hear its signal.
                    polling.end(cx);
                }
                cx.reactor.at(cx.reactor.now + OBEY_NS, cx.token(KILL, 0));
            }
            None => self.progress = Progress::Ended { t_ns: cx.reactor.now },
        }
        Ok(())
    }

    fn waits_for(&self, cx: &mut Cx) -> Option<String> {
        cx.nodes.enter(&self.spec.node).ok()?;
        let tcp = tcp_diag::unanswered().ok()?;
        let node = &self.spec.node;
        let mut words = vec![tcp.unwrap_or_else(|| format!("no TCP data of {node} is on its way"))];
        if let Some(since_ns) = self.polling.as_ref().and_then(|p| p.since_ns) {
            words.insert(0, format!("it polls since {:.3} s", since_ns as f64 / 1e9));
        }
        Some(words.join("; "))
    }

    fn progress(&self) -> Progress {
        self.progress
    }

    fn exit_code(&self) -> Option<i32> {
        self.exit
    }

    fn finish(&mut self, _: &mut Cx) -> Result<Option<Value>> {
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_and_the_output_directory_are_put_in_where_named() {
        let places = Places {
            raw: "/run/narrows/raw".into(),
            agent: "/run/agent".into(),
            checkout: "/run/checkout".into(),
            content: "/run/content".into(),
            guest: true,
        };
        assert_eq!(substitute("@checkout/x", &places), "/run/checkout/x");
        assert_eq!(substitute("@content/a/b", &places), "/run/content/a/b");
        assert_eq!(substitute("@agent", &places), "/run/agent");
        assert_eq!(
            substitute("--json=@out/x.json", &places),
            "--json=/run/narrows/raw/x.json"
        );
    }
}
