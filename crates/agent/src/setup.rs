//! Carries out the plan's setup steps: `ip` and `tc` in batches, `sysctl -w` and `ethtool -K` by itself.
//!
//! The first failing step ends it, reported with its node, its whole command and what the tool said.

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};

use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::result::Object;
use crate::{ethtool, sys};
use narrows_plan::Step;

/// Consecutive steps that one process can carry out: `first..first + lines` of the setup.
#[derive(Debug, PartialEq, Eq)]
pub struct Batch {
    pub first: usize,
    pub steps: usize,
}

/// Groups consecutive `ip` or `tc` steps of one node; every other step stands alone.
pub fn batches(steps: &[Step]) -> Vec<Batch> {
    let mut out: Vec<Batch> = Vec::new();
    for (i, s) in steps.iter().enumerate() {
        if let Some(last) = out.last_mut() {
            let head = &steps[last.first];
            if matches!(s.tool.as_str(), "ip" | "tc") && head.tool == s.tool && head.node == s.node {
                last.steps += 1;
                continue;
            }
        }
        out.push(Batch { first: i, steps: 1 });
    }
    out
}

/// One line of iproute2's batch language (lib/utils.c, makeargs): words, quoted where they need it.
fn batch_line(args: &[String]) -> String {
    let word = |a: &String| match a.is_empty() || a.contains([' ', '\t', '#', '"', '\\']) {
        true if a.contains('\'') => format!("\"{a}\""),
        true => format!("'{a}'"),
        false => a.clone(),
    };
    args.iter().map(word).collect::<Vec<_>>().join(" ")
}

pub fn command_text(tool: &str, args: &[String]) -> String {
    format!("{tool} {}", args.join(" "))
}

/// The batch line that iproute2 says failed ("Command failed -:3"), counted from 0.
fn failed_line(stderr: &str) -> Option<usize> {
    let at = stderr.rfind("Command failed -:")?;
    let digits: String = stderr[at + 17..].chars().take_while(|c| c.is_ascii_digit()).collect();
    digits.parse::<usize>().ok()?.checked_sub(1)
}

pub struct Output {
    pub exit_code: Option<i32>,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

fn as_stdio(fd: &OwnedFd) -> Result<Stdio> {
    Ok(Stdio::from(fd.try_clone().during(|| "duplicating a descriptor".into())?))
}

/// Runs a tool in the namespace the thread is in and waits for it. Memory files instead of pipes: fewer
/// system calls, and no tool can block on a full pipe.
pub fn run_tool(program: &str, args: &[&str], stdin: &[u8]) -> Result<Output> {
    let memory = |name| sys::memfd(name).during(|| "creating a memory file".into());
    let (input, out, err) = (memory("in")?, memory("out")?, memory("err")?);
    // SAFETY: stdin is readable for its length. A positional write leaves the offset at 0 for the child.
    sys::cvt_len(unsafe {
        libc::pwrite(input.as_raw_fd(), stdin.as_ptr() as *const libc::c_void, stdin.len(), 0)
    })
    .during(|| "writing to a memory file".into())?;
    let status = Command::new(program)
        .args(args)
        .stdin(as_stdio(&input)?)
        .stdout(as_stdio(&out)?)
        .stderr(as_stdio(&err)?)
        .spawn()
        .and_then(|mut c| c.wait())
        .map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => RunError::internal(format!(
                "{program} is not installed (searched PATH={})",
                std::env::var("PATH").unwrap_or_default()
            )),
            _ => RunError::internal(format!("starting {program}: {e}")),
        })?;
    let read = |fd| sys::read_fd_from_start(fd).during(|| format!("reading what {program} said"));
    Ok(Output {
        exit_code: status.code(),
        stdout: read(&out)?,
        stderr: String::from_utf8_lossy(&read(&err)?).into_owned(),
    })
}

/// Runs all steps in order. `before` sees each batch's steps just before they are carried out.
pub fn run(nodes: &Nodes, steps: &[Step], mut before: impl FnMut(&[Step]) -> Result<()>) -> Result<()> {
    for batch in batches(steps) {
        let part = &steps[batch.first..batch.first + batch.steps];
        before(part)?;
        run_steps(nodes, part).map_err(|e| e.stage(Stage::Setup))?;
    }
    Ok(())
}

