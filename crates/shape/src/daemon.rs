//! The daemon: looks at what passed every 10 ms, asks the law, sets CAKE. Says what it does in JSON lines, answers
//! `status` on an abstract socket, and leaves CAKE as it was told to.
//!
//! The socket is also what keeps two of them off one interface: it goes away with its process, whatever ends that.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use narrows_wire::lines::Lines;
use narrows_wire::netlink::{Netlink, NETLINK_ROUTE};
use narrows_wire::sys::{self, Epoll, Interest, Timer};
use serde_json::{json, Value};

use crate::args::{Run, Stop};
use crate::cake::{self, Cake};
use crate::control::{Direction, Tick, Why};
use crate::probe::{Place, Probe};
use crate::stamps::{Reading, Stamps};
use crate::watch::Watch;
use narrows_units::MS;

const TICK_NS: i64 = 10 * MS;
/// Where nothing has passed for a second.
const IDLE_TICK_NS: i64 = 50 * MS;
const IDLE_NS: i64 = 1_000 * MS;
/// A change that is less than this is not worth a message to the kernel.
const WORTH: f64 = 0.005;
/// A way that carries less than this needs nobody to look after it.
const LOADED_BYTES_PER_S: f64 = 50_000.0;
/// Packets that pass for so long without telling a delay make probes start.
const UNTOLD_NS: i64 = 100 * MS;

pub fn socket_name(wan: &str) -> Result<SocketAddr, String> {
    SocketAddr::from_abstract_name(format!("narrows-shape/{wan}"))
        .map_err(|e| format!("--wan {wan}: no name of an interface: {e}"))
}

/// One way: its CAKE, its law, and what passed.
struct Side {
    name: &'static str,
    cake: Cake,
    law: Direction,
    set_bps: Option<u64>,
    bytes: u64,
    /// bytes a second, over about 200 ms
    passing: f64,
    told_ns: i64,
    queue_ns: Option<i64>,
    source: &'static str,
    backlog_packets: u32,
    why: Why,
}

impl Side {
    fn open(iface: &str, up: bool, share: f64) -> Result<Side, String> {
        let name = if up { "up" } else { "down" };
        let cake = Cake::open(iface, if up { "egress" } else { "ingress" })?;
        let rate = cake.earlier.rate_bps;
        Ok(Side {
            name,
            law: Direction::new(up, share, rate.map(|bps| bps as f64)),
            set_bps: rate,
            cake,
            bytes: 0,
            passing: 0.0,
            told_ns: 0,
            queue_ns: None,
            source: "none",
            backlog_packets: 0,
            why: Why::Idle,
        })
    }

    fn loaded(&self) -> bool {
        self.passing > LOADED_BYTES_PER_S
    }

    fn json(&self) -> Value {
        json!({
            "iface": self.cake.iface,
            "rate_bps": self.set_bps,
            "capacity_bps": self.law.capacity_bps.map(|bps| bps as u64),
            "passing_bps": (self.passing * 8.0) as u64,
            "queue_beyond_ms": self.queue_ns.map(|ns| ns as f64 / MS as f64),
            "told_by": self.source,
            "backlog_packets": self.backlog_packets,
            "state": self.why.name(),
            "rebased": self.law.rebased,
        })
    }
}

struct Daemon {
    sides: Vec<Side>,
    netlink: Netlink,
    watch: Watch,
    stamps: Stamps,
    probes: Vec<Probe>,
    passed_ns: i64,
    ticked_ns: i64,
    rtt_ns: Option<i64>,
    missed: u64,
    began_ns: i64,
    wan: String,
}

