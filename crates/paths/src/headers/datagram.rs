//! One UDP datagram: its ends, its marks, and what of its payload was captured.

use super::{Ip, Rest};

/// One UDP datagram that carries no tunnel.
#[derive(Debug, Clone, PartialEq)]
pub struct Datagram {
    pub source: u128,
    pub target: u128,
    pub source_port: u16,
    pub target_port: u16,
    pub v6: bool,
    /// Stands for VLAN, VNI and the addresses of tunnels that it was unwrapped from; 0: none.
    pub outer: u32,
    /// The two ECN bits.
    pub ecn: u8,
    /// Payload on the wire, in bytes.
    pub len: u32,
    /// What was captured of it.
    pub payload: Box<[u8]>,
}

impl Datagram {
    /// `rest` begins behind the UDP header, whose length field was `said`.
    pub(super) fn new(rest: Rest<'_>, ip: Ip, (source_port, target_port): (u16, u16), said: u16) -> Self {
        // With segmentation offload the header's length is of one of many, or 0.
        let len = match usize::from(said) {
            said if said >= 8 && said - 8 <= rest.len => said - 8,
            _ => rest.len,
        };
        Datagram {
            source: ip.source,
            target: ip.target,
            source_port,
            target_port,
            v6: ip.v6,
            outer: rest.outer,
            ecn: ip.ecn,
            len: len as u32,
            payload: rest.data[..len.min(rest.data.len())].into(),
        }
    }
}
