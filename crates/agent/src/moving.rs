//! `moving` of the plan: shapers whose rate is changed at many times, by netlink and without a program.
//!
//! One timer a shaper, one message a change. The plan has worked out what is set when; nothing is decided here.

use crate::error::{During, Result, RunError, Stage};
use crate::netlink::{self, attribute, Netlink, NETLINK_ROUTE};
use crate::nodes::Nodes;
use crate::reactor::{Reactor, Token};
use narrows_plan::{MovingRates, MovingShaper, RateStep, ShaperKind};

const RTM_NEWQDISC: u16 = 36;
const RTM_NEWTCLASS: u16 = 40;
const TCA_KIND: u16 = 1;
const TCA_OPTIONS: u16 = 2;
const TCA_HTB_PARMS: u16 = 1;
const TCA_CAKE_BASE_RATE64: u16 = 2;
const ROOT: u32 = 0xffff_ffff;
/// As `narrows.plan.bottleneck` lays them out: root 1:, class 1:11 of HTB.
const HANDLE: u32 = 0x0001_0000;
const CLASS: u32 = 0x0001_0011;
const LINKLAYER_ETHERNET: u8 = 1;
/// The kernel keeps a bucket in ticks of 64 ns (PSCHED_SHIFT).
const TICK_NS: u64 = 64;

const LOOK_EVERY: usize = 64;

struct Moving {
    shaper: MovingShaper,
    index: u32,
    socket: Netlink,
    next: usize,
}

/// All shapers that move.
#[derive(Default)]
pub struct MovingShapers(Vec<Moving>);

impl MovingShapers {
    /// Opens a socket in the node of each shaper and arms its first change.
    pub fn begin(
        plan: Option<&MovingRates>,
        nodes: &Nodes,
        reactor: &mut Reactor,
        owner: u16,
    ) -> Result<MovingShapers> {
        let mut all = Vec::new();
        for shaper in plan.iter().flat_map(|p| &p.shapers) {
            nodes.enter(&shaper.node)?;
            let index = netlink::interface_index(&shaper.iface)
                .during(|| format!("finding {} of {}", shaper.iface, shaper.node))?;
            let socket = Netlink::open(NETLINK_ROUTE).during(|| "opening a netlink socket".into())?;
            all.push(Moving { shaper: shaper.clone(), index, socket, next: 0 });
        }
        let moving = MovingShapers(all);
        for n in 0..moving.0.len() {
            moving.arm(n, reactor, owner);
        }
        Ok(moving)
    }

    fn arm(&self, n: usize, reactor: &mut Reactor, owner: u16) {
        if let Some(step) = self.0[n].shaper.steps.get(self.0[n].next) {
            let index = n as u32;
            reactor.at(step.at_ns, Token { owner, kind: 0, index });
        }
    }

    /// Carries out the change that is due and arms the next one.
    pub fn event(&mut self, n: usize, reactor: &mut Reactor, owner: u16) -> Result<()> {
        let Some(moving) = self.0.get_mut(n) else {
            return Ok(());
        };
        let Some(step) = moving.shaper.steps.get(moving.next).cloned() else {
            return Ok(());
        };
        moving.next += 1;
        let (kind, body) = message(&moving.shaper, moving.index, &step);
        let asked = moving.socket.change(kind, &body);
        // A refusal is looked for at the first change, the last, and some in between: each look is a system call.
        let looks =
            moving.next == 1 || moving.next % LOOK_EVERY == 0 || moving.next == moving.shaper.steps.len();
        let done = if looks { asked.and_then(|()| moving.socket.refused()) } else { asked };
        done.map_err(|e| {
            let what = format!("setting {} to {} bit/s: {e}", moving.shaper.iface, step.rate_bps);
            RunError::new(Stage::Traffic, what).node(&moving.shaper.node)
        })?;
        self.arm(n, reactor, owner);
        Ok(())
    }
}

/// The request that sets a shaper to a step: its type, and what follows the header.
fn message(shaper: &MovingShaper, index: u32, step: &RateStep) -> (u16, Vec<u8>) {
    let bytes_per_s = step.rate_bps.div_ceil(8);
    match shaper.shaper {
        ShaperKind::Htb => {
            let mut options = Vec::new();
            attribute(&mut options, TCA_HTB_PARMS, &htb(bytes_per_s, step.burst_bytes, shaper.quantum_bytes));
            (RTM_NEWTCLASS, request(index, CLASS, HANDLE, b"htb\0", &options))
        }
        ShaperKind::Cake => {
            let mut options = Vec::new();
            attribute(&mut options, TCA_CAKE_BASE_RATE64, &bytes_per_s.to_ne_bytes());
            (RTM_NEWQDISC, request(index, HANDLE, ROOT, b"cake\0", &options))
        }
    }
}

/// `struct tc_htb_opt`: rate and ceil alike, and both buckets.
fn htb(bytes_per_s: u64, burst_bytes: u64, quantum_bytes: u32) -> Vec<u8> {
    let ns = burst_bytes as u128 * 1_000_000_000 / u128::from(bytes_per_s.max(1));
    let ticks = u32::try_from(ns / u128::from(TICK_NS)).unwrap_or(u32::MAX).max(1);
    let rate = u32::try_from(bytes_per_s).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(44);
    for _ in 0..2 {
        // struct tc_ratespec: cell_log, linklayer, overhead, cell_align, mpu, rate
        out.extend_from_slice(&[0, LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&rate.to_ne_bytes());
    }
    for word in [ticks, ticks, quantum_bytes, 0, 0] {
        out.extend_from_slice(&word.to_ne_bytes());
    }
    out
}

/// `struct tcmsg` and its two attributes.
fn request(index: u32, handle: u32, parent: u32, kind: &[u8], options: &[u8]) -> Vec<u8> {
    let mut out = vec![0; 4];
    for word in [index, handle, parent, 0] {
        out.extend_from_slice(&word.to_ne_bytes());
    }
    attribute(&mut out, TCA_KIND, kind);
    attribute(&mut out, TCA_OPTIONS, options);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.chunks_exact(4).map(|w| u32::from_ne_bytes([w[0], w[1], w[2], w[3]])).collect()
    }

    #[test]
    fn a_bucket_is_given_in_ticks_of_64_ns_at_the_rate() {
        // 1600 bytes at 1.25 MB/s (10 Mbit/s) take 1.28 ms: 20000 ticks.
        let opt = htb(1_250_000, 1600, 125_000);
        assert_eq!(opt.len(), 44);
        assert_eq!(words(&opt)[2], 1_250_000);
        assert_eq!(words(&opt)[6..9], [20_000, 20_000, 125_000]);
    }

    #[test]
    fn a_bucket_of_nothing_is_one_tick_and_a_slow_one_does_not_overflow() {
        assert_eq!(words(&htb(1, 0, 0))[6], 1);
        assert_eq!(words(&htb(1, 1600, 0))[6], u32::MAX);
    }

    #[test]
    fn a_request_is_padded_and_its_lengths_are_right() {
        let body = request(7, CLASS, HANDLE, b"htb\0", &[1, 2, 3, 4]);
        assert_eq!(body.len(), 20 + 8 + 8);
        let got: Vec<(u16, Vec<u8>)> =
            netlink::attributes(&body[20..]).map(|(k, p)| (k, p.to_vec())).collect();
        assert_eq!(got, [(1, b"htb\0".to_vec()), (2, vec![1, 2, 3, 4])]);
    }
}
