//! Drives `/proc/run_ahead`: where the delays of a Dumbbell are long enough, and its flows are bulk flows of well-known
//! CCAs, the guest's kernel computes many of its events of one kind in a row, to the same bytes (kernel/README.md).

use std::fs;
use std::path::Path;

use crate::error::{Result, RunError};
use crate::nodes::Nodes;
use crate::sample::xstats::KINDS;
use narrows_plan::{Hop, Item, Plan};

const FILE: &str = "/proc/run_ahead";

/// Longer stretches gain nothing.
const LONGEST_NS: i64 = 200_000;
/// In shorter ones hardly two events of a kind come in a row.
const SHORTEST_NS: i64 = 10_000;
/// Receivers set their shortest timer, that of held-back SACKs, to a twentieth of the RTT.
const PER_RTT: i64 = 40;

/// The bottleneck, and how long a stretch may be; None where something could come back sooner, or where what
/// the bottleneck sends may wake a program that the kernel cannot foresee.
fn bottleneck(plan: &Plan) -> Option<(&Hop, i64)> {
    let pairs = plan.link.get("pairs")?.as_array()?;
    let shortest_ns = (pairs.iter().map(|pair| pair.get("base_rtt_ns")?.as_i64())).min().flatten()?;
    let length_ns = LONGEST_NS.min(shortest_ns / PER_RTT);
    let steady = plan.link.get("up")?.get("jitter_ns")?.as_i64() == Some(0)
        && plan.changes.is_empty()
        && plan.moving.is_none();
    let known = |item: &Item| match item {
        Item::TcpBulk(bulk) => matches!(bulk.cca.as_deref(), Some("reno" | "cubic" | "bbr")),
        Item::Command(command) => command.tool == "command",
        Item::UdpProbe(_) | Item::IcmpEcho(_) => true,
    };
    let queue = plan.link.get("down")?.get("queue")?.as_str()?;
    // Super-packets may be cut at the bottleneck, and what gathers them receives by a softirq of its own.
    let offloads = (plan.setup.iter()).any(|s| s.tool == "ethtool" && s.args.iter().any(|a| a == "on"));
    if !plan.traffic.iter().all(known)
        || length_ns < SHORTEST_NS
        || !steady
        || !KINDS.get(queue).is_some_and(|k| k.keeps_time)
        || offloads
        || !plan.captures.is_empty()
    {
        return None;
    }
    let mut down = plan.hops.iter().filter(|h| h.direction == "down");
    match (down.next(), down.next()) {
        (Some(hop), None) => Some((hop, length_ns)),
        _ => None,
    }
}

/// Before anything is sent.
pub fn start(plan: &Plan, nodes: &Nodes) -> Result<()> {
    let Some((hop, length_ns)) = bottleneck(plan) else {
        return Ok(());
    };
    if !Path::new(FILE).exists() {
        return Ok(()); // a kernel from before
    }
    nodes.enter(&hop.node)?;
    let line = format!("{} {length_ns}", hop.iface);
    fs::write(FILE, &line)
        .map_err(|e| RunError::internal(format!("{FILE}: {e}")).node(&hop.node).command(line))
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;

    fn plan(rtts_ms: &[i64], jitter_ns: i64, offload: &str, captures: Value) -> Plan {
        let pairs: Vec<Value> =
            (rtts_ms.iter()).map(|r| json!({"base_rtt_ns": r * 1_000_000, "senders": ["a"]})).collect();
        let minimal = include_str!("../../plan/minimal.json");
        let mut plan: Value = serde_json::from_str(minimal).unwrap();
        plan["link"] = json!({"pairs": pairs, "down": {"queue": "cake"}, "up": {"jitter_ns": jitter_ns}});
        plan["setup"] = json!([{"node": "a", "tool": "ethtool", "args": ["-K", "eth0", "tso", offload]}]);
        plan["hops"] = json!([{"hop": "bottleneck", "direction": "down", "node": "a", "iface": "eth0",
            "ingress": ["eth1"], "tap": "packets"}]);
        plan["captures"] = captures;
        Plan::parse(&plan.to_string()).unwrap()
    }

    fn length_ns(plan: &Plan) -> Option<i64> {
        bottleneck(plan).map(|(_, ns)| ns)
    }

    #[test]
    fn the_shortest_delay_decides() {
        assert_eq!(length_ns(&plan(&[20], 0, "off", json!([]))), Some(200_000));
        assert_eq!(length_ns(&plan(&[100, 2], 0, "off", json!([]))), Some(50_000));
        assert_eq!(length_ns(&plan(&[20, 0], 0, "off", json!([]))), None);
        assert_eq!(length_ns(&plan(&[], 0, "off", json!([]))), None);
    }

    #[test]
    fn what_may_come_sooner_or_wake_a_program_keeps_the_order() {
        assert_eq!(length_ns(&plan(&[20], 1000, "off", json!([]))), None);
        assert_eq!(length_ns(&plan(&[20], 0, "on", json!([]))), None);
        let mut slack = plan(&[20], 0, "off", json!([]));
        slack.link["down"]["queue"] = json!("fq");
        assert_eq!(length_ns(&slack), None);
        let capture = json!([{"id": "c", "node": "a", "iface": "eth0", "snap_bytes": 96, "start_ns": 0}]);
        assert_eq!(length_ns(&plan(&[20], 0, "off", capture)), None);
    }
}
