//! `command`: an outside program in a node, its output kept, its readiness looked at without touching the wire.

use std::fs::File;
use std::net::SocketAddr;
use std::process::{ExitStatus, Stdio};

use serde_json::{json, Value};

use crate::actor::{Actor, Cx, Places, Progress};
use crate::children::{exit_number, signal_number, Child};
use crate::error::{During, Result, RunError, Stage};
use crate::reactor::{Event, IN};
use crate::sample::{tcp_diag, udp};
use crate::traffic::polling::Polling;
use narrows_plan::{Command, Ready};

const EXITED: u16 = 0;
const LOOK: u16 = 1;
const KILL: u16 = 2;

/// A program that does not obey its stop signal within this time is killed.
const OBEY_NS: i64 = 5_000_000_000;
/// A server that does not accept within this time has failed.
const READY_WITHIN_NS: i64 = 30_000_000_000;

/// What makes a program count as started.
enum Awaited {
    Tcp(SocketAddr),
    Udp(SocketAddr),
    Line(String),
}

pub struct Program {
    spec: Command,
    child: Option<Child>,
    polling: Option<Polling>,
    awaited: Option<Awaited>,
    started_ns: i64,
    looks: u32,
    lacks: Option<String>,
    progress: Progress,
    stop_asked: bool,
    exit: Option<i32>,
}

/// `@agent`, `@out`, `@own`, `@checkout` and `@content` in arguments and environment.
fn substitute(text: &str, id: &str, places: &Places) -> String {
    text.replace("@own", &places.raw.join(id).to_string_lossy())
        .replace("@agent", &places.agent.to_string_lossy())
        .replace("@out", &places.raw.to_string_lossy())
        .replace("@checkout", &places.checkout.to_string_lossy())
        .replace("@content", &places.content.to_string_lossy())
}

fn awaited(ready: &Ready) -> Result<Awaited> {
    let address = |text: &str| {
        text.parse()
            .map_err(|_| RunError::new(Stage::Traffic, format!("ready: '{text}' is not ADDRESS:PORT")))
    };
    match (&ready.tcp, &ready.udp, &ready.line) {
        (Some(at), None, None) => Ok(Awaited::Tcp(address(at)?)),
        (None, Some(at), None) => Ok(Awaited::Udp(address(at)?)),
        (None, None, Some(text)) => Ok(Awaited::Line(text.clone())),
        _ => Err(RunError::new(Stage::Traffic, "ready has not one of tcp, udp and line".to_string())),
    }
}

impl Program {
    pub fn new(spec: Command) -> Program {
        Program {
            spec,
            child: None,
            polling: None,
            awaited: None,
            started_ns: 0,
            looks: 0,
            lacks: None,
            progress: Progress::Starting,
            stop_asked: false,
            exit: None,
        }
    }

    fn output(&self, cx: &Cx, stream: &str) -> Result<Stdio> {
        let path = cx.places.raw.join(format!("{}.{stream}", self.spec.id));
        Ok(File::create(&path).during(|| format!("creating {}", path.display()))?.into())
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
        let (Some(awaited), Progress::Starting) = (&self.awaited, self.progress) else {
            return Ok(());
        };
        cx.nodes.enter(&self.spec.node)?;
        let (there, lacks) = match awaited {
            Awaited::Tcp(at) => (
                tcp_diag::listens(at.ip(), at.port()).during(|| "looking for listening sockets".into())?,
                format!("does not accept on {at}"),
            ),
            Awaited::Udp(at) => (
                udp::is_bound(*at).during(|| "looking for bound sockets".into())?,
                format!("has no socket bound to {at}"),
            ),
            Awaited::Line(text) => (self.has_printed(cx, text)?, format!("has not printed '{text}'")),
        };
        if there {
            self.progress = Progress::Running;
            self.lacks = None;
            return Ok(());
        }
        let lacks = format!("{lacks}{}", self.seen_instead().unwrap_or_default());
        self.lacks = Some(lacks.clone());
        let waited = cx.reactor.now - self.started_ns;
        if waited > READY_WITHIN_NS {
            return Err(self.failed(cx, format!("{lacks} after {} s", waited / 1_000_000_000)));
        }
        self.looks += 1;
        // Quick at first; a program that waits for something else is asked less often.
        let pause_ns = if self.looks < 50 { 1_000_000 } else { 20_000_000 };
        cx.reactor.at(cx.reactor.now + pause_ns, cx.token(LOOK, 0));
        Ok(())
    }

