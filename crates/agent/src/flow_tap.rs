//! Drives `/proc/flow_tap`, the kernel's record of what TCP senders did: what is watched, when it is marked.
//!
//! It reads no counter: the kernel writes them to a file of the host (docs/formats.md, Flow tap).

use std::collections::BTreeMap;
use std::fs;

use crate::clock::Clock;
use crate::error::{During, Result, RunError};
use crate::nodes::Nodes;
use narrows_plan::{FlowTap, FlowWindow};

const TAP: &str = "/proc/flow_tap";
const WINDOW_STARTS: u8 = 1;
const WINDOW_STOPS: u8 = 2;

/// What is written before the traffic, in order: each line with the node that writes it, if it matters.
fn lines(plan: &FlowTap, epoch_mono_ns: i64) -> Vec<(Option<&str>, String)> {
    let mut lines: Vec<(Option<&str>, String)> = Vec::new();
    for (number, watch) in plan.watch.iter().enumerate() {
        let port = watch.port.unwrap_or(0);
        lines.push((Some(&watch.node), format!("watch {number} {port}")));
    }
    if let Some(window) = &plan.window {
        let edges = [(WINDOW_STARTS, Some(window.start_ns)), (WINDOW_STOPS, window.stop_ns)];
        for (number, at_ns) in edges {
            if let Some(at_ns) = at_ns {
                lines.push((None, format!("mark {number} {}", epoch_mono_ns + at_ns)));
            }
        }
    }
    if let Some(interval_ns) = plan.sample_interval_ns {
        lines.push((None, format!("sample {interval_ns}")));
    }
    lines
}

/// Starts the tap; `clock` must have its final epoch.
pub fn start(nodes: &Nodes, plan: &FlowTap, clock: Clock) -> Result<()> {
    for (node, line) in lines(plan, clock.epoch_mono_ns) {
        if let Some(node) = node {
            nodes.enter(node)?;
        }
        fs::write(TAP, &line).map_err(|e| {
            let mut error = RunError::internal(format!("{TAP} (does this kernel have the flow tap?): {e}"))
                .command(&line);
            error.node = node.map(str::to_string);
            error
        })?;
    }
    Ok(())
}

/// Bulk flows are about to be stopped: the window's end, where the plan gives it no time.
pub fn flows_stop(plan: Option<&FlowTap>) -> Result<()> {
    match plan.and_then(|p| p.window.as_ref()) {
        Some(FlowWindow { stop_ns: None, .. }) => {
            fs::write(TAP, format!("mark {WINDOW_STOPS} 0")).during(|| format!("writing {TAP}"))
        }
        _ => Ok(()),
    }
}

/// Writes out what is buffered; gives `flow_tap` of result.json.
pub fn finish() -> Result<BTreeMap<&'static str, i64>> {
    fs::write(TAP, "flush").during(|| format!("flushing {TAP}"))?;
    let text = fs::read_to_string(TAP).during(|| format!("reading {TAP}"))?;
    totals(&text)
}

fn totals(text: &str) -> Result<BTreeMap<&'static str, i64>> {
    let words: Option<Vec<i64>> = text.split_whitespace().map(|w| w.parse().ok()).collect();
    match words.as_deref() {
        Some([open, watched, events, 0]) => {
            Ok([("open", *open), ("watched", *watched), ("events", *events)].into())
        }
        Some([_, _, _, error]) => {
            let e = std::io::Error::from_raw_os_error(error.unsigned_abs() as i32);
            Err(RunError::internal(format!("writing flow_tap.bin failed: {e}")))
        }
        _ => Err(RunError::internal(format!("{TAP} says '{}'", text.trim()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_plan::FlowWatch;

    #[test]
    fn watches_come_before_marks_and_times_are_counted_from_the_epoch() {
        let watch = |node: &str, port| FlowWatch { node: node.into(), port };
        let plan = FlowTap {
            watch: vec![watch("a", Some(5201)), watch("b", None)],
            window: Some(FlowWindow { start_ns: 5, stop_ns: None }),
            sample_interval_ns: Some(7),
        };
        let expected: Vec<(Option<&str>, String)> = vec![
            (Some("a"), "watch 0 5201".into()),
            (Some("b"), "watch 1 0".into()),
            (None, "mark 1 105".into()),
            (None, "sample 7".into()),
        ];
        assert_eq!(lines(&plan, 100), expected);
    }

    #[test]
    fn an_error_of_the_host_is_not_a_total() {
        assert_eq!(totals("0 3 17 0\n").unwrap()["events"], 17);
        assert!(totals("0 3 17 28\n").unwrap_err().message.contains("No space"));
        assert!(totals("").is_err());
    }
}
