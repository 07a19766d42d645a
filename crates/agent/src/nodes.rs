//! Nodes: network namespaces, mounted under /run/netns so that `ip netns` and `netns NODE` know them.
//!
//! In a guest a node's namespace has the node's name. On a host it gets a prefix unique to the run, so that
//! two runs can go side by side; `rewrite` puts that name into tool arguments.

use std::cell::Cell;
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use crate::error::{During, Result, RunError};
use crate::{netlink, sys};
use narrows_plan::HOST;

pub const NETNS_DIR: &str = "/run/netns";
/// Where agents on real hosts write down what they borrowed, by their process; it is gone with a reboot, as that is.
pub const LEDGERS: &str = "/run/narrows";

struct Namespace {
    node: String,
    path: PathBuf,
    ns: File,
}

pub struct Nodes {
    prefix: String,
    list: Vec<Namespace>,
    host: File,
    /// Index of the next interface that `ip link add` makes; None: the kernel's choice. See `number_interfaces`.
    next_index: Cell<Option<u32>>,
    /// Which namespace the (only) thread is in; entering is lazy, nothing ever needs to go back.
    current: Cell<Option<usize>>,
}

impl Nodes {
    pub fn create<'a>(names: impl Iterator<Item = &'a str>, prefix: &str) -> Result<Nodes> {
        fs::create_dir_all(NETNS_DIR).during(|| format!("creating {NETNS_DIR}"))?;
        let mut nodes = Nodes {
            host: File::open("/proc/self/ns/net").during(|| "opening the host's namespace".into())?,
            prefix: prefix.to_string(),
            list: Vec::new(),
            next_index: Cell::new(None),
            current: Cell::new(None),
        };
        for node in names {
            nodes.create_one(node)?;
        }
        Ok(nodes)
    }

    fn create_one(&mut self, node: &str) -> Result<()> {
        let path = PathBuf::from(format!("{NETNS_DIR}/{}{node}", self.prefix));
        let what = |step: &str| format!("{step} the network namespace of node {node}");
        File::create(&path).during(|| format!("creating {}", path.display()))?;
        let made = sys::unshare(libc::CLONE_NEWNET)
            .and_then(|()| sys::mount("/proc/thread-self/ns/net", &path, "", libc::MS_BIND, ""))
            .and_then(|()| File::open(&path));
        let ns = match made {
            Ok(ns) => ns,
            Err(e) => {
                let _ = fs::remove_file(&path);
                return Err(RunError::internal(format!("{}: {e}", what("creating"))));
            }
        };
        self.list.push(Namespace { node: node.to_string(), path, ns });
        self.current.set(Some(self.list.len() - 1));
        netlink::interface_up("lo").during(|| what("bringing up lo in"))
    }

    /// Puts the thread into the node's namespace. Sockets and children made afterwards belong to it.
    pub fn enter(&self, node: &str) -> Result<()> {
        if node == HOST {
            self.current.set(None);
            return sys::setns_net(self.host.as_raw_fd()).during(|| "entering the host's namespace".into());
        }
        let i = self
            .list
            .iter()
            .position(|n| n.node == node)
            .ok_or_else(|| RunError::internal(format!("no node '{node}'")))?;
        if self.current.get() != Some(i) {
            sys::setns_net(self.list[i].ns.as_raw_fd()).during(|| format!("entering node {node}"))?;
            self.current.set(Some(i));
        }
        Ok(())
    }

    /// Puts the thread back where `home` is a namespace of: tools then work on the host itself.
    pub fn leave(&self, home: &File) -> Result<()> {
        self.current.set(None);
        sys::setns_net(home.as_raw_fd()).during(|| "returning to the host's own namespace".into())
    }

    /// Whether the node is on this machine: with real hosts, others are elsewhere.
    pub fn has(&self, node: &str) -> bool {
        self.list.iter().any(|n| n.node == node)
    }

    pub fn socket(&self, node: &str, domain: i32, kind: i32, protocol: i32) -> Result<OwnedFd> {
        self.enter(node)?;
        sys::socket(domain, kind, protocol).during(|| format!("opening a socket in node {node}"))
    }

    /// From now on `ip link add` gives interfaces indices from `first` on. Namespaces number theirs alike otherwise,
    /// and trace events tell an interface only by its index.
    pub fn number_interfaces(&self, first: u32) {
        self.next_index.set(Some(first));
    }

    /// Puts `index N` before `type`, and after `peer` where it makes two.
    fn numbered(&self, args: &mut Vec<String>) {
        let (Some(index), true) = (self.next_index.get(), args.starts_with(&["link".into(), "add".into()]))
        else {
            return;
        };
        let is_told = args.iter().any(|a| a == "index");
        let Some(kind) = args.iter().position(|a| a == "type").filter(|_| !is_told) else {
            return;
        };
        let peer = args.iter().skip(kind).position(|a| a == "peer");
        let mut tell =
            |at: usize, index: u32| args.splice(at..at, ["index".into(), index.to_string()]).count();
        if let Some(after) = peer {
            tell(kind + after + 1, index + 1);
        }
        tell(kind, index);
        self.next_index.set(Some(index + 2));
    }

    /// Tool arguments name nodes after `netns`; on a host that name carries the run's prefix. New interfaces get
    /// the index that is theirs.
    pub fn rewrite(&self, args: &[String]) -> Vec<String> {
        let mut out = args.to_vec();
        for i in 1..out.len() {
            if args[i - 1] == "netns" && self.list.iter().any(|n| n.node == args[i]) {
                out[i] = format!("{}{}", self.prefix, args[i]);
            }
        }
        self.numbered(&mut out);
        out
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.list.iter().map(|n| n.node.as_str())
    }

    /// Removes the mounts; the namespaces and all in them go with the last descriptor and process.
    pub fn remove(&mut self) {
        self.current.set(None);
        for n in self.list.drain(..) {
            let _ = sys::umount_detach(&n.path);
            let _ = fs::remove_file(&n.path);
        }
    }

    pub fn paths(&self) -> Vec<PathBuf> {
        self.list.iter().map(|n| n.path.clone()).collect()
    }
}

