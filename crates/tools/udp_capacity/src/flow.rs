//! The two ends of a load: one sends at the searched rate, the other counts and reports every 50 ms.
//!
//! Both work in ticks, many datagrams to a system call; arrivals are stamped by the kernel, so a receiver that looks
//! only now and then measures no worse.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;

use crate::count::{Counts, Receiver};
use crate::datagram::{self, Message, Setup, Status, IP_UDP_BYTES, LOAD_BYTES, SNAP_BYTES};
use crate::places::Watch;
use crate::search::{rate_bps, Limits, Search};
use narrows_units::MS;
use narrows_wire::{stamped, sys};

pub const SUB_INTERVAL_NS: i64 = 1_000_000_000;
const SEND_TICK_NS: i64 = MS;
const LOOK_TICKS: u64 = 10;
const RECEIVE_TICK_NS: i64 = 5 * MS;
const REPORT_NS: i64 = 50 * MS;
const SILENCE_NS: i64 = 1000 * MS;
const GONE_NS: i64 = 5000 * MS;
const BATCH: usize = 1024;
const BUFFER_BYTES: usize = 32 << 20;

/// One report as the client logs it: when, the rate of the load, anomalies, mean delay variation.
pub type Report = (i64, u64, u32, Option<f64>);

pub struct Channel {
    pub socket: UdpSocket,
    pub token: u64,
    /// Of a server's test: who has its place may be replaced.
    pub watch: Arc<Watch>,
    receiver: stamped::Receiver,
}

impl Channel {
    /// A socket from `local` to `peer` alone, beside others that are bound to the same address.
    pub fn open(local: SocketAddr, peer: SocketAddr, token: u64) -> io::Result<Channel> {
        let socket = listening(local)?;
        socket.connect(peer)?;
        let receiver = stamped::Receiver::new(SNAP_BYTES.max(LOAD_BYTES + 8192));
        Ok(Channel { socket, token, watch: Arc::default(), receiver })
    }

    fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub fn tell(&self, message: &Message) {
        // A full queue or a port that is not there yet is what a lost datagram is.
        let _ = self.socket.send(&datagram::write(self.token, message));
    }

    /// All that has arrived of this test: the message, its bytes, its arrival. Garbage is left out. An error
    /// once the test was replaced.
    pub fn take(&mut self, mut each: impl FnMut(Message, usize, i64)) -> io::Result<()> {
        self.watch.check()?;
        let (fd, token, watch) = (self.fd(), self.token, &self.watch);
        loop {
            let mut heard = false;
            let got = self.receiver.receive(fd, |d| {
                if let Some((t, message)) = datagram::read(d.data) {
                    if t == token {
                        heard |= !matches!(message, Message::Setup(_));
                        each(message, d.len, d.arrived_wall_ns);
                    }
                }
            });
            if heard {
                watch.heard(sys::mono_ns());
            }
            match got {
                Ok(64..) => {}
                Ok(_) => return Ok(()),
                Err(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::Interrupted) => {
                    return Ok(())
                }
                Err(e) => return Err(e),
            }
        }
    }
}

/// A socket that others may be beside, with kernel stamps and deep buffers where that is allowed.
pub fn listening(local: SocketAddr) -> io::Result<UdpSocket> {
    let socket = socket2::Socket::new(socket2::Domain::for_address(local), socket2::Type::DGRAM, None)?;
    socket.set_reuse_address(true)?;
    for option in [libc::SO_RCVBUFFORCE, libc::SO_SNDBUFFORCE] {
        let _ = sys::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, option, &(BUFFER_BYTES as i32));
    }
    stamped::enable(socket.as_raw_fd())?;
    socket.bind(&local.into())?;
    Ok(socket.into())
}

/// Sends load for the test's time, or until the peer says stop. Returns the reports that came.
pub fn send(channel: &mut Channel, setup: &Setup) -> io::Result<Vec<Report>> {
    let limits = Limits { tolerated: setup.tolerated, lower_ms: setup.lower_ms, upper_ms: setup.upper_ms };
    let mut search = Search::new(limits);
    let mut batch = Batch::new(channel.token);
    let mut reports = Vec::new();
    let began_ns = sys::mono_ns();
    let end_ns = began_ns + i64::from(setup.seconds) * SUB_INTERVAL_NS;
    let (mut credit, mut number, mut last_report, mut heard_ns, mut stopped) =
        (0u64, 1u32, 0u32, began_ns, false);
    let per_datagram = (LOAD_BYTES as u64 + IP_UDP_BYTES) * 8 * 1_000_000_000;
    for tick in 1u64.. {
        let now_ns = began_ns + tick as i64 * SEND_TICK_NS;
        if now_ns >= end_ns || stopped {
            break;
        }
        sys::sleep_until(now_ns);
        if tick % LOOK_TICKS == 0 {
            channel.take(|message, _, _| match message {
                Message::Status(s) if s.number > last_report => {
                    last_report = s.number;
                    heard_ns = now_ns;
                    let delay_us = Some(s.delay_us).filter(|us| us.is_finite());
                    reports.push((now_ns, rate_bps(search.row), s.anomalies, delay_us));
                    search.report(s.anomalies, delay_us.map(|us| us / 1e3));
                }
                Message::Stop => stopped = true,
                _ => {}
            })?;
            if now_ns - heard_ns > GONE_NS {
                return Err(io::Error::new(ErrorKind::TimedOut, "the other end reports nothing"));
            }
            if now_ns - heard_ns > SILENCE_NS {
                search.silence();
            }
        }
        credit += rate_bps(search.row) * SEND_TICK_NS as u64;
        let due = (credit / per_datagram).min(BATCH as u64) as usize;
        if due > 0 {
            credit = (credit - due as u64 * per_datagram).min(per_datagram * BATCH as u64);
            number += batch.send(channel.fd(), due, number, search.row as u16)? as u32;
        }
    }
    Ok(reports)
}

