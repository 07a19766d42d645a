//! The plan of one run: what docs/formats.md calls `plan.json`, as who carries it out needs it.
//!
//! Unknown keys are fatal in every part that is acted on. Parts that only narrows' Python side reads are carried as they
//! are (`Value`). python/narrows/plan/model.py has the same shape: tests/unit/test_one_schema.py compares.
//! `minimal.json` beside this crate is the smallest plan.

mod check;
mod items;

use std::net::Ipv4Addr;

use serde::Deserialize;
use serde_json::Value;

pub use items::*;

/// The format that this crate reads: `format` of the plan.
pub const FORMAT: u32 = 2;

#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub format: u32,
    pub experiment: String,
    pub question: String,
    pub key: Value,
    pub seed: u64,
    pub wall_clock_ns: i64,
    pub epoch_monotonic_ns: i64,
    pub limit_ns: i64,
    pub machine: Value,
    pub nodes: Vec<Node>,
    pub link: Value,
    pub sysctls: Value,
    pub needs: Value,
    pub setup: Vec<Step>,
    #[serde(default)]
    pub asked: Value,
    pub changes: Vec<Change>,
    #[serde(default)]
    pub moving: Option<MovingRates>,
    #[serde(default)]
    pub media: Vec<Medium>,
    pub hops: Vec<Hop>,
    #[serde(default)]
    pub flow_tap: Option<FlowTap>,
    #[serde(default)]
    pub until_settled: Option<UntilSettled>,
    pub calibration: Calibration,
    pub traffic: Vec<Item>,
    #[serde(default)]
    pub composites: Value,
    pub samplers: Vec<Sampler>,
    pub captures: Vec<Capture>,
    #[serde(default)]
    pub contents: Value,
    #[serde(default)]
    pub uplink: Value,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Node {
    pub name: String,
    pub role: String,
}

/// As the node of a set-up step: the namespace that the agent was started in, where a host's way to the Internet is.
pub const HOST: &str = "@host";

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub node: String,
    pub tool: String,
    pub args: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub at_ns: i64,
    pub node: String,
    pub tool: String,
    pub args: Vec<String>,
}

/// A link whose rate is not the same throughout: what the shapers are set to. The truth that they follow is
/// narrows' Python side's.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MovingRates {
    pub shapers: Vec<MovingShaper>,
    pub down: Value,
    pub up: Value,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MovingShaper {
    pub node: String,
    pub iface: String,
    pub shaper: ShaperKind,
    pub quantum_bytes: u32,
    pub steps: Vec<RateStep>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ShaperKind {
    Htb,
    Cake,
}

/// What a shaper is set to from a time on. A bucket of 0 bytes lets one frame pass at a time.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateStep {
    pub at_ns: i64,
    pub rate_bps: u64,
    pub burst_bytes: u64,
}

/// An interface that serves its queue at the turns of a schedule: what is below IP there.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Medium {
    pub node: String,
    pub iface: String,
    pub direction: String,
    pub model: String,
    pub air: u32,
    pub by_demand: bool,
    pub splits: bool,
    pub overhead_bytes: i64,
    pub ring_bytes: u32,
    pub retries: u32,
    pub grant_turns: u32,
    pub repeat_ns: u64,
    pub unit_ns: u64,
    pub turns: String,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Hop {
    pub hop: String,
    pub direction: String,
    pub node: String,
    pub iface: String,
    pub ingress: Vec<String>,
    pub tap: TapMode,
    /// Length of the intervals of the mode `drops`.
    #[serde(default = "ten_ms")]
    pub tap_interval_ns: i64,
}

fn ten_ms() -> i64 {
    10_000_000
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TapMode {
    Packets,
    Summary,
    Drops,
    Off,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlowTap {
    pub watch: Vec<FlowWatch>,
    pub window: Option<FlowWindow>,
    pub sample_interval_ns: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlowWatch {
    pub node: String,
    pub port: Option<u16>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FlowWindow {
    pub start_ns: i64,
    pub stop_ns: Option<i64>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    pub client: String,
    pub server: String,
    pub server_address: Ipv4Addr,
    pub client_address: Ipv4Addr,
    pub rtt_ns: i64,
    pub rtt_tolerance_ns: i64,
    pub rate_down_bps: Option<u64>,
    pub rate_up_bps: Option<u64>,
    pub rate_tolerance: f64,
    pub rate_is_upper_bound: bool,
    #[serde(default)]
    pub others: Vec<CalibrationPath>,
    #[serde(default = "usual_echoes")]
    pub echoes: u32,
}

/// Sent where little is lost; a calibration wants half of them back.
pub const USUAL_ECHOES: u32 = 20;

fn usual_echoes() -> u32 {
    USUAL_ECHOES
}

/// One more server, whose base RTT is checked too.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CalibrationPath {
    pub server: String,
    pub server_address: Ipv4Addr,
    pub rtt_ns: i64,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Sampler {
    TcpInfo { id: String, node: String, interval_ns: i64 },
    Qdisc { id: String, node: String, iface: String, interval_ns: i64 },
    Link { id: String, node: String, iface: String, interval_ns: i64 },
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Capture {
    pub id: String,
    pub node: String,
    pub iface: String,
    pub snap_bytes: u32,
    pub start_ns: i64,
    pub stop_ns: Option<i64>,
}

impl Sampler {
    pub fn id(&self) -> &str {
        match self {
            Sampler::TcpInfo { id, .. } | Sampler::Qdisc { id, .. } | Sampler::Link { id, .. } => id,
        }
    }

    pub fn node_and_interval(&self) -> (&str, i64) {
        match self {
            Sampler::TcpInfo { node, interval_ns, .. }
            | Sampler::Qdisc { node, interval_ns, .. }
            | Sampler::Link { node, interval_ns, .. } => (node, *interval_ns),
        }
    }
}

/// `until_settled` of the plan.
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UntilSettled {
    pub metrics: Vec<SettleMetric>,
    /// Share of the metric's value.
    pub within: f64,
    pub window_ns: i64,
    pub start_ns: i64,
    pub interval_ns: i64,
    pub not_before_ns: i64,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum SettleMetric {
    Jain,
    Shares,
    Goodput,
}

impl SettleMetric {
    /// Of one value of it.
    pub fn name(self) -> &'static str {
        match self {
            SettleMetric::Jain => "jain",
            SettleMetric::Shares => "share",
            SettleMetric::Goodput => "goodput",
        }
    }
}
