//! Base RTT: spaced echoes on the idle path, with kernel arrival stamps at both ends.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use crate::clock::Clock;
use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::sys::{self, sockaddr};
use narrows_plan::{Calibration, USUAL_ECHOES};
use narrows_wire::stamped::{self, Receiver};

/// Of the usual echoes so many must come back.
const ENOUGH: usize = USUAL_ECHOES as usize / 2;
const SPACING_NS: i64 = 10_000_000;
const PAYLOAD_BYTES: usize = 64;
const WARM_UPS: usize = 3;

pub struct Base {
    pub samples: usize,
    pub min_ns: i64,
    pub median_ns: i64,
    /// Median one-way times: up is client to server.
    pub up_ns: i64,
    pub down_ns: i64,
}

struct Pair {
    client: OwnedFd,
    server: OwnedFd,
    clock: Clock,
    receiver: Receiver,
    /// sent, at the server, back
    times: Vec<[Option<i64>; 3]>,
}

/// Waits until one of two sockets is readable or CLOCK_MONOTONIC has reached `until`.
pub fn wait_readable(fds: [RawFd; 2], until_mono_ns: i64) {
    let left = until_mono_ns - sys::mono_ns();
    if left <= 0 {
        return;
    }
    let mut polls = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: polls and the timeout live through the call; an interruption is a short wait.
    unsafe { libc::ppoll(polls.as_mut_ptr(), 2, &sys::timespec(left), std::ptr::null()) };
}

impl Pair {
    fn open(plan: &Calibration, nodes: &Nodes, clock: Clock) -> Result<Pair> {
        let what = || "opening calibration sockets".to_string();
        let server = nodes.socket(&plan.server, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        let client = nodes.socket(&plan.client, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
        stamped::enable(server.as_raw_fd()).during(what)?;
        stamped::enable(client.as_raw_fd()).during(what)?;
        let s = socket2::SockRef::from(&server);
        s.bind(&sockaddr(plan.server_address, 0)).during(what)?;
        let port = s.local_addr().during(what)?.as_socket_ipv4().map_or(0, |a| a.port());
        let c = socket2::SockRef::from(&client);
        c.bind(&sockaddr(plan.client_address, 0)).during(what)?;
        c.connect(&sockaddr(plan.server_address, port)).during(what)?;
        Ok(Pair { client, server, clock, receiver: Receiver::new(PAYLOAD_BYTES), times: Vec::new() })
    }

    fn send(&mut self) {
        let mut payload = [0u8; PAYLOAD_BYTES];
        payload[..4].copy_from_slice(&(self.times.len() as u32).to_be_bytes());
        self.times.push([Some(self.clock.t()), None, None]);
        // What cannot be sent is missing from the samples, which is checked.
        let _ = stamped::send(self.client.as_raw_fd(), &payload, None);
    }

    fn exchange_until(&mut self, t: i64, enough: impl Fn(&Pair) -> bool) {
        let until = t + self.clock.epoch_mono_ns;
        while !enough(self) && sys::mono_ns() < until {
            wait_readable([self.client.as_raw_fd(), self.server.as_raw_fd()], until);
            for (fd, column) in [(self.server.as_raw_fd(), 1), (self.client.as_raw_fd(), 2)] {
                let (times, clock) = (&mut self.times, self.clock);
                let _ = self.receiver.receive(fd, |d| {
                    let Some(seq) = d.data.get(..4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
                    else {
                        return;
                    };
                    if let Some(row) = times.get_mut(seq as usize) {
                        row[column].get_or_insert(clock.t_of_wall(d.arrived_wall_ns));
                    }
                    if column == 1 {
                        let _ = stamped::send(fd, d.data, Some(&d.from));
                    }
                });
            }
        }
    }

    fn answered(&self) -> usize {
        self.times.iter().filter(|r| r[2].is_some()).count()
    }
}

pub fn measure(plan: &Calibration, nodes: &Nodes, clock: Clock) -> Result<Base> {
    let mut pair = Pair::open(plan, nodes, clock)?;
    let patience_ns = 2 * plan.rtt_ns + plan.rtt_tolerance_ns + 500_000_000;
    // The first exchange fills caches and is not counted; where more is lost than usual, half as many more may be.
    let more = plan.echoes.saturating_sub(USUAL_ECHOES) as usize;
    for i in 0..WARM_UPS + more / 2 {
        pair.send();
        let wait_ns = if i < more / 2 { SPACING_NS } else { patience_ns };
        pair.exchange_until(clock.t() + wait_ns, |p| p.answered() > 0);
        if pair.answered() > 0 {
            break;
        }
    }
    if pair.answered() == 0 {
        return Err(RunError::new(
            Stage::Calibration,
            format!(
                "no echo of {} came back from {} ({}) to {} within {} ms: is the path routed both ways?",
                pair.times.len(),
                plan.server,
                plan.server_address,
                plan.client,
                patience_ns / 1_000_000
            ),
        ));
    }
    let warm_ups = pair.times.len();
    let first = clock.t();
    let back = |p: &Pair| p.times[warm_ups..].iter().filter(|r| r[2].is_some()).count();
    for i in 0..USUAL_ECHOES.max(plan.echoes) {
        pair.exchange_until(first + i64::from(i) * SPACING_NS, |_| false);
        if i >= USUAL_ECHOES && back(&pair) >= ENOUGH {
            break;
        }
        pair.send();
    }
    pair.exchange_until(clock.t() + patience_ns, |p| p.times.iter().skip(warm_ups).all(|r| r[2].is_some()));
    let whole: Vec<[i64; 3]> =
        pair.times[warm_ups..].iter().filter_map(|r| Some([r[0]?, r[1]?, r[2]?])).collect();
    if whole.len() < ENOUGH {
        return Err(RunError::new(
            Stage::Calibration,
            format!(
                "only {} of {} echoes came back on the idle path",
                whole.len(),
                pair.times.len() - warm_ups
            ),
        ));
    }
    let sorted = |f: fn(&[i64; 3]) -> i64| {
        let mut v: Vec<i64> = whole.iter().map(f).collect();
        v.sort_unstable();
        v
    };
    let rtts = sorted(|r| r[2] - r[0]);
    Ok(Base {
        samples: rtts.len(),
        min_ns: rtts[0],
        median_ns: median(&rtts),
        up_ns: median(&sorted(|r| r[1] - r[0])),
        down_ns: median(&sorted(|r| r[2] - r[1])),
    })
}

fn median(sorted: &[i64]) -> i64 {
    let n = sorted.len();
    match n % 2 {
        1 => sorted[n / 2],
        _ => (sorted[n / 2 - 1] + sorted[n / 2]) / 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_two() {
        assert_eq!(median(&[1, 2, 4, 9]), 3);
        assert_eq!(median(&[1, 2, 9]), 2);
    }
}
