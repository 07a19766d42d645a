//! The plan: what docs/architecture.md calls `plan.json`, as the agent needs it.
//!
//! Unknown keys are fatal in every part the agent acts on. Parts that only the Python side reads
//! (`link`, `key`, `machine`, `composites`) are carried as they are.

use std::collections::{BTreeMap, HashSet};
use std::net::Ipv4Addr;

use serde::Deserialize;
use serde_json::Value;

use crate::settle::UntilSettled;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)] // some fields are only checked for presence
pub struct Plan {
    pub format: u32,
    pub experiment: String,
    pub question: Value,
    pub key: Value,
    pub seed: u64,
    pub wall_clock_ns: i64,
    pub epoch_monotonic_ns: i64,
    pub limit_ns: i64,
    pub machine: Value,
    pub nodes: Vec<Node>,
    pub link: Value,
    pub setup: Vec<Step>,
    #[serde(default)]
    pub changes: Vec<Change>,
    #[serde(default)]
    pub hops: Vec<Hop>,
    #[serde(default)]
    pub flow_tap: Option<FlowTap>,
    #[serde(default)]
    pub until_settled: Option<UntilSettled>,
    pub calibration: Option<Calibration>,
    pub traffic: Vec<Item>,
    #[serde(default)]
    pub composites: Value,
    #[serde(default)]
    pub samplers: Vec<Sampler>,
    #[serde(default)]
    pub captures: Vec<Capture>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct Node {
    pub name: String,
    pub role: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub node: String,
    pub tool: String,
    pub args: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ns: i64,
    pub node: String,
    pub tool: String,
    pub args: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct Hop {
    pub hop: String,
    pub direction: String,
    pub node: String,
    pub iface: String,
    pub ingress: Vec<String>,
    pub tap: TapMode,
    #[serde(default)]
    pub tap_interval_ns: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TapMode {
    Packets,
    Summary,
    Drops,
    Off,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowTap {
    pub watch: Vec<FlowWatch>,
    pub window: Option<FlowWindow>,
    pub sample_interval_ns: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowWatch {
    pub node: String,
    pub port: Option<u16>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowWindow {
    pub start_ns: i64,
    pub stop_ns: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub client: String,
    pub server: String,
    pub server_address: Ipv4Addr,
    pub client_address: Ipv4Addr,
    pub rtt_ns: i64,
    pub rtt_tolerance_ns: i64,
    pub rate_down_bps: Option<f64>,
    pub rate_up_bps: Option<f64>,
    pub rate_tolerance: f64,
    pub rate_is_upper_bound: bool,
    #[serde(default)]
    pub others: Vec<CalibrationPath>,
}

/// One more server, whose base RTT is checked too.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CalibrationPath {
    pub server: String,
    pub server_address: Ipv4Addr,
    pub rtt_ns: i64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    pub at_ns: Option<i64>,
    pub after: Option<String>,
    pub delay_ns: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    pub at_ns: Option<i64>,
    #[serde(rename = "with")]
    pub with_item: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    TcpBulk(TcpBulk),
    UdpProbe(UdpProbe),
    IcmpEcho(IcmpEcho),
    Command(Command),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpBulk {
    pub id: String,
    pub sender: String,
    pub receiver: String,
    pub receiver_address: Ipv4Addr,
    pub port: u16,
    pub flows: u32,
    pub cca: Option<String>,
    pub dscp: u8,
    /// Linux has no socket option for ECN: the plan sets `net.ipv4.tcp_ecn` in its setup.
    #[allow(dead_code)]
    pub ecn: bool,
    pub bytes: Option<u64>,
    pub start_spread_ns: i64,
    pub sample_interval_ns: Option<i64>,
    #[serde(default)]
    pub io: BulkIo,
    pub start: Start,
    pub stop: Option<Stop>,
}

/// How a bulk item's bytes are handed to TCP and taken from it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum BulkIo {
    #[default]
    Batched,
    /// The sender as in `batched`, the receiver as in `plain`.
    PlainReceiver,
    Plain,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpProbe {
    pub id: String,
    pub client: String,
    pub server: String,
    pub server_address: Ipv4Addr,
    pub port: u16,
    pub interval_ns: i64,
    pub payload_bytes: usize,
    pub dscp: u8,
    pub start: Start,
    pub stop: Option<Stop>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IcmpEcho {
    pub id: String,
    pub client: String,
    pub server: String,
    pub server_address: Ipv4Addr,
    pub interval_ns: i64,
    pub payload_bytes: usize,
    pub dscp: u8,
    pub start: Start,
    pub stop: Option<Stop>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct Command {
    pub id: String,
    pub tool: String,
    pub node: String,
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub stop_signal: String,
    pub ok_exits: Vec<i32>,
    pub background: bool,
    pub ready: Option<Ready>,
    pub start: Start,
    pub stop: Option<Stop>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    pub tcp: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Sampler {
    TcpInfo {
        id: String,
        node: String,
        interval_ns: i64,
    },
    Qdisc {
        id: String,
        node: String,
        iface: String,
        interval_ns: i64,
    },
    Link {
        id: String,
        node: String,
        iface: String,
        interval_ns: i64,
    },
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    pub id: String,
    pub node: String,
    pub iface: String,
    pub snap_bytes: u32,
    pub start_ns: i64,
    pub stop_ns: Option<i64>,
}

impl Item {
    pub fn id(&self) -> &str {
        match self {
            Item::TcpBulk(i) => &i.id,
            Item::UdpProbe(i) => &i.id,
            Item::IcmpEcho(i) => &i.id,
            Item::Command(i) => &i.id,
        }
    }

    pub fn start(&self) -> &Start {
        match self {
            Item::TcpBulk(i) => &i.start,
            Item::UdpProbe(i) => &i.start,
            Item::IcmpEcho(i) => &i.start,
            Item::Command(i) => &i.start,
        }
    }

    pub fn stop(&self) -> Option<&Stop> {
        match self {
            Item::TcpBulk(i) => i.stop.as_ref(),
            Item::UdpProbe(i) => i.stop.as_ref(),
            Item::IcmpEcho(i) => i.stop.as_ref(),
            Item::Command(i) => i.stop.as_ref(),
        }
    }

    pub fn background(&self) -> bool {
        matches!(self, Item::Command(c) if c.background)
    }

    fn nodes(&self) -> Vec<&str> {
        match self {
            Item::TcpBulk(i) => vec![&i.sender, &i.receiver],
            Item::UdpProbe(i) => vec![&i.client, &i.server],
            Item::IcmpEcho(i) => vec![&i.client, &i.server],
            Item::Command(i) => vec![&i.node],
        }
    }
}

impl Sampler {
    pub fn id(&self) -> &str {
        match self {
            Sampler::TcpInfo { id, .. } | Sampler::Qdisc { id, .. } | Sampler::Link { id, .. } => id,
        }
    }

    fn node_and_interval(&self) -> (&str, i64) {
        match self {
            Sampler::TcpInfo {
                node, interval_ns, ..
            }
            | Sampler::Qdisc {
                node, interval_ns, ..
            }
            | Sampler::Link {
                node, interval_ns, ..
            } => (node, *interval_ns),
        }
    }
}

impl Plan {
    pub fn parse(text: &str) -> Result<Plan, String> {
        let plan: Plan = serde_json::from_str(text).map_err(|e| format!("plan.json: {e}"))?;
        plan.check().map_err(|e| format!("plan.json: {e}"))?;
        Ok(plan)
    }

    /// What serde cannot know: references, uniqueness, and values that would make a loop never end.
    fn check(&self) -> Result<(), String> {
        if self.format != 1 {
            return Err(format!(
                "format {} is not known to this agent, which reads format 1",
                self.format
            ));
        }
        let mut nodes = HashSet::new();
        for n in &self.nodes {
            if !file_safe(&n.name) || !nodes.insert(n.name.as_str()) {
                return Err(format!("node name '{}' is not usable or used twice", n.name));
            }
        }
        let known = |node: &str, what: &str| match nodes.contains(node) {
            true => Ok(()),
            false => Err(format!(
                "{what} names node '{node}', which is not among the nodes"
            )),
        };
        for (i, s) in self.setup.iter().enumerate() {
            known(&s.node, &format!("setup step {i}"))?;
        }
        for (i, c) in self.changes.iter().enumerate() {
            known(&c.node, &format!("change {i}"))?;
        }
        for h in &self.hops {
            known(&h.node, &format!("hop '{}'", h.hop))?;
        }
        for w in self.flow_tap.iter().flat_map(|t| &t.watch) {
            known(&w.node, "flow_tap")?;
        }
        if let Some(rule) = &self.until_settled {
            rule.check(&self.traffic)?;
        }
        if let Some(c) = &self.calibration {
            known(&c.client, "calibration")?;
            known(&c.server, "calibration")?;
            for other in &c.others {
                known(&other.server, "calibration")?;
            }
            for (name, rate) in [("rate_down_bps", c.rate_down_bps), ("rate_up_bps", c.rate_up_bps)] {
                if rate.is_some_and(|r| r.is_nan() || r < 1000.0) {
                    return Err(format!("calibration: {name} must be at least 1000 bit/s"));
                }
            }
        }
        let mut ids = HashSet::new();
        let mut fresh = |id: &str| match file_safe(id) && ids.insert(id.to_string()) {
            true => Ok(()),
            false => Err(format!("id '{id}' is not usable as a file name, or used twice")),
        };
        for item in &self.traffic {
            fresh(item.id())?;
            for node in item.nodes() {
                known(node, &format!("item '{}'", item.id()))?;
            }
            let endless = match item {
                Item::TcpBulk(b) => b.bytes.is_none(),
                Item::UdpProbe(_) | Item::IcmpEcho(_) => true,
                Item::Command(_) => false,
            };
            if endless && item.stop().is_none() {
                return Err(format!(
                    "item '{}' never ends by itself and needs a stop",
                    item.id()
                ));
            }
            match item {
                Item::TcpBulk(b) if b.flows == 0 => return Err(format!("item '{}': no flows", b.id)),
                Item::TcpBulk(b) if b.sample_interval_ns.is_some_and(|i| i < 1000) => {
                    return Err(format!(
                        "item '{}': sample_interval_ns must be at least 1000",
                        b.id
                    ))
                }
                Item::UdpProbe(UdpProbe { id, interval_ns, .. })
                | Item::IcmpEcho(IcmpEcho { id, interval_ns, .. })
                    if *interval_ns < 1000 =>
                {
                    return Err(format!("item '{id}': interval_ns must be at least 1000"))
                }
                Item::UdpProbe(p) if p.payload_bytes < 8 => {
                    return Err(format!("item '{}': payload_bytes must be at least 8", p.id))
                }
                Item::Command(c) if c.argv.is_empty() => {
                    return Err(format!("item '{}': argv is empty", c.id))
                }
                _ => {}
            }
        }
        for s in &self.samplers {
            fresh(s.id())?;
            let (node, interval_ns) = s.node_and_interval();
            known(node, &format!("sampler '{}'", s.id()))?;
            if interval_ns < 1000 {
                return Err(format!("sampler '{}': interval_ns must be at least 1000", s.id()));
            }
        }
        for c in &self.captures {
            fresh(&c.id)?;
            known(&c.node, &format!("capture '{}'", c.id))?;
        }
        Ok(())
    }
}

/// Ids become file names and node names become paths under /run/netns.
fn file_safe(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+' | b'@'))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::settle::SettleMetric;

    pub const MINIMAL: &str = r#"{"format":1,"experiment":"x","question":"q","key":{},"seed":1,
        "wall_clock_ns":0,"epoch_monotonic_ns":3000000000,"limit_ns":1000000000,"machine":{},
        "nodes":[{"name":"a","role":"client"}],"link":{},"setup":[],"changes":[],"hops":[],
        "calibration":null,"traffic":[TRAFFIC],"samplers":[],"captures":[]}"#;

    fn with_traffic(t: &str) -> Result<Plan, String> {
        Plan::parse(&MINIMAL.replace("TRAFFIC", t))
    }

    const BULK: &str = r#"{"id":"b","kind":"tcp_bulk","sender":"a","receiver":"a","receiver_address":"10.0.0.1",
        "port":5201,"flows":2,"cca":null,"dscp":0,"ecn":false,"bytes":null,"start_spread_ns":0,
        "sample_interval_ns":null,"start":{"at_ns":0},"stop":{"at_ns":5}}"#;

    #[test]
    fn a_whole_bulk_item_is_read() {
        let plan = with_traffic(BULK).unwrap();
        let Item::TcpBulk(b) = &plan.traffic[0] else {
            panic!("not a bulk item")
        };
        assert_eq!((b.flows, b.port), (2, 5201));
        assert_eq!(b.stop.as_ref().unwrap().at_ns, Some(5));
    }

    #[test]
    fn an_unknown_key_in_an_item_is_fatal_and_named() {
        let e = with_traffic(&BULK.replace("\"flows\"", "\"flowz\":1,\"flows\"")).unwrap_err();
        assert!(e.contains("flowz"), "{e}");
    }

    #[test]
    fn an_item_in_an_unknown_node_is_refused() {
        let e = with_traffic(&BULK.replace("\"sender\":\"a\"", "\"sender\":\"zz\"")).unwrap_err();
        assert!(e.contains("'zz'"), "{e}");
    }

    #[test]
    fn two_items_of_one_id_are_refused() {
        let e = with_traffic(&format!("{BULK},{BULK}")).unwrap_err();
        assert!(e.contains("used twice"), "{e}");
    }

    #[test]
    fn an_endless_item_without_a_stop_is_refused() {
        let e = with_traffic(&BULK.replace("\"stop\":{\"at_ns\":5}", "\"stop\":null")).unwrap_err();
        assert!(e.contains("needs a stop"), "{e}");
    }

    #[test]
    fn a_rule_of_when_flows_have_settled_is_read_and_checked() {
        let rule = r#""until_settled":{"metrics":["jain","shares"],"within":0.01,"window_ns":5000,"start_ns":0,
            "interval_ns":1000,"not_before_ns":0},"samplers""#;
        let plan = |rule: &str, item: &str| {
            Plan::parse(&MINIMAL.replace("\"samplers\"", rule).replace("TRAFFIC", item))
        };
        let read = plan(rule, BULK).unwrap().until_settled.unwrap();
        assert_eq!(read.metrics, [SettleMetric::Jain, SettleMetric::Shares]);
        for (from, to, word) in [
            ("0.01", "1.0", "within"),
            ("5000", "500", "window_ns"),
            ("\"jain\",\"shares\"", "", "no metric"),
            ("jain", "mathis", "mathis"),
        ] {
            let e = plan(&rule.replace(from, to), BULK).unwrap_err();
            assert!(e.contains(word), "{e}");
        }
        assert!(plan(rule, "").unwrap_err().contains("no bulk item"));
    }

    #[test]
    fn an_id_with_a_slash_is_refused() {
        assert!(with_traffic(&BULK.replace("\"id\":\"b\"", "\"id\":\"../b\"")).is_err());
    }
}
