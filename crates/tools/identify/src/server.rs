//! The server: one thread for each client. It sends to no address but that of the client's TCP connection, what was
//! asked for and no more, and stops when the client falls silent.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::{json, Value};

use crate::control::Control;
use crate::datagram::{self, Kind};
use crate::phase::{Phase, Way, MOST_FLOWS};
use crate::receiver::{self, bytes_of, Said};
use crate::{flows, sender};
use narrows_wire::args::Options;
use narrows_wire::{stamped, sys};

const SESSIONS: usize = 8;
const SESSION_NS: i64 = 150_000_000_000;
const PATIENCE: Duration = Duration::from_secs(10);
/// A client that receives says so all the time; what it says waits for ACKs, which pass the loaded queue.
const SILENT_NS: i64 = 4_000_000_000;
const MOST_ECHOES: u64 = 200;
const ECHO_TICK_NS: i64 = 200_000;

#[derive(Clone)]
pub struct Args {
    listen: SocketAddr,
    token: Option<String>,
    most_bps: f64,
    /// Send all with TOS 0, as a network does that clears code points and ECN: to try what is then still seen.
    clear_tos: bool,
}

/// Who waits for the first datagram of its flows: session → the client's address, and where to tell.
type Waiting = Arc<Mutex<HashMap<u64, (IpAddr, Sender<(u16, SocketAddr)>)>>>;

pub fn parse(args: &[String]) -> Result<Args, String> {
    let mut options = Options::read(args, &["listen", "token", "most-mbit"], &["clear-tos"])?;
    Ok(Args {
        listen: options.listen("0.0.0.0:24603")?,
        token: options.take("token"),
        most_bps: options.number("most-mbit", 1..=100_000)?.unwrap_or(2000) as f64 * 1e6,
        clear_tos: options.flag("clear-tos"),
    })
}

pub fn run(args: Args) -> Result<(), String> {
    let cannot = |e: io::Error| format!("cannot listen on {}: {e}", args.listen);
    let udp = flows::open(args.listen, true).map_err(cannot)?;
    let tcp = TcpListener::bind(args.listen).map_err(cannot)?;
    let waiting = Waiting::default();
    let listening = waiting.clone();
    std::thread::spawn(move || introduce(&udp, &listening));
    let busy = Arc::new(());
    loop {
        let Ok((stream, peer)) = tcp.accept() else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let (args, waiting, place) = (args.clone(), waiting.clone(), busy.clone());
        let spawned = std::thread::Builder::new().spawn(move || {
            let full = Arc::strong_count(&place) > SESSIONS + 1;
            if let Ok(mut control) = Control::new(stream_with_deadline(stream), false) {
                let end = serve(&mut control, peer, &args, &waiting, full);
                if let Err(e) = end {
                    let _ = control.tell(&json!({ "error": e.to_string() }));
                }
            }
            drop(place);
        });
        drop(spawned);
    }
}

/// A client that takes nothing does not hold a thread for ever.
fn stream_with_deadline(stream: TcpStream) -> TcpStream {
    let _ = stream.set_write_timeout(Some(Duration::from_secs(60)));
    stream
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|p| p.into_inner())
}

/// Hands each flow's address to the session that it names.
fn introduce(udp: &UdpSocket, waiting: &Waiting) {
    let mut bytes = [0u8; 64];
    loop {
        let Ok((n, from)) = udp.recv_from(&mut bytes) else {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        };
        let Some(head) = datagram::read(&bytes[..n]).filter(|head| head.kind == Kind::Hello) else {
            continue;
        };
        if let Some((ip, tell)) = lock(waiting).get(&head.session) {
            if *ip == from.ip() {
                let _ = tell.send((head.flow, from));
            }
        }
    }
}

fn wrong(what: impl Into<String>) -> io::Error {
    io::Error::other(what.into())
}

