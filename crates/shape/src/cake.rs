//! CAKE on one interface: what it is set to and what waits in it, by netlink. No program is started.

use std::collections::HashMap;
use std::io;

use narrows_wire::netlink::{
    attribute, attributes, interface_index, text, u32_at, u64_at, Netlink, NETLINK_ROUTE,
};

const RTM_NEWQDISC: u16 = 36;
const RTM_GETQDISC: u16 = 38;
const ROOT: u32 = 0xffff_ffff;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const STATS_QUEUE: u16 = 3;
const CAKE_BASE_RATE64: u16 = 2;
const CAKE_OVERHEAD: u16 = 6;
const CAKE_RAW: u16 = 12;
/// What CAKE counts of a frame beyond the IP packet where it is not told an overhead.
const ETHERNET_HEADER: i32 = 14;

/// What the kernel tells of an interface's root qdisc.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    pub kind: String,
    pub handle: u32,
    /// None: not limited.
    pub rate_bps: Option<u64>,
    /// Bytes that are counted for each packet beyond its network layer.
    pub overhead: i32,
    pub backlog_packets: u32,
}

pub struct Cake {
    pub iface: String,
    pub index: u32,
    netlink: Netlink,
    /// What it was set to when it was opened.
    pub earlier: Look,
}

impl Cake {
    /// The error is one line with its remedy.
    pub fn open(iface: &str, way: &str) -> Result<Cake, String> {
        let index = interface_index(iface).map_err(|_| {
            format!("there is no interface {iface} ({way}); see `ip link`, or narrows tune --wan IFACE")
        })?;
        let netlink = Netlink::open(NETLINK_ROUTE).map_err(|e| format!("cannot open netlink: {e}"))?;
        let mut cake = Cake { iface: iface.into(), index, netlink, earlier: Look::default() };
        let look = looks(&mut cake.netlink)
            .map_err(|e| format!("cannot read the qdisc of {iface}: {e}"))?
            .remove(&index)
            .unwrap_or_default();
        if look.kind != "cake" {
            let has = if look.kind.is_empty() { "no qdisc" } else { look.kind.as_str() };
            return Err(format!(
                "{iface} ({way}) has {has} at its root, not cake; narrows tune --wan IFACE sets it up"
            ));
        }
        cake.earlier = look;
        Ok(cake)
    }

    /// None takes the limit away.
    pub fn set(&mut self, rate_bps: Option<u64>) -> io::Result<()> {
        let mut options = Vec::new();
        let bytes_per_s = rate_bps.map_or(0, |bps| (bps / 8).max(1));
        attribute(&mut options, CAKE_BASE_RATE64, &bytes_per_s.to_ne_bytes());
        let mut body = tcmsg(self.index, self.earlier.handle, ROOT);
        attribute(&mut body, TCA_KIND, b"cake\0");
        attribute(&mut body, TCA_OPTIONS, &options);
        self.netlink.change(RTM_NEWQDISC, &body)?;
        self.netlink.refused()
    }
}

/// The root qdiscs of all interfaces, by index. One dump: the kernel answers a question for one qdisc only by telling
/// everybody who listens.
pub fn looks(netlink: &mut Netlink) -> io::Result<HashMap<u32, Look>> {
    let mut found = HashMap::new();
    netlink.dump(RTM_GETQDISC, &tcmsg(0, 0, 0), |_, payload| {
        if u32_at(payload, 12) == ROOT {
            found.insert(u32_at(payload, 4), read(payload));
        }
    })?;
    Ok(found)
}

/// `struct tcmsg`.
fn tcmsg(index: u32, handle: u32, parent: u32) -> Vec<u8> {
    let mut out = vec![0; 4];
    for word in [index, handle, parent, 0] {
        out.extend_from_slice(&word.to_ne_bytes());
    }
    out
}

fn read(payload: &[u8]) -> Look {
    let mut look = Look { handle: u32_at(payload, 8), overhead: ETHERNET_HEADER, ..Look::default() };
    for (kind, value) in attributes(payload.get(20..).unwrap_or_default()) {
        match kind {
            TCA_KIND => look.kind = text(value),
            TCA_OPTIONS if look.kind == "cake" => options(&mut look, value),
            TCA_STATS2 => {
                for (kind, v) in attributes(value) {
                    // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
                    if kind == STATS_QUEUE {
                        look.backlog_packets = u32_at(v, 0);
                    }
                }
            }
            _ => {}
        }
    }
    look
}

fn options(look: &mut Look, nested: &[u8]) {
    let mut raw = false;
    for (kind, v) in attributes(nested) {
        match kind {
            CAKE_BASE_RATE64 => look.rate_bps = Some(u64_at(v, 0).saturating_mul(8)).filter(|bps| *bps > 0),
            CAKE_OVERHEAD => look.overhead = u32_at(v, 0) as i32,
            // A flag: it is there or not.
            CAKE_RAW => raw = true,
            _ => {}
        }
    }
    if raw {
        look.overhead = ETHERNET_HEADER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(options: &[u8]) -> Vec<u8> {
        let mut body = tcmsg(3, 0x0001_0000, ROOT);
        attribute(&mut body, TCA_KIND, b"cake\0");
        attribute(&mut body, TCA_OPTIONS, options);
        let mut stats = Vec::new();
        let queue: Vec<u8> = [2u32, 3028, 7, 0, 0].iter().flat_map(|v| v.to_ne_bytes()).collect();
        attribute(&mut stats, STATS_QUEUE, &queue);
        attribute(&mut body, TCA_STATS2, &stats);
        body
    }

    #[test]
    fn the_rate_is_bits_and_the_overhead_that_of_the_options() {
        let mut given = Vec::new();
        attribute(&mut given, CAKE_BASE_RATE64, &1_250_000u64.to_ne_bytes());
        attribute(&mut given, CAKE_OVERHEAD, &44i32.to_ne_bytes());
        let look = read(&answer(&given));
        assert_eq!((look.rate_bps, look.overhead, look.handle), (Some(10_000_000), 44, 0x0001_0000));
        assert_eq!(look.backlog_packets, 2);
    }

    #[test]
    fn a_raw_cake_counts_the_ethernet_header_and_no_rate_is_no_limit() {
        let mut given = Vec::new();
        attribute(&mut given, CAKE_BASE_RATE64, &0u64.to_ne_bytes());
        attribute(&mut given, CAKE_OVERHEAD, &0i32.to_ne_bytes());
        attribute(&mut given, CAKE_RAW, &[]);
        let look = read(&answer(&given));
        assert_eq!((look.rate_bps, look.overhead), (None, 14));
    }

    #[test]
    fn an_interface_that_is_not_there_and_one_without_cake_are_refused_with_the_remedy() {
        let error = Cake::open("nothere0", "egress").err().unwrap();
        assert!(error.contains("no interface nothere0") && error.contains("narrows tune"), "{error}");
        let error = Cake::open("lo", "ingress").err().unwrap();
        assert!(error.contains("lo (ingress)") && error.contains("not cake"), "{error}");
    }
}