/// Counts load until the sub-intervals are over, the peer says stop, or nothing comes any more. Returns what the
/// reports said (rate: of the sender, as the load tells).
pub fn receive(channel: &mut Channel, setup: &Setup) -> io::Result<(Receiver, Vec<Report>)> {
    let mut counted = Receiver::new(SUB_INTERVAL_NS, setup.seconds as usize);
    let mut reports = Vec::new();
    let mut now_ns = sys::mono_ns();
    let (mut began_ns, mut heard_ns, mut stopped, mut row, mut report) = (None, now_ns, false, 0u16, 0u32);
    let mut next_report_ns = i64::MAX;
    while !stopped {
        now_ns += RECEIVE_TICK_NS;
        sys::sleep_until(now_ns);
        let mut again = false;
        channel.take(|message, bytes, arrived_ns| match message {
            Message::Load { number, row: sent_row, sent_ns } => {
                counted.take(number, bytes as u64 + IP_UDP_BYTES, sent_ns, arrived_ns);
                heard_ns = now_ns;
                row = sent_row;
            }
            Message::Stop => stopped = true,
            Message::Setup(_) => again = true,
            _ => {}
        })?;
        if again {
            channel.tell(&Message::Ready);
        }
        if began_ns.is_none() && counted.report.datagrams > 0 {
            began_ns = Some(now_ns);
            next_report_ns = now_ns + REPORT_NS;
        }
        if now_ns >= next_report_ns {
            next_report_ns += REPORT_NS;
            report += 1;
            let counts = counted.take_report();
            let delay_us = counted.base_ns.and_then(|base| counts.delays_us(base)).map(|d| d.0);
            channel.tell(&Message::Status(Status {
                number: report,
                anomalies: counts.anomalies(),
                delay_us: delay_us.unwrap_or(f64::NAN),
            }));
            reports.push((now_ns, rate_bps(row.into()), counts.anomalies(), delay_us));
        }
        let length_ns = i64::from(setup.seconds) * SUB_INTERVAL_NS;
        if began_ns.is_some_and(|began| now_ns >= began + length_ns + REPORT_NS) {
            break;
        }
        if now_ns - heard_ns > GONE_NS {
            return Err(io::Error::new(ErrorKind::TimedOut, "no load comes"));
        }
    }
    Ok((counted, reports))
}

/// `[bytes, datagrams, lost, reordered, duplicated, delay mean, min, max above the test's smallest in µs]` each.
pub fn sub_intervals(counted: &Receiver) -> serde_json::Value {
    let base_ns = counted.base_ns.unwrap_or(0);
    let row = |c: &Counts| {
        let (mean, least, most) =
            c.delays_us(base_ns).map_or((None, None, None), |d| (Some(d.0), Some(d.1), Some(d.2)));
        serde_json::json!([c.bytes, c.datagrams, c.lost, c.reordered, c.duplicated, mean, least, most])
    };
    counted.sub_intervals.iter().map(row).collect()
}

/// Datagrams of load for one sendmmsg.
struct Batch {
    data: Vec<u8>,
    token: u64,
    iovecs: Vec<libc::iovec>,
    headers: Vec<libc::mmsghdr>,
}

impl Batch {
    fn new(token: u64) -> Batch {
        // SAFETY: all-zero is valid for these plain structs.
        let (iovecs, headers) = unsafe { (vec![std::mem::zeroed(); BATCH], vec![std::mem::zeroed(); BATCH]) };
        Batch { data: vec![0; BATCH * LOAD_BYTES], token, iovecs, headers }
    }

    /// How many were sent.
    fn send(&mut self, fd: RawFd, count: usize, first: u32, row: u16) -> io::Result<usize> {
        let sent_ns = sys::real_ns();
        for i in 0..count {
            let load = Message::Load { number: first + i as u32, row, sent_ns };
            let at = &mut self.data[i * LOAD_BYTES..(i + 1) * LOAD_BYTES];
            at[..SNAP_BYTES].copy_from_slice(&datagram::write(self.token, &load)[..SNAP_BYTES]);
            self.iovecs[i] = libc::iovec { iov_base: at.as_mut_ptr().cast(), iov_len: LOAD_BYTES };
            self.headers[i].msg_hdr.msg_iov = &mut self.iovecs[i];
            self.headers[i].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` headers point into buffers of self that outlive the call.
        unsafe { sys::send_datagrams(fd, &mut self.headers[..count]) }
    }
}
