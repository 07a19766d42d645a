//! What a run is judged by besides its traffic: sysctls, `tc -s -j`, interface counters, tap totals, versions.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{json, Map, Value};

use crate::error::{During, Result, RunError};
use crate::nodes::Nodes;
use crate::result::{HopResult, IpCounters, Object, TapTotals};
use crate::sample::{link, qdisc};
use crate::setup;
use narrows_plan::{Hop, Item, Plan, Step, TapMode};

const TAP: &str = "/proc/queue_tap";
/// Of the calling thread's namespace; /proc/net is that of the process.
const SNMP: &str = "/proc/thread-self/net/snmp";

/// What shapes TCP and queues; the rest of /proc/sys can be read from the kernel's version.
const SYSCTLS: &[&str] = &[
    "net.core.default_qdisc",
    "net.core.netdev_max_backlog",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_forward",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_comp_sack_delay_ns",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_frto",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_pacing_ca_ratio",
    "net.ipv4.tcp_pacing_ss_ratio",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
];

/// The sysctls of every node that exist there, and all that the plan sets, which are as they were set.
pub fn sysctls(nodes: &Nodes, setup: &[Step]) -> Result<Object> {
    let mut all = Object::new();
    for node in nodes.names() {
        nodes.enter(node)?;
        let set = setup.iter().filter(|s| s.tool == "sysctl" && s.node == node).flat_map(|s| &s.args);
        let set = set.filter_map(|a| a.split_once('=')).map(|(k, _)| k);
        let mut values = Map::new();
        for key in SYSCTLS.iter().copied().chain(set) {
            if let Ok(v) = fs::read_to_string(setup::sysctl_path(key)) {
                values.insert(key.to_string(), json!(v.trim().replace('\t', " ")));
            }
        }
        setup::read_back(setup.iter().filter(|s| s.node == node), &values)?;
        all.insert(node.to_string(), Value::Object(values));
    }
    Ok(all)
}

/// What the kernel keeps of qdiscs, classes and filters, by node and interface.
pub fn kept(nodes: &Nodes) -> Result<Object> {
    let mut all = Object::new();
    for node in nodes.names() {
        nodes.enter(node)?;
        let names = link::interfaces().during(|| format!("listing interfaces of {node}"))?;
        let kept = qdisc::kept().during(|| format!("reading back the qdiscs of {node}"))?;
        let mut shown = Map::new();
        for each in names {
            let own: Vec<_> = kept.iter().filter(|(i, _)| *i == each.index).map(|(_, k)| k).collect();
            if !own.is_empty() {
                shown.insert(each.name, json!({"mtu": each.mtu, "tc": own}));
            }
        }
        all.insert(node.to_string(), Value::Object(shown));
    }
    Ok(all)
}

/// `tc -s -j` of every interface that has a qdisc, by node and interface.
pub fn tc(nodes: &Nodes) -> Result<Object> {
    let mut all = Object::new();
    for node in nodes.names() {
        nodes.enter(node)?;
        let names = link::interfaces().during(|| format!("listing interfaces of {node}"))?;
        let with = qdisc::interfaces_with_qdiscs().during(|| format!("listing qdiscs of {node}"))?;
        let ifaces: Vec<&str> =
            names.iter().filter(|i| with.contains(&i.index)).map(|i| i.name.as_str()).collect();
        if ifaces.is_empty() {
            continue;
        }
        let lines: String =
            ifaces.iter().map(|i| format!("qdisc show dev {i}\nclass show dev {i}\n")).collect();
        let out = setup::run_tool("tc", &["-s", "-j", "-batch", "-"], lines.as_bytes())?;
        let broken = |why: String| {
            let mut e = RunError::internal(why).node(node).command("tc -s -j -batch -");
            e.stderr = Some(out.stderr.clone());
            e.exit_code = out.exit_code;
            e
        };
        if out.exit_code != Some(0) {
            return Err(broken("tc could not show qdiscs".into()));
        }
        let text = with_unknown_options(&String::from_utf8_lossy(&out.stdout));
        let answers = tc_answers(&text, ifaces.len()).map_err(broken)?;
        let mut shown = Map::new();
        for (iface, (qdiscs, classes)) in ifaces.iter().zip(answers) {
            shown.insert(iface.to_string(), json!({"qdisc": qdiscs, "class": classes}));
        }
        all.insert(node.to_string(), Value::Object(shown));
    }
    Ok(all)
}

