//! The server: one thread per test. Datagrams that are no set-up are not answered. When all places are taken, a new
//! client gets that of one that is gone.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::datagram::{self, Message, Setup, LOAD_BYTES};
use crate::flow::{self, Channel};
use crate::places::{Places, Watch};
use narrows_wire::args::Options;
use narrows_wire::sys;

const TESTS: usize = 16;
/// Between the answer and the load, with looks at what the client says.
const BEFORE_LOAD: [Duration; 10] = [Duration::from_millis(10); 10];
/// How often is looked for the question for a result, how often without hearing anything, and at most.
const LOOK: Duration = Duration::from_millis(50);
const SILENT_LOOKS: u32 = 40;
const LOOKS: u32 = 1200;

pub fn parse(args: &[String]) -> Result<SocketAddr, String> {
    let mut options = Options::read(args, &["listen"], &[])?;
    options.listen("10.0.2.1:24601")
}

pub fn run(listen: SocketAddr) -> Result<(), String> {
    // Who waits for the server can only see TCP: the same port, which nothing else is done with.
    let ready = std::net::TcpListener::bind(listen).map_err(|e| format!("cannot listen on {listen}: {e}"))?;
    let socket = flow::listening(listen).map_err(|e| format!("cannot listen on {listen}: {e}"))?;
    let places = Arc::new(Mutex::new(Places::new(TESTS)));
    let mut scratch = [0u8; LOAD_BYTES];
    loop {
        let Ok((n, peer)) = socket.recv_from(&mut scratch) else {
            std::thread::sleep(Duration::from_millis(10));
            continue;
        };
        let Some((token, Message::Setup(setup))) = datagram::read(&scratch[..n]) else {
            continue;
        };
        let Some(watch) = lock(&places).take(peer, sys::mono_ns()) else {
            continue; // a client asks again
        };
        let _ = &ready;
        let (its_places, its_watch) = (places.clone(), watch.clone());
        let spawned = std::thread::Builder::new().spawn(move || {
            let _ = test(listen, peer, token, &setup, &its_watch);
            lock(&its_places).leave(&its_watch);
        });
        if spawned.is_err() {
            lock(&places).leave(&watch);
        }
    }
}

fn lock(places: &Mutex<Places>) -> MutexGuard<'_, Places> {
    places.lock().unwrap_or_else(|p| p.into_inner())
}

fn test(
    listen: SocketAddr,
    peer: SocketAddr,
    token: u64,
    setup: &Setup,
    watch: &Arc<Watch>,
) -> io::Result<()> {
    let mut channel = Channel::open(listen, peer, token)?;
    channel.watch = watch.clone();
    channel.tell(&Message::Ready);
    if !setup.up {
        // The client hears this before the first datagram of the load, which it then does not miss, and confirms it.
        for step in BEFORE_LOAD {
            std::thread::sleep(step);
            let mut stopped = false;
            channel.take(|message, _, _| stopped |= message == Message::Stop)?;
            if stopped {
                return Ok(());
            }
        }
        return flow::send(&mut channel, setup).map(drop);
    }
    let (counted, _) = flow::receive(&mut channel, setup)?;
    let result = Message::Result(flow::sub_intervals(&counted).to_string());
    // The client asks until it has it; it may still be sending, on a busy host for long.
    let mut silent = 0;
    for _ in 0..LOOKS {
        let (mut heard, mut asked) = (false, false);
        channel.take(|message, _, _| {
            heard = true;
            asked |= message == Message::Stop;
        })?;
        if asked {
            channel.tell(&result);
        }
        silent = if heard { 0 } else { silent + 1 };
        if silent == SILENT_LOOKS {
            break;
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client;
    use crate::datagram::Status;
    use narrows_wire::testing::unless_held_up;
    use std::io::Write;
    use std::net::{TcpListener, TcpStream, UdpSocket};

    fn setup(up: bool) -> Setup {
        Setup {
            up,
            seconds: 1,
            tolerated: 10,
            lower_ms: 0.0, // no delay is below it: the rate stays at its first step
            upper_ms: 1e9,
        }
    }

    /// The whole server, at a port that was free a moment ago. It ends with the process.
    fn started() -> SocketAddr {
        let listen = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        std::thread::spawn(move || run(listen).unwrap());
        while TcpStream::connect(listen).is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        listen
    }

    fn stranger(server: SocketAddr) -> UdpSocket {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(server).unwrap();
        socket
    }

    /// A whole test each way.
    fn is_served(server: SocketAddr) {
        for up in [false, true] {
            let result = client::test(server, &setup(up)).unwrap();
            assert!(result["sub_intervals"][0][0].as_u64().unwrap() > 0, "{result}");
        }
    }

    fn messages() -> Vec<Message> {
        let status = |number, delay_us| Message::Status(Status { number, anomalies: u32::MAX, delay_us });
        let load = |number, row, sent_ns| Message::Load { number, row, sent_ns };
        vec![
            Message::Ready,
            load(1, 0, 0),
            load(u32::MAX, u16::MAX, i64::MIN),
            load(2, 7, i64::MAX),
            status(u32::MAX, f64::NAN),
            status(1, f64::INFINITY),
            status(7, -1e300),
            Message::Result("[".repeat(1000)),
            Message::Setup(setup(true)),
            Message::Stop,
        ]
    }

    #[test]
    fn garbage_and_clients_that_vanish_leave_the_next_one_served() {
        unless_held_up(|| {
            let server = started();
            let socket = stranger(server);
            for size in [0, 1, 4, 13, 64, LOAD_BYTES, 9000, 65_000] {
                let noise: Vec<u8> =
                    (0..size as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
                let _ = socket.send(&noise);
                let _ = socket.send(&[&datagram::MAGIC[..], &noise[..]].concat()[..size.max(4)]);
            }
            for message in messages() {
                let whole = datagram::write(3, &message);
                for bytes in 0..whole.len().min(100) {
                    let _ = socket.send(&whole[..bytes]);
                }
            }
            // Set-ups of clients that are gone at once, and of one that then sends what it likes.
            for n in 0..8 {
                let _ = stranger(server).send(&datagram::write(n, &Message::Setup(setup(n % 2 == 0))));
            }
            for up in [false, true] {
                let odd = stranger(server);
                let _ = odd.send(&datagram::write(9, &Message::Setup(setup(up))));
                for message in messages().iter().cycle().take(100) {
                    let _ = odd.send(&datagram::write(9, message));
                }
            }
            // Who speaks on the port that only tells that the server is there.
            let mut tcp = TcpStream::connect(server).unwrap();
            let _ = tcp.write_all(b"GET / HTTP/1.1\r\n\r\n");
            let _idle: Vec<_> = (0..100).map(|_| TcpStream::connect(server)).collect();
            is_served(server);
            is_served(server);
        });
    }

    #[test]
    fn clients_that_are_gone_give_way_to_the_next_one_at_once() {
        unless_held_up(|| {
            let server = started();
            // An answer sooner than a place that is held would be free (5 s); a set-up that came while a test's
            // socket was made is lost.
            let is_answered = |n: usize| {
                let socket = stranger(server);
                socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
                (0..40).any(|_| {
                    let _ = socket.send(&datagram::write(n as u64, &Message::Setup(setup(n % 2 == 0))));
                    socket.recv(&mut [0; LOAD_BYTES]).is_ok()
                })
            };
            // Each would hold a place for 5 s.
            for n in 0..3 * TESTS {
                assert!(is_answered(n), "client {n} of {TESTS} places");
            }
            is_served(server);
        });
    }
}
