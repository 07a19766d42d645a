//! Items of traffic: who sends what to whom, from when until when.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::Deserialize;
use serde_json::Value;

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields, expecting = "a start is either at_ns, or after and delay_ns")]
pub enum Start {
    At { at_ns: i64 },
    After { after: String, delay_ns: i64 },
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(untagged, deny_unknown_fields, expecting = "a stop is either at_ns or with")]
pub enum Stop {
    At { at_ns: i64 },
    With { with: String },
}

// A plan has a few; the largest kind is also the most frequent one.
#[allow(clippy::large_enum_variant)]
#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    TcpBulk(TcpBulk),
    UdpProbe(UdpProbe),
    IcmpEcho(IcmpEcho),
    Command(Command),
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TcpBulk {
    pub id: String,
    pub item: String,
    pub sender: String,
    pub receiver: String,
    pub receiver_address: Ipv4Addr,
    pub port: u16,
    pub flows: u32,
    pub cca: Option<String>,
    pub dscp: u8,
    /// Linux has no socket option for ECN: the plan sets `net.ipv4.tcp_ecn` in its setup.
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
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BulkIo {
    #[default]
    Batched,
    /// The sender as in `batched`, the receiver as in `plain`.
    PlainReceiver,
    Plain,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct UdpProbe {
    pub id: String,
    pub item: String,
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
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct IcmpEcho {
    pub id: String,
    pub item: String,
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
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Command {
    pub id: String,
    pub item: String,
    pub tool: String,
    pub node: String,
    pub argv: Vec<String>,
    pub env: BTreeMap<String, String>,
    pub stop_signal: String,
    pub ok_exits: Vec<i32>,
    pub background: bool,
    pub ready: Option<Ready>,
    pub endpoints: Value,
    pub programs: Value,
    pub files: Value,
    pub memory_bytes: Value,
    #[serde(default)]
    pub uses: Value,
    pub start: Start,
    pub stop: Option<Stop>,
}

#[derive(Clone, Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Ready {
    #[serde(default)]
    pub tcp: Option<String>,
    #[serde(default)]
    pub udp: Option<String>,
    #[serde(default)]
    pub line: Option<String>,
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

    pub fn nodes(&self) -> Vec<&str> {
        match self {
            Item::TcpBulk(i) => vec![&i.sender, &i.receiver],
            Item::UdpProbe(i) => vec![&i.client, &i.server],
            Item::IcmpEcho(i) => vec![&i.client, &i.server],
            Item::Command(i) => vec![&i.node],
        }
    }
}

pub fn bulk_items(traffic: &[Item]) -> impl Iterator<Item = &TcpBulk> {
    traffic.iter().filter_map(|item| match item {
        Item::TcpBulk(bulk) => Some(bulk),
        _ => None,
    })
}