/// Of a module's qdisc tc knows no options, and says so in the midst of its JSON
/// (`{[Unknown qdisc, optlen=84] }`): their bytes become a member.
fn with_unknown_options(text: &str) -> String {
    let mut parts = text.split("[Unknown qdisc, optlen=");
    let mut made = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (bytes, rest) = part.split_once(']').unwrap_or((part, ""));
        made += &format!("\"optlen\":{bytes}{rest}");
    }
    made
}

/// Splits the answers to `qdisc show` and `class show`, asked in turn for each interface. iproute2 6.1
/// has no JSON for classes: each then becomes `{"text": …}`.
fn tc_answers(text: &str, interfaces: usize) -> std::result::Result<Vec<(Value, Value)>, String> {
    // Each JSON value, with the plain text that follows it.
    let mut parts: Vec<(Value, &str)> = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let value = match stream.next() {
            Some(Ok(v)) => v,
            Some(Err(e)) => return Err(format!("tc printed what is not JSON: {e}")),
            None => break,
        };
        rest = rest[stream.byte_offset()..].trim_start();
        let plain = match rest.starts_with('[') {
            true => 0,
            false => rest.find("\n[").map_or(rest.len(), |at| at + 1),
        };
        parts.push((value, &rest[..plain]));
        rest = rest[plain..].trim_start();
    }
    if parts.len() == 2 * interfaces {
        return Ok(parts.chunks(2).map(|p| (p[0].0.clone(), p[1].0.clone())).collect());
    }
    if parts.len() != interfaces {
        return Err(format!("tc gave {} answers for {interfaces} interfaces", parts.len()));
    }
    let classes = |plain: &str| -> Value {
        let blocks = plain.split("\nclass ").map(|b| b.trim().trim_start_matches("class "));
        blocks.filter(|b| !b.is_empty()).map(|b| json!({"text": format!("class {b}")})).collect()
    };
    Ok(parts.into_iter().map(|(qdiscs, plain)| (qdiscs, classes(plain))).collect())
}

/// How often it is looked whether queues are empty, and for how long, before totals are taken.
pub const SETTLE_STEP_NS: i64 = 10_000_000;
pub const SETTLE_WITHIN_NS: i64 = 5_000_000_000;

/// Packets in all queues of all nodes. (A shaper counts its children's: what matters is whether it is none.)
pub fn queued_packets(nodes: &Nodes) -> Result<u64> {
    let mut all = 0;
    for node in nodes.names() {
        nodes.enter(node)?;
        all += qdisc::queued_packets().during(|| format!("listing qdiscs of {node}"))?;
    }
    Ok(all)
}

/// Counters of every interface of every node.
pub fn links(nodes: &Nodes) -> Result<Object> {
    let mut all = Object::new();
    for node in nodes.names() {
        nodes.enter(node)?;
        let mut shown = Map::new();
        for i in link::interfaces().during(|| format!("listing interfaces of {node}"))? {
            let Some(counters) = i.counters.filter(|_| i.name != "lo") else {
                continue;
            };
            let named: Map<String, Value> =
                link::NAMES.iter().zip(counters).map(|(n, v)| (n.to_string(), json!(v))).collect();
            shown.insert(i.name, Value::Object(named));
        }
        all.insert(node.to_string(), Value::Object(shown));
    }
    Ok(all)
}

