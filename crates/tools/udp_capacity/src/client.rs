//! The client: sets up each direction's test, takes part in it, prints one JSON object.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{json, Value};

use crate::datagram::{Message, Setup, Status, MOST_SECONDS};
use crate::flow::{self, Channel, SUB_INTERVAL_NS};
use narrows_wire::args::{Options, Way};
use narrows_wire::sys;

/// How often is looked for an answer, how many looks until it is asked again, and for how long.
const LOOK: Duration = Duration::from_millis(10);
const LOOKS: u32 = 20;
const PATIENCE_NS: i64 = 5_000_000_000;
/// Reports begin with 1: this one tells nothing else.
const CONFIRMATION: Status = Status { number: 0, anomalies: 0, delay_us: f64::NAN };

pub struct Args {
    server: SocketAddr,
    tests: Vec<Way>,
    setup: Setup,
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let mut options =
        Options::read(args, &["server", "tests", "duration-s", "tolerated", "lower-ms", "upper-ms"], &[])?;
    let (server, tests) = (options.server()?, options.ways()?);
    let mut number = |name: &str, default: f64, most: f64| match options.take(name) {
        None => Ok(default),
        Some(text) => (text.parse::<f64>().ok())
            .filter(|n| (0.0..=most).contains(n))
            .ok_or_else(|| format!("--{name} {text}: not a number from 0 to {most}")),
    };
    let setup = Setup {
        up: false,
        seconds: number("duration-s", 10.0, MOST_SECONDS.into())? as u32,
        tolerated: number("tolerated", 10.0, 1e9)? as u32,
        lower_ms: number("lower-ms", 30.0, 1e6)?,
        upper_ms: number("upper-ms", 90.0, 1e6)?,
    };
    if setup.seconds < 2 {
        return Err("--duration-s: at least 2, or there is no best sub-interval".into());
    }
    Ok(Args { server, tests, setup })
}

pub fn run(args: Args) -> Result<(), String> {
    let mut result = json!({"tool": "udp-capacity", "sub_interval_ns": SUB_INTERVAL_NS});
    for way in args.tests {
        let (name, up) = (way.name(), way == Way::Upload);
        let setup = Setup { up, ..args.setup };
        result[name] = test(args.server, &setup).map_err(|e| format!("{name} with {}: {e}", args.server))?;
    }
    println!("{result}");
    Ok(())
}

pub fn test(server: SocketAddr, setup: &Setup) -> io::Result<Value> {
    let any: SocketAddr = if server.is_ipv4() { ([0; 4], 0).into() } else { ([0u16; 8], 0).into() };
    let mut channel = Channel::open(any, server, sys::random_u64())?;
    begin(&mut channel, setup)?;
    let began_ns = sys::mono_ns();
    let (sub_intervals, reports) = if setup.up {
        let reports = flow::send(&mut channel, setup)?;
        (ask(&mut channel)?, reports)
    } else {
        let (counted, reports) = flow::receive(&mut channel, setup)?;
        channel.tell(&Message::Stop);
        (flow::sub_intervals(&counted), reports)
    };
    Ok(json!({"began_ns": began_ns, "sub_intervals": sub_intervals, "reports": reports}))
}

/// Asks until the server is ready, and confirms that it heard: a server may replace a client that it only had a
/// set-up from.
fn begin(channel: &mut Channel, setup: &Setup) -> io::Result<()> {
    let give_up_ns = sys::mono_ns() + PATIENCE_NS;
    while sys::mono_ns() < give_up_ns {
        channel.tell(&Message::Setup(*setup));
        for _ in 0..LOOKS {
            std::thread::sleep(LOOK);
            let mut ready = false;
            // Load without an answer: the answer was lost.
            channel
                .take(|message, _, _| ready |= matches!(message, Message::Ready | Message::Load { .. }))?;
            if ready {
                // An upload's load says as much.
                if !setup.up {
                    channel.tell(&Message::Status(CONFIRMATION));
                }
                return Ok(());
            }
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, "the server does not answer"))
}

/// Asks until the server gives its counts.
fn ask(channel: &mut Channel) -> io::Result<Value> {
    let give_up_ns = sys::mono_ns() + PATIENCE_NS;
    while sys::mono_ns() < give_up_ns {
        channel.tell(&Message::Stop);
        std::thread::sleep(LOOK * LOOKS);
        let mut result = None;
        channel.take(|message, _, _| {
            if let Message::Result(text) = message {
                result = serde_json::from_str(&text).ok();
            }
        })?;
        if let Some(result) = result {
            return Ok(result);
        }
    }
    Err(io::Error::new(ErrorKind::TimedOut, "the server gives no result"))
}
