//! The client: asks for one phase after the other, and prints one JSON object with a record of every packet.

use std::cell::RefCell;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use base64::Engine;
use serde_json::{json, Value};

use crate::control::Control;
use crate::datagram::{self, Head, Kind, IP_UDP_BYTES};
use crate::phase::{Phase, Way};
use crate::plan::{self, Known, Mode, BYTES, MANY};
use crate::receiver::{self, bytes_of, of_bytes, Record, Said};
use crate::{flows, sender};
use narrows_units::S;
use narrows_wire::args::Options;
use narrows_wire::{stamped, sys};

const PATIENCE: Duration = Duration::from_secs(6);
/// A wait that is a queue, whatever the buffer holds.
const NO_QUEUE_NS: u64 = 8_000_000;
/// A queue that passed so much more before it dropped than after counts what it drops.
const HURT: f64 = 1.2;
const HELLO_GAP: Duration = Duration::from_millis(3);
const ECHOES: u64 = 20;
const ECHO_GAP_NS: i64 = 20_000_000;
const ECHO_BYTES: usize = 52;
const ALIVE_NS: i64 = 300_000_000;

pub struct Args {
    server: SocketAddr,
    token: Option<String>,
    mode: Mode,
    ways: Vec<Way>,
    most_bps: f64,
    out: Option<String>,
    echoes: bool,
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let names = ["server", "token", "mode", "ways", "most-mbit", "out"];
    let mut options = Options::read(args, &names, &["echoes"])?;
    let server = options.server()?;
    let mode = match options.take("mode").as_deref() {
        None | Some("whole") => Mode::Whole,
        Some("quick") => Mode::Quick,
        Some(other) => return Err(format!("--mode {other}: neither whole nor quick")),
    };
    let ways = (options.take("ways").as_deref().unwrap_or("down,up").split(','))
        .map(|way| match way {
            "down" => Ok(Way::Down),
            "up" => Ok(Way::Up),
            other => Err(format!("--ways: '{other}' is neither down nor up")),
        })
        .collect::<Result<_, _>>()?;
    Ok(Args {
        server,
        token: options.take("token"),
        mode,
        ways,
        most_bps: options.number("most-mbit", 1..=100_000)?.unwrap_or(2000) as f64 * 1e6,
        out: options.file("out"),
        echoes: options.flag("echoes"),
    })
}

pub fn run(args: Args) -> Result<(), String> {
    let server = args.server;
    let result = identify(&args).map_err(|e| match e.kind() {
        io::ErrorKind::ConnectionRefused => format!(
            "{server}: nothing listens there (start it: narrows-agent identify-server --listen {server})"
        ),
        _ => format!("{server}: {e}"),
    })?;
    let text = result.to_string();
    match &args.out {
        Some(file) => std::fs::write(file, text).map_err(|e| format!("--out {file}: {e}")),
        None => writeln!(io::stdout(), "{text}").map_err(|e| format!("cannot write the result: {e}")),
    }
}

struct Client {
    control: Control,
    sockets: Vec<UdpSocket>,
    session: u64,
    /// What neither end exceeds.
    most_bps: f64,
    phases: Vec<Value>,
}

/// Progress, for people.
fn say(text: &str) {
    eprintln!("{text}");
}

fn identify(args: &Args) -> io::Result<Value> {
    let began_ns = sys::mono_ns();
    let mut client = Client::connect(args)?;
    let rtts = client.echoes()?;
    let mut result = json!({
        "tool": "identify",
        "format": 1,
        "server": args.server.to_string(),
        "mode": if args.mode == Mode::Whole { "whole" } else { "quick" },
        "began_ns": began_ns,
        "rtt_ns": rtts,
        "echoes": ECHOES,
    });
    let rtt_ns = (rtts.iter().min().copied())
        .ok_or_else(|| io::Error::other(format!("none of {ECHOES} probes came back over UDP")))?
        as u64;
    say(&format!("base RTT {:.1} ms", rtt_ns as f64 / 1e6));
    if rtt_ns > args.mode.most_rtt_ns() {
        return Err(io::Error::other(format!(
            "the base RTT of {:.0} ms is too long for this mode (at most {:.0} ms{})",
            rtt_ns as f64 / 1e6,
            args.mode.most_rtt_ns() as f64 / 1e6,
            if args.mode == Mode::Quick { "; leave --quick out" } else { "" },
        )));
    }
    if !args.echoes {
        let mut notes = vec![];
        for way in &args.ways {
            notes.extend(client.way(*way, args, rtt_ns)?);
        }
        result["notes"] = json!(notes);
    }
    result["phases"] = json!(client.phases);
    result["elapsed_ns"] = json!(sys::mono_ns() - began_ns);
    Ok(result)
}