/// Removes namespaces left by runs on this host that were killed (their pid is in the name).
pub fn remove_stale() {
    let Ok(entries) = fs::read_dir(NETNS_DIR) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name
            .strip_prefix("nrw")
            .and_then(|r| r.split_once('-'))
            .and_then(|(pid, _)| pid.parse::<i32>().ok());
        let Some(pid) = pid else {
            continue;
        };
        // Where a ledger names it, interfaces of the host are in it: `undo` knows how they go back.
        if sys::gone(pid) && !PathBuf::from(format!("{LEDGERS}/{pid}.json")).exists() {
            let _ = sys::umount_detach(&entry.path());
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Ends programs of a run that detached themselves: those still in its namespaces.
pub fn end_processes(namespaces: &[PathBuf]) {
    let inodes: Vec<u64> = namespaces.iter().filter_map(|p| p.metadata().ok()).map(|m| m.ino()).collect();
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return;
    };
    let own = std::process::id() as i32;
    for entry in processes.flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else {
            continue;
        };
        let inside = entry.path().join("ns/net").metadata().is_ok_and(|m| inodes.contains(&m.ino()));
        if inside && pid != own {
            let _ = sys::kill(pid, libc::SIGKILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Nodes {
        Nodes {
            host: File::open("/dev/null").unwrap(),
            prefix: "nrw7-".into(),
            list: vec![Namespace {
                node: "router".into(),
                path: PathBuf::new(),
                ns: File::open("/dev/null").unwrap(),
            }],
            next_index: Cell::new(None),
            current: Cell::new(None),
        }
    }

    fn rewritten(nodes: &Nodes, args: &str) -> String {
        let args: Vec<String> = args.split(' ').map(String::from).collect();
        nodes.rewrite(&args).join(" ")
    }

    #[test]
    fn only_the_word_after_netns_is_rewritten() {
        assert_eq!(
            rewritten(&nodes(), "link add router type veth peer name x netns router"),
            "link add router type veth peer name x netns nrw7-router"
        );
    }

    #[test]
    fn new_interfaces_are_numbered_in_turn_and_nothing_else_is() {
        let nodes = nodes();
        nodes.number_interfaces(500);
        assert_eq!(
            rewritten(&nodes, "link add a mtu 9 type veth peer name b netns router"),
            "link add a mtu 9 index 500 type veth peer index 501 name b netns nrw7-router"
        );
        assert_eq!(rewritten(&nodes, "link add c type ifb"), "link add c index 502 type ifb");
        assert_eq!(rewritten(&nodes, "link set c up"), "link set c up");
    }
}
