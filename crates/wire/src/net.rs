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
        Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) => digits
            .parse()
            .ok()
            .filter(|port| *port > 0)
            .ok_or("has no port from 1 to 65535")?,
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
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|e| format!("cannot be resolved: {e}"))?;
    found.next().ok_or_else(|| "has no address".into())
}

/// The congestion control that `--cca` asks for, if it does.
pub fn use_cca(fd: RawFd, cca: Option<&str>) -> Result<(), String> {
    let Some(cca) = cca else { return Ok(()) };
    sys::set_cca(fd, cca)
        .map_err(|e| format!("--cca {cca}: {e} (see net.ipv4.tcp_available_congestion_control)"))
}
