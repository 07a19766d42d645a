//! Whether what trace events show is what `tc -s` counts: only then do a queue's records count.

use serde_json::{json, Value};

use super::intervals::Count;
use super::pairing::{Queue, Totals};
use crate::result::{Object, TapTotals};
use narrows_plan::Hop;

/// The root qdisc of a hop's interface in `tc -s -j`.
pub fn root<'a>(tc: &'a Object, hop: &Hop) -> Option<&'a Value> {
    let all = tc.get(&hop.node)?[&hop.iface]["qdisc"].as_array()?;
    all.iter().find(|q| q["root"] == json!(true))
}

/// For each name of an interface the only queue under that name that dropped anything.
pub fn refusers(queues: &[Queue], hops: &[Hop], names: usize, tc: &Object) -> Vec<Option<usize>> {
    let dropped = |q: &Queue| {
        let root = root(tc, &hops[usize::from(q.number)]);
        root.and_then(|r| r["drops"].as_u64()).is_none_or(|drops| drops > 0)
    };
    let of = |name: usize| {
        let mut found = (0..queues.len()).filter(|i| queues[*i].iface == name && dropped(&queues[*i]));
        found.next().filter(|_| found.next().is_none())
    };
    (0..names).map(of).collect()
}

/// The totals, if `tc -s` says the same.
pub fn check(totals: &Totals, root: Option<&Value>) -> Result<Totals, String> {
    let root = root.ok_or("tc shows no root qdisc there")?;
    let mine = [
        ("packets", totals.departed.packets),
        ("bytes", totals.departed.bytes),
        ("drops", totals.dropped.packets),
        ("qlen", totals.queued.packets),
        ("backlog", totals.queued.bytes),
    ];
    let mut differing = Vec::new();
    for (name, seen) in mine {
        match root[name].as_u64() {
            Some(said) if said == seen => {}
            said => {
                differing.push(format!("{name} {seen}, by tc {}", said.map_or("-".into(), |s| s.to_string())))
            }
        }
    }
    if !differing.is_empty() {
        return Err(format!(
            "what trace events show is not what tc -s of the root qdisc ({}) counts: {} \
             (an idle work-conserving qdisc lets packets pass without an event; two queues of one interface name that \
             both drop cannot be told apart)",
            root["kind"].as_str().unwrap_or("?"),
            differing.join("; ")
        ));
    }
    match totals.arrived.packets {
        0 => Err("no packet came to this queue".into()),
        _ => Ok(totals.clone()),
    }
}

pub fn shown(totals: &Totals) -> TapTotals {
    let Totals { arrived, departed, dropped, queued } = totals;
    let [a, d, x, q] = [arrived, departed, dropped, queued].map(|c: &Count| (c.packets, c.bytes));
    TapTotals {
        arrived_packets: a.0,
        arrived_bytes: a.1,
        departed_packets: d.0,
        departed_bytes: d.1,
        dropped_packets: x.0,
        dropped_bytes: x.1,
        marked_packets: None,
        queued_packets: q.0,
        queued_bytes: q.1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_plan::TapMode;

    fn hop(direction: &str, node: &str, iface: &str) -> Hop {
        Hop {
            hop: "bottleneck".into(),
            direction: direction.into(),
            node: node.into(),
            iface: iface.into(),
            ingress: Vec::new(),
            tap: TapMode::Packets,
            tap_interval_ns: 10_000_000,
        }
    }

    fn object(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    fn qdisc(packets: u64, drops: u64) -> Value {
        json!({"qdisc": [{"kind": "pfifo", "parent": "1:11"}, {"kind": "htb", "root": true, "packets": packets,
               "bytes": packets * 100, "drops": drops, "qlen": 0, "backlog": 0}]})
    }

    fn totals(packets: u64, drops: u64) -> Totals {
        let count = |packets| Count { packets, bytes: packets * 100 };
        Totals {
            arrived: count(packets + drops),
            departed: count(packets),
            dropped: count(drops),
            queued: count(0),
        }
    }

    #[test]
    fn totals_count_only_if_tc_says_the_same() {
        let tc = object(json!({"router": {"eth0": qdisc(7, 2)}}));
        let root = root(&tc, &hop("down", "router", "eth0"));
        assert_eq!(check(&totals(7, 2), root), Ok(totals(7, 2)));
        let why = check(&totals(6, 2), root).unwrap_err();
        assert!(why.contains("(htb)") && why.contains("packets 6, by tc 7; bytes 600, by tc 700"), "{why}");
        assert!(check(&totals(7, 2), None).is_err());
        assert!(check(&totals(0, 0), Some(&qdisc(0, 0)["qdisc"][1])).is_err());
    }

    #[test]
    fn refused_packets_belong_to_the_only_queue_of_the_name_that_dropped() {
        let hops = [hop("down", "router", "eth0"), hop("up", "router", "eth1"), hop("up", "gate", "eth1")];
        let queues = [(0, 0), (1, 1), (2, 1)];
        let queues = queues.map(|(number, iface)| Queue { number, ifindex: 0, iface, interval_ns: None });
        let tc = |up, gate| {
            object(
                json!({"router": {"eth0": qdisc(1, 3), "eth1": qdisc(1, up)}, "gate": {"eth1": qdisc(1, gate)}}),
            )
        };
        assert_eq!(refusers(&queues, &hops, 2, &tc(0, 4)), [Some(0), Some(2)]);
        assert_eq!(refusers(&queues, &hops, 2, &tc(5, 4)), [Some(0), None]);
        assert_eq!(refusers(&queues, &hops, 2, &tc(0, 0)), [Some(0), None]);
    }
}