pub fn run(args: Run) -> Result<(), String> {
    let name = socket_name(&args.wan)?;
    let ifb = args.ifb.clone().unwrap_or_else(|| format!("ifb4{}", args.wan));
    let mut sides = Vec::new();
    if args.down {
        sides.push(Side::open(&ifb, false, args.share)?);
    }
    if args.up {
        sides.push(Side::open(&args.wan, true, args.share)?);
    }
    let listener = UnixListener::bind_addr(&name).map_err(|e| match e.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "{} has a shaper already (narrows shape status --wan {}); stop that one first",
            args.wan, args.wan
        ),
        _ => format!("cannot listen for status: {e}"),
    })?;
    listener.set_nonblocking(true).map_err(|e| e.to_string())?;
    let watch = Watch::open(&args.wan).map_err(|e| match e.raw_os_error() {
        Some(libc::EPERM) => {
            "a packet socket needs root (CAP_NET_RAW and CAP_NET_ADMIN): sudo narrows shape …".into()
        }
        _ => format!("cannot watch {}: {e}", args.wan),
    })?;
    let now = sys::mono_ns();
    let mut daemon = Daemon {
        sides,
        netlink: Netlink::open(NETLINK_ROUTE).map_err(|e| format!("cannot open netlink: {e}"))?,
        watch,
        stamps: Stamps::default(),
        probes: args.probes.iter().copied().map(Probe::new).collect(),
        passed_ns: now,
        ticked_ns: now,
        rtt_ns: None,
        missed: 0,
        began_ns: now,
        wan: args.wan.clone(),
    };
    // CAKE that cannot be set is found out before anything is said.
    for side in &mut daemon.sides {
        let rate = side.set_bps;
        side.cake.set(rate).map_err(|e| refused(&side.cake.iface, &e))?;
    }
    let mut lines = Lines::open(args.log.as_deref())?;
    lines.write(&daemon.state("start"))?;
    let looped = daemon.looped(&args, &listener, &mut lines);
    if args.on_stop == Stop::Earlier {
        for side in &mut daemon.sides {
            let earlier = side.cake.earlier.rate_bps;
            if side.cake.set(earlier).is_ok() {
                side.set_bps = earlier;
            }
        }
    }
    looped?;
    lines.write(&daemon.state("stop"))
}

fn refused(iface: &str, error: &std::io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => {
            format!("setting CAKE on {iface} needs root (CAP_NET_ADMIN): sudo narrows shape …")
        }
        _ => format!("the kernel refuses to set CAKE on {iface}: {error}"),
    }
}

impl Daemon {
    fn looped(&mut self, args: &Run, listener: &UnixListener, lines: &mut Lines) -> Result<(), String> {
        let text = |e: std::io::Error| e.to_string();
        let signals = sys::stop_signals().map_err(text)?;
        let (timer, epoll) = (Timer::new().map_err(text)?, Epoll::new().map_err(text)?);
        let read = Interest { read: true, write: false };
        for (token, fd) in
            [signals.as_raw_fd(), listener.as_raw_fd(), timer.as_raw_fd()].into_iter().enumerate()
        {
            epoll.add(fd, token as u64, read).map_err(text)?;
        }
        let (mut next_ns, mut said_ns) = (sys::mono_ns() + TICK_NS, 0);
        let mut ready = Vec::new();
        loop {
            timer.set(Some(next_ns as u64)).map_err(text)?;
            epoll.wait(&mut ready).map_err(text)?;
            if ready.iter().any(|r| r.token == 0) {
                return Ok(());
            }
            if ready.iter().any(|r| r.token == 1) {
                if let Ok((mut peer, _)) = listener.accept() {
                    let _ = peer.write_all(format!("{}\n", self.state("status")).as_bytes());
                }
            }
            let now = sys::mono_ns();
            if now < next_ns {
                continue;
            }
            self.tick(now)?;
            let idle = now - self.passed_ns > IDLE_NS;
            next_ns = now + if idle { IDLE_TICK_NS } else { TICK_NS };
            if now - said_ns >= args.every_ns {
                said_ns = now;
                lines.write(&self.state("state"))?;
            }
        }
    }

