//! Traffic: one actor per item kind.

pub mod bulk;
pub mod bulk_flow;
pub mod command;
mod drain;
pub mod icmp;
pub mod kernel_bulk;
pub mod plain;
mod polling;
pub mod probe;
pub mod sink;

use std::os::fd::RawFd;

use crate::actor::Actor;
use crate::error::{During, Result};
use crate::sys;
use narrows_plan::{Item, Plan};

/// How long stragglers are waited for after an item has ended: longer than any buffer worth testing holds.
pub const DRAIN_NS: i64 = 3_000_000_000;

pub fn build(item: &Item, plan: &Plan, index: usize) -> Box<dyn Actor> {
    let base_rtt_ns = plan.calibration.rtt_ns;
    match item {
        Item::TcpBulk(i) => {
            Box::new(bulk::Bulk::new(i.clone(), base_rtt_ns, plan.seed ^ (index as u64).rotate_left(32)))
        }
        Item::UdpProbe(i) => Box::new(probe::Probe::new(i.clone())),
        Item::IcmpEcho(i) => Box::new(icmp::Echo::new(i.clone(), index)),
        Item::Command(i) => Box::new(command::Program::new(i.clone())),
    }
}

pub fn set_dscp(fd: RawFd, dscp: u8) -> Result<()> {
    sys::setsockopt(fd, libc::IPPROTO_IP, libc::IP_TOS, &((dscp as i32) << 2))
        .during(|| format!("setting DSCP {dscp}"))
}
