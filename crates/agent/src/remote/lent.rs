//! An interface of a real host, lent to a node of a run: what it was like before, and how it becomes that again.
//!
//! It is moved into the node's namespace and back. What the kernel forgets on that way is kept here: addresses,
//! routes, neighbours, its own sysctls, its offloads, and whether it was up. What is the host's and not the
//! interface's is never touched, so there is nothing of it to put back.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::{ethtool, sys};

/// Where the kernel keeps what is set of one interface.
const SYSCTLS: [&str; 4] = ["ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh"];

/// What a run is to have: `interface` of the host becomes `name` of `node`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    pub interface: String,
    pub node: String,
    pub name: String,
    pub mtu: u32,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lent {
    wanted: Wanted,
    /// The node's namespace.
    namespace: PathBuf,
    index: u32,
    mtu: String,
    up: bool,
    features: Vec<u32>,
    sysctls: Vec<(PathBuf, String)>,
    /// Dumps as `ip … save` writes them.
    addresses: Vec<u8>,
    routes: [Vec<u8>; 2],
    neighbours: Vec<String>,
}

/// Runs a tool, in a namespace if one is given, and gives what it printed.
fn tool(namespace: Option<&Path>, words: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let said = |e: io::Error| format!("{}: {e}", words.join(" "));
    let stdin = sys::memfd("in").map_err(said)?;
    // SAFETY: input is readable for its length; a positional write leaves the offset at 0 for the child.
    sys::cvt_len(unsafe {
        libc::pwrite(stdin.as_raw_fd(), input.as_ptr() as *const libc::c_void, input.len(), 0)
    })
    .map_err(said)?;
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::from(stdin));
    if let Some(path) = namespace {
        let file = File::open(path).map_err(said)?;
        // SAFETY: between fork and exec only one system call is made.
        unsafe { command.pre_exec(move || sys::setns_net(file.as_raw_fd())) };
    }
    let out = command.output().map_err(said)?;
    match out.status.success() {
        true => Ok(out.stdout),
        false => {
            let stderr = String::from_utf8_lossy(&out.stderr);
            let line = stderr.lines().next().unwrap_or("failed").to_string();
            Err(format!("{}: {line}", words.join(" ")))
        }
    }
}

fn read(path: &str) -> Result<String, String> {
    fs::read_to_string(path).map(|text| text.trim().to_string()).map_err(|e| format!("{path}: {e}"))
}

/// All of an interface's own sysctls that can be read.
fn sysctls(interface: &str) -> Vec<(PathBuf, String)> {
    let mut all = Vec::new();
    for kind in SYSCTLS {
        let folder = PathBuf::from(format!("/proc/sys/net/{kind}/{interface}"));
        let Ok(entries) = fs::read_dir(folder) else {
            continue;
        };
        for path in entries.flatten().map(|e| e.path()) {
            if let Ok(value) = fs::read_to_string(&path) {
                all.push((path, value));
            }
        }
    }
    all.sort();
    all
}

impl Lent {
    /// Keeps what the interface is like. Changes nothing.
    pub fn look(wanted: &Wanted, namespace: PathBuf) -> Result<Lent, String> {
        let dev = wanted.interface.as_str();
        let sys_class = format!("/sys/class/net/{dev}");
        let flags = read(&format!("{sys_class}/flags"))?;
        let neighbours = tool(None, &["ip", "neigh", "show", "dev", dev, "nud", "permanent"], b"")?;
        Ok(Lent {
            index: read(&format!("{sys_class}/ifindex"))?
                .parse()
                .map_err(|e| format!("{sys_class}/ifindex: {e}"))?,
            mtu: read(&format!("{sys_class}/mtu"))?,
            up: u32::from_str_radix(flags.trim_start_matches("0x"), 16).unwrap_or(0) & libc::IFF_UP as u32
                != 0,
            features: ethtool::features(dev)?,
            sysctls: sysctls(dev),
            addresses: tool(None, &["ip", "addr", "save", "dev", dev], b"")?,
            routes: [
                tool(None, &["ip", "-4", "route", "save", "table", "all", "dev", dev], b"")?,
                tool(None, &["ip", "-6", "route", "save", "table", "all", "dev", dev], b"")?,
            ],
            neighbours: String::from_utf8_lossy(&neighbours).lines().map(String::from).collect(),
            wanted: wanted.clone(),
            namespace,
        })
    }

    /// Moves it into its node.
    pub fn lend(&self) -> Result<(), String> {
        let (dev, name) = (self.wanted.interface.as_str(), self.wanted.name.as_str());
        let namespace = self.namespace.file_name().unwrap_or_default().to_string_lossy();
        tool(None, &["ip", "link", "set", "dev", dev, "netns", &namespace, "name", name], b"")?;
        let mtu = self.wanted.mtu.to_string();
        tool(Some(&self.namespace), &["ip", "link", "set", "dev", name, "mtu", &mtu], b"").map(drop)
    }

    /// Brings it back and makes it what it was; says what could not be put back.
    pub fn give_back(&self) -> Vec<String> {
        let (dev, name) = (self.wanted.interface.as_str(), self.wanted.name.as_str());
        let there = Some(self.namespace.as_path());
        let mut problems = Vec::new();
        if tool(there, &["ip", "link", "show", "dev", name], b"").is_err() {
            return problems; // it never left
        }
        let own = std::process::id().to_string();
        if let Err(e) = tool(there, &["ip", "link", "set", "dev", name, "netns", &own, "name", dev], b"") {
            return vec![format!("{dev} is still in {}: {e}", self.namespace.display())];
        }
        let mut tried = |done: Result<Vec<u8>, String>| problems.extend(done.err());
        for (path, value) in &self.sysctls {
            let now = fs::read_to_string(path).ok();
            if now.is_some_and(|now| now != *value) {
                let written = fs::write(path, value).map_err(|e| format!("{}: {e}", path.display()));
                tried(written.map(|()| Vec::new()));
            }
        }
        tried(ethtool::restore(dev, &self.features).map(|()| Vec::new()));
        tried(tool(None, &["ip", "link", "set", "dev", dev, "mtu", &self.mtu], b""));
        if self.up {
            tried(tool(None, &["ip", "link", "set", "dev", dev, "up"], b""));
        }
        // What comes by itself with these is there already; ip says so, and goes on.
        tried(tool(None, &["ip", "addr", "restore"], &self.addresses));
        tried(tool(None, &["ip", "-4", "route", "restore"], &self.routes[0]));
        tried(tool(None, &["ip", "-6", "route", "restore"], &self.routes[1]));
        for line in &self.neighbours {
            let words: Vec<&str> = line.split_whitespace().collect();
            let all = [&["ip", "neigh", "replace"], &words[..1], &["dev", dev], &words[1..]].concat();
            let known: Vec<&str> =
                all.into_iter().map(|w| if w == "PERMANENT" { "permanent" } else { w }).collect();
            let known: Vec<&str> = known
                .iter()
                .flat_map(|w| if *w == "permanent" { vec!["nud", w] } else { vec![*w] })
                .collect();
            tried(tool(None, &known, b""));
        }
        if read(&format!("/sys/class/net/{dev}/ifindex")).ok() != Some(self.index.to_string()) {
            problems.push(format!("{dev} has another index than {}", self.index));
        }
        problems
    }

    pub fn interface(&self) -> &str {
        &self.wanted.interface
    }
}
