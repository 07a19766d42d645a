//! A tracefs instance of a run's own: made, set up, asked for what it lost, and removed.
//!
//! Another instance and the host's own tracing are never touched. Errors are text: they become the reason why there
//! is no tap, not the run's failure.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ROOTS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
const PREFIX: &str = "nrw";
const REMOVE_TRIES: u32 = 40;

pub struct Instance {
    pub dir: PathBuf,
}

fn root() -> Result<&'static Path, String> {
    let found = ROOTS.iter().map(Path::new).find(|p| p.join("instances").is_dir());
    found.ok_or_else(|| {
        "this host shows no tracefs (mount -t tracefs tracefs /sys/kernel/tracing; it needs CONFIG_TRACING)".into()
    })
}

impl Instance {
    pub fn create() -> Result<Instance, String> {
        let dir = root()?.join("instances").join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&dir).map_err(|e| format!("creating {}: {e}", dir.display()))?;
        Ok(Instance { dir })
    }

    pub fn read(&self, file: &str) -> Result<String, String> {
        let path = self.dir.join(file);
        read_whole(&path).map_err(|e| format!("reading {}: {e}", path.display()))
    }

    pub fn write(&self, file: &str, text: &str) -> Result<(), String> {
        let path = self.dir.join(file);
        fs::write(&path, text).map_err(|e| format!("writing '{text}' to {}: {e}", path.display()))
    }

    /// Lets the event happen only where `filter` holds (empty: everywhere).
    pub fn enable(&self, event: &str, filter: &str) -> Result<(), String> {
        if !filter.is_empty() {
            self.write(&format!("events/{event}/filter"), filter)?;
        }
        self.write(&format!("events/{event}/enable"), "1")
    }

    pub fn cores(&self) -> Result<Vec<PathBuf>, String> {
        let dir = self.dir.join("per_cpu");
        let entries = fs::read_dir(&dir).map_err(|e| format!("reading {}: {e}", dir.display()))?;
        let mut cores: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
        cores.sort();
        match cores.is_empty() {
            true => Err(format!("{} is empty", dir.display())),
            false => Ok(cores),
        }
    }

    /// Events that no longer found room, on all cores.
    pub fn lost_events(&self) -> Result<u64, String> {
        let mut lost = 0;
        for core in self.cores()? {
            let path = core.join("stats");
            let text = fs::read_to_string(&path).map_err(|e| format!("reading {}: {e}", path.display()))?;
            lost += lost_by(&text).ok_or_else(|| format!("{} tells of no overrun", path.display()))?;
        }
        Ok(lost)
    }

    /// Files in it must be closed; a reader that is about to close gets a moment.
    pub fn remove(&self) {
        remove(&self.dir);
    }
}

/// `events/header_page` gives what fits into the first read and no more, so that one is large.
fn read_whole(path: &Path) -> std::io::Result<String> {
    let mut file = fs::File::open(path)?;
    let (mut all, mut part) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut part)? {
            0 => return Ok(String::from_utf8_lossy(&all).into_owned()),
            n => all.extend_from_slice(&part[..n]),
        }
    }
}

fn remove(dir: &Path) {
    let _ = fs::write(dir.join("tracing_on"), "0");
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir(dir) {
            Err(e) if e.raw_os_error() == Some(libc::EBUSY) => std::thread::sleep(Duration::from_millis(25)),
            _ => return,
        }
    }
}

fn lost_by(stats: &str) -> Option<u64> {
    let of = |name: &str| -> Option<u64> {
        let rest = stats.lines().find_map(|l| l.strip_prefix(name))?;
        rest.strip_prefix(':')?.trim().parse().ok()
    };
    Some(of("overrun")? + of("commit overrun")? + of("dropped events")?)
}

/// Removes this process' instance, if it has one.
pub fn remove_own() {
    remove_of(|pid| pid == std::process::id());
}

/// Removes the instances of agents that were killed.
pub fn remove_stale() {
    remove_of(|pid| crate::sys::gone(pid as i32));
}

fn remove_of(is_chosen: impl Fn(u32) -> bool) {
    let Ok(entries) = root().and_then(|r| fs::read_dir(r.join("instances")).map_err(|e| e.to_string()))
    else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(PREFIX).and_then(|p| p.parse::<u32>().ok());
        if pid.is_some_and(&is_chosen) {
            remove(&entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_losing_events_counts_and_silence_is_no_zero() {
        let stats =
            "entries: 7\noverrun: 1\ncommit overrun: 2\nbytes: 100\ndropped events: 4\nread events: 9\n";
        assert_eq!(lost_by(stats), Some(7));
        assert_eq!(lost_by("entries: 7\noverrun: 1\n"), None);
    }
}
