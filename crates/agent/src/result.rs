//! `result.json`, what the agent writes last: its shape, and how it is written.
//!
//! python/narrows/store/agent_result.py reads it, and has the same shape: tests/unit/test_one_schema.py compares.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::calibrate;
use crate::error::{During, Result, RunError};
use crate::settle::Settled;
use crate::{status, sys};
use narrows_plan::Hop;

pub type Object = Map<String, Value>;
/// The IPv4 counters of every node, under the kernel's names.
pub type IpCounters = BTreeMap<String, BTreeMap<String, i64>>;

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunResult {
    format: u32,
    status: Status,
    error: Option<RunError>,
    kernel: String,
    pub tools: Object,
    pub epoch_monotonic_ns: Option<i64>,
    /// CLOCK_REALTIME at t = 0, on a host; a guest's is the plan's.
    pub wall_epoch_ns: Option<i64>,
    pub end_ns: Option<i64>,
    /// In the plan's order.
    #[serde(serialize_with = "in_order")]
    #[cfg_attr(test, schemars(with = "BTreeMap<String, ItemOutcome>"))]
    pub items: Vec<(String, ItemOutcome)>,
    /// Packets and drops of each.
    pub captures: Object,
    pub calibration: Option<calibrate::Report>,
    pub sysctls: Object,
    /// What the kernel keeps of what was set up, by node and interface.
    pub kept: Object,
    pub tc_before: Object,
    pub tc_after: Object,
    pub links_before: Object,
    pub links_after: Object,
    pub ip_before: IpCounters,
    pub ip_after: IpCounters,
    pub hops: Vec<HopResult>,
    pub host_tap: Option<HostTapResult>,
    pub flow_tap: Option<BTreeMap<&'static str, i64>>,
    /// Of each medium of the plan, in its order; absent where there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<MediumTotals>,
    pub until_settled: Option<Settled>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Failed,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ItemOutcome {
    /// "ended", "stopped", "failed" or "not started".
    pub status: &'static str,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub exit_code: Option<i32>,
    #[cfg_attr(test, schemars(with = "Option<Object>"))]
    pub details: Option<Value>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HopResult {
    hop: String,
    direction: String,
    node: String,
    iface: String,
    tap: Option<TapTotals>,
    /// On a host: why there is none.
    tap_note: Option<String>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TapTotals {
    pub arrived_packets: u64,
    pub arrived_bytes: u64,
    pub departed_packets: u64,
    pub departed_bytes: u64,
    pub dropped_packets: u64,
    pub dropped_bytes: u64,
    /// None: this tap sees no marks.
    pub marked_packets: Option<u64>,
    pub queued_packets: u64,
    pub queued_bytes: u64,
}

/// What a medium was given from the start of its schedule on, and what became of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MediumTotals {
    pub direction: String,
    pub entered_packets: i64,
    pub entered_bytes: i64,
    pub arrived_packets: i64,
    pub arrived_bytes: i64,
    pub lost_packets: i64,
    pub lost_bytes: i64,
    pub held_packets: i64,
    pub turns: i64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostTapResult {
    /// Trace events that were read.
    pub events: u64,
}

impl HopResult {
    pub fn new(hop: &Hop, tap: Option<TapTotals>, tap_note: Option<String>) -> HopResult {
        HopResult {
            hop: hop.hop.clone(),
            direction: hop.direction.clone(),
            node: hop.node.clone(),
            iface: hop.iface.clone(),
            tap,
            tap_note,
        }
    }
}

fn in_order<S: Serializer, T: Serialize>(
    pairs: &[(String, T)],
    to: S,
) -> std::result::Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(name, each)| (name, each)))
}

impl RunResult {
    /// What it holds before anything is known.
    pub fn new() -> RunResult {
        RunResult {
            format: 1,
            status: Status::Failed,
            error: None,
            kernel: sys::kernel_version(),
            tools: Object::new(),
            epoch_monotonic_ns: None,
            wall_epoch_ns: None,
            end_ns: None,
            items: Vec::new(),
            captures: Object::new(),
            calibration: None,
            sysctls: Object::new(),
            kept: Object::new(),
            tc_before: Object::new(),
            tc_after: Object::new(),
            links_before: Object::new(),
            links_after: Object::new(),
            ip_before: IpCounters::new(),
            ip_after: IpCounters::new(),
            hops: Vec::new(),
            host_tap: None,
            flow_tap: None,
            media: Vec::new(),
            until_settled: None,
        }
    }

    pub fn ended(&mut self, error: Option<&RunError>) {
        self.status = if error.is_some() { Status::Failed } else { Status::Ok };
        self.error = error.cloned();
    }

    /// Writes the file whole or not at all.
    pub fn write(&self, raw: &Path) -> Result<()> {
        let (path, part) = (raw.join("result.json"), raw.join(".result.json.part"));
        let what = || format!("writing {}", path.display());
        let mut file = fs::File::create(&part).during(what)?;
        let text = serde_json::to_vec_pretty(self).map_err(|e| RunError::internal(e.to_string()))?;
        file.write_all(&text).and_then(|()| file.sync_all()).during(what)?;
        fs::rename(&part, &path).during(what)
    }
}

/// For a panic, or an error before a run exists: the least result.json there is.
pub fn write_failure(raw: &Path, error: &RunError) {
    let mut result = RunResult::new();
    result.ended(Some(error));
    if let Err(e) = result.write(raw) {
        status::line(0, "finish", &e.line());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A line for each type, as JSON Schema: what tests/unit/test_one_schema.py holds against Python's.
    fn rows(root: &str, schema: &Value) -> Vec<String> {
        let own = json!({"properties": schema["properties"], "required": schema["required"]});
        let types = schema["$defs"].as_object().unwrap();
        let rows =
            std::iter::once((root, &own)).chain(types.iter().map(|(name, each)| (name.as_str(), each)));
        rows.map(|(name, each)| format!("{}: {each}", json!(name))).collect()
    }

    #[test]
    fn the_schema_beside_the_crates_is_that_of_their_types() {
        let plan = schemars::schema_for!(narrows_plan::Plan).to_value();
        let writes = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let result = writes.into_generator().into_root_schema_for::<RunResult>().to_value();
        let rows = [rows("Plan", &plan), rows("RunResult", &result)].concat();
        let schema = format!("{{\n{}\n}}\n", rows.join(",\n"));
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../schema.json");
        if fs::read_to_string(path).unwrap_or_default() != schema {
            fs::write(path, schema).unwrap();
            panic!("crates/schema.json was of other types. It is written anew: commit it, and see tests/unit/test_one_schema.py");
        }
    }
}
