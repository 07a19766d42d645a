//! Sends a phase: the packets of each tick in a random order, so that no flow is always the one that finds the queue
//! full.

use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, RawFd};

use crate::datagram::{self, Head, Kind, HEAD_BYTES};
use crate::phase::{ip_bits, Phase};
use narrows_wire::random::Random;
use narrows_wire::sys;

const TICK_NS: (i64, i64) = (500_000, 1_000_000);
/// From here on the shorter tick.
const FAST_BPS: f64 = 50e6;
/// What one tick sends at most: after a pause, what is missed is not made good.
const MOST: usize = 1024;
const DATAGRAM: usize = 1400;
const CONTROL: usize = 24;

struct State {
    fd: RawFd,
    number: u32,
    credit_bits: f64,
    ipv6: bool,
}

/// Sends until the phase's time is over or `stop` says so. Returns how many packets each flow sent.
pub fn send(
    sockets: &[UdpSocket],
    session: u64,
    phase: &Phase,
    mut stop: impl FnMut() -> io::Result<bool>,
) -> io::Result<Vec<u32>> {
    let mut states: Vec<State> = (phase.flows.iter())
        .map(|flow| {
            let socket = &sockets[usize::from(flow.flow)];
            State {
                fd: socket.as_raw_fd(),
                number: 0,
                credit_bits: 0.0,
                ipv6: socket.local_addr().is_ok_and(|a| a.is_ipv6()),
            }
        })
        .collect();
    let mut random = Random::new(session ^ u64::from(phase.id));
    // Flows of equal rate do not all send in one tick.
    if phase.flows.len() > 2 {
        for (state, flow) in states.iter_mut().zip(&phase.flows) {
            state.credit_bits = ip_bits(flow.bytes) * random.up_to(1000) as f64 / 1000.0;
        }
    }
    let mut batch = Batch::new();
    let began_ns = sys::mono_ns();
    let rate: f64 = phase.flows.iter().map(|f| f.rate_bps).sum();
    let tick_ns = if phase.grow.is_some() || rate > FAST_BPS { TICK_NS.0 } else { TICK_NS.1 };
    let ticks = phase.duration_ns as i64 / tick_ns;
    let mut order: Vec<usize> = vec![];
    for tick in 1..=ticks {
        sys::sleep_until(began_ns + tick * tick_ns);
        if stop()? {
            break;
        }
        order.clear();
        for (at, (state, flow)) in states.iter_mut().zip(&phase.flows).enumerate() {
            let rate = phase.rate_bps(flow, (tick * tick_ns) as u64);
            let each = ip_bits(flow.bytes);
            state.credit_bits = (state.credit_bits + rate * tick_ns as f64 / 1e9).min(each * MOST as f64);
            while state.credit_bits >= each && order.len() < MOST {
                state.credit_bits -= each;
                order.push(at);
            }
        }
        for at in (1..order.len()).rev() {
            order.swap(at, random.up_to(at as i64) as usize);
        }
        let sent_ns = sys::real_ns();
        let mut from = 0;
        while from < order.len() {
            let fd = states[order[from]].fd;
            let run = order[from..].iter().take_while(|at| states[**at].fd == fd).count();
            let (at, flow) = (order[from], &phase.flows[order[from]]);
            let state = &mut states[at];
            for _ in 0..run {
                let head = Head {
                    kind: Kind::Load,
                    session,
                    phase: phase.id,
                    flow: at as u16,
                    number: state.number + batch.count as u32,
                    sent_ns,
                };
                let tos = flow.tos[head.number as usize % flow.tos.len()];
                batch.push(&head, flow.bytes as usize, tos, state.ipv6);
            }
            // What a full socket refused was never sent, and its number is used again.
            state.number += batch.send(fd)? as u32;
            from += run;
        }
    }
    Ok(states.iter().map(|s| s.number).collect())
}

/// Datagrams for one sendmmsg, each with its TOS byte.
struct Batch {
    data: Vec<u8>,
    control: Vec<u64>,
    iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
    count: usize,
}

impl Batch {
    fn new() -> Batch {
        // SAFETY: all-zero is valid for these plain structs.
        let (iovecs, headers) = unsafe { (vec![std::mem::zeroed(); MOST], vec![std::mem::zeroed(); MOST]) };
        Batch {
            data: vec![0; MOST * DATAGRAM],
            control: vec![0; MOST * CONTROL / 8],
            iovecs,
            headers,
            count: 0,
        }
    }

    fn push(&mut self, head: &Head, bytes: usize, tos: u8, ipv6: bool) {
        let i = self.count;
        let data = &mut self.data[i * DATAGRAM..(i + 1) * DATAGRAM];
        datagram::write(head, &mut data[..HEAD_BYTES]);
        self.iovecs[i] = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: bytes.min(DATAGRAM) };
        let header = &mut self.headers[i].msg_hdr;
        header.msg_iov = &mut self.iovecs[i];
        header.msg_iovlen = 1;
        header.msg_control = self.control[i * CONTROL / 8..].as_mut_ptr().cast();
        header.msg_controllen = CONTROL as _;
        // SAFETY: the control buffer has room for one message with an int, which CMSG_SPACE(4) = CONTROL says.
        unsafe {
            let c = libc::CMSG_FIRSTHDR(header);
            ((*c).cmsg_level, (*c).cmsg_type) =
                if ipv6 { (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) } else { (libc::IPPROTO_IP, libc::IP_TOS) };
            (*c).cmsg_len = libc::CMSG_LEN(4) as _;
            std::ptr::write_unaligned(libc::CMSG_DATA(c).cast::<i32>(), i32::from(tos));
        }
        self.count += 1;
    }

    /// How many were sent.
    fn send(&mut self, fd: RawFd) -> io::Result<usize> {
        let count = std::mem::take(&mut self.count);
        // SAFETY: the first `count` headers point into buffers of self that outlive the call.
        unsafe { sys::send_datagrams(fd, &mut self.headers[..count]) }
    }
}