/// Carries out steps of one node and tool.
pub fn run_steps(nodes: &Nodes, steps: &[Step]) -> Result<()> {
    let head = &steps[0];
    nodes.enter(&head.node)?;
    let failed = |args: &[String], message: String| {
        RunError::new(Stage::Setup, message).node(&head.node).command(command_text(&head.tool, args))
    };
    match head.tool.as_str() {
        "ip" | "tc" => {
            let lines: String =
                steps.iter().map(|s| batch_line(&nodes.rewrite(&s.args)) + "\n").collect::<String>();
            let out = run_tool(&head.tool, &["-batch", "-"], lines.as_bytes())
                .map_err(|e| failed(&head.args, e.message))?;
            if out.exit_code == Some(0) {
                return Ok(());
            }
            let line = failed_line(&out.stderr).unwrap_or(0).min(steps.len() - 1);
            let mut e = failed(&steps[line].args, format!("{} failed", head.tool));
            e.stderr = Some(out.stderr);
            e.exit_code = out.exit_code;
            Err(e)
        }
        "sysctl" => steps.iter().try_for_each(|s| sysctl(&s.args).map_err(|m| failed(&s.args, m))),
        "ethtool" => steps.iter().try_for_each(|s| ethtool::run(&s.args).map_err(|m| failed(&s.args, m))),
        program => steps.iter().try_for_each(|s| {
            let args = nodes.rewrite(&s.args);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let out = run_tool(program, &args, b"").map_err(|e| failed(&s.args, e.message))?;
            if out.exit_code == Some(0) {
                return Ok(());
            }
            let mut e = failed(&s.args, format!("{program} failed"));
            e.stderr = Some(out.stderr);
            e.exit_code = out.exit_code;
            Err(e)
        }),
    }
}

/// `sysctl -w KEY=VALUE …` in the thread's namespace.
fn sysctl(args: &[String]) -> std::result::Result<(), String> {
    let pairs = args.strip_prefix(&["-w".to_string()]).unwrap_or(args);
    if pairs.is_empty() {
        return Err("only 'sysctl -w KEY=VALUE' is known".into());
    }
    for pair in pairs {
        let (key, value) = pair.split_once('=').ok_or_else(|| format!("'{pair}' is not KEY=VALUE"))?;
        std::fs::write(sysctl_path(key), value).map_err(|e| format!("writing {key} = {value}: {e}"))?;
    }
    Ok(())
}

/// After the whole set-up: each sysctl and each offload has the value it was last set to. A step may change what another one
/// set, as `sg off` does with `tso on`. The thread is in the steps' node, whose sysctls were read as `values`.
pub fn read_back<'a>(steps: impl Iterator<Item = &'a Step>, values: &Object) -> Result<()> {
    let other = |s: &Step, message| {
        let e = RunError::new(Stage::Setup, message).node(&s.node);
        e.command(command_text(&s.tool, &s.args))
    };
    let mut last = BTreeMap::new();
    for s in steps {
        match s.tool.as_str() {
            "sysctl" => {
                last.extend(s.args.iter().filter_map(|a| a.split_once('=')).map(|(k, v)| (k, (v, s))))
            }
            "ethtool" => ethtool::check(&s.args).map_err(|m| other(s, m))?,
            _ => {}
        }
    }
    for (key, (asked, s)) in last {
        let kept = values.get(key).and_then(|v| v.as_str()).unwrap_or("nothing");
        if !kept.split_whitespace().eq(asked.split_whitespace()) {
            return Err(other(s, format!("{key}: asked {asked}, the kernel kept {kept}")));
        }
    }
    Ok(())
}

/// sysctl(8): dots separate unless the key already has slashes, in which case dots are literal.
pub fn sysctl_path(key: &str) -> String {
    match key.contains('/') {
        true => format!("/proc/sys/{key}"),
        false => format!("/proc/sys/{}", key.replace('.', "/")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(node: &str, tool: &str, args: &str) -> Step {
        Step { node: node.into(), tool: tool.into(), args: args.split(' ').map(String::from).collect() }
    }

    #[test]
    fn consecutive_steps_of_one_node_and_tool_share_a_process() {
        let steps = [
            step("a", "ip", "x"),
            step("a", "ip", "y"),
            step("b", "ip", "z"),
            step("b", "sysctl", "-w a=1"),
            step("b", "sysctl", "-w b=1"),
            step("b", "tc", "q"),
        ];
        let b = |first, steps| Batch { first, steps };
        assert_eq!(batches(&steps), vec![b(0, 2), b(2, 1), b(3, 1), b(4, 1), b(5, 1)]);
    }

    #[test]
    fn the_failing_line_of_a_batch_is_found() {
        assert_eq!(failed_line("Cannot find device \"e\"\nCommand failed -:12\n"), Some(11));
        assert_eq!(failed_line("Segmentation fault"), None);
    }

    #[test]
    fn words_with_blanks_are_quoted_for_the_batch_language() {
        let line = batch_line(&["match".into(), "a b".into(), "".into(), "c".into()]);
        assert_eq!(line, "match 'a b' '' c");
    }

    #[test]
    fn a_sysctl_key_with_slashes_keeps_its_dots() {
        assert_eq!(sysctl_path("net.ipv4.ip_forward"), "/proc/sys/net/ipv4/ip_forward");
        assert_eq!(sysctl_path("net/ipv4/conf/eth0.5/rp_filter"), "/proc/sys/net/ipv4/conf/eth0.5/rp_filter");
    }

    #[test]
    fn a_tool_that_is_not_installed_is_named() {
        let e = run_tool("no-such-tool-here", &[], b"").err().unwrap();
        assert!(e.message.contains("no-such-tool-here is not installed"), "{}", e.message);
    }
}
