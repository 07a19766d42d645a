//! Probes, for when something passes and none of it tells a delay: UDP and QUIC alone. A place with a port is asked
//! for a TCP connection (accepted or refused, both answer), one without for an ICMP echo. What is above the least
//! answer of the last minute has waited, some way; which way is for the caller to say.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use narrows_units::MS;
use narrows_wire::net;
use narrows_wire::sys;

const EVERY_NS: i64 = 30 * MS;
const LOST_NS: i64 = 1_000 * MS;
const RECENT_NS: i64 = 150 * MS;
const BASE_NS: i64 = 60_000 * MS;
const MOST_OUT: usize = 8;
/// What a place is asked less often by for each second without an answer.
const SILENT_NS: i64 = 1_000 * MS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Tcp(SocketAddr),
    Icmp(IpAddr),
}

/// `HOST:PORT` or `HOST`. The error names what was given.
pub fn place(text: &str) -> Result<Place, String> {
    let has_port = match text.rsplit_once(':') {
        Some((host, port)) => !port.is_empty() && (!host.contains(':') || host.ends_with(']')),
        None => false,
    };
    let bare = if has_port { text } else { text.trim_matches(['[', ']']) };
    if has_port {
        let (host, port) = net::host_and_port(bare, 443).map_err(|e| format!("--probe {text}: {e}"))?;
        return net::resolve(&host, port).map(Place::Tcp).map_err(|e| format!("--probe {text}: {e}"));
    }
    match net::resolve(bare, 0).map_err(|e| format!("--probe {text}: {e}"))?.ip() {
        ip @ IpAddr::V4(_) => Ok(Place::Icmp(ip)),
        IpAddr::V6(_) => Err(format!("--probe {text}: ICMP is for IPv4 only; give a port: [{bare}]:443")),
    }
}

struct Out {
    fd: OwnedFd,
    sent_ns: i64,
}

/// One place and what it has said.
pub struct Probe {
    pub place: Place,
    out: VecDeque<Out>,
    least_ns: i64,
    least_at_ns: i64,
    recent: VecDeque<(i64, i64)>,
    next_ns: i64,
    answered_ns: i64,
    sequence: u16,
}

impl Probe {
    pub fn new(place: Place) -> Probe {
        Probe {
            place,
            out: VecDeque::new(),
            least_ns: i64::MAX,
            least_at_ns: 0,
            recent: VecDeque::new(),
            next_ns: 0,
            answered_ns: i64::MIN,
            sequence: 0,
        }
    }

    /// Sends the next one if it is due. A socket that cannot be had is a probe that is lost.
    pub fn send(&mut self, now: i64) {
        if now < self.next_ns || self.out.len() >= MOST_OUT {
            return;
        }
        let silent = self.answered_ns != i64::MIN && now - self.answered_ns > SILENT_NS;
        self.next_ns = now + if silent { 10 * EVERY_NS } else { EVERY_NS };
        let asked = match self.place {
            Place::Tcp(to) => connect(&to),
            Place::Icmp(IpAddr::V4(to)) => {
                self.sequence = self.sequence.wrapping_add(1);
                echo(to.octets(), self.sequence)
            }
            Place::Icmp(IpAddr::V6(_)) => return,
        };
        if let Ok(fd) = asked {
            self.out.push_back(Out { fd, sent_ns: now });
        }
    }

    /// Takes the answers that are there, and gives up what is too old.
    pub fn take(&mut self, now: i64) {
        let mut answers = Vec::new();
        self.out.retain(|out| {
            if readable(out.fd.as_raw_fd()) {
                answers.push(now - out.sent_ns);
                return false;
            }
            now - out.sent_ns < LOST_NS
        });
        for rtt in answers {
            self.answered(now, rtt);
        }
    }

    fn answered(&mut self, now: i64, rtt_ns: i64) {
        self.answered_ns = now;
        if rtt_ns < self.least_ns || now - self.least_at_ns > BASE_NS {
            (self.least_ns, self.least_at_ns) = (rtt_ns, now);
        }
        self.recent.push_back((now, rtt_ns));
    }

    /// What the luckiest of late has waited; None: no answer of late.
    pub fn waited_ns(&mut self, now: i64) -> Option<i64> {
        while self.recent.front().is_some_and(|(t, _)| now - t > RECENT_NS) {
            self.recent.pop_front();
        }
        self.recent.iter().map(|(_, rtt)| rtt - self.least_ns).min()
    }

    pub fn rtt_ns(&self) -> Option<i64> {
        (self.least_ns < i64::MAX).then_some(self.least_ns)
    }

    pub fn rebase(&mut self) {
        if let Some(least) = self.recent.iter().map(|(_, rtt)| *rtt).min() {
            self.least_ns = least;
        }
    }
}

