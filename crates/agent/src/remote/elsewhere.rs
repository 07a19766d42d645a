//! An item of which nothing is on this host: it stands in the schedule, for what waits for it or ends with it.

use serde_json::Value;

use crate::actor::{Actor, Cx, Progress};
use crate::error::Result;
use crate::nodes::Nodes;
use crate::reactor::Event;
use narrows_plan::Item;

pub struct Elsewhere;

/// The node whose host says when an item runs and has ended.
pub fn owner(item: &Item) -> &str {
    match item {
        Item::TcpBulk(i) => &i.sender,
        Item::UdpProbe(i) => &i.client,
        Item::IcmpEcho(i) => &i.client,
        Item::Command(i) => &i.node,
    }
}

pub fn is_elsewhere(item: &Item, nodes: &Nodes) -> bool {
    let answers = matches!(item, Item::TcpBulk(_) | Item::UdpProbe(_));
    let here = |node: &&str| nodes.has(node);
    !(nodes.has(owner(item)) || answers && item.nodes().iter().any(here))
}

impl Actor for Elsewhere {
    fn start(&mut self, _: &mut Cx) -> Result<()> {
        Ok(())
    }

    fn event(&mut self, _: &mut Cx, _: Event) -> Result<()> {
        Ok(())
    }

    fn stop(&mut self, _: &mut Cx) -> Result<()> {
        Ok(())
    }

    /// Its own host says it, over the controlling machine.
    fn progress(&self) -> Progress {
        Progress::Starting
    }

    fn finish(&mut self, _: &mut Cx) -> Result<Option<Value>> {
        Ok(None)
    }
}
