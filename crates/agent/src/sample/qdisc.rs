//! Counters of every qdisc and class of an interface, through rtnetlink.

use std::fmt::Write;
use std::io;

use serde::Serialize;

use super::xstats::{self, KINDS};
use super::Source;
use crate::actor::Csv;
use crate::error::Result;
use crate::netlink::{attributes, interface_index, text, u32_at, u64_at, Netlink, NETLINK_ROUTE};

const RTM_GETQDISC: u16 = 38;
const RTM_GETTCLASS: u16 = 42;
const RTM_GETTFILTER: u16 = 46;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_STATS2: u16 = 7;
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_APP: u16 = 4;
const STATS_PKT64: u16 = 8;

pub struct Qdiscs {
    netlink: Netlink,
    index: u32,
}

#[derive(Debug, Default, PartialEq)]
pub struct Row {
    pub kind: String,
    pub handle: u32,
    pub parent: u32,
    bytes: Option<u64>,
    packets: Option<u64>,
    /// drops, overlimits, requeues, backlog bytes, backlog packets
    queue: Option<[u32; 5]>,
    own: [String; 7],
}

/// struct tcmsg: family and padding, ifindex, handle, parent, info.
fn tcmsg(index: u32) -> [u8; 20] {
    let mut b = [0; 20];
    b[4..8].copy_from_slice(&index.to_ne_bytes());
    b
}