    /// Of a server over UDP that is not where it is awaited: where sockets of its node are.
    fn seen_instead(&self) -> Option<String> {
        if !matches!(self.awaited, Some(Awaited::Udp(_))) {
            return None;
        }
        let ports: Vec<String> = udp::ports().ok()?.iter().map(u16::to_string).collect();
        Some(if ports.is_empty() {
            " (no UDP socket is bound there)".into()
        } else {
            format!(" (bound are the UDP ports {})", ports.join(", "))
        })
    }

    fn has_printed(&self, cx: &Cx, text: &str) -> Result<bool> {
        for stream in ["stdout", "stderr"] {
            let path = cx.places.raw.join(format!("{}.{stream}", self.spec.id));
            let printed = std::fs::read(&path).during(|| format!("reading {}", path.display()))?;
            if String::from_utf8_lossy(&printed).contains(text) {
                return Ok(true);
            }
        }
        Ok(false)
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
            let expected = self.spec.ok_exits.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
            let wanted = match expected.as_str() {
                "" => "but is to run until it is stopped".to_string(),
                numbers => format!("expected {numbers}"),
            };
            return Err(self.failed(cx, format!("exited with {number}, {wanted}")));
        }
        Ok(())
    }
}

impl Actor for Program {
    fn start(&mut self, cx: &mut Cx) -> Result<()> {
        let argv: Vec<String> =
            self.spec.argv.iter().map(|a| substitute(a, &self.spec.id, cx.places)).collect();
        let env: Vec<(String, String)> =
            self.spec.env.iter().map(|(k, v)| (k.clone(), substitute(v, &self.spec.id, cx.places))).collect();
        if let Some(ready) = &self.spec.ready {
            self.awaited = Some(awaited(ready)?);
        }
        if self.spec.argv.iter().chain(self.spec.env.values()).any(|text| text.contains("@own")) {
            let own = cx.places.raw.join(&self.spec.id);
            std::fs::create_dir_all(&own).during(|| format!("making {}", own.display()))?;
        }
        let (stdout, stderr) = (self.output(cx, "stdout")?, self.output(cx, "stderr")?);
        cx.nodes.enter(&self.spec.node)?;
        let child = cx
            .children
            .spawn(&argv, &env, stdout, stderr)
            .map_err(|e| e.stage(Stage::Traffic).node(&self.spec.node))?;
        cx.reactor.watch(child.watch_fd(), IN, cx.token(EXITED, 0)).during(|| "watching a program".into())?;
        self.started_ns = cx.reactor.now;
        let more = json!({"node": self.spec.node, "argv": argv, "pid": child.pid});
        cx.log.event(cx.reactor.now, "spawned", Some(&self.spec.id), more);
        if cx.places.guest {
            let polling = Polling::watch(cx, &self.spec.id, child.pid, &self.spec.node)?;
            self.polling = Some(polling);
        }
        self.child = Some(child);
        if self.awaited.is_none() {
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
                    cx.log.event(cx.reactor.now, "killed", Some(&self.spec.id), json!({}));
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
                    RunError::new(Stage::Traffic, format!("stop_signal '{name}' is not a known signal"))
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

    fn lacks(&self) -> Option<&str> {
        self.lacks.as_deref()
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
        assert_eq!(substitute("@checkout/x", "mine", &places), "/run/checkout/x");
        assert_eq!(substitute("@content/a/b", "mine", &places), "/run/content/a/b");
        assert_eq!(substitute("@agent", "mine", &places), "/run/agent");
        assert_eq!(substitute("@own/qlog", "mine", &places), "/run/narrows/raw/mine/qlog");
        assert_eq!(substitute("--json=@out/x.json", "mine", &places), "--json=/run/narrows/raw/x.json");
    }

    #[test]
    fn a_program_awaits_one_thing() {
        let ready = |tcp: Option<&str>, udp: Option<&str>, line: Option<&str>| Ready {
            tcp: tcp.map(Into::into),
            udp: udp.map(Into::into),
            line: line.map(Into::into),
        };
        assert!(
            matches!(awaited(&ready(None, Some("10.0.2.1:443"), None)), Ok(Awaited::Udp(at)) if at.port() == 443)
        );
        assert!(matches!(awaited(&ready(None, None, Some("up"))), Ok(Awaited::Line(text)) if text == "up"));
        assert!(awaited(&ready(Some("10.0.2.1:443"), None, Some("up"))).is_err());
        assert!(awaited(&ready(Some("server"), None, None)).is_err());
    }
}
