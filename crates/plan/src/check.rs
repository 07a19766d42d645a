//! What serde cannot know of a plan: references, uniqueness, and values that would make a loop never end.

use std::collections::HashSet;

use crate::{bulk_items, IcmpEcho, Item, Plan, UdpProbe, UntilSettled, FORMAT, HOST};

impl Plan {
    pub fn parse(text: &str) -> Result<Plan, String> {
        let plan: Plan = serde_json::from_str(text).map_err(|e| format!("plan.json: {e}"))?;
        plan.check().map_err(|e| format!("plan.json: {e}"))?;
        Ok(plan)
    }

    /// What serde cannot know: references, uniqueness, and values that would make a loop never end.
    fn check(&self) -> Result<(), String> {
        if self.format != FORMAT {
            return Err(format!(
                "format {} is not known to this agent, which reads format {FORMAT}",
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
            false => Err(format!("{what} names node '{node}', which is not among the nodes")),
        };
        for (i, s) in self.setup.iter().enumerate().filter(|(_, s)| s.node != HOST) {
            known(&s.node, &format!("setup step {i}"))?;
        }
        for (i, c) in self.changes.iter().enumerate() {
            known(&c.node, &format!("change {i}"))?;
        }
        for m in self.moving.iter().flat_map(|m| &m.shapers) {
            known(&m.node, "a moving shaper")?;
        }
        for m in &self.media {
            known(&m.node, "a medium")?;
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
        let c = &self.calibration;
        for node in [&c.client, &c.server].into_iter().chain(c.others.iter().map(|o| &o.server)) {
            known(node, "calibration")?;
        }
        for (name, rate) in [("rate_down_bps", c.rate_down_bps), ("rate_up_bps", c.rate_up_bps)] {
            if rate.is_some_and(|r| r < 1000) {
                return Err(format!("calibration: {name} must be at least 1000 bit/s"));
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
                return Err(format!("item '{}' never ends by itself and needs a stop", item.id()));
            }
            match item {
                Item::TcpBulk(b) if b.flows == 0 => return Err(format!("item '{}': no flows", b.id)),
                Item::TcpBulk(b) if b.sample_interval_ns.is_some_and(|i| i < 1000) => {
                    return Err(format!("item '{}': sample_interval_ns must be at least 1000", b.id))
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

impl UntilSettled {
    /// What serde cannot know.
    fn check(&self, traffic: &[Item]) -> Result<(), String> {
        let wrong = match self {
            r if r.metrics.is_empty() => "no metric",
            r if !(r.within > 0.0 && r.within < 1.0) => "within must be above 0 and below 1",
            r if r.interval_ns < 1000 => "interval_ns must be at least 1000",
            r if r.window_ns < r.interval_ns => "window_ns is shorter than interval_ns",
            _ if !bulk_items(traffic).any(|b| b.bytes.is_none()) => "there is no bulk item to stop",
            _ => return Ok(()),
        };
        Err(format!("until_settled: {wrong}"))
    }
}

/// Ids become file names and node names become paths under /run/netns.
fn file_safe(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'+' | b'@'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SettleMetric, Stop};

    const MINIMAL: &str = include_str!("../minimal.json");

    fn text(traffic: &str) -> String {
        MINIMAL.replace(r#""traffic": []"#, &format!(r#""traffic": [{traffic}]"#))
    }

    fn with_traffic(t: &str) -> Result<Plan, String> {
        Plan::parse(&text(t))
    }

    const BULK: &str = r#"{"id":"b","item":"b","kind":"tcp_bulk","sender":"a","receiver":"a","receiver_address":"10.0.0.1",
        "port":5201,"flows":2,"cca":null,"dscp":0,"ecn":false,"bytes":null,"start_spread_ns":0,
        "sample_interval_ns":null,"start":{"at_ns":0},"stop":{"at_ns":5}}"#;

    #[test]
    fn a_whole_bulk_item_is_read() {
        let plan = with_traffic(BULK).unwrap();
        let Item::TcpBulk(b) = &plan.traffic[0] else { panic!("not a bulk item") };
        assert_eq!((b.flows, b.port), (2, 5201));
        assert!(matches!(b.stop, Some(Stop::At { at_ns: 5 })));
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
        let plan = |rule: &str, item: &str| Plan::parse(&text(item).replace("\"samplers\"", rule));
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
