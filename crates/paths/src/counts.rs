//! Counts what a log holds and, by name, what of it was not understood or not used. Nothing is left out in silence.

use std::collections::BTreeMap;

use serde::Serialize;

/// What was met in one log. Every packet is counted in `packets` and in exactly one of `tcp`, `udp` and `not_tcp`.
#[derive(Debug, Default, Serialize, PartialEq)]
pub struct Counts {
    /// Packets in the container.
    pub packets: u64,
    /// Packets that are TCP segments and were given to the estimators.
    pub tcp: u64,
    /// Packets that are UDP datagrams and belong to a conversation.
    pub udp: u64,
    /// Packets that are neither, or cannot be read, by the reason.
    pub not_tcp: BTreeMap<String, u64>,
    /// Packets that were used and have something odd about them, by what it is.
    pub odd: BTreeMap<String, u64>,
    /// Headers that packets were unwrapped from (VLAN, MPLS, GRE, …), by name.
    pub unwrapped: BTreeMap<String, u64>,
    /// Blocks of the container that hold no packet or could not be read, by name.
    pub blocks: BTreeMap<String, u64>,
    /// Key logs that the container holds and nobody has taken yet.
    #[serde(skip)]
    pub secrets: Vec<String>,
}

impl Counts {
    /// One packet that is not used.
    #[cold]
    pub fn unused(&mut self, reason: &str) {
        add(&mut self.not_tcp, reason);
    }

    /// Something odd about a packet that is used.
    #[cold]
    pub fn odd(&mut self, what: &str) {
        add(&mut self.odd, what);
    }

    pub fn unwrapped(&mut self, header: &str) {
        add(&mut self.unwrapped, header);
    }

    #[cold]
    pub fn block(&mut self, name: &str) {
        add(&mut self.blocks, name);
    }
}

fn add(map: &mut BTreeMap<String, u64>, key: &str) {
    match map.get_mut(key) {
        Some(count) => *count += 1,
        None => {
            map.insert(key.to_owned(), 1);
        }
    }
}