fn serve(
    control: &mut Control,
    peer: SocketAddr,
    args: &Args,
    waiting: &Waiting,
    full: bool,
) -> io::Result<()> {
    let began_ns = sys::mono_ns();
    let (hello, _) = control.hear(PATIENCE)?;
    if hello["identify"] != 1 {
        return Err(wrong("this server speaks version 1 of narrows identify"));
    }
    if hello["token"].as_str() != args.token.as_deref() {
        return Err(wrong(match (&args.token, hello["token"].is_string()) {
            (Some(_), false) => "this server wants a token (--token)",
            (Some(_), true) => "the token is wrong (--token)",
            (None, _) => "this server has no token (leave --token out)",
        }));
    }
    if full {
        return Err(wrong(format!(
            "this server is busy with {SESSIONS} other clients: try again in a minute"
        )));
    }
    let count = (hello["flows"].as_u64())
        .filter(|n| (1..=MOST_FLOWS as u64).contains(n))
        .ok_or_else(|| wrong(format!("from 1 to {MOST_FLOWS} flows")))? as usize;
    let session = sys::random_u64();
    let (tell, introduced) = mpsc::channel();
    lock(waiting).insert(session, (peer.ip(), tell));
    let sockets = (|| {
        control.tell(&json!({ "session": session.to_string() }))?;
        connect(count, args.listen, &introduced)
    })();
    lock(waiting).remove(&session);
    let sockets = sockets?;
    control.tell(&json!({"flows": count, "most_bps": args.most_bps}))?;
    loop {
        let (line, _) = match control.hear(Duration::from_secs(30)) {
            Ok(heard) => heard,
            Err(_) => return Ok(()),
        };
        if sys::mono_ns() - began_ns > SESSION_NS {
            return Err(wrong(format!("a session takes at most {} s", SESSION_NS / 1_000_000_000)));
        }
        if let Some(count) = line["echo"].as_u64() {
            echo(control, &sockets, session, count.min(MOST_ECHOES))?;
        } else if line["phase"].is_object() {
            let mut phase: Phase =
                serde_json::from_value(line["phase"].clone()).map_err(|e| wrong(format!("a phase: {e}")))?;
            phase.check(sockets.len(), args.most_bps).map_err(wrong)?;
            if args.clear_tos {
                phase.flows.iter_mut().for_each(|flow| flow.tos = vec![0]);
            }
            carry_out(control, &sockets, session, &phase)?;
        }
    }
}

/// A socket for each flow, to where its first datagram came from.
fn connect(
    count: usize,
    listen: SocketAddr,
    introduced: &mpsc::Receiver<(u16, SocketAddr)>,
) -> io::Result<Vec<UdpSocket>> {
    let mut sockets: Vec<Option<UdpSocket>> = (0..count).map(|_| None).collect();
    let give_up_ns = sys::mono_ns() + 5_000_000_000;
    while sockets.iter().any(Option::is_none) {
        if sys::mono_ns() > give_up_ns {
            return Err(wrong(
                "no UDP arrives at the server from the address that TCP comes from: a firewall, or a NAT with several addresses",
            ));
        }
        let Ok((flow, from)) = introduced.recv_timeout(Duration::from_millis(100)) else {
            continue;
        };
        if let Some(place @ None) = sockets.get_mut(usize::from(flow)) {
            *place = Some(flows::connected(listen, from)?);
        }
    }
    Ok(sockets.into_iter().flatten().collect())
}

/// Sends back what comes, up to so many, until the client says that it is done.
fn echo(control: &mut Control, sockets: &[UdpSocket], session: u64, count: u64) -> io::Result<()> {
    control.tell(&json!({ "echoing": count }))?;
    let mut receiver = stamped::Receiver::new(256);
    let fd = sockets[0].as_raw_fd();
    let (began_ns, mut left, mut tick) = (sys::mono_ns(), count, 0);
    loop {
        tick += 1;
        sys::sleep_until(began_ns + tick * ECHO_TICK_NS);
        let _ = receiver.receive(fd, |d| {
            let ours = datagram::read(d.data).is_some_and(|h| h.kind == Kind::Echo && h.session == session);
            if ours && left > 0 {
                left -= 1;
                let _ = sockets[0].send(d.data);
            }
        });
        if let Some((line, _)) = control.heard()? {
            if line["done"].as_bool() == Some(true) {
                return Ok(());
            }
        }
        if tick * ECHO_TICK_NS > 20_000_000_000 {
            return Err(wrong("the client does not finish"));
        }
    }
}

fn carry_out(control: &mut Control, sockets: &[UdpSocket], session: u64, phase: &Phase) -> io::Result<()> {
    if phase.way == Way::Down {
        let mut heard_ns = sys::mono_ns();
        let sent = sender::send(sockets, session, phase, || {
            let mut stop = false;
            while let Some((line, _)) = control.heard()? {
                heard_ns = sys::mono_ns();
                stop |= line["stop"] == Value::Bool(true);
            }
            if !stop && sys::mono_ns() - heard_ns > SILENT_NS {
                return Err(wrong("the client fell silent"));
            }
            Ok(stop)
        })?;
        return control.tell(&json!({ "sent": sent }));
    }
    let before = flows::dropped(sockets);
    control.tell(&json!({"ready": phase.id}))?;
    let mut sent = Value::Null;
    let control_cell = std::cell::RefCell::new(control);
    let records = receiver::receive(
        sockets,
        session,
        phase,
        || match control_cell.borrow_mut().heard()? {
            Some((line, _)) if line["sent"].is_array() => {
                sent = line["sent"].clone();
                Ok(Said::Done)
            }
            _ => Ok(Said::Nothing),
        },
        || control_cell.borrow_mut().tell(&json!({"stop": true})),
    )?;
    let dropped = flows::dropped(sockets).zip(before).map(|(now, before)| now - before);
    let control = control_cell.into_inner();
    control.tell_block(json!({"records": records.len(), "dropped": dropped}), &bytes_of(&records))
}