impl Client {
    fn connect(args: &Args) -> io::Result<Client> {
        let stream = TcpStream::connect_timeout(&args.server, PATIENCE).map_err(|e| match e.kind() {
            io::ErrorKind::TimedOut => {
                io::Error::new(e.kind(), format!("no connection within {} s", PATIENCE.as_secs()))
            }
            _ => e,
        })?;
        let local = SocketAddr::new(stream.local_addr()?.ip(), 0);
        let mut control = Control::new(stream, true)?;
        control.tell(&json!({"identify": 1, "token": args.token, "flows": MANY}))?;
        let (answer, _) = control.hear(PATIENCE)?;
        let session = (answer["session"].as_str())
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| io::Error::other("the other end is no narrows identify"))?;
        let sockets =
            (0..MANY).map(|_| flows::connected(local, args.server)).collect::<io::Result<Vec<_>>>()?;
        // The first datagrams tell the server, and a NAT, where the flows come from. One at a time: of a burst, a short
        // queue that drops at its head would always drop the same.
        let give_up_ns = sys::mono_ns() + PATIENCE.as_nanos() as i64;
        for flow in (0..usize::from(MANY)).cycle() {
            let mut bytes = [0; ECHO_BYTES];
            datagram::write(&head(Kind::Hello, session, flow as u16, 0), &mut bytes);
            let _ = sockets[flow].send(&bytes);
            std::thread::sleep(HELLO_GAP);
            if let Some((answer, _)) = control.heard()? {
                if answer["flows"].is_u64() {
                    let most_bps = answer["most_bps"].as_f64().unwrap_or(args.most_bps);
                    return Ok(Client {
                        control,
                        sockets,
                        session,
                        most_bps: args.most_bps.min(most_bps),
                        phases: vec![],
                    });
                }
            }
            if sys::mono_ns() > give_up_ns {
                break;
            }
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the server does not see the flows over UDP: a firewall?",
        ))
    }

    /// Round-trip times of the idle path.
    fn echoes(&mut self) -> io::Result<Vec<i64>> {
        self.control.tell(&json!({ "echo": ECHOES }))?;
        self.control.hear(PATIENCE)?;
        let mut receiver = stamped::Receiver::new(64);
        let mut rtts = vec![];
        let fd = self.sockets[0].as_raw_fd();
        let began_ns = sys::mono_ns();
        for n in 0..ECHOES as i64 + 75 {
            if n < ECHOES as i64 {
                let mut bytes = [0; ECHO_BYTES];
                datagram::write(&head(Kind::Echo, self.session, 0, n as u32), &mut bytes);
                let _ = self.sockets[0].send(&bytes);
            } else if rtts.len() == ECHOES as usize {
                break;
            }
            sys::sleep_until(began_ns + (n + 1) * ECHO_GAP_NS);
            let _ = receiver.receive(fd, |d| {
                if let Some(head) = datagram::read(d.data).filter(|h| h.kind == Kind::Echo) {
                    rtts.push((d.arrived_wall_ns - head.sent_ns).max(0));
                }
            });
        }
        self.control.tell(&json!({"done": true}))?;
        Ok(rtts)
    }

    /// All phases of one way. Returns what was left out, in words.
    fn way(&mut self, way: Way, args: &Args, rtt_ns: u64) -> io::Result<Vec<String>> {
        let name = if way == Way::Down { "down" } else { "up" };
        let began_ns = sys::mono_ns();
        let mut known = Known { way, mode: args.mode, rtt_ns, rate_bps: 0.0, depth_ns: 0 };
        let (_, ramp) = self.phase(&known.ramp(self.next_id(), self.most_bps))?;
        known.rate_bps = plan::rate_bps(&ramp, BYTES, 0.25)
            .ok_or_else(|| too_slow(name, args.mode))?
            .min(self.most_bps / 1.7);
        self.rest(&known);
        let mut notes = vec![];
        for _ in 0..3 {
            let (sent, fill) = self.phase(&known.fill(self.next_id()))?;
            known.depth_ns = plan::depth_ns(&fill);
            let rate = plan::rate_bps(&fill, BYTES, 0.5).ok_or_else(|| too_slow(name, args.mode))?;
            let asked = 1.6 * known.rate_bps;
            // Nothing was lost and nothing grew: this was not the rate of a bottleneck.
            let passed = rate > 0.95 * asked && plan::share_lost(&fill, sent) < 0.05;
            let unhurt = plan::unhurt_rate_bps(&fill, BYTES).filter(|unhurt| *unhurt > HURT * rate);
            known.rate_bps = unhurt.unwrap_or(rate).min(self.most_bps / 1.7);
            if !passed {
                break;
            }
            if asked > self.most_bps / 1.1 {
                notes.push(format!(
                    "{name}: no bottleneck below {:.0} Mbit/s, the most that was tried",
                    self.most_bps / 1e6
                ));
                break;
            }
        }
        if known.rate_bps < args.mode.least_bps() {
            return Err(too_slow(name, args.mode));
        }
        self.rest(&known);
        self.gentle(&known)?;
        if args.mode == Mode::Whole {
            let (ecn, tins, many) =
                (known.ecn(self.next_id()), known.tins(self.next_id() + 1), known.many(self.next_id() + 2));
            for phase in [ecn, tins, many] {
                let takes_s = (phase.duration_ns + known.depth_ns + known.pause_ns()) as f64 / S as f64;
                let spent_s = (sys::mono_ns() - began_ns) as f64 / S as f64;
                if spent_s + takes_s > args.mode.budget_s() {
                    notes.push(format!("{name}: no time was left for the phase {}", phase.name));
                    continue;
                }
                self.rest(&known);
                self.phase(&phase)?;
            }
        }
        Ok(notes)
    }

    /// The phase that tells most, and again with more where nothing queued: other traffic had made room.
    fn gentle(&mut self, known: &Known) -> io::Result<()> {
        let mut more = 1.0;
        for _ in 0..2 {
            let (sent, records) = self.phase(&known.gentle(self.next_id(), more))?;
            let queued_ns = plan::depth_ns(&records);
            if plan::share_lost(&records, sent) > 0.001 || queued_ns > (known.depth_ns / 4).min(NO_QUEUE_NS) {
                break;
            }
            more = 1.35;
            self.rest(known);
        }
        Ok(())
    }

    fn next_id(&self) -> u16 {
        self.phases.len() as u16
    }

    fn rest(&self, known: &Known) {
        std::thread::sleep(Duration::from_nanos(known.pause_ns()));
    }

    /// Carries one phase out. How many the first flow sent, and what arrived.
    fn phase(&mut self, phase: &Phase) -> io::Result<(u32, Vec<Record>)> {
        let bytes =
            phase.flows.iter().map(|f| f.rate_bps).sum::<f64>() / 8.0 * phase.duration_ns as f64 / S as f64;
        say(&match &phase.grow {
            Some(_) => format!("{:?}: {}", phase.way, phase.name).to_lowercase(),
            None => format!(
                "{}, {:.1} s, up to {:.1} MB",
                format!("{:?}: {}", phase.way, phase.name).to_lowercase(),
                phase.duration_ns as f64 / S as f64,
                bytes / 1e6
            ),
        });
        self.control.tell(&json!({ "phase": phase }))?;
        let (sent, records, dropped) = match phase.way {
            Way::Down => self.take(phase)?,
            Way::Up => self.give(phase)?,
        };
        let first = sent[0].as_u64().unwrap_or(0) as u32;
        let text = base64::engine::general_purpose::STANDARD.encode(bytes_of(&records));
        let ip_bytes: u64 = (phase.flows.iter().zip(sent.as_array().into_iter().flatten()))
            .map(|(flow, sent)| sent.as_u64().unwrap_or(0) * (flow.bytes + IP_UDP_BYTES))
            .sum();
        self.phases.push(json!({
            "phase": phase,
            "sent": sent,
            "ip_bytes": ip_bytes,
            "dropped_by_socket": dropped,
            "records": text,
        }));
        Ok((first, records))
    }

    fn take(&mut self, phase: &Phase) -> io::Result<(Value, Vec<Record>, Value)> {
        let before = flows::dropped(&self.sockets);
        let (mut sent, mut alive_ns) = (Value::Null, sys::mono_ns());
        let control = RefCell::new(&mut self.control);
        let records = receiver::receive(
            &self.sockets,
            self.session,
            phase,
            || {
                let mut control = control.borrow_mut();
                if sys::mono_ns() - alive_ns > ALIVE_NS {
                    alive_ns = sys::mono_ns();
                    control.tell(&json!({"alive": true}))?;
                }
                match control.heard()? {
                    Some((line, _)) if line["sent"].is_array() => {
                        sent = line["sent"].clone();
                        Ok(Said::Done)
                    }
                    _ => Ok(Said::Nothing),
                }
            },
            || control.borrow_mut().tell(&json!({"stop": true})),
        )?;
        let dropped = flows::dropped(&self.sockets).zip(before).map(|(now, before)| now - before);
        Ok((sent, records, json!(dropped)))
    }

    fn give(&mut self, phase: &Phase) -> io::Result<(Value, Vec<Record>, Value)> {
        self.control.hear(PATIENCE)?;
        let control = &mut self.control;
        let sent = sender::send(&self.sockets, self.session, phase, || {
            Ok(matches!(control.heard()?, Some((line, _)) if line["stop"] == Value::Bool(true)))
        })?;
        let sent = json!(sent);
        self.control.tell(&json!({ "sent": sent }))?;
        loop {
            let (line, block) = self.control.hear(Duration::from_secs(60))?;
            if line["records"].is_u64() {
                return Ok((sent, of_bytes(&block), line["dropped"].clone()));
            }
        }
    }
}

fn head(kind: Kind, session: u64, flow: u16, number: u32) -> Head {
    Head { kind, session, phase: 0, flow, number, sent_ns: sys::real_ns() }
}

fn too_slow(way: &str, mode: Mode) -> io::Error {
    io::Error::other(format!(
        "{way}: the rate is too low for this mode (at least {:.1} Mbit/s{})",
        mode.least_bps() / 1e6,
        if mode == Mode::Quick { "; leave --quick out" } else { "" },
    ))
}
