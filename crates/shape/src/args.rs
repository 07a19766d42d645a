//! The command line. Touches nothing but names of places to probe.

use narrows_wire::args::Options;

use crate::probe::{self, Place};

pub const USAGE: &str = "usage: narrows-shape run --wan IFACE [--ifb IFACE] [--only down|up] [--share 95] \
    [--probe HOST:PORT[,HOST]] [--on-stop last|earlier] [--log FILE] [--every-ms 1000] | status --wan IFACE";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// CAKE stays at the rate that it has.
    Last,
    /// CAKE gets the rate that it had at the begin.
    Earlier,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub wan: String,
    pub ifb: Option<String>,
    pub down: bool,
    pub up: bool,
    pub share: f64,
    pub probes: Vec<Place>,
    pub on_stop: Stop,
    pub log: Option<String>,
    pub every_ns: i64,
}

pub fn run(args: &[String]) -> Result<Run, String> {
    let names = ["wan", "ifb", "only", "share", "probe", "on-stop", "log", "every-ms"];
    let mut options = Options::read(args, &names, &[])?;
    let wan = options.take("wan").ok_or("--wan IFACE is missing: the interface towards the ISP")?;
    let only = options.take("only");
    if let Some(way) = only.as_deref().filter(|way| !["down", "up"].contains(way)) {
        return Err(format!("--only {way}: neither down nor up"));
    }
    let on_stop = match options.take("on-stop").as_deref() {
        None | Some("last") => Stop::Last,
        Some("earlier") => Stop::Earlier,
        Some(other) => return Err(format!("--on-stop {other}: neither last nor earlier")),
    };
    let probes = options.take("probe").unwrap_or_default();
    Ok(Run {
        wan,
        ifb: options.take("ifb"),
        down: only.as_deref() != Some("up"),
        up: only.as_deref() != Some("down"),
        share: options.number("share", 50..=100)?.unwrap_or(95) as f64 / 100.0,
        probes: probes.split(',').filter(|p| !p.is_empty()).map(probe::place).collect::<Result<_, _>>()?,
        on_stop,
        log: options.file("log"),
        every_ns: options.number("every-ms", 10..=3_600_000)?.unwrap_or(1000) as i64 * 1_000_000,
    })
}

pub fn status(args: &[String]) -> Result<String, String> {
    let mut options = Options::read(args, &["wan"], &[])?;
    options.take("wan").ok_or_else(|| "--wan IFACE is missing: the interface towards the ISP".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Run, String> {
        run(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn what_is_not_given_has_its_default() {
        let args = read("--wan eth0").unwrap();
        assert!(args.down && args.up && args.probes.is_empty() && args.on_stop == Stop::Last);
        assert_eq!((args.share, args.every_ns), (0.95, 1_000_000_000));
        let args = read("--wan eth0 --only up --probe 10.0.2.1:80,10.0.2.2 --on-stop earlier").unwrap();
        assert!(!args.down && args.up && args.probes.len() == 2 && args.on_stop == Stop::Earlier);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_value() {
        for (text, part) in [
            ("", "--wan"),
            ("--wan e --only sideways", "--only sideways"),
            ("--wan e --on-stop later", "--on-stop later"),
            ("--wan e --share 101", "--share 101"),
            ("--wan e --probe ::1", "--probe ::1"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
