//! The process that gives a host back what a run borrowed, however the run ends.
//!
//! It is forked before anything is borrowed, and does all of the undoing: when the agent has ended (its pipe closes,
//! also when it is killed), or when the agent has heard nothing of its controlling machine for too long. Where both are
//! killed, what they kept in a file lets the next agent on this host undo it.

use std::fs;
use std::io::Write;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::lent::Lent;
use crate::error::{During, Result};
use crate::nodes::{self, LEDGERS};
use crate::{host_tap, sys};

/// Without a sign of life from the agent for so long, the agent is taken for stuck and killed.
const DEAD_AFTER_MS: i32 = 60_000;

/// All that is to be undone.
#[derive(Serialize, Deserialize)]
pub struct Borrowed {
    agent: i32,
    guardian: i32,
    /// The host's own namespace: several containers may share a file system.
    home: u64,
    lent: Vec<Lent>,
    namespaces: Vec<PathBuf>,
    directory: PathBuf,
}

impl Borrowed {
    pub fn new(lent: Vec<Lent>, namespaces: Vec<PathBuf>, directory: PathBuf) -> Borrowed {
        Borrowed { agent: std::process::id() as i32, guardian: 0, home: home(), lent, namespaces, directory }
    }

    pub fn guardian(&self) -> i32 {
        self.guardian
    }

    pub fn lend(&self) -> std::result::Result<(), String> {
        self.lent.iter().try_for_each(Lent::lend)
    }

    fn ledger(&self) -> PathBuf {
        Path::new(LEDGERS).join(format!("{}.json", self.agent))
    }

    fn undo(&self) -> Vec<String> {
        nodes::end_processes(&self.namespaces);
        let mut problems: Vec<String> = Vec::new();
        for one in &self.lent {
            let said = one.give_back();
            problems.extend(said.into_iter().map(|p| format!("{}: {p}", one.interface())));
        }
        if problems.iter().all(|p| !p.contains("is still in")) {
            for path in &self.namespaces {
                let _ = sys::umount_detach(path);
                let _ = fs::remove_file(path);
            }
            let _ = fs::remove_file(self.ledger());
        }
        let _ = fs::remove_dir_all(&self.directory);
        host_tap::remove_stale();
        problems
    }
}

fn home() -> u64 {
    fs::metadata("/proc/self/ns/net").map_or(0, |m| m.ino())
}

/// What agents left that were killed together with their guardians.
pub fn undo_stale() -> Vec<String> {
    let Ok(entries) = fs::read_dir(LEDGERS) else {
        return Vec::new();
    };
    let ledgers = entries.flatten().filter_map(|e| fs::read(e.path()).ok());
    ledgers
        .filter_map(|text| serde_json::from_slice::<Borrowed>(&text).ok())
        .filter(|b| b.home == home() && sys::gone(b.agent) && sys::gone(b.guardian))
        .flat_map(|b| b.undo())
        .collect()
}

pub struct Guardian {
    pipe: OwnedFd,
    pid: i32,
}

impl Guardian {
    /// Forks it. The process must have one thread.
    pub fn start(borrowed: &mut Borrowed) -> Result<Guardian> {
        let mut fds = [0; 2];
        // SAFETY: fds is a valid out pointer.
        sys::cvt(unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) })
            .during(|| "making a pipe".into())?;
        // SAFETY: fresh descriptors.
        let (read, write) = unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) };
        // SAFETY: there is one thread, so the child may go on as it likes.
        let pid = sys::cvt(unsafe { libc::fork() }).during(|| "starting the guardian".into())?;
        if pid == 0 {
            drop(write);
            borrowed.guardian = std::process::id() as i32;
            watch(&read, borrowed);
        }
        borrowed.guardian = pid;
        let what = || format!("writing down in {LEDGERS} what is borrowed");
        fs::create_dir_all(LEDGERS).during(what)?;
        let text = serde_json::to_vec(borrowed).unwrap_or_default();
        fs::write(borrowed.ledger(), text).during(what)?;
        Ok(Guardian { pipe: write, pid })
    }

    /// The agent lives and its controlling machine is there.
    pub fn beat(&self) {
        // SAFETY: one readable byte; a guardian that is gone cannot be helped from here.
        unsafe { libc::write(self.pipe.as_raw_fd(), b".".as_ptr() as *const libc::c_void, 1) };
    }

    /// Lets it undo all, and waits for that.
    pub fn finish(self) {
        drop(self.pipe);
        let mut status = 0;
        // SAFETY: status is a valid out pointer.
        unsafe { libc::waitpid(self.pid, &mut status, 0) };
    }
}

/// The guardian's whole life.
fn watch(read: &OwnedFd, borrowed: &Borrowed) -> ! {
    // SAFETY: plain system calls. A session of its own: what ends the agent's does not end it.
    unsafe {
        libc::setsid();
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
    }
    let mut buf = [0u8; 256];
    loop {
        let mut poll = libc::pollfd { fd: read.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: poll and buf live through the calls.
        let ready = unsafe { libc::poll(&mut poll, 1, DEAD_AFTER_MS) };
        if ready == 0 {
            let _ = sys::kill(borrowed.agent, libc::SIGKILL);
            break;
        }
        // SAFETY: as above.
        if ready > 0
            && unsafe { libc::read(read.as_raw_fd(), buf.as_mut_ptr() as *mut libc::c_void, buf.len()) } == 0
        {
            break;
        }
    }
    // SAFETY: default action again, or tools that this starts would inherit what is ignored.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let problems = borrowed.undo();
    // SAFETY: as above. Nobody may be reading any more.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
    let _ = writeln!(std::io::stdout(), "{}", json!({ "restored": problems }));
    std::process::exit(0)
}
