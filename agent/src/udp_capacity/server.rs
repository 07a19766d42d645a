//! The server: one thread per test. Datagrams that are no set-up are not answered.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::flow::{self, Channel};
use super::wire::{self, Message, Setup, LOAD_BYTES};
use crate::ndt7::args::Options;

const TESTS: usize = 16;
const BEFORE_LOAD: Duration = Duration::from_millis(100);

pub fn parse(args: &[String]) -> Result<SocketAddr, String> {
    let mut options = Options::read(args, &["listen"], &[])?;
    let listen = options.take("listen").ok_or("--listen ADDR:PORT is missing")?;
    listen
        .parse()
        .map_err(|_| format!("--listen {listen}: not an address and port"))
}

pub fn run(listen: SocketAddr) -> Result<(), String> {
    // Who waits for the server can only see TCP: the same port, which nothing else is done with.
    let ready = std::net::TcpListener::bind(listen).map_err(|e| format!("cannot listen on {listen}: {e}"))?;
    let socket = flow::listening(listen).map_err(|e| format!("cannot listen on {listen}: {e}"))?;
    let running: Arc<Mutex<HashSet<SocketAddr>>> = Arc::default();
    let mut scratch = [0u8; LOAD_BYTES];
    loop {
        let Ok((n, peer)) = socket.recv_from(&mut scratch) else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let Some((token, Message::Setup(setup))) = wire::read(&scratch[..n]) else {
            continue;
        };
        {
            let mut now = running.lock().unwrap_or_else(|p| p.into_inner());
            if now.len() >= TESTS || !now.insert(peer) {
                continue;
            }
        }
        let running = running.clone();
        let _ = &ready;
        std::thread::spawn(move || {
            let _ = test(listen, peer, token, &setup);
            running.lock().unwrap_or_else(|p| p.into_inner()).remove(&peer);
        });
    }
}

fn test(listen: SocketAddr, peer: SocketAddr, token: u64, setup: &Setup) -> io::Result<()> {
    let mut channel = Channel::open(listen, peer, token)?;
    channel.tell(&Message::Ready);
    if !setup.up {
        // The client hears this before the first datagram of the load, which it then does not miss.
        std::thread::sleep(BEFORE_LOAD);
        return flow::send(&mut channel, setup).map(drop);
    }
    let (counted, _) = flow::receive(&mut channel, setup)?;
    let result = Message::Result(flow::sub_intervals(&counted).to_string());
    // The client asks until it has it.
    for _ in 0..40 {
        let mut asked = false;
        channel.take(|message, _, _| asked |= message == Message::Stop)?;
        if asked {
            channel.tell(&result);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
