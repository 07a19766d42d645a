//! Link rate: full-size datagrams kept in flight by a window, their dispersal read from arrival stamps.
//!
//! Sender and receiver share this process, so the window follows arrivals at once: a queue of about
//! `Window::queue` packets stands at the bottleneck whatever its rate, below the depth of any sane FIFO. (When
//! a deep bucket runs dry over a long path, what was under way may overrun it; that loss does no harm here.)
//! Packets that a full token bucket lets pass find no queue. Measuring starts once a queue stands, so that
//! bursts of any depth do not count. Where a faster line stands before the bucket, the first queue is the
//! line's: as long as what is measured is too fast for the plan, the bucket may still be emptying, and the
//! train goes on, to its deadline at the latest.
//!
//! Where no such queue ever stands (a FIFO of a few packets, an AQM that drops what a single flow queues), a
//! train is paced instead, a little faster than the plan's rate: any queue of one packet or more is then never
//! empty, and grows by one packet in twenty. A link that is faster passes the train as it was sent, which is too
//! fast for the plan. A policer, which holds nothing, passes the train with a hole at every twentieth packet or so: it is
//! measured from hole to hole. A bucket that is deep for so slow an overdrive is emptied by many packets at once.

use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use super::dispersal::Dispersal;
use crate::clock::Clock;
use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::sys::{self, sockaddr};
use narrows_wire::stamped::{self, Receiver};

const IP_AND_UDP_BYTES: usize = 28;
const HEAD_BYTES: usize = 8;
const MAGIC: u32 = 0x6e72_7774;
const MOST_BYTES: u64 = 512 << 20;
/// A paced train's rate over the plan's: more than the tolerance of the rate.
const OVERDRIVE: f64 = 1.05;
/// What a paced train sends at once, to empty a bucket of a packet or two and to fill the queue.
const PACED_AT_ONCE: usize = 4;
/// Its arrivals before measuring starts, and those measured at least.
const PACED_FIRST: usize = 5;
const PACED_LEAST: usize = 12;
/// Above this times the plan's rate a bucket is still emptying.
const PACED_EXACT: f64 = 1.002;
/// As long as a paced train comes as fast as it was sent, a bucket is emptying, and slowly: so many packets at once
/// empty it, twice as many each time. What of them comes is not measured.
const PACED_EMPTIES: usize = 100;
const PACED_EMPTIES_MOST: usize = 3200;
/// Below this times the plan's rate a few packets say enough.
const PACED_SLOW: f64 = 0.8;
/// Above this it comes as it was sent.
const PACED_AS_SENT: f64 = 1.03;
/// So many holes of a policer are measured between.
const HOLES: usize = 4;
const PACED_SLACK_NS: i64 = 20_000_000;

pub struct Path<'a> {
    pub from: &'a str,
    pub to: &'a str,
    pub address: Ipv4Addr,
    pub expected_bps: f64,
    /// Above this it is not the bottleneck that is measured.
    pub too_fast_bps: f64,
    pub one_way_ns: i64,
    /// Of `measure`.
    pub deadline_t: i64,
    /// Of `measure_paced` too, for which `measure` leaves time.
    pub end_t: i64,
    /// Of the two directions.
    pub is_last: bool,
}

pub struct Found {
    pub bps: f64,
    /// A paced train came as fast as it was sent: the link is as fast as this or faster.
    pub at_least: bool,
    pub burst_bytes: u64,
}

/// How many packets to keep where, for a rate.
#[derive(Debug, PartialEq)]
struct Window {
    packet_ns: f64,
    /// Packets that may stand in the queue.
    queue: i64,
    /// Packets that are under way at the link's rate.
    on_the_way: i64,
    in_flight: i64,
    /// Packets over which dispersal is measured.
    measured: usize,
}

impl Window {
    fn new(rate_bps: f64, mtu: usize, one_way_ns: i64) -> Window {
        let packet_ns = mtu as f64 * 8e9 / rate_bps;
        let queue = (20e6 / packet_ns).clamp(8.0, 60.0) as i64;
        let on_the_way = (one_way_ns as f64 / packet_ns).ceil() as i64;
        Window {
            packet_ns,
            queue,
            on_the_way,
            in_flight: queue + on_the_way,
            measured: (100e6 / packet_ns).clamp(30.0, 500.0) as usize,
        }
    }