    fn tick(&mut self, now: i64) -> Result<(), String> {
        let Daemon { sides, watch, stamps, passed_ns, .. } = self;
        watch
            .drain(|packet| {
                *passed_ns = packet.t_ns;
                for side in sides.iter_mut().filter(|side| (side.name == "up") == packet.up) {
                    let counted = i64::from(packet.bytes) + i64::from(side.cake.earlier.overhead);
                    side.bytes += counted.max(0) as u64;
                }
                if let Some(tcp) = &packet.tcp {
                    stamps.packet(packet.t_ns, packet.up, tcp);
                }
            })
            .map_err(|e| format!("{} can no longer be watched: {e}", self.wan))?;
        self.missed += u64::from(self.watch.missed());
        let reading = self.stamps.read(now);
        self.rtt_ns = reading.rtt_ns.or(self.rtt_ns);
        let probed = self.probe(now, &reading);
        let looks = cake::looks(&mut self.netlink).map_err(|e| format!("cannot read the qdiscs: {e}"))?;
        let dt = (now - self.ticked_ns).max(1) as f64 / 1e9;
        self.ticked_ns = now;
        for n in 0..self.sides.len() {
            let alone = self.sides.iter().enumerate().all(|(m, s)| m == n || !s.loaded() || s.law.owned());
            let side = &mut self.sides[n];
            let look = looks.get(&side.cake.index).cloned().unwrap_or_default();

            if look.kind != "cake" {
                return Err(format!("the cake on {} has been taken away by somebody else", side.cake.iface));
            }
            side.passing += (side.bytes as f64 / dt - side.passing) * (dt / 0.2).min(1.0);
            let told = if side.name == "up" { reading.up_ns } else { reading.down_ns };
            (side.queue_ns, side.source) = match (told, probed) {
                (Some(ns), _) => (Some(ns), "timestamps"),
                (None, Some(ns)) if side.loaded() && (alone || ns < side.law.target_ns()) => {
                    (Some(ns), "probes")
                }
                _ => (None, "none"),
            };
            if told.is_some() || !side.loaded() {
                side.told_ns = now;
            }
            side.backlog_packets = look.backlog_packets;
            side.why = side.law.step(Tick {
                t_ns: now,
                bytes: std::mem::take(&mut side.bytes),
                queue_ns: side.queue_ns,
                rtt_ns: self.rtt_ns,
                backlog_packets: look.backlog_packets,
            });
            if side.why == Why::Rebase {
                match side.source {
                    "probes" => self.probes.iter_mut().for_each(Probe::rebase),
                    _ => self.stamps.rebase(side.name == "up"),
                }
            }
            let side = &mut self.sides[n];
            side.apply()?;
        }
        Ok(())
    }

    /// What waits some way beyond, asked for only while something passes that does not tell.
    fn probe(&mut self, now: i64, reading: &Reading) -> Option<i64> {
        let untold = self.sides.iter().any(|side| side.loaded() && now - side.told_ns > UNTOLD_NS);
        // ICMP last: some links carry it past their queues.
        let mut waited = None;
        let mut tcp_answers = false;
        for icmp in [false, true] {
            for probe in self.probes.iter_mut().filter(|p| matches!(p.place, Place::Icmp(_)) == icmp) {
                if untold && !(icmp && tcp_answers) {
                    probe.send(now);
                }
                probe.take(now);
                if let Some(ns) = probe.waited_ns(now) {
                    tcp_answers |= !icmp;
                    waited = waited.or(Some(ns));
                    if reading.rtt_ns.is_none() {
                        self.rtt_ns = probe.rtt_ns().or(self.rtt_ns);
                    }
                }
            }
        }
        waited
    }

    fn state(&self, event: &str) -> Value {
        let now = sys::mono_ns();
        let mut out = json!({
            "event": event,
            "monotonic_ns": now,
            "running_s": (now - self.began_ns) as f64 / 1e9,
            "wan": self.wan,
            "rtt_beyond_ms": self.rtt_ns.map(|ns| ns as f64 / MS as f64),
            "packets_not_seen": self.missed,
        });
        for side in &self.sides {
            out[side.name] = side.json();
        }
        out
    }
}

impl Side {
    fn apply(&mut self) -> Result<(), String> {
        let Some(wanted) = self.law.rate_bps else {
            return Ok(());
        };
        let worth = self.set_bps.is_none_or(|set| (wanted / set as f64 - 1.0).abs() >= WORTH);
        if worth {
            let bps = wanted as u64;
            self.cake.set(Some(bps)).map_err(|e| refused(&self.cake.iface, &e))?;
            self.set_bps = Some(bps);
        }
        Ok(())
    }
}