/// The IPv4 counters of every node (`Ip:` of /proc/net/snmp), under the kernel's names.
pub fn ip(nodes: &Nodes) -> Result<IpCounters> {
    let mut all = IpCounters::new();
    for node in nodes.names() {
        nodes.enter(node)?;
        let text = fs::read_to_string(SNMP).during(|| format!("reading {SNMP} of {node}"))?;
        let counters = ip_counters(&text)
            .ok_or_else(|| RunError::internal(format!("{SNMP} has no line Ip:")).node(node))?;
        all.insert(node.to_string(), counters);
    }
    Ok(all)
}

/// A line of names, then a line of values, both beginning with "Ip:".
fn ip_counters(text: &str) -> Option<BTreeMap<String, i64>> {
    let mut lines = text.lines().filter_map(|l| l.strip_prefix("Ip: "));
    let (names, values) = (lines.next()?, lines.next()?);
    let pairs = names.split_whitespace().zip(values.split_whitespace());
    pairs.map(|(name, value)| Some((name.to_string(), value.parse().ok()?))).collect()
}

/// Starts the tap of those hops whose qdisc the coming steps will make, so that it counts from where
/// `tc -s` counts.
pub fn start_taps(nodes: &Nodes, hops: &[Hop], coming: &[Step], guest: bool) -> Result<()> {
    if !guest || coming.first().is_none_or(|s| s.tool != "tc") {
        return Ok(());
    }
    for (number, hop) in hops.iter().enumerate().filter(|(_, h)| h.tap != TapMode::Off) {
        let first =
            |s: &Step| s.node == hop.node && s.args.windows(2).any(|w| w[0] == "dev" && w[1] == hop.iface);
        if coming.iter().any(first) && !tap_started(nodes, number)? {
            start_tap(nodes, hop, number)?;
        }
    }
    Ok(())
}

/// Starts every tap that no step started: a hop whose interface keeps its default qdisc.
pub fn start_other_taps(nodes: &Nodes, hops: &[Hop], guest: bool) -> Result<()> {
    for (number, hop) in hops.iter().enumerate().filter(|(_, h)| guest && h.tap != TapMode::Off) {
        if !tap_started(nodes, number)? {
            start_tap(nodes, hop, number)?;
        }
    }
    Ok(())
}

fn start_tap(nodes: &Nodes, hop: &Hop, number: usize) -> Result<()> {
    nodes.enter(&hop.node)?;
    let command = match hop.tap {
        TapMode::Drops => format!("add {} {number} {}", hop.iface, hop.tap_interval_ns),
        _ => format!("add {} {number}", hop.iface),
    };
    fs::write(TAP, &command)
        .map_err(|e| RunError::internal(format!("{TAP}: {e}")).node(&hop.node).command(command))
}

fn tap_started(_: &Nodes, number: usize) -> Result<bool> {
    let text = fs::read_to_string(TAP).during(|| format!("{TAP} (does this kernel have the tap?)"))?;
    Ok(tap_line(&text, number).is_some())
}

fn tap_line(text: &str, number: usize) -> Option<Vec<u64>> {
    text.lines().find_map(|l| {
        let words: Vec<u64> = l.split_whitespace().map(|w| w.parse().ok()).collect::<Option<_>>()?;
        (words.first() == Some(&(number as u64)) && words.len() >= 10).then_some(words)
    })
}

/// Flushes the tap and gives `hops` of result.json.
pub fn hops(hops: &[Hop]) -> Result<Vec<HopResult>> {
    let tapped = hops.iter().any(|h| h.tap != TapMode::Off);
    let text = match tapped {
        true => {
            fs::write(TAP, "flush").during(|| format!("flushing {TAP}"))?;
            fs::read_to_string(TAP).during(|| format!("reading {TAP}"))?
        }
        false => String::new(),
    };
    let mut out = Vec::new();
    for (number, hop) in hops.iter().enumerate() {
        let line = tap_line(&text, number);
        if let Some(error) = line.as_ref().and_then(|l| l.get(10)).filter(|e| **e != 0) {
            let e = std::io::Error::from_raw_os_error(*error as i32);
            return Err(RunError::internal(format!("writing tap.bin of hop '{}' failed: {e}", hop.hop)));
        }
        let totals = line.map(|l| TapTotals {
            arrived_packets: l[1],
            arrived_bytes: l[2],
            departed_packets: l[3],
            departed_bytes: l[4],
            dropped_packets: l[5],
            dropped_bytes: l[6],
            marked_packets: Some(l[7]),
            queued_packets: l[8],
            queued_bytes: l[9],
        });
        out.push(HopResult::new(hop, totals, None));
    }
    Ok(out)
}