    /// What measuring takes at least.
    fn takes_ns(&self) -> i64 {
        ((self.in_flight as usize + self.measured) as f64 * self.packet_ns) as i64
    }

    fn tick_ns(&self) -> i64 {
        (self.queue as f64 * self.packet_ns / 3.0) as i64
    }
}

fn open(path: &Path, nodes: &Nodes) -> Result<(OwnedFd, OwnedFd, usize)> {
    let what = || "opening calibration sockets".to_string();
    let receiver = nodes.socket(path.to, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let sender = nodes.socket(path.from, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    stamped::enable(receiver.as_raw_fd()).during(what)?;
    let room: i32 = 64 << 20;
    sys::setsockopt(receiver.as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &room).during(what)?;
    sys::setsockopt(sender.as_raw_fd(), libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &room).during(what)?;
    let r = socket2::SockRef::from(&receiver);
    r.bind(&sockaddr(path.address, 0)).during(what)?;
    let port = r.local_addr().during(what)?.as_socket_ipv4().map_or(0, |a| a.port());
    socket2::SockRef::from(&sender).connect(&sockaddr(path.address, port)).during(what)?;
    let mtu = sys::getsockopt_i32(sender.as_raw_fd(), libc::IPPROTO_IP, libc::IP_MTU).during(what)?;
    Ok((sender, receiver, mtu as usize))
}

/// The number in a train of a datagram, if it is one of a train.
fn number_of(data: &[u8]) -> Option<usize> {
    let head: [u8; HEAD_BYTES] = data.get(..HEAD_BYTES)?.try_into().ok()?;
    let [magic @ .., a, b, c, d] = head;
    (magic == MAGIC.to_be_bytes()).then(|| u32::from_be_bytes([a, b, c, d]) as usize)
}

/// Sends `count` datagrams numbered from `first` in as few calls as possible.
fn send_run(fd: RawFd, first: usize, count: usize, payload: &[u8]) -> Result<()> {
    let heads: Vec<[u8; HEAD_BYTES]> = (first..first + count)
        .map(|seq| {
            let mut h = [0u8; HEAD_BYTES];
            h[..4].copy_from_slice(&MAGIC.to_be_bytes());
            h[4..].copy_from_slice(&(seq as u32).to_be_bytes());
            h
        })
        .collect();
    let part = |b: &[u8]| libc::iovec { iov_base: b.as_ptr() as *mut libc::c_void, iov_len: b.len() };
    let mut iovecs: Vec<[libc::iovec; 2]> =
        heads.iter().map(|h| [part(h), part(&payload[HEAD_BYTES..])]).collect();
    let mut messages: Vec<libc::mmsghdr> = iovecs
        .iter_mut()
        .map(|pair| {
            // SAFETY: all-zero is a valid mmsghdr.
            let mut m: libc::mmsghdr = unsafe { std::mem::zeroed() };
            m.msg_hdr.msg_iov = pair.as_mut_ptr();
            m.msg_hdr.msg_iovlen = 2;
            m
        })
        .collect();
    let mut done = 0;
    while done < count {
        // SAFETY: messages point into iovecs, heads and payload, which live through the call.
        let n = unsafe { libc::sendmmsg(fd, messages[done..].as_mut_ptr(), (count - done) as u32, 0) };
        match sys::cvt(n) {
            Ok(n) => done += n as usize,
            // A full device queue drops the rest; to the receiver that is loss.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) => return Ok(()),
            Err(e) => return Err(RunError::new(Stage::Calibration, format!("sending a packet train: {e}"))),
        }
    }
    Ok(())
}

/// None: no queue stood until the deadline, or packets were lost and the time is needed for a paced train.
pub fn measure(path: &Path, nodes: &Nodes, clock: Clock) -> Result<Option<Found>> {
    let (sender, receiver, mtu) = open(path, nodes)?;
    let window = Window::new(path.expected_bps, mtu, path.one_way_ns);
    let payload = vec![0u8; mtu - IP_AND_UDP_BYTES];
    let queued_ns = path.one_way_ns + (3.0 * window.packet_ns) as i64;
    let mut dispersal = Dispersal::new(queued_ns, window.queue as usize / 2);
    let mut stamps = Receiver::new(HEAD_BYTES);
    let mut sent: Vec<i64> = Vec::new();
    // Arrivals keep their order, so a packet overtaken by a later one is lost.
    let mut accounted: usize = 0;
    let mut last_arrival = clock.t();
    let mut lost = false;
    let mut stood = false;
    let stall_ns = path.one_way_ns + 3 * window.tick_ns() + 200_000_000;
    let mut next_tick = clock.t();
    let mut too_fast = None;
    let enough_t = clock.t() + window.takes_ns() * 3 / 2 + 2 * path.one_way_ns;
    let drain_ns = path.one_way_ns + (window.in_flight as f64 * 1.5 * window.packet_ns) as i64;
    let give_up_t = enough_t.max(path.end_t - paced_takes_ns(path, mtu) - drain_ns);
    let found = loop {
        let now = clock.t();
        loop {
            let n = stamps
                .receive(receiver.as_raw_fd(), |d| {
                    let Some(seq) = number_of(d.data) else { return };
                    let Some(sent_ns) = sent.get(seq) else { return };
                    lost |= seq > accounted;
                    accounted = accounted.max(seq + 1);
                    last_arrival = now;
                    let arrived_ns = clock.t_of_wall(d.arrived_wall_ns);
                    if dispersal.measured < window.measured {
                        dispersal.arrival(*sent_ns, arrived_ns, d.len + IP_AND_UDP_BYTES);
                    }
                })
                .during(|| "receiving a packet train".into())?;
            if n < 64 {
                break;
            }
        }
        stood |= dispersal.queues();
        let over = now > path.deadline_t || sent.len() as u64 * mtu as u64 > MOST_BYTES;
        if dispersal.measured >= window.measured {
            if over || dispersal.bps(mtu) <= path.too_fast_bps {
                break Some(dispersal.bps(mtu));
            }
            too_fast = Some(dispersal.bps(mtu));
            dispersal.was_burst(mtu);
        }
        if over && too_fast.is_some() {
            // There is no bottleneck of the plan's rate behind: the last whole measurement says what there is.
            break too_fast;
        }
        if now - last_arrival > stall_ns {
            lost = true;
            accounted = sent.len();
            last_arrival = now;
        }
        if over || (now > give_up_t && lost && too_fast.is_none()) {
            if !stood {
                // A policer holds nothing back, and a pause would fill its bucket for the train that comes next.
                return Ok(None);
            }
            break None;
        }
        // While a bucket lets more than a window pass, more in flight empties it sooner; but where that was more
        // than the queue holds, it would be again.
        let deep = dispersal.bytes_before > window.in_flight as u64 * mtu as u64;
        let window_now = match deep && !dispersal.queues() && !lost {
            true => window.in_flight + 2 * window.on_the_way,
            false => window.in_flight,
        };
        let room = window_now - (sent.len() - accounted) as i64;
        if room > 0 {
            let first = sent.len();
            sent.resize(first + room as usize, clock.t());
            send_run(sender.as_raw_fd(), first, room as usize, &payload)?;
        }
        // Nothing arrives before the oldest packet under way can have: a look at an empty socket costs time, a
        // microsecond of the bottleneck's own, which is three packets at 40 Gbit/s.
        let earliest = sent.get(accounted).map_or(now, |sent_ns| sent_ns + path.one_way_ns);
        next_tick = (next_tick + window.tick_ns()).max(earliest.min(path.deadline_t)).max(now);
        sys::sleep_until(next_tick + clock.epoch_mono_ns);
    };
    // What is still on the way goes first; whoever measures next finds an idle path. A queue that shares among
    // flows would share a paced train's rate with the rest of this one.
    sys::sleep_until(clock.t() + drain_ns + clock.epoch_mono_ns);
    Ok(found.map(|bps| Found { bps, at_least: false, burst_bytes: dispersal.burst_bytes(bps) }))
}

/// Where a paced train has holes and no queue stands: arrivals, counted from the first one after a hole to the first one
/// after the last hole. So many whole turns of a policer, whatever a turn is.
struct Holes {
    longer_ns: f64,
    seen: usize,
    arrived: usize,
    last_ns: i64,
    first: (usize, i64),
    latest: (usize, i64),
}

impl Holes {
    fn new(longer_ns: f64) -> Holes {
        Holes { longer_ns, seen: 0, arrived: 0, last_ns: i64::MAX, first: (0, 0), latest: (0, 0) }
    }

    fn arrival(&mut self, at_ns: i64) {
        self.arrived += 1;
        if at_ns.saturating_sub(self.last_ns) as f64 > self.longer_ns {
            self.latest = (self.arrived, at_ns);
            if self.seen == 0 {
                self.first = self.latest;
            }
            self.seen += 1;
        }
        self.last_ns = at_ns;
    }

    fn bps(&self, bytes: usize) -> Option<f64> {
        let (packets, ns) = (self.latest.0 - self.first.0, self.latest.1 - self.first.1);
        (packets > 0).then(|| packets as f64 * bytes as f64 * 8e9 / ns as f64)
    }
}

/// The gap between the packets of a paced train, and how many of them are measured.
fn pace(rate_bps: f64, mtu: usize) -> (f64, usize) {
    let packet_ns = mtu as f64 * 8e9 / rate_bps;
    (packet_ns / OVERDRIVE, (100e6 / packet_ns).clamp(PACED_LEAST as f64, 100.0) as usize)
}

/// What a paced train takes, until what it has queued is gone.
fn paced_takes_ns(path: &Path, mtu: usize) -> i64 {
    let (gap_ns, measured) = pace(path.expected_bps, mtu);
    let packets = (PACED_AT_ONCE + PACED_FIRST + measured) as f64;
    6 * path.one_way_ns + (1.5 * packets * gap_ns) as i64 + PACED_SLACK_NS
}

/// The rate by a paced train, for queues too short or too strict for `measure`.
pub fn measure_paced(path: &Path, end_t: i64, nodes: &Nodes, clock: Clock) -> Result<Found> {
    let (sender, receiver, mtu) = open(path, nodes)?;
    let (gap_ns, measured) = pace(path.expected_bps, mtu);
    let payload = vec![0u8; mtu - IP_AND_UDP_BYTES];
    // Whether a queue stood or not: if none did, the train comes faster than the plan's rate.
    let mut dispersal = Dispersal::new(i64::MIN, PACED_FIRST);
    let mut stamps = Receiver::new(HEAD_BYTES);
    let began_t = clock.t();
    let (mut sent, mut arrived) = (0, 0);
    let mut too_fast = None;
    let (mut emptying, mut at_once, mut passed, mut unpaced) = (0..0, PACED_EMPTIES, 0, PACED_AT_ONCE);
    let mut holes = Holes::new(1.5 * gap_ns * OVERDRIVE);
    let takes_ns = paced_takes_ns(path, mtu);
    let holes_until_t = (began_t + 6 * takes_ns).min(end_t - takes_ns / 2 - 2 * path.one_way_ns);
    let bps = loop {
        loop {
            let n = stamps
                .receive(receiver.as_raw_fd(), |d| {
                    let Some(seq) = number_of(d.data) else { return };
                    if seq < emptying.end {
                        passed += usize::from(emptying.contains(&seq));
                        return;
                    }
                    arrived += 1;
                    holes.arrival(clock.t_of_wall(d.arrived_wall_ns));
                    let at_ns = clock.t_of_wall(d.arrived_wall_ns);
                    if dispersal.measured < measured {
                        dispersal.arrival(0, at_ns, d.len + IP_AND_UDP_BYTES);
                    }
                })
                .during(|| "receiving a paced packet train".into())?;
            if n < 64 {
                break;
            }
        }
        let now = clock.t();
        let over = now > end_t;
        // What is far slower than the plan says is known by fewer, and what is hardly faster is no burst any more.
        let late = now > began_t + 2 * paced_takes_ns(path, mtu);
        let most_bps = match over || late {
            true => path.too_fast_bps,
            false => path.expected_bps * PACED_EXACT,
        };
        // Holes are waited for as long as there is time; without, they may be single losses.
        let waits = now < holes_until_t;
        if let Some(bps) = holes.bps(mtu).filter(|_| holes.seen >= HOLES || !waits) {
            if bps <= path.too_fast_bps || over {
                break bps;
            }
            holes = Holes::new(holes.longer_ns); // losses of a train that a bucket still passes
        }
        // A policer passes one more packet or one less of those measured: of a few that is more than the tolerance.
        let slow = || dispersal.bps(mtu) < path.expected_bps * PACED_SLOW;
        let known = dispersal.measured >= PACED_LEAST && (over || late && slow());
        let in_holes = holes.seen > 0 && waits;
        if !in_holes && (known || dispersal.measured >= measured) {
            let bps = dispersal.bps(mtu);
            if over || bps <= most_bps {
                break bps;
            }
            too_fast = Some(bps);
            dispersal.was_burst(mtu);
            if !over && bps > path.expected_bps * PACED_AS_SENT {
                dispersal.restart(mtu); // the first ones queue behind these
                emptying = sent..sent + at_once;
                send_run(sender.as_raw_fd(), sent, at_once, &payload)?;
                (sent, passed) = (emptying.end, 0);
                holes = Holes::new(holes.longer_ns);
                unpaced += at_once;
                at_once = PACED_EMPTIES_MOST.min(2 * at_once);
            }
        }
        if let (true, Some(bps)) = (over, too_fast) {
            break bps;
        }
        if over {
            return Err(RunError::new(
                Stage::Calibration,
                format!(
                    "no queue stood for a train towards {}, and of one paced at {:.3} Mbit/s too few arrived before \
                     t = 0 ({arrived} of {sent}): is the path as fast as the plan says, does its queue hold a packet, and \
                     is there time enough (epoch_monotonic_ns) to measure?",
                    path.to,
                    path.expected_bps * OVERDRIVE / 1e6
                ),
            ));
        }
        let count = if sent == 0 { PACED_AT_ONCE } else { 1 };
        send_run(sender.as_raw_fd(), sent, count, &payload)?;
        sent += count;
        let next_t = began_t + ((sent - unpaced + 1) as f64 * gap_ns) as i64;
        sys::sleep_until(next_t.max(now) + clock.epoch_mono_ns);
    };
    let queued = (sent - unpaced) as f64 * (OVERDRIVE - 1.0) + (PACED_AT_ONCE + passed) as f64;
    let drain_ns = path.one_way_ns + (queued * OVERDRIVE * gap_ns) as i64;
    sys::sleep_until(clock.t() + drain_ns + clock.epoch_mono_ns);
    Ok(Found {
        bps,
        at_least: bps > path.too_fast_bps,
        burst_bytes: dispersal.burst_bytes(bps).max((passed * mtu) as u64),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policer_is_measured_from_hole_to_hole() {
        let mut holes = Holes::new(15.0);
        assert_eq!(holes.bps(1500), None);
        // Of twenty packets, 10 ns apart, one is missing.
        for n in (0..60).filter(|n| n % 20 != 7) {
            holes.arrival(n * 10);
        }
        assert_eq!(holes.seen, 3);
        assert_eq!(holes.bps(1), Some(8e9 * 0.95 / 10.0));
    }

    #[test]
    fn the_queue_stays_well_below_a_hundred_packets_at_any_rate() {
        for rate in [1e6, 1e7, 1e8, 1e9, 1e10] {
            let w = Window::new(rate, 1500, 0);
            assert!((8..=60).contains(&w.queue), "{rate}: {w:?}");
        }
        // 100 Mbit/s, 50 ms one way: 120 µs per packet, 417 on the way
        assert_eq!(Window::new(1e8, 1500, 50_000_000).in_flight, 60 + 417);
    }
}
