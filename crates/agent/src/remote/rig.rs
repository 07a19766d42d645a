//! What one host does for the calibration of a rig of several: echoes, or one end of a packet train.
//!
//! The controlling machine says who does what and judges; clocks of two hosts are never compared. See `calibrate` for
//! the same on one machine, where the train follows its arrivals.

use std::os::fd::{AsRawFd, OwnedFd};

use serde_json::{json, Value};

use super::controller::{say, Controller};
use crate::calibrate::wait_readable;
use crate::clock::Clock;
use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::status::Interrupt;
use crate::sys::{self, sockaddr};
use crate::traffic::icmp;
use narrows_plan::{Calibration, Plan, USUAL_ECHOES};
use narrows_wire::stamped::{self, Receiver};

/// So many answered are enough.
const ENOUGH: usize = USUAL_ECHOES as usize / 2;
const SPACING_NS: i64 = 10_000_000;
const WARM_UPS: u16 = 3;
const LATEST_ECHO_NS: i64 = 2_000_000_000;
const IDENTIFIER: u16 = 0x4ec0;
const PORT: u16 = 33_999;
const IP_AND_UDP_BYTES: usize = 28;
const PACKET_BYTES: usize = 1500;
/// Of a train's rate over the plan's: a queue stands soon, and a bucket is emptied.
const OVERDRIVE: f64 = 1.25;
const TRAIN_S: f64 = 0.25;
const PACKETS: (usize, usize) = (120, 20_000);
/// Arrivals of the second half, at least.
const LEAST: usize = 20;
const FIRST_WITHIN_NS: i64 = 10_000_000_000;
const SILENT_AFTER_NS: i64 = 500_000_000;

fn failed(message: impl Into<String>) -> RunError {
    RunError::new(Stage::Calibration, message)
}

/// Does what it is asked for until the rig has been judged.
pub fn calibrate(
    plan: &Plan,
    nodes: &Nodes,
    clock: Clock,
    controller: &mut Controller,
    interrupt: &Interrupt,
) -> Result<()> {
    say(&json!({"set_up": true}));
    loop {
        let message = controller.wait_for(&["measure", "calibrated"], interrupt)?;
        if message.get("calibrated").is_some() {
            return Ok(());
        }
        let found = serve(&message, &plan.calibration, nodes, clock)?;
        say(&json!({ "measured": found }));
    }
}

/// Carries out one request and gives the answer.
fn serve(request: &Value, plan: &Calibration, nodes: &Nodes, clock: Clock) -> Result<Value> {
    let down = request["direction"] == "down";
    let (from, to, address, bps) = match down {
        true => (&plan.server, &plan.client, plan.client_address, plan.rate_down_bps),
        false => (&plan.client, &plan.server, plan.server_address, plan.rate_up_bps),
    };
    let bps = bps.map(|bps| bps as f64);
    let packets =
        |bps: f64| ((TRAIN_S * bps / 8.0 / PACKET_BYTES as f64) as usize).clamp(PACKETS.0, PACKETS.1);
    match (request["measure"].as_str(), bps) {
        (Some("rtt"), _) => rtt(plan, nodes, clock),
        (Some("receive"), Some(_)) => receive(&udp(nodes, to, Some(address))?),
        (Some("send"), Some(bps)) => {
            let socket = udp(nodes, from, None)?;
            socket2::SockRef::from(&socket)
                .connect(&sockaddr(address, PORT))
                .during(|| format!("connecting to {address}"))?;
            send(&socket, bps * OVERDRIVE, packets(bps));
            Ok(json!({"sent": packets(bps)}))
        }
        _ => Err(failed(format!("no such measurement: {request}"))),
    }
}

