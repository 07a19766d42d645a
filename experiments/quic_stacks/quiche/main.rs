//! Both ends of perf (draft-banks-quic-performance) over quiche: AT CCA WINDOW PACING server CERT KEY, or … down|up BYTES-OF-EACH STREAMS.
use quiche::{Config, ConnectionId, RecvInfo, PROTOCOL_VERSION};
use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
use std::sync::{atomic::AtomicBool, atomic::Ordering::Relaxed, Arc};
use std::{env, fs::File, io::BufWriter, net::UdpSocket, thread::sleep, time::Duration, time::Instant};

mod perf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (a, stop, mut packet) = (env::args().collect::<Vec<_>>(), Arc::new(AtomicBool::new(false)), [0; 1 << 16]);
    let (window, serves) = (a[3].parse()?, a[5] == "server");
    signal_hook::flag::register(signal_hook::consts::SIGINT, stop.clone())?;
    let mut config = Config::new(PROTOCOL_VERSION)?;
    config.set_application_protos(&[b"perf"])?;
    config.set_cc_algorithm_name(&a[2])?;
    config.enable_pacing(a[4] == "on");
    config.set_send_capacity_factor(2.0); // with no more than the window has room for, half of its packets are small
    config.discover_pmtu(true);
    config.set_max_send_udp_payload_size(1472);
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_bidi_local(window);
    config.set_initial_max_stream_data_bidi_remote(window);
    config.set_initial_max_streams_bidi(100);
    let socket = UdpSocket::bind(if serves { &a[1] } else { "0.0.0.0:0" })?;
    let (own, id, mut came, mut held, begun) = (socket.local_addr()?, ConnectionId::from_ref(&[7; 16]), None, None, Instant::now());
    let (mut c, mut work) = if serves {
        config.load_cert_chain_from_pem_file(&a[6])?;
        config.load_priv_key_from_pem_file(&a[7])?;
        let Ok(first) = socket.recv_from(&mut packet) else { return Ok(()) };
        came = Some(first);
        (quiche::accept(&id, None, own, first.1, &mut config)?, perf::Work::new(vec![]))
    } else {
        let each = if a[5] == "up" { (0, a[6].parse()?) } else { (a[6].parse()?, 0) };
        (quiche::connect(None, &id, own, a[1].parse()?, &mut config)?, perf::Work::new(vec![each; a[7].parse()?]))
    };
    if let Ok(folder) = env::var("QLOGDIR") { c.set_qlog(Box::new(BufWriter::new(File::create(folder + "/quiche.sqlog")?)), "quiche".into(), String::new()); }
    while !c.is_closed() && !c.is_draining() {
        if let Some((n, from)) = came.take() { let _ = c.recv(&mut packet[..n], RecvInfo { from, to: own }); }
        work.go(&mut c, &mut packet)?;
        if stop.load(Relaxed) || work.is_done() { let _ = c.close(true, 0, b""); }
        let wait = loop {
            if held.is_none() { held = c.send(&mut packet).ok().map(|(n, info)| (packet[..n].to_vec(), info)); }
            let Some((data, info)) = &held else { break c.timeout() };
            let early = info.at.saturating_duration_since(Instant::now());
            if !early.is_zero() { break c.timeout().map(|timeout| timeout.min(early)) } // so it paces
            socket.send_to(data, info.to)?;
            held = None;
        };
        socket.set_read_timeout(Some(wait.unwrap_or(Duration::from_secs(1)).max(Duration::from_micros(1))))?;
        match socket.recv_from(&mut packet) {
            Err(e) if ![WouldBlock, TimedOut, Interrupted].contains(&e.kind()) => return Err(e.into()),
            found => came = found.ok(),
        }
        if c.timeout() == Some(Duration::ZERO) { c.on_timeout(); }
    }
    let (s, rtt, took) = (c.stats(), c.path_stats().next().map_or(0.0, |path| path.rtt.as_secs_f64() * 1e3), work.last - begun);
    println!(r#"{{"kind":"end","received_bytes":{},"seconds":{},"sent_packets":{},"lost_packets":{},"rtt_ms":{rtt}}}"#, work.got, took.as_secs_f64(), s.sent, s.lost);
    while serves && !stop.load(Relaxed) { sleep(Duration::from_millis(20)); }
    if serves || stop.load(Relaxed) || work.is_done() { Ok(()) } else { Err(format!("quiche: {:?}", c.peer_error().or(c.local_error())).into()) }
}