fn parse(b: &[u8]) -> Option<(u32, Row)> {
    let rest = b.get(20..)?;
    let mut row = Row { handle: u32_at(b, 8), parent: u32_at(b, 12), ..Row::default() };
    for (kind, value) in attributes(rest) {
        match kind {
            TCA_KIND => row.kind = text(value),
            TCA_STATS2 => {
                for (kind, v) in attributes(value) {
                    match kind {
                        STATS_BASIC => {
                            row.bytes = Some(u64_at(v, 0));
                            row.packets.get_or_insert(u32_at(v, 8) as u64);
                        }
                        STATS_PKT64 => row.packets = Some(u64_at(v, 0)),
                        // struct gnet_stats_queue: qlen, backlog, drops, requeues, overlimits
                        STATS_QUEUE => {
                            row.queue = Some([8, 16, 12, 4, 0].map(|at| u32_at(v, at)));
                        }
                        // the kind stands before the statistics
                        STATS_APP => row.own = xstats::parse(&row.kind, v),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Some((u32_at(b, 4), row))
}

/// `1:11` as tc writes it; `root` and empty (none) stand for themselves.
fn handle_text(h: u32) -> String {
    match h {
        u32::MAX => "root".into(),
        0 => String::new(),
        _ if h & 0xffff == 0 => format!("{:x}:", h >> 16),
        _ => format!("{:x}:{:x}", h >> 16, h & 0xffff),
    }
}

/// A qdisc, class or filter as the kernel keeps it: its options are netlink's own bytes.
#[derive(Debug, Serialize)]
pub struct Kept {
    pub what: &'static str,
    pub kind: String,
    pub handle: String,
    pub parent: String,
    /// In hexadecimal.
    pub options: String,
}

/// All that is kept in the thread's namespace, by the index of the interface. Classes are asked of HTB, filters of those that
/// narrows gives filters.
pub fn kept() -> io::Result<Vec<(u32, Kept)>> {
    let mut netlink = Netlink::open(NETLINK_ROUTE)?;
    let mut all = Vec::new();
    let mut shown = |netlink: &mut Netlink, what, request, body: &[u8; 20]| {
        let from = all.len();
        netlink.dump(request, body, |_, b| {
            let Some(rest) = b.get(20..) else { return };
            let (mut kind, mut options) = (String::new(), String::new());
            for (name, value) in attributes(rest) {
                match name {
                    TCA_KIND => kind = text(value),
                    TCA_OPTIONS => options = value.iter().map(|b| format!("{b:02x}")).collect(),
                    _ => {}
                }
            }
            // A chain of filters is listed too, before what is in it.
            if what != "filter" || !options.is_empty() {
                let (handle, parent) = (handle_text(u32_at(b, 8)), handle_text(u32_at(b, 12)));
                let each = Kept { what, kind, handle, parent, options };
                all.push((u32_at(b, 4), u32_at(b, 8), each));
            }
        })?;
        Ok::<_, io::Error>(all[from..].iter().map(|(i, h, k)| (*i, *h, k.kind.clone())).collect::<Vec<_>>())
    };
    for (index, handle, kind) in shown(&mut netlink, "qdisc", RTM_GETQDISC, &tcmsg(0))? {
        let mut body = tcmsg(index);
        if kind == "htb" {
            shown(&mut netlink, "class", RTM_GETTCLASS, &body)?;
        } else if kind == "ingress" || KINDS.get(&kind).is_some_and(|k| k.has_filters) {
            body[12..16].copy_from_slice(&handle.to_ne_bytes());
            shown(&mut netlink, "filter", RTM_GETTFILTER, &body)?;
        }
    }
    let is_real = |kept: &Kept| !matches!(kept.kind.as_str(), "noqueue" | "noop");
    Ok(all.into_iter().map(|(i, _, k)| (i, k)).filter(|(_, k)| is_real(k)).collect())
}

impl Qdiscs {
    pub fn open(iface: &str) -> io::Result<Qdiscs> {
        Ok(Qdiscs { netlink: Netlink::open(NETLINK_ROUTE)?, index: interface_index(iface)? })
    }

    fn rows(&mut self) -> io::Result<Vec<Row>> {
        let (mut rows, index) = (Vec::new(), self.index);
        for kind in [RTM_GETQDISC, RTM_GETTCLASS] {
            self.netlink.dump(kind, &tcmsg(index), |_, payload| {
                rows.extend(parse(payload).filter(|(i, _)| *i == index).map(|(_, row)| row));
            })?;
        }
        Ok(rows)
    }
}

/// Interfaces of the thread's namespace that have a real qdisc, by index.
pub fn interfaces_with_qdiscs() -> io::Result<Vec<u32>> {
    let mut out = Vec::new();
    Netlink::open(NETLINK_ROUTE)?.dump(RTM_GETQDISC, &tcmsg(0), |_, payload| {
        if let Some((index, row)) = parse(payload) {
            if !matches!(row.kind.as_str(), "noqueue" | "noop") && !out.contains(&index) {
                out.push(index);
            }
        }
    })?;
    Ok(out)
}

/// Packets in all queues of the thread's namespace.
pub fn queued_packets() -> io::Result<u64> {
    let mut all = 0;
    Netlink::open(NETLINK_ROUTE)?.dump(RTM_GETQDISC, &tcmsg(0), |_, payload| {
        let queue = parse(payload).and_then(|(_, row)| row.queue);
        all += queue.map_or(0, |q| q[4] as u64);
    })?;
    Ok(all)
}

impl Source for Qdiscs {
    const HEADER: &'static str =
        "t_ns,kind,handle,parent,bytes,packets,drops,overlimits,requeues,backlog_bytes,backlog_packets,\
         marks,probability,delay_us,packets_c,packets_l,step_marks,delay_l_us";

    fn sample(&mut self, t_ns: i64, csv: &mut Csv) -> io::Result<Result<()>> {
        let mut line = String::new();
        for row in self.rows()? {
            line.clear();
            let (handle, parent) = (handle_text(row.handle), handle_text(row.parent));
            let _ = write!(line, "{t_ns},{},{handle},{parent}", row.kind);
            for v in
                [row.bytes, row.packets].into_iter().chain((0..5).map(|i| row.queue.map(|q| q[i] as u64)))
            {
                line.push(',');
                if let Some(v) = v {
                    let _ = write!(line, "{v}");
                }
            }
            for told in row.own {
                line.push(',');
                line.push_str(&told);
            }
            if let Err(e) = csv.line(&line) {
                return Ok(Err(e));
            }
        }
        Ok(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_read_as_tc_writes_them() {
        assert_eq!(handle_text(0x10000), "1:");
        assert_eq!(handle_text(0x10011), "1:11");
        assert_eq!(handle_text(u32::MAX), "root");
        assert_eq!(handle_text(0), "");
    }

    #[test]
    fn queue_statistics_are_read_in_the_order_of_the_header() {
        let attr = |kind: u16, v: &[u8]| {
            let mut b = ((v.len() + 4) as u16).to_ne_bytes().to_vec();
            b.extend(kind.to_ne_bytes());
            b.extend(v);
            b
        };
        let queue: Vec<u8> = [1u32, 2, 3, 4, 5].iter().flat_map(|v| v.to_ne_bytes()).collect();
        let mut basic = 1000u64.to_ne_bytes().to_vec();
        basic.extend(7u32.to_ne_bytes());
        basic.extend([0; 4]);
        let stats = [attr(STATS_BASIC, &basic), attr(STATS_QUEUE, &queue)].concat();
        let mut msg = tcmsg(9).to_vec();
        msg.extend(attr(TCA_STATS2, &stats));
        let (index, row) = parse(&msg).unwrap();
        assert_eq!(index, 9);
        assert_eq!((row.bytes, row.packets), (Some(1000), Some(7)));
        // drops 3, overlimits 5, requeues 4, backlog 2, qlen 1
        assert_eq!(row.queue, Some([3, 5, 4, 2, 1]));
    }
}