/// Versions of the tools that take part, by what they themselves say.
pub fn tools(plan: &Plan) -> Object {
    let mut out = Object::new();
    let mut ask = |name: &str, flag: &str| {
        if out.contains_key(name) {
            return;
        }
        let Ok(said) = setup::run_tool(name, &[flag], b"") else {
            return;
        };
        let text = [String::from_utf8_lossy(&said.stdout).into_owned(), said.stderr].concat();
        if let Some(line) = text.lines().find(|l| !l.trim().is_empty()) {
            out.insert(name.to_string(), json!(line.trim()));
        }
    };
    ask("ip", "-V");
    ask("tc", "-V");
    for item in &plan.traffic {
        let Item::Command(c) = item else { continue };
        match c.argv[0].rsplit('/').next() {
            Some("iperf3" | "node" | "python3" | "curl" | "irtt") => ask(&c.argv[0], "--version"),
            Some("nginx") => ask(&c.argv[0], "-v"),
            Some("ping") => ask(&c.argv[0], "-V"),
            _ => {}
        }
        if c.tool.ends_with("-nginx") {
            ask("nginx", "-v");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_of_a_tc_with_json_classes_are_paired() {
        let a = tc_answers("[{\"kind\":\"htb\"}]\n[{\"class\":\"htb\"}][]\n[]\n", 2).unwrap();
        assert_eq!(a[0].1[0]["class"], "htb");
        assert_eq!(a[1], (json!([]), json!([])));
    }

    #[test]
    fn options_that_tc_does_not_know_are_told_by_their_bytes() {
        let text = "[{\"kind\":\"mine\",\"options\":{[Unknown qdisc, optlen=84] },\"bytes\":7}]\n[]\n";
        let a = tc_answers(&with_unknown_options(text), 1).unwrap();
        assert_eq!(a[0].0[0]["options"]["optlen"], 84);
        assert_eq!(a[0].0[0]["bytes"], 7);
    }

    #[test]
    fn answers_of_a_tc_without_json_classes_keep_the_text() {
        let text = "[{\"kind\":\"htb\"}]\nclass htb 1:11 root\n Sent 0\nclass htb 1:12 root\n\n[{\"kind\":\"netem\"}]\n\n";
        let a = tc_answers(text, 2).unwrap();
        assert_eq!(
            a[0].1,
            json!([{"text": "class htb 1:11 root\n Sent 0"}, {"text": "class htb 1:12 root"}])
        );
        assert_eq!(a[1].1, json!([]));
        assert!(tc_answers(text, 3).is_err());
    }

    #[test]
    fn the_counters_of_ip_are_read_by_name() {
        let text = "Ip: Forwarding InReceives ForwDatagrams\nIp: 1 12 9\nIcmp: InMsgs\nIcmp: 3\n";
        let counters = ip_counters(text).unwrap();
        assert_eq!((counters["InReceives"], counters["ForwDatagrams"]), (12, 9));
        assert!(ip_counters("Icmp: InMsgs\n").is_none());
    }

    #[test]
    fn a_hop_finds_its_own_line_of_totals() {
        let text = "0 1 2 3 4 5 6 7 8 9 0\n12 10 20 30 40 50 60 70 80 90 28\n";
        assert_eq!(tap_line(text, 12).unwrap()[1..3], [10, 20]);
        assert_eq!(tap_line(text, 1), None);
    }
}
