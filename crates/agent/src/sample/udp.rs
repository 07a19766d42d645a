//! UDP sockets of a node, by /proc/net: a kernel without the module of inet_diag for UDP has this too.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Is a socket of the thread's namespace bound to this address, or to its port on all addresses?
pub fn is_bound(at: SocketAddr) -> io::Result<bool> {
    Ok(sockets()?.iter().any(|line| holds(line, at)))
}

/// The ports to which sockets of the thread's namespace are bound.
pub fn ports() -> io::Result<Vec<u16>> {
    let mut ports: Vec<u16> = sockets()?.iter().filter_map(|line| Some(local(line)?.1)).collect();
    ports.sort_unstable();
    ports.dedup();
    Ok(ports)
}

fn sockets() -> io::Result<Vec<String>> {
    let mut lines = vec![];
    for file in ["/proc/thread-self/net/udp", "/proc/thread-self/net/udp6"] {
        match fs::read_to_string(file) {
            Ok(text) => lines.extend(text.lines().skip(1).map(str::to_owned)),
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            Err(_) => {} // no IPv6 there
        }
    }
    Ok(lines)
}

/// A line is `  sl  local_address rem_address …`, an address the words of memory in hex, its port in hex.
fn local(line: &str) -> Option<(&str, u16)> {
    let (address, port) = line.split_whitespace().nth(1)?.split_once(':')?;
    Some((address, u16::from_str_radix(port, 16).ok()?))
}

fn holds(line: &str, at: SocketAddr) -> bool {
    let Some((address, port)) = local(line) else {
        return false;
    };
    if port != at.port() {
        return false;
    }
    let any = address.bytes().all(|b| b == b'0');
    let own = u32::from_str_radix(address, 16).map(|word| IpAddr::from(Ipv4Addr::from(word.to_ne_bytes())));
    any || own == Ok(at.ip())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn a_bound_socket_is_seen_without_a_packet() {
        let own = UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = own.local_addr().unwrap();
        assert!(is_bound(at).unwrap());
        assert!(ports().unwrap().contains(&at.port()));
        drop(own);
        let wild = UdpSocket::bind("0.0.0.0:0").unwrap();
        let port = wild.local_addr().unwrap().port();
        assert!(is_bound(SocketAddr::new(at.ip(), port)).unwrap());
    }

    #[test]
    fn another_address_or_port_is_another_socket() {
        let line = "  67: 0100007F:1151 00000000:0000 07 00000000:00000000 00:00000000 00000000 0 0 1 2 0 0";
        assert!(holds(line, "127.0.0.1:4433".parse().unwrap()));
        assert!(!holds(line, "127.0.0.2:4433".parse().unwrap()));
        assert!(!holds(line, "127.0.0.1:4434".parse().unwrap()));
        assert!(!holds("", "127.0.0.1:4434".parse().unwrap()));
    }
}
