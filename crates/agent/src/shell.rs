//! `shell DIR`: the guest up to the end of set-up, then a shell in the client node, in real time.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::error::{During, Result};
use crate::machine::RUN_DIR;
use crate::nodes::Nodes;
use crate::{machine, modules, run, sys};

/// The console as a terminal that a session can own: /dev/console cannot be that.
const TERMINAL: &str = "/dev/tty0";

pub fn main(dir: &Path) -> ! {
    if let Err(e) = carry_out(dir) {
        println!("narrows: {}", e.line());
    }
    machine::power_off();
}

fn carry_out(dir: &Path) -> Result<()> {
    machine::prepare(dir)?;
    let plan = run::read_plan(Path::new(RUN_DIR))?;
    machine::wait_for_exact_clock()?;
    modules::load(Path::new(RUN_DIR), &plan.machine)?;
    let nodes = Nodes::create(plan.nodes.iter().map(|n| n.name.as_str()), "")?;
    // Nothing is recorded here: no tap.
    run::set_up(&plan, &nodes, false)?;
    let here = plan.nodes.iter().find(|n| n.role == "client").or(plan.nodes.first());
    let Some(here) = here.map(|n| n.name.clone()) else {
        return Ok(());
    };
    let names: Vec<String> = nodes.names().map(String::from).collect();
    fs::write("/run/narrows.bashrc", bashrc(&here, &names))
        .during(|| "writing the shell's start file".into())?;
    nodes.enter(&here)?;
    shell()
}

fn bashrc(here: &str, nodes: &[String]) -> String {
    let others: Vec<&str> = nodes.iter().map(String::as_str).filter(|n| *n != here).collect();
    let mut text =
        format!("PS1='[{here}] \\w # '\ncd \"$HOME\"\nnode() {{ ip netns exec \"$@\"; }}\ncat <<'END'\n");
    text += &format!("You are in node {here}, in real time. Other nodes: {}.\n", others.join(", "));
    if let Some(other) = others.first() {
        text += &format!("  node {other} tc -s qdisc      one command in another node\n");
        text += &format!("  node {other} bash             a shell there\n");
    }
    text += "  exit                        ends the guest\nEND\n";
    text
}

fn shell() -> Result<()> {
    let terminal = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(TERMINAL)
        .during(|| format!("opening {TERMINAL}"))?;
    let fd = || terminal.try_clone().during(|| "duplicating the terminal".into());
    // SAFETY: plain calls on a local struct. The shell's output wants its newlines as a terminal shows them.
    unsafe {
        let mut tty: libc::termios = std::mem::zeroed();
        if libc::tcgetattr(terminal.as_raw_fd(), &mut tty) == 0 {
            tty.c_oflag |= libc::OPOST | libc::ONLCR;
            libc::tcsetattr(terminal.as_raw_fd(), libc::TCSANOW, &tty);
        }
    }
    let mut command = Command::new("bash");
    command.args(["--rcfile", "/run/narrows.bashrc", "-i"]).env("TERM", "xterm");
    command.stdin(fd()?).stdout(fd()?).stderr(fd()?);
    // SAFETY: between fork and exec only setsid and an ioctl are called.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            sys::cvt(libc::ioctl(0, libc::TIOCSCTTY as _, 0)).map(drop)
        });
    }
    let mut child = command.spawn().during(|| "starting bash".into())?;
    child.wait().during(|| "waiting for bash".into())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_names_the_node_and_the_others() {
        let text = bashrc("client", &["client".into(), "router".into()]);
        assert!(text.contains("[client]") && text.contains("node router bash"), "{text}");
        assert!(!text.contains("node client bash"));
    }
}
