//! The machine that controls the agents of a run on real hosts, as one of them sees it: lines of JSON over standard
//! input and output. What one agent says of its items, the controlling machine passes on to the others.

use std::collections::{HashMap, VecDeque};
use std::io::{Read, Write};
use std::os::fd::RawFd;
use std::path::Path;

use serde_json::{json, Value};

use super::guardian::Guardian;
use crate::actor::Progress;
use crate::error::{During, Result, RunError};
use crate::status::Interrupt;
use crate::sys;

/// It says something every second or two; after so long without a word the run is over.
const SILENT_AFTER_NS: i64 = 20_000_000_000;
const STDIN: RawFd = 0;

pub struct Controller {
    guardian: Option<Guardian>,
    bytes: Vec<u8>,
    inbox: VecDeque<Value>,
    closed: bool,
    heard_ns: i64,
    /// Items of other hosts, by what was said of them.
    elsewhere: HashMap<String, Progress>,
    /// What this host has said of its own.
    said: HashMap<String, &'static str>,
}

pub fn say(message: &Value) {
    let text = format!("{message}\n");
    let mut out = std::io::stdout().lock();
    // A reader that has gone shows as the end of standard input.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

impl Controller {
    pub fn new() -> Controller {
        Controller {
            guardian: None,
            bytes: Vec::new(),
            inbox: VecDeque::new(),
            closed: false,
            heard_ns: sys::mono_ns(),
            elsewhere: HashMap::new(),
            said: HashMap::new(),
        }
    }

    pub fn guard(&mut self, guardian: Guardian) {
        self.guardian = Some(guardian);
    }

    /// Lets the guardian undo all, and waits for that.
    pub fn finish(self) {
        if let Some(guardian) = self.guardian {
            guardian.finish();
        }
    }

    pub fn fd(&self) -> RawFd {
        STDIN
    }

    fn beat(&self) {
        if let Some(guardian) = &self.guardian {
            guardian.beat();
        }
    }

    /// Takes in what is there, waiting at most `wait_ms` for the first byte.
    fn take(&mut self, wait_ms: i32) {
        let mut poll = libc::pollfd { fd: STDIN, events: libc::POLLIN, revents: 0 };
        let mut buf = [0u8; 65536];
        let mut wait_ms = wait_ms;
        // SAFETY: poll lives through the call.
        while !self.closed && unsafe { libc::poll(&mut poll, 1, wait_ms) } > 0 {
            wait_ms = 0;
            // Not through a buffered reader: what it holds back would not show in poll.
            // SAFETY: the descriptor stays open: it is never closed by the file, which is forgotten.
            let mut file = std::mem::ManuallyDrop::new(unsafe {
                <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(STDIN)
            });
            match file.read(&mut buf) {
                Ok(0) | Err(_) => self.closed = true,
                Ok(n) => {
                    self.heard_ns = sys::mono_ns();
                    self.bytes.extend_from_slice(&buf[..n]);
                    self.beat();
                }
            }
        }
        while let Some(end) = self.bytes.iter().position(|b| *b == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            if let Ok(message) = serde_json::from_slice::<Value>(&line) {
                self.sort(message);
            }
        }
    }

    /// What can be dealt with at once is; the rest is for whoever waits for it.
    fn sort(&mut self, message: Value) {
        if message.get("beat").is_some() {
            return;
        }
        if let Some(number) = message.get("ping") {
            return say(&json!({"pong": number, "mono_ns": sys::mono_ns()}));
        }
        match (message["item"].as_str(), message["state"].as_str()) {
            (Some(item), Some("running")) => {
                self.elsewhere.insert(item.into(), Progress::Running);
            }
            (Some(item), Some("ended")) => {
                let t_ns = message["t_ns"].as_i64().unwrap_or(0);
                self.elsewhere.insert(item.into(), Progress::Ended { t_ns });
            }
            _ => self.inbox.push_back(message),
        }
    }

    /// An error once the run cannot go on: the controlling machine says so, or is gone.
    fn check(&mut self) -> Result<()> {
        if let Some(why) = self.inbox.iter().find_map(|m| m["stop"].as_str()) {
            return Err(RunError::internal(format!("stopped: {why}")));
        }
        if self.closed {
            return Err(RunError::internal("the connection to the controlling machine has ended"));
        }
        if sys::mono_ns() - self.heard_ns > SILENT_AFTER_NS {
            return Err(RunError::internal(format!(
                "nothing was heard of the controlling machine for {} s",
                SILENT_AFTER_NS / 1_000_000_000
            )));
        }
        Ok(())
    }

    /// While traffic flows: takes in what there is.
    pub fn look(&mut self) -> Result<()> {
        self.take(0);
        self.beat();
        self.check()
    }

    /// Waits for the next message that has one of these keys.
    pub fn wait_for(&mut self, keys: &[&str], interrupt: &Interrupt) -> Result<Value> {
        loop {
            self.take(0);
            let wanted = |m: &Value| keys.iter().any(|key| m.get(key).is_some());
            if let Some(at) = self.inbox.iter().position(wanted) {
                return Ok(self.inbox.remove(at).unwrap_or_default());
            }
            self.check()?;
            interrupt.check()?;
            self.take(500);
        }
    }

    pub fn of_elsewhere(&self, item: &str) -> Progress {
        self.elsewhere.get(item).copied().unwrap_or(Progress::Starting)
    }

    /// Says, once, what has become of an item of this host.
    pub fn tell(&mut self, item: &str, progress: Progress) {
        let (state, t_ns) = match progress {
            Progress::Starting => return,
            Progress::Running => ("running", None),
            Progress::Ended { t_ns } => ("ended", Some(t_ns)),
        };
        if self.said.insert(item.into(), state) != Some(state) {
            say(&json!({"item": item, "state": state, "t_ns": t_ns}));
        }
    }

    /// Every file of a directory: a line with its name and length, then its bytes.
    pub fn send_files(&mut self, directory: &Path) -> Result<()> {
        let what = || format!("sending {}", directory.display());
        let mut paths: Vec<_> = std::fs::read_dir(directory)
            .during(what)?
            .flatten()
            .map(|e| e.path())
            .filter(|p| p.is_file())
            .collect();
        paths.sort();
        for path in paths {
            let mut file = std::fs::File::open(&path).during(what)?;
            let mut left = file.metadata().during(what)?.len();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            say(&json!({"file": name, "bytes": left}));
            let mut out = std::io::stdout().lock();
            let mut buf = vec![0u8; 1 << 18];
            while left > 0 {
                let most = left.min(buf.len() as u64) as usize;
                let n = file.read(&mut buf[..most]).during(what)?;
                if n == 0 {
                    return Err(RunError::internal(format!("{name} became shorter while it was sent")));
                }
                out.write_all(&buf[..n]).during(what)?;
                left -= n as u64;
                self.beat();
            }
            out.flush().during(what)?;
        }
        Ok(())
    }
}
