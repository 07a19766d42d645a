//! Interface counters (IFLA_STATS64) through rtnetlink: one interface as samples, or all of a node at once.

use std::fmt::Write;
use std::io;

use super::Source;
use crate::actor::Csv;
use crate::error::Result;
use crate::netlink::{attributes, interface_index, text, u32_at, u64_at, Netlink, NETLINK_ROUTE};

const RTM_GETLINK: u16 = 18;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_STATS64: u16 = 23;

/// The counters that narrows keeps, in the order of `NAMES`.
pub const NAMES: [&str; 6] = ["rx_packets", "tx_packets", "rx_bytes", "tx_bytes", "rx_dropped", "tx_dropped"];

pub struct Interface {
    pub index: u32,
    pub name: String,
    pub mtu: u32,
    pub counters: Option<[u64; 6]>,
}

fn parse(b: &[u8]) -> Option<Interface> {
    let rest = b.get(16..)?;
    let mut out = Interface { index: u32_at(b, 4), name: String::new(), mtu: 0, counters: None };
    for (kind, value) in attributes(rest) {
        match kind {
            IFLA_IFNAME => out.name = text(value),
            IFLA_MTU => out.mtu = u32_at(value, 0),
            // struct rtnl_link_stats64: rx/tx packets, rx/tx bytes, rx/tx errors, rx/tx dropped
            IFLA_STATS64 => out.counters = Some([0, 1, 2, 3, 6, 7].map(|i| u64_at(value, i * 8))),
            _ => {}
        }
    }
    Some(out)
}

/// struct ifinfomsg: family, type, index, flags, change.
fn ifinfomsg(index: u32) -> [u8; 16] {
    let mut b = [0; 16];
    b[4..8].copy_from_slice(&index.to_ne_bytes());
    b
}

/// All interfaces of the thread's namespace.
pub fn interfaces() -> io::Result<Vec<Interface>> {
    let mut out = Vec::new();
    Netlink::open(NETLINK_ROUTE)?.dump(RTM_GETLINK, &ifinfomsg(0), |_, p| out.extend(parse(p)))?;
    Ok(out)
}

pub struct Link {
    netlink: Netlink,
    index: u32,
}

impl Link {
    pub fn open(iface: &str) -> io::Result<Link> {
        Ok(Link { netlink: Netlink::open(NETLINK_ROUTE)?, index: interface_index(iface)? })
    }
}

impl Source for Link {
    const HEADER: &'static str = "t_ns,rx_packets,tx_packets,rx_bytes,tx_bytes,rx_dropped,tx_dropped";

    fn sample(&mut self, t_ns: i64, csv: &mut Csv) -> io::Result<Result<()>> {
        let mut counters = None;
        self.netlink.get(RTM_GETLINK, &ifinfomsg(self.index), |_, p| {
            counters = parse(p).and_then(|i| i.counters);
        })?;
        let Some(counters) = counters else {
            return Err(io::Error::other("the kernel gave no counters"));
        };
        let mut line = t_ns.to_string();
        for v in counters {
            let _ = write!(line, ",{v}");
        }
        Ok(csv.line(&line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lo_has_counters() {
        let all = interfaces().unwrap();
        let lo = all.iter().find(|i| i.name == "lo").unwrap();
        assert_eq!(lo.counters.map(|c| c.len()), Some(NAMES.len()));
    }
}
