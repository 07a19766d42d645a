//! Traffic: one actor per item kind.

pub mod bulk;
pub mod bulk_flow;
pub mod command;
mod drain;
pub mod icmp;
pub mod kernel_bulk;
pub mod plain;
pub mod probe;
pub mod sink;
pub mod stamped;

use std::net::Ipv4Addr;
use std::os::fd::RawFd;

use crate::actor::Actor;
use crate::error::{During, Result};
use crate::plan::{Item, Plan};
use crate::sys;

/// How long stragglers are waited for after an item has ended: longer than any buffer worth testing holds.
pub const DRAIN_NS: i64 = 3_000_000_000;

pub fn build(item: &Item, plan: &Plan, index: usize) -> Box<dyn Actor> {
    let base_rtt_ns = plan.calibration.as_ref().map_or(0, |c| c.rtt_ns);
    match item {
        Item::TcpBulk(i) => Box::new(bulk::Bulk::new(
            i.clone(),
            base_rtt_ns,
            plan.seed ^ (index as u64).rotate_left(32),
        )),
        Item::UdpProbe(i) => Box::new(probe::Probe::new(i.clone())),
        Item::IcmpEcho(i) => Box::new(icmp::Echo::new(i.clone(), index)),
        Item::Command(i) => Box::new(command::Program::new(i.clone())),
    }
}

pub fn set_dscp(fd: RawFd, dscp: u8) -> Result<()> {
    sys::setsockopt(fd, libc::IPPROTO_IP, libc::IP_TOS, &((dscp as i32) << 2))
        .during(|| format!("setting DSCP {dscp}"))
}

pub fn sockaddr(address: Ipv4Addr, port: u16) -> socket2::SockAddr {
    std::net::SocketAddrV4::new(address, port).into()
}

/// splitmix64: small, seeded by the plan, the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in 0..=max.
    pub fn up_to(&mut self, max: i64) -> i64 {
        ((self.next() as u128 * (max.max(0) as u128 + 1)) >> 64) as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_splitmix64() {
        // First outputs for seed 1234567, from the reference implementation.
        let mut r = Random(1234567);
        assert_eq!(r.next(), 6457827717110365317);
        assert_eq!(r.next(), 3203168211198807973);
    }

    #[test]
    fn draws_stay_in_their_range() {
        let mut r = Random(1);
        assert!((0..1000).all(|_| (0..=10).contains(&r.up_to(10))));
        assert_eq!(r.up_to(0), 0);
    }
}