fn udp(nodes: &Nodes, node: &str, bind: Option<std::net::Ipv4Addr>) -> Result<OwnedFd> {
    let fd = nodes.socket(node, libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    stamped::enable(fd.as_raw_fd()).during(|| "asking for kernel stamps".into())?;
    if let Some(address) = bind {
        let socket = socket2::SockRef::from(&fd);
        let _ = socket.set_recv_buffer_size(32 << 20);
        socket.bind(&sockaddr(address, PORT)).during(|| format!("binding to {address}:{PORT}"))?;
    }
    Ok(fd)
}

fn rtt(plan: &Calibration, nodes: &Nodes, clock: Clock) -> Result<Value> {
    let fd = nodes.socket(&plan.client, libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP)?;
    stamped::enable(fd.as_raw_fd()).during(|| "asking for kernel stamps".into())?;
    socket2::SockRef::from(&fd)
        .connect(&sockaddr(plan.server_address, 0))
        .during(|| format!("connecting to {}", plan.server_address))?;
    let mut receiver = Receiver::new(256);
    let mut sent: Vec<i64> = Vec::new();
    let mut rtts: Vec<i64> = Vec::new();
    let usual = usize::from(WARM_UPS) + USUAL_ECHOES as usize;
    let most = usual.max(usize::from(WARM_UPS) + plan.echoes as usize);
    let began = sys::mono_ns();
    let (mut answered, mut last_ns) = (0, i64::MAX);
    while answered < sent.len().max(usual) && sys::mono_ns() < last_ns {
        let due = began + SPACING_NS * sent.len() as i64;
        let goes_on = sent.len() < usual || (sent.len() < most && rtts.len() < ENOUGH);
        if goes_on && sys::mono_ns() >= due {
            last_ns = due + SPACING_NS + plan.rtt_ns + LATEST_ECHO_NS;
            let packet = icmp::request(IDENTIFIER, sent.len() as u16, 56);
            sent.push(clock.t());
            let _ = stamped::send(fd.as_raw_fd(), &packet, None);
            continue;
        }
        let until = if goes_on { due } else { last_ns };
        wait_readable([fd.as_raw_fd(), fd.as_raw_fd()], until);
        receiver
            .receive(fd.as_raw_fd(), |d| {
                let Some((IDENTIFIER, seq)) = icmp::reply(d.data) else {
                    return;
                };
                let Some(sent_ns) = sent.get(usize::from(seq)) else {
                    return;
                };
                answered += 1;
                if seq >= WARM_UPS {
                    rtts.push(clock.t_of_wall(d.arrived_wall_ns) - sent_ns);
                }
            })
            .map(drop)
            .during(|| "receiving echo replies".into())?;
    }
    rtts.sort_unstable();
    let (min, median) = (rtts.first(), rtts.get(rtts.len() / 2));
    Ok(json!({"rtt_min_ns": min, "rtt_median_ns": median, "rtt_samples": rtts.len()}))
}

fn send(socket: &OwnedFd, bps: f64, packets: usize) {
    let payload = vec![0u8; PACKET_BYTES - IP_AND_UDP_BYTES];
    let each_ns = PACKET_BYTES as f64 * 8e9 / bps;
    let began = sys::mono_ns();
    for i in 0..packets {
        let due = began + (i as f64 * each_ns) as i64;
        if due > sys::mono_ns() {
            sys::sleep_until(due);
        }
        let _ = stamped::send(socket.as_raw_fd(), &payload, None);
    }
}

/// The rate at which the second half of a train came, at the IP layer; by then a queue stands and buckets are empty.
fn receive(socket: &OwnedFd) -> Result<Value> {
    let mut receiver = Receiver::new(PACKET_BYTES);
    let mut arrived: Vec<i64> = Vec::new();
    say(&json!({"listening": true}));
    let mut until = sys::mono_ns() + FIRST_WITHIN_NS;
    while sys::mono_ns() < until {
        wait_readable([socket.as_raw_fd(), socket.as_raw_fd()], until);
        let before = arrived.len();
        receiver
            .receive(socket.as_raw_fd(), |d| arrived.push(d.arrived_wall_ns))
            .map(drop)
            .during(|| "receiving a train".into())?;
        if arrived.len() > before {
            until = sys::mono_ns() + SILENT_AFTER_NS;
        }
    }
    let half = &arrived[arrived.len() / 2..];
    let bps = match half {
        [first, .., last] if half.len() > LEAST => {
            Some((half.len() - 1) as f64 * PACKET_BYTES as f64 * 8e9 / (last - first).max(1) as f64)
        }
        _ => None,
    };
    Ok(json!({"bps": bps, "packets": arrived.len()}))
}
