//! Both ends of perf (draft-banks-quic-performance) over s2n-quic: AT CCA WINDOW server CERT KEY, or … down|up BYTES CERT.
use s2n_quic::provider::{congestion_controller as cc, limits::Limits, tls::rustls};
use s2n_quic::{client::Connect, Client, Server};
use std::{env, net::SocketAddr, path::Path};
use tokio::signal::unix::{signal, SignalKind};

mod log;
mod perf;
use perf::{perform, Done};

async fn run<C: cc::Provider + 'static>(a: Vec<String>, control: C) -> Done<()> where C::Error: std::error::Error + 'static {
    let (at, w, mut stop): (SocketAddr, u64, _) = (a[1].parse()?, a[3].parse()?, signal(SignalKind::interrupt())?);
    let limits = Limits::new().with_data_window(w)?.with_bidirectional_local_data_window(w)?.with_bidirectional_remote_data_window(w)?;
    if a[4] == "server" {
        let tls = rustls::Server::builder().with_certificate(Path::new(&a[5]), Path::new(&a[6]))?.with_application_protocols(["perf"].iter())?.build()?;
        let mut server = Server::builder().with_tls(tls)?.with_io(at)?.with_limits(limits)?.with_event(log::Log::begin()?)?.with_congestion_controller(control)?.start()?;
        let c = tokio::select! { c = server.accept() => c.ok_or("closed")?, _ = stop.recv() => return Ok(()) };
        if !perform(c, &mut stop, None).await? { stop.recv().await; }
        return Ok(());
    }
    let tls = rustls::Client::builder().with_certificate(Path::new(&a[6]))?.with_application_protocols(["perf"].iter())?.build()?;
    let client = Client::builder().with_tls(tls)?.with_io("0.0.0.0:0")?.with_limits(limits)?.with_event(log::Log::begin()?)?.with_congestion_controller(control)?.start()?;
    let c = client.connect(Connect::new(at).with_server_name(at.ip().to_string())).await?;
    let bytes = a[5].parse()?;
    perform(c, &mut stop, Some(if a[4] == "up" { (0, bytes) } else { (bytes, 0) })).await?;
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Done<()> {
    let a: Vec<String> = env::args().collect();
    match a[2].as_str() { "bbr" => run(a, cc::Bbr::default()).await, _ => run(a, cc::Cubic::default()).await }
}
