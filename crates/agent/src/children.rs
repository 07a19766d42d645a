//! Outside programs: started in a node, watched through pidfds, stopped by process group.
//!
//! Started by posix_spawn from within the node's namespace: a fork of the agent would be far dearer.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus, Stdio};

use crate::error::{During, Result, RunError};
use crate::sys;

pub struct Child {
    pub pid: i32,
    pidfd: OwnedFd,
}

impl Child {
    /// Readable once the program has ended.
    pub fn watch_fd(&self) -> RawFd {
        self.pidfd.as_raw_fd()
    }

    /// Signals the program and whatever it started.
    pub fn signal(&self, signal: i32) {
        let _ = sys::kill(-self.pid, signal);
    }
}

/// Exits that a sweep for orphans saw before their owner asked.
#[derive(Default)]
pub struct Children {
    swept: HashMap<i32, ExitStatus>,
    alive: Vec<i32>,
}

impl Children {
    /// Starts a program in the namespace the thread is in, as leader of its own process group.
    pub fn spawn(
        &mut self,
        argv: &[String],
        env: &[(String, String)],
        stdout: Stdio,
        stderr: Stdio,
    ) -> Result<Child> {
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).envs(env.iter().map(|(k, v)| (k, v)));
        command.stdin(Stdio::null()).stdout(stdout).stderr(stderr).process_group(0);
        let child = command.spawn().map_err(|e| {
            let why = match e.kind() {
                std::io::ErrorKind::NotFound => "it is not installed where PATH looks".to_string(),
                _ => e.to_string(),
            };
            RunError::internal(format!("cannot start {}: {why}", argv[0])).command(argv.join(" "))
        })?;
        let pid = child.id() as i32;
        let pidfd = sys::pidfd_open(pid).during(|| format!("watching {}", argv[0]))?;
        self.alive.push(pid);
        Ok(Child { pid, pidfd })
    }

    /// The exit of a program whose pidfd became readable; None while it runs.
    pub fn exit_of(&mut self, child: &Child) -> Option<ExitStatus> {
        if let Some(status) = self.swept.remove(&child.pid) {
            return Some(status);
        }
        let status = wait_for(child.pid)?.1;
        self.alive.retain(|p| *p != child.pid);
        Some(status)
    }

    /// PID 1 inherits orphans; this reaps them without losing the exits of our own programs.
    pub fn sweep(&mut self) {
        while let Some((pid, status)) = wait_for(-1) {
            if let Some(at) = self.alive.iter().position(|p| *p == pid) {
                self.alive.swap_remove(at);
                self.swept.insert(pid, status);
            }
        }
    }

    pub fn kill_all(&mut self) {
        for pid in &self.alive {
            let _ = sys::kill(-pid, libc::SIGKILL);
        }
    }
}

fn wait_for(pid: i32) -> Option<(i32, ExitStatus)> {
    let mut status = 0;
    // SAFETY: status is a valid out pointer.
    let got = unsafe { libc::waitpid(pid, &mut status, libc::WNOHANG) };
    (got > 0).then(|| (got, ExitStatus::from_raw(status)))
}

/// What result.json calls an exit: the code, or 128 + the signal as a shell would say.
pub fn exit_number(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

pub fn signal_number(name: &str) -> Option<i32> {
    Some(match name.strip_prefix("SIG").unwrap_or(name) {
        "HUP" => libc::SIGHUP,
        "INT" => libc::SIGINT,
        "QUIT" => libc::SIGQUIT,
        "KILL" => libc::SIGKILL,
        "USR1" => libc::SIGUSR1,
        "USR2" => libc::SIGUSR2,
        "TERM" => libc::SIGTERM,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_are_known_with_and_without_prefix() {
        assert_eq!(signal_number("INT"), Some(libc::SIGINT));
        assert_eq!(signal_number("SIGTERM"), Some(libc::SIGTERM));
        assert_eq!(signal_number("BOGUS"), None);
    }
}
