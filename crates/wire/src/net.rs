//! Who is meant by a name, and what a socket is given before it connects.

use crate::sys;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::RawFd;

/// `HOST`, `HOST:PORT` or `[IPv6]:PORT` → host without brackets, and port. The error does not repeat the text.
pub fn host_and_port(authority: &str, default_port: u16) -> Result<(String, u16), &'static str> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port = match port {
        None => default_port,
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => {
            digits.parse().ok().filter(|port| *port > 0).ok_or("has no port from 1 to 65535")?
        }
        Some(_) => return Err("has no port from 1 to 65535"),
    };
    let bare = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').ok_or("has half a pair of brackets")?,
        None if host.contains([':', '[', ']']) => return Err("has an IPv6 address without brackets"),
        None => host,
    };
    if bare.is_empty() {
        return Err("has no host");
    }
    Ok((bare.to_owned(), port))
}

/// The first address of a host, which may be an address itself. The error does not say which host.
pub fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, port));
    }
    let mut found = (host, port).to_socket_addrs().map_err(|e| format!("cannot be resolved: {e}"))?;
    found.next().ok_or_else(|| "has no address".into())
}

/// The congestion control that `--cca` asks for, if it does.
pub fn use_cca(fd: RawFd, cca: Option<&str>) -> Result<(), String> {
    let Some(cca) = cca else { return Ok(()) };
    sys::set_cca(fd, cca)
        .map_err(|e| format!("--cca {cca}: {e} (see net.ipv4.tcp_available_congestion_control)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_their_default_port_and_ipv6_addresses_their_brackets() {
        let read = |text| host_and_port(text, 443).map(|(host, port)| format!("{host} {port}"));
        assert_eq!(read("h").as_deref(), Ok("h 443"));
        assert_eq!(read("h:81").as_deref(), Ok("h 81"));
        assert_eq!(read("[::1]").as_deref(), Ok("::1 443"));
        assert_eq!(read("[::1]:81").as_deref(), Ok("::1 81"));
        for bad in ["", ":1", "h:", "h:0", "h:+1", "h:65536", "::1", "[::1", "h]:1"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_address_is_its_own() {
        assert_eq!(resolve("::1", 5), Ok("[::1]:5".parse().unwrap()));
    }
}
