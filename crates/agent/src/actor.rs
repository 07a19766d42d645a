//! What the event loop drives: traffic items, samplers and captures behind one trait, and what they may use.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{json, Map, Value};

use crate::children::Children;
use crate::error::{During, Result};
use crate::nodes::Nodes;
use crate::reactor::{Event, Reactor, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Started, but not yet of use (a server that does not accept yet).
    Starting,
    Running,
    /// For those who wait on it. It may still be waiting for stragglers: see `drained`.
    Ended {
        t_ns: i64,
    },
}

/// What an actor may use. `owner` is the actor's own number, for its tokens.
pub struct Cx<'a> {
    pub reactor: &'a mut Reactor,
    pub nodes: &'a Nodes,
    pub children: &'a mut Children,
    pub log: &'a mut EventLog,
    pub places: &'a Places,
    pub owner: u16,
}

impl Cx<'_> {
    pub fn token(&self, kind: u16, index: usize) -> Token {
        Token { owner: self.owner, kind, index: index as u32 }
    }

    pub fn csv(&self, id: &str, header: &str) -> Result<Csv> {
        Csv::create(&self.places.raw.join(format!("{id}.csv")), header)
    }
}

pub trait Actor {
    /// Before the epoch, where some nodes are on other hosts: whoever is sent to must listen before it is.
    fn prepare(&mut self, _: &mut Cx) -> Result<()> {
        Ok(())
    }
    fn start(&mut self, cx: &mut Cx) -> Result<()>;
    fn event(&mut self, cx: &mut Cx, event: Event) -> Result<()>;
    /// Asked to end early; it may take until `progress` says so.
    fn stop(&mut self, cx: &mut Cx) -> Result<()>;
    fn progress(&self) -> Progress;
    /// Nothing of it is left in the network that it still wants to count.
    fn drained(&self) -> bool {
        true
    }
    /// What it seems to wait for, for a message; None: nothing is known.
    fn waits_for(&self, _: &mut Cx) -> Option<String> {
        None
    }
    /// Why it does not count as started yet; None: it does, or nothing is known.
    fn lacks(&self) -> Option<&str> {
        None
    }
    /// Bytes that each of its TCP flows has had acknowledged so far; None: not connected yet.
    fn acknowledged(&self) -> Vec<Option<u64>> {
        Vec::new()
    }
    fn exit_code(&self) -> Option<i32> {
        None
    }
    /// Writes what is left to write. Called once, at the end of the run, if it was started.
    fn finish(&mut self, cx: &mut Cx) -> Result<Option<Value>>;
}

/// Where things are, as this process sees them.
pub struct Places {
    /// The run's raw directory.
    pub raw: PathBuf,
    /// The agent's own binary.
    pub agent: PathBuf,
    /// The checkout of narrows, where the plan needs it.
    pub checkout: PathBuf,
    /// What services serve, where the plan needs it.
    pub content: PathBuf,
    /// Whether these are places in a guest, whose time is virtual.
    pub guest: bool,
}

/// agent.jsonl: one JSON object per event.
pub struct EventLog {
    file: BufWriter<File>,
}

impl EventLog {
    pub fn create(raw: &Path) -> Result<EventLog> {
        let path = raw.join("agent.jsonl");
        let file = File::create(&path).during(|| format!("creating {}", path.display()))?;
        Ok(EventLog { file: BufWriter::with_capacity(1 << 16, file) })
    }

    pub fn event(&mut self, t_ns: i64, event: &str, item: Option<&str>, more: Value) {
        let mut line = Map::new();
        line.insert("t_ns".into(), json!(t_ns));
        line.insert("event".into(), json!(event));
        line.insert("item".into(), json!(item));
        if let Value::Object(more) = more {
            line.extend(more);
        }
        // A full disk shows at `flush`, where it fails the run.
        let _ = writeln!(self.file, "{}", Value::Object(line));
    }

    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().during(|| "writing agent.jsonl".into())
    }
}

/// A CSV file being written; its errors name the file.
pub struct Csv {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Csv {
    pub fn create(path: &Path, header: &str) -> Result<Csv> {
        let file = File::create(path).during(|| format!("creating {}", path.display()))?;
        let mut csv = Csv { file: BufWriter::with_capacity(1 << 17, file), path: path.to_path_buf() };
        csv.line(header)?;
        Ok(csv)
    }

    pub fn line(&mut self, line: &str) -> Result<()> {
        self.file
            .write_all(line.as_bytes())
            .and_then(|()| self.file.write_all(b"\n"))
            .during(|| format!("writing {}", self.path.display()))
    }

    pub fn flush(&mut self) -> Result<()> {
        self.file.flush().during(|| format!("writing {}", self.path.display()))
    }
}

/// A cell that is empty where there is no value.
pub fn cell<T: ToString>(v: Option<T>) -> String {
    v.map(|v| v.to_string()).unwrap_or_default()
}
