//! Command lines of `ndt7-server` and `ndt7-client`. Parses only; touches neither files nor sockets.

use crate::spec::{DEFAULT_DURATION_NS, EARLY_EXIT_MEGABYTES};
use narrows_wire::args::{Options, Way};
use narrows_wire::net::host_and_port;
use std::net::SocketAddr;

const DURATIONS_MS: std::ops::RangeInclusive<u64> = 1..=3_600_000;

pub const SERVER_USAGE: &str =
    "usage: narrows-agent ndt7-server --listen ADDR:PORT [--tls] [--cert FILE --key FILE] \
    [--cca bbr] [--duration-ms 10000] [--log FILE]";
pub const CLIENT_USAGE: &str =
    "usage: narrows-agent ndt7-client --server ws://HOST:PORT|wss://HOST:PORT [--insecure] \
    [--ca FILE] [--tests download,upload] [--cca NAME] [--duration-ms 10000] [--early-exit 250] [--out FILE]";

#[derive(Debug, PartialEq)]
pub struct ServerArgs {
    pub listen: SocketAddr,
    pub tls: bool,
    pub cert_and_key: Option<(String, String)>,
    pub cca: String,
    pub duration_ns: u64,
    pub log: Option<String>,
}

#[derive(Debug, PartialEq)]
pub struct ClientArgs {
    pub url: Url,
    pub insecure: bool,
    pub ca: Option<String>,
    pub tests: Vec<Way>,
    pub cca: Option<String>,
    pub duration_ns: u64,
    pub early_exit_megabytes: Option<u64>,
    pub out: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Url {
    pub tls: bool,
    /// Without the brackets of an IPv6 address.
    pub host: String,
    pub port: u16,
    /// As written, for the Host header.
    pub authority: String,
}

pub fn parse_server(args: &[String]) -> Result<ServerArgs, String> {
    let mut options = Options::read(args, &["listen", "cert", "key", "cca", "duration-ms", "log"], &["tls"])?;
    let listen = options.listen("10.0.2.1:80")?;
    let cert_and_key = options.cert_and_key()?;
    Ok(ServerArgs {
        listen,
        tls: options.flag("tls") || cert_and_key.is_some(),
        cert_and_key,
        cca: options.take("cca").unwrap_or_else(|| "bbr".into()),
        duration_ns: duration(&mut options)?,
        log: options.file("log"),
    })
}

pub fn parse_client(args: &[String]) -> Result<ClientArgs, String> {
    let values = ["server", "ca", "tests", "cca", "duration-ms", "early-exit", "out"];
    let mut options = Options::read(args, &values, &["insecure"])?;
    let server = options.take("server").ok_or("--server ws://HOST:PORT is missing")?;
    let early_exit_megabytes = match options.take("early-exit") {
        None => None,
        Some(text) => {
            Some((text.parse().ok()).filter(|mb| EARLY_EXIT_MEGABYTES.contains(mb)).ok_or_else(|| {
                format!("--early-exit {text}: NDT7 allows only {EARLY_EXIT_MEGABYTES:?} (megabytes)")
            })?)
        }
    };
    Ok(ClientArgs {
        url: parse_url(&server)?,
        insecure: options.flag("insecure"),
        ca: options.take("ca"),
        tests: options.ways()?,
        cca: options.take("cca"),
        duration_ns: duration(&mut options)?,
        early_exit_megabytes,
        out: options.file("out"),
    })
}

pub fn parse_url(text: &str) -> Result<Url, String> {
    let bad = || format!("--server {text}: not of the form ws://HOST:PORT or wss://HOST:PORT");
    let (tls, rest) = match text.split_once("://").ok_or_else(bad)? {
        ("ws", rest) => (false, rest),
        ("wss", rest) => (true, rest),
        _ => return Err(bad()),
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.is_empty() || authority.contains(|c: char| c.is_whitespace() || "/?#@".contains(c)) {
        return Err(bad());
    }
    let (host, port) = host_and_port(authority, if tls { 443 } else { 80 }).map_err(|_| bad())?;
    Ok(Url { tls, host, port, authority: authority.to_owned() })
}

fn duration(options: &mut Options) -> Result<u64, String> {
    let ms = options.number("duration-ms", DURATIONS_MS)?;
    Ok(ms.map_or(DEFAULT_DURATION_NS, |ms| ms * 1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::testing::words;

    #[test]
    fn a_server_needs_an_address_and_has_defaults() {
        let args = parse_server(&words("--listen 10.0.2.1:80")).unwrap();
        assert_eq!((args.listen.port(), args.tls, args.cca.as_str()), (80, false, "bbr"));
        assert_eq!((args.duration_ns, args.log), (10_000_000_000, None));
        assert!(parse_server(&words("--listen [::]:443 --cert c --key k --cca=cubic --log -")).unwrap().tls);
    }

    #[test]
    fn a_client_runs_both_tests_unless_told_otherwise() {
        let args = parse_client(&words("--server ws://10.0.2.1:8080")).unwrap();
        assert_eq!(args.tests, [Way::Download, Way::Upload]);
        let args =
            parse_client(&words("--server wss://h --tests upload --insecure --duration-ms 500")).unwrap();
        assert_eq!(
            (args.tests.as_slice(), args.insecure, args.duration_ns),
            (&[Way::Upload][..], true, 500_000_000)
        );
    }

    #[test]
    fn urls_have_their_default_ports_and_ipv6_addresses_their_brackets() {
        let url = |text| parse_url(text).unwrap();
        assert_eq!((url("ws://h").port, url("wss://h/").port, url("ws://h:81").port), (80, 443, 81));
        let v6 = url("wss://[::1]:8443");
        assert_eq!((v6.host.as_str(), v6.authority.as_str(), v6.port), ("::1", "[::1]:8443", 8443));
        assert_eq!(url("ws://[fe80::1]").host, "fe80::1");
    }

    #[test]
    fn wrong_command_lines_are_refused_naming_the_value() {
        for (line, part) in [
            ("", "--server"),
            ("--server http://h", "http://h"),
            ("--server ws://h:0", "ws://h:0"),
            ("--server ws://::1:80", "ws://::1:80"),
            ("--server ws://h/path", "ws://h/path"),
            ("--server ws://h --tests ping", "ping"),
            ("--server ws://h --tests", "--tests"),
            ("--server ws://h --duration-ms 0", "--duration-ms 0"),
            ("--server ws://h --early-exit 7", "--early-exit 7"),
            ("--server ws://h --sever x", "--sever"),
            ("--server ws://h --server ws://h", "--server"),
            ("--server ws://h --insecure=1", "--insecure"),
            ("ws://h", "ws://h"),
        ] {
            let error = parse_client(&words(line)).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
        assert!(parse_server(&words("--listen localhost")).unwrap_err().contains("localhost"));
        assert!(parse_server(&words("--listen 1.2.3.4:5 --cert c")).unwrap_err().contains("--key"));
    }
}
