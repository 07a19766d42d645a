//! Every TCP socket of a node through inet_diag: TCP_INFO, the CCA's name and BBR's state.

use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{tcp_info, Source};
use crate::actor::Csv;
use crate::error::Result;
use crate::netlink::{attributes, text, Netlink, NETLINK_SOCK_DIAG};

/// The version-1 request: the only one whose dump covers IPv4 and IPv6 sockets together
/// (net/ipv4/inet_diag.c, inet_diag_dump_compat uses AF_UNSPEC).
const TCPDIAG_GETSOCK: u16 = 18;
const INET_DIAG_INFO: u16 = 2;
const INET_DIAG_VEGASINFO: u8 = 3;
const INET_DIAG_CONG: u16 = 4;
const INET_DIAG_BBRINFO: u16 = 16;
const TCP_LISTEN: u8 = 10;
/// All but TIME_WAIT, CLOSE, LISTEN and requests: sockets that carry TCP_INFO of a connection.
const CONNECTION_STATES: u32 = 0xfff & !(1 << 6 | 1 << 7 | 1 << TCP_LISTEN);

pub struct TcpDiag {
    netlink: Netlink,
    /// Only connections to this port (a bulk item's own).
    dport: Option<u16>,
    line: String,
}

impl TcpDiag {
    /// In the thread's namespace.
    pub fn open(dport: Option<u16>) -> io::Result<TcpDiag> {
        Ok(TcpDiag { netlink: Netlink::open(NETLINK_SOCK_DIAG)?, dport, line: String::new() })
    }
}

fn request(states: u32, extensions: u8) -> Vec<u8> {
    // struct inet_diag_req: family, src_len, dst_len, ext, id (48 bytes), states, dbs
    let mut body = vec![0u8; 60];
    body[0] = libc::AF_INET as u8;
    body[3] = extensions;
    body[52..56].copy_from_slice(&states.to_ne_bytes());
    body
}

/// One answer: a socket and its attributes.
struct Socket<'a> {
    state: u8,
    src: IpAddr,
    sport: u16,
    dst: IpAddr,
    dport: u16,
    attributes: &'a [u8],
}

fn parse(b: &[u8]) -> Option<Socket<'_>> {
    // struct inet_diag_msg: family, state, timer, retrans, then the id: ports, addresses, …
    if b.len() < 72 {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
    let address = |at: usize| -> IpAddr {
        if b[0] == libc::AF_INET as u8 {
            return Ipv4Addr::new(b[at], b[at + 1], b[at + 2], b[at + 3]).into();
        }
        let mut octets = [0u8; 16];
        octets.copy_from_slice(&b[at..at + 16]);
        let v6 = Ipv6Addr::from(octets);
        v6.to_ipv4_mapped().map_or(v6.into(), IpAddr::from)
    };
    Some(Socket {
        state: b[1],
        src: address(8),
        sport: port(4),
        dst: address(24),
        dport: port(6),
        attributes: &b[72..],
    })
}

const TCP_SYN_SENT: u8 = 2;
/// Words for at most so many sockets.
const NAMED: usize = 3;

/// What the sockets of the thread's namespace wait for: connections that nobody answers, bytes that nobody
/// acknowledges. None where nothing of theirs is on its way.
pub fn unanswered() -> io::Result<Option<String>> {
    let (mut words, mut more) = (Vec::new(), 0);
    let body = request(CONNECTION_STATES, 0);
    Netlink::open(NETLINK_SOCK_DIAG)?.dump(TCPDIAG_GETSOCK, &body, |_, payload| {
        let Some(s) = parse(payload) else { return };
        let (retransmitted, bytes) = (payload[3], crate::netlink::u32_at(payload, 60));
        let end = format!("{}:{}", s.dst, s.dport);
        let word = match s.state {
            TCP_SYN_SENT => format!("{end} has not answered a connection request"),
            _ if bytes > 0 => format!("{end} has not acknowledged {bytes} bytes"),
            _ => return,
        };
        if words.len() == NAMED {
            more += 1;
        } else {
            words.push(format!("{word} (sent again {retransmitted} times)"));
        }
    })?;
    if more > 0 {
        words.push(format!("and {more} more"));
    }
    Ok((!words.is_empty()).then(|| words.join(", ")))
}

impl Source for TcpDiag {
    const HEADER: &'static str = tcp_info::HEADER;

    fn sample(&mut self, t_ns: i64, csv: &mut Csv) -> io::Result<Result<()>> {
        let extensions =
            1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1) | 1 << (INET_DIAG_VEGASINFO - 1);
        let (line, wanted) = (&mut self.line, self.dport);
        let mut written = Ok(());
        self.netlink.dump(TCPDIAG_GETSOCK, &request(CONNECTION_STATES, extensions), |_, payload| {
            let Some(s) = parse(payload) else { return };
            let Socket { src, sport, dst, dport, .. } = s;
            if wanted.is_some_and(|w| w != dport) || written.is_err() {
                return;
            }
            let (mut info, mut cca, mut bbr) = (&[][..], String::new(), None);
            for (kind, value) in attributes(s.attributes) {
                match kind {
                    INET_DIAG_INFO => info = value,
                    INET_DIAG_CONG => cca = text(value),
                    INET_DIAG_BBRINFO => bbr = Some(value),
                    _ => {}
                }
            }
            if info.is_empty() {
                return;
            }
            line.clear();
            let state = tcp_info::state_name(s.state);
            let _ = write!(line, "{t_ns},{src},{sport},{dst},{dport},{cca},{state}");
            tcp_info::append_cells(line, info, bbr);
            written = csv.line(line);
        })?;
        Ok(written)
    }
}

/// Does something in the thread's namespace accept TCP on this address and port? Puts nothing on the wire.
pub fn listens(address: IpAddr, port: u16) -> io::Result<bool> {
    let mut found = false;
    Netlink::open(NETLINK_SOCK_DIAG)?.dump(TCPDIAG_GETSOCK, &request(1 << TCP_LISTEN, 0), |_, payload| {
        if let Some(s) = parse(payload).filter(|s| s.state == TCP_LISTEN) {
            found |= s.sport == port && (s.src.is_unspecified() || s.src == address);
        }
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::net::SocketAddr;

    #[test]
    fn a_listener_is_seen_without_connecting_to_it() {
        // The port stays ours while nothing listens on it: a closed listener lives on in any child of another
        // test that has been forked and not yet become its program.
        let own = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
        own.bind(&any.into()).unwrap();
        let port = own.local_addr().unwrap().as_socket().unwrap().port();
        assert!(!listens(any.ip(), port).unwrap());
        own.listen(1).unwrap();
        assert!(listens(any.ip(), port).unwrap());
    }

    #[test]
    fn a_v6_wildcard_listener_counts_for_a_v4_address() {
        let Ok(l) = std::net::TcpListener::bind("[::]:0") else {
            return;
        };
        let port = l.local_addr().unwrap().port();
        assert!(listens("127.0.0.1".parse().unwrap(), port).unwrap());
    }
}
