//! Command lines of `rpm-server` and `rpm-client`. Parses only; touches neither files nor sockets.

use crate::config::{parse_url, Url};
use crate::stability::{Parameters, Variant};
use narrows_wire::args::{Options, Way};
use std::net::SocketAddr;

pub const SERVER_USAGE: &str = "usage: narrows-agent rpm-server --listen ADDR:PORT [--plain] \
    [--cert FILE --key FILE] [--cca NAME] [--notsent-lowat BYTES] [--coalesce-us 0] [--log FILE]";
pub const CLIENT_USAGE: &str = "usage: narrows-agent rpm-client --server https://HOST:PORT|http://HOST:PORT \
    [--insecure] [--ca FILE] [--variant draft-09|draft-08|go] [--tests download,upload | --parallel] [--cca NAME] \
    [--stage-intervals 12] [--idle-probes 10] [--interval-ms N] [--notsent-lowat BYTES] [--coalesce-us 0] [--out FILE]";

/// Unsent bytes that a socket holds before it counts as full. The draft asks for such a limit on both sides.
const NOTSENT_BYTES: u32 = 16 << 10;

#[derive(Clone, Debug, PartialEq)]
pub struct ServerArgs {
    pub listen: SocketAddr,
    pub tls: bool,
    pub cert_and_key: Option<(String, String)>,
    pub cca: Option<String>,
    pub notsent_bytes: Option<u32>,
    pub coalesce_ns: u64,
    pub log: Option<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct ClientArgs {
    pub url: Url,
    pub insecure: bool,
    pub ca: Option<String>,
    pub parameters: Parameters,
    /// One test each, or one of both.
    pub tests: Vec<Vec<Way>>,
    pub cca: Option<String>,
    pub stage_intervals: usize,
    pub idle_probes: usize,
    pub notsent_bytes: Option<u32>,
    pub coalesce_ns: u64,
    pub out: Option<String>,
}

pub fn parse_server(args: &[String]) -> Result<ServerArgs, String> {
    let values = ["listen", "cert", "key", "cca", "notsent-lowat", "coalesce-us", "log"];
    let mut options = Options::read(args, &values, &["plain"])?;
    let listen = options.listen("10.0.2.1:443")?;
    let cert_and_key = options.cert_and_key()?;
    let plain = options.flag("plain");
    if plain && cert_and_key.is_some() {
        return Err("--plain has no certificate: leave --cert and --key out".into());
    }
    Ok(ServerArgs {
        listen,
        tls: !plain,
        cert_and_key,
        cca: options.take("cca"),
        notsent_bytes: notsent(&mut options)?,
        coalesce_ns: coalesce_ns(&mut options)?,
        log: options.file("log"),
    })
}

pub fn parse_client(args: &[String]) -> Result<ClientArgs, String> {
    let values = [
        "server",
        "ca",
        "variant",
        "tests",
        "cca",
        "stage-intervals",
        "idle-probes",
        "interval-ms",
        "notsent-lowat",
        "coalesce-us",
        "out",
    ];
    let mut options = Options::read(args, &values, &["insecure", "parallel"])?;
    let server = options.take("server").ok_or("--server https://HOST:PORT is missing")?;
    let url = parse_url(&server).map_err(|why| format!("--server {server}: {why}"))?;
    let variant = options.take("variant").unwrap_or_else(|| "draft-09".into());
    let mut parameters = Variant::ALL
        .iter()
        .find(|v| v.name() == variant)
        .ok_or_else(|| format!("--variant {variant}: not draft-09, draft-08 or go"))?
        .parameters();
    if let Some(ms) = options.number("interval-ms", 10..=60_000)? {
        parameters.interval_ns = ms * 1_000_000;
    }
    let parallel = options.flag("parallel");
    if parallel && options.has("tests") {
        return Err("--parallel is both tests at once: leave --tests out".into());
    }
    let ways = options.ways()?;
    Ok(ClientArgs {
        url,
        insecure: options.flag("insecure"),
        ca: options.take("ca"),
        parameters,
        tests: if parallel { vec![ways] } else { ways.into_iter().map(|way| vec![way]).collect() },
        cca: options.take("cca"),
        stage_intervals: options.number("stage-intervals", 1..=1000)?.unwrap_or(12) as usize,
        idle_probes: options.number("idle-probes", 0..=1000)?.unwrap_or(10) as usize,
        notsent_bytes: notsent(&mut options)?,
        coalesce_ns: coalesce_ns(&mut options)?,
        out: options.file("out"),
    })
}

/// 0: no limit but the send buffer.
fn notsent(options: &mut Options) -> Result<Option<u32>, String> {
    let bytes = options.number("notsent-lowat", 0..=1 << 30)?;
    let bytes = bytes.map_or(NOTSENT_BYTES, |bytes| bytes as u32);
    Ok((bytes > 0).then_some(bytes))
}

fn coalesce_ns(options: &mut Options) -> Result<u64, String> {
    Ok(options.number("coalesce-us", 0..=100_000)?.unwrap_or(0) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use narrows_wire::testing::words;

    #[test]
    fn a_client_follows_draft_09_both_ways_one_after_the_other_unless_told_otherwise() {
        let args = parse_client(&words("--server https://10.0.2.1:4043")).unwrap();
        assert_eq!(args.parameters.interval_ns, 5_000_000_000);
        assert_eq!(args.tests, [vec![Way::Download], vec![Way::Upload]]);
        let args = parse_client(&words("--server http://h --variant draft-08 --parallel")).unwrap();
        assert_eq!(args.parameters.interval_ns, 1_000_000_000);
        assert_eq!(args.tests, [vec![Way::Download, Way::Upload]]);
    }

    #[test]
    fn a_server_has_tls_unless_it_is_told_to_be_plain() {
        assert!(parse_server(&words("--listen 10.0.2.1:443")).unwrap().tls);
        let args =
            parse_server(&words("--listen 10.0.2.1:80 --plain --notsent-lowat 0 --coalesce-us 100")).unwrap();
        assert_eq!((args.tls, args.notsent_bytes, args.coalesce_ns), (false, None, 100_000));
    }

    #[test]
    fn wrong_command_lines_are_refused_naming_the_value() {
        for (line, part) in [
            ("", "--server"),
            ("--server ws://h", "ws://h"),
            ("--server https://h --variant draft-07", "draft-07"),
            ("--server https://h --tests ping", "ping"),
            ("--server https://h --tests upload --parallel", "--parallel"),
            ("--server https://h --stage-intervals 0", "--stage-intervals 0"),
            ("--server https://h --interval-ms 1.5", "--interval-ms 1.5"),
        ] {
            let error = parse_client(&words(line)).unwrap_err();
            assert!(error.contains(part), "{line}: {error}");
        }
        let error = parse_server(&words("--listen 1.2.3.4:5 --plain --cert a --key b")).unwrap_err();
        assert!(error.contains("--plain"), "{error}");
    }
}
