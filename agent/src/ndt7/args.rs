//! Command lines of `ndt7-server` and `ndt7-client`. Parses only; touches neither files nor sockets.

use super::spec::{Test, DEFAULT_DURATION_NS, EARLY_EXIT_MEGABYTES};
use std::net::SocketAddr;

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
    pub tests: Vec<Test>,
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
    let mut options = Options::read(
        args,
        &["listen", "cert", "key", "cca", "duration-ms", "log"],
        &["tls"],
    )?;
    let listen = options.take("listen").ok_or("--listen ADDR:PORT is missing")?;
    let cert_and_key = match (options.take("cert"), options.take("key")) {
        (Some(cert), Some(key)) => Some((cert, key)),
        (None, None) => None,
        _ => return Err("--cert and --key go together".into()),
    };
    Ok(ServerArgs {
        listen: listen
            .parse()
            .map_err(|_| format!("--listen {listen}: not an address and port, like 10.0.2.1:80"))?,
        tls: options.flag("tls") || cert_and_key.is_some(),
        cert_and_key,
        cca: options.take("cca").unwrap_or_else(|| "bbr".into()),
        duration_ns: duration(options.take("duration-ms"))?,
        log: file(options.take("log")),
    })
}

pub fn parse_client(args: &[String]) -> Result<ClientArgs, String> {
    let values = ["server", "ca", "tests", "cca", "duration-ms", "early-exit", "out"];
    let mut options = Options::read(args, &values, &["insecure"])?;
    let server = options
        .take("server")
        .ok_or("--server ws://HOST:PORT is missing")?;
    let early_exit_megabytes = match options.take("early-exit") {
        None => None,
        Some(text) => Some(
            (text.parse().ok())
                .filter(|mb| EARLY_EXIT_MEGABYTES.contains(mb))
                .ok_or_else(|| {
                    format!("--early-exit {text}: NDT7 allows only {EARLY_EXIT_MEGABYTES:?} (megabytes)")
                })?,
        ),
    };
    Ok(ClientArgs {
        url: parse_url(&server)?,
        insecure: options.flag("insecure"),
        ca: options.take("ca"),
        tests: parse_tests(&options.take("tests").unwrap_or_else(|| "download,upload".into()))?,
        cca: options.take("cca"),
        duration_ns: duration(options.take("duration-ms"))?,
        early_exit_megabytes,
        out: file(options.take("out")),
    })
}

fn parse_tests(text: &str) -> Result<Vec<Test>, String> {
    text.split(',')
        .map(|name| match name {
            "download" => Ok(Test::Download),
            "upload" => Ok(Test::Upload),
            _ => Err(format!("--tests {text}: '{name}' is neither download nor upload")),
        })
        .collect()
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
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (authority, None),
    };
    let port = match port {
        None => {
            if tls {
                443
            } else {
                80
            }
        }
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or_else(bad)?,
    };
    let bare = match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').ok_or_else(bad)?,
        None if host.contains(':') => return Err(bad()),
        None => host,
    };
    if bare.is_empty() {
        return Err(bad());
    }
    Ok(Url {
        tls,
        host: bare.to_owned(),
        port,
        authority: authority.to_owned(),
    })
}

fn duration(text: Option<String>) -> Result<u64, String> {
    let Some(text) = text else {
        return Ok(DEFAULT_DURATION_NS);
    };
    match text.parse::<u64>() {
        Ok(ms) if (1..=3_600_000).contains(&ms) => Ok(ms * 1_000_000),
        _ => Err(format!(
            "--duration-ms {text}: not a number of milliseconds from 1 to 3600000"
        )),
    }
}

/// `-` is the standard output, as is no file at all.
pub fn file(name: Option<String>) -> Option<String> {
    name.filter(|name| name != "-")
}

pub struct Options(Vec<(String, String)>);

impl Options {
    /// `--name VALUE`, `--name=VALUE` and `--flag`; anything else, and anything twice, is an error.
    pub fn read(args: &[String], values: &[&str], flags: &[&str]) -> Result<Options, String> {
        let mut found = Options(vec![]);
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let name = arg
                .strip_prefix("--")
                .ok_or_else(|| format!("'{arg}' is not an option"))?;
            let (name, given) = match name.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (name, None),
            };
            let value = if flags.contains(&name) {
                match given {
                    Some(_) => return Err(format!("--{name} takes no value")),
                    None => String::new(),
                }
            } else if values.contains(&name) {
                given
                    .or_else(|| args.next().cloned())
                    .ok_or_else(|| format!("--{name} needs a value"))?
            } else {
                return Err(format!("unknown option --{name}"));
            };
            if found.0.iter().any(|(n, _)| n == name) {
                return Err(format!("--{name} is given twice"));
            }
            found.0.push((name.to_owned(), value));
        }
        Ok(found)
    }

    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    pub fn flag(&mut self, name: &str) -> bool {
        self.take(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_server_needs_an_address_and_has_defaults() {
        let args = parse_server(&words("--listen 10.0.2.1:80")).unwrap();
        assert_eq!(
            (args.listen.port(), args.tls, args.cca.as_str()),
            (80, false, "bbr")
        );
        assert_eq!((args.duration_ns, args.log), (10_000_000_000, None));
        assert!(
            parse_server(&words("--listen [::]:443 --cert c --key k --cca=cubic --log -"))
                .unwrap()
                .tls
        );
    }

    #[test]
    fn a_client_runs_both_tests_unless_told_otherwise() {
        let args = parse_client(&words("--server ws://10.0.2.1:8080")).unwrap();
        assert_eq!(args.tests, [Test::Download, Test::Upload]);
        let args = parse_client(&words(
            "--server wss://h --tests upload --insecure --duration-ms 500",
        ))
        .unwrap();
        assert_eq!(
            (args.tests.as_slice(), args.insecure, args.duration_ns),
            (&[Test::Upload][..], true, 500_000_000)
        );
    }

    #[test]
    fn urls_have_their_default_ports_and_ipv6_addresses_their_brackets() {
        let url = |text| parse_url(text).unwrap();
        assert_eq!(
            (url("ws://h").port, url("wss://h/").port, url("ws://h:81").port),
            (80, 443, 81)
        );
        let v6 = url("wss://[::1]:8443");
        assert_eq!(
            (v6.host.as_str(), v6.authority.as_str(), v6.port),
            ("::1", "[::1]:8443", 8443)
        );
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
        assert!(parse_server(&words("--listen localhost"))
            .unwrap_err()
            .contains("localhost"));
        assert!(parse_server(&words("--listen 1.2.3.4:5 --cert c"))
            .unwrap_err()
            .contains("--key"));
    }
}