/// Whether a connection has been answered (also refused), or an echo has come.
fn readable(fd: RawFd) -> bool {
    let mut poll = libc::pollfd { fd, events: libc::POLLOUT | libc::POLLIN, revents: 0 };
    let kind = sys::getsockopt_i32(fd, libc::SOL_SOCKET, libc::SO_TYPE).unwrap_or(0);
    if kind != libc::SOCK_STREAM {
        poll.events = libc::POLLIN;
    }
    // SAFETY: one valid pollfd.
    let n = unsafe { libc::poll(&mut poll, 1, 0) };
    n > 0 && poll.revents != 0
}

fn connect(to: &SocketAddr) -> io::Result<OwnedFd> {
    let (storage, len, family) = address(to);
    let fd = sys::socket(family, libc::SOCK_STREAM, 0)?;
    // Closed by a reset: nothing of it lingers here or there.
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    sys::setsockopt(fd.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &linger)?;
    // SAFETY: storage holds an address of that length.
    let asked = sys::cvt(unsafe { libc::connect(fd.as_raw_fd(), (&raw const storage).cast(), len) });
    match asked {
        Err(e) if e.raw_os_error() != Some(libc::EINPROGRESS) => Err(e),
        _ => Ok(fd),
    }
}

fn address(to: &SocketAddr) -> (libc::sockaddr_storage, u32, i32) {
    // SAFETY: all-zero is a valid storage, and both kinds of address fit.
    unsafe {
        let mut storage: libc::sockaddr_storage = std::mem::zeroed();
        match to {
            SocketAddr::V4(v4) => {
                let a = &mut *(&raw mut storage).cast::<libc::sockaddr_in>();
                a.sin_family = libc::AF_INET as u16;
                a.sin_port = v4.port().to_be();
                a.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                (storage, std::mem::size_of::<libc::sockaddr_in>() as u32, libc::AF_INET)
            }
            SocketAddr::V6(v6) => {
                let a = &mut *(&raw mut storage).cast::<libc::sockaddr_in6>();
                a.sin6_family = libc::AF_INET6 as u16;
                a.sin6_port = v6.port().to_be();
                a.sin6_addr.s6_addr = v6.ip().octets();
                (storage, std::mem::size_of::<libc::sockaddr_in6>() as u32, libc::AF_INET6)
            }
        }
    }
}

/// An echo request on a raw socket that hears only its own answer: the kernel's filter is left out, so the identifier
/// is looked at when it is read.
fn echo(to: [u8; 4], sequence: u16) -> io::Result<OwnedFd> {
    let fd = sys::socket(libc::AF_INET, libc::SOCK_DGRAM, libc::IPPROTO_ICMP)
        .or_else(|_| sys::socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP))?;
    let mut packet = [0u8; 16];
    packet[0] = 8;
    packet[4..6].copy_from_slice(&(std::process::id() as u16).to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = packet.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum::<u32>();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
    let (storage, len, _) = address(&SocketAddr::from((to, 0)));
    // SAFETY: storage holds an address of that length, and packet is readable for its own.
    unsafe {
        sys::cvt(libc::connect(fd.as_raw_fd(), (&raw const storage).cast(), len))?;
        sys::cvt_len(libc::send(fd.as_raw_fd(), packet.as_ptr().cast(), packet.len(), 0))?;
    }
    Ok(fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_makes_it_tcp_and_none_icmp() {
        assert_eq!(place("10.0.2.1:443"), Ok(Place::Tcp("10.0.2.1:443".parse().unwrap())));
        assert_eq!(place("[::1]:80"), Ok(Place::Tcp("[::1]:80".parse().unwrap())));
        assert_eq!(place("10.0.2.1"), Ok(Place::Icmp("10.0.2.1".parse().unwrap())));
        for text in ["::1", "[::1]", "10.0.2.1:0", "10.0.2.1:http"] {
            let error = place(text).unwrap_err();
            assert!(error.starts_with(&format!("--probe {text}: ")), "{error}");
        }
    }

    #[test]
    fn what_is_above_the_least_has_waited_and_silence_says_nothing() {
        let mut probe = Probe::new(place("127.0.0.1").unwrap());
        assert_eq!(probe.waited_ns(0), None);
        probe.answered(10 * MS, 20 * MS);
        probe.answered(100 * MS, 55 * MS);
        assert_eq!(probe.waited_ns(100 * MS), Some(0));
        assert_eq!(probe.waited_ns(200 * MS), Some(35 * MS));
        assert_eq!(probe.waited_ns(300 * MS), None);
        assert_eq!(probe.rtt_ns(), Some(20 * MS));
    }

    #[test]
    fn a_refused_connection_is_an_answer() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut probe = Probe::new(Place::Tcp(free));
        probe.send(0);
        for _ in 0..100 {
            probe.take(5 * MS);
            if probe.rtt_ns().is_some() {
                return;
            }
            sys::pause(10_000_000);
        }
        panic!("no answer from this host");
    }
}
