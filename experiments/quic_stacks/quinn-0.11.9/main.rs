//! The server's end of perf (draft-banks-quic-performance) over an older quinn, as narrows' own is: AT WINDOW CERT KEY.
use quinn::{crypto::rustls::QuicServerConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::pki_types::{pem::PemObject, CertificateDer, PrivateKeyDer};
use std::{env, error::Error, sync::Arc, time::Duration};
use tokio::signal::unix::{signal, SignalKind};

async fn serve(c: Connection) {
    while let Ok((mut send, mut read)) = c.accept_bi().await {
        tokio::spawn(async move {
            let (mut wanted, zeros) = ([0; 8], vec![0; 1 << 16]);
            if read.read_exact(&mut wanted).await.is_ok() {
                let mut left = u64::from_be_bytes(wanted);
                while left > 0 && send.write_all(&zeros[..left.min(1 << 16) as usize]).await.is_ok() {
                    left -= left.min(1 << 16);
                }
                let _ = send.finish();
            }
        });
    }
    let p = c.stats().path;
    println!(
        r#"{{"kind":"end","received_bytes":0,"seconds":0,"sent_packets":{},"lost_packets":{},"rtt_ms":{}}}"#,
        p.sent_packets, p.lost_packets, p.rtt.as_secs_f64() * 1e3
    );
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let a: Vec<String> = env::args().collect();
    let chain = CertificateDer::pem_file_iter(&a[3])?.collect::<Result<_, _>>()?;
    let mut tls = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, PrivateKeyDer::from_pem_file(&a[4])?)?;
    tls.alpn_protocols = vec![b"perf".to_vec()];
    let (mut config, mut transport) = (ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(tls)?)), TransportConfig::default());
    let window: u64 = a[2].parse()?;
    transport.stream_receive_window(VarInt::from_u64(window)?).receive_window(VarInt::from_u64(window)?).send_window(window);
    config.transport_config(Arc::new(transport));
    let (mut stop, endpoint) = (signal(SignalKind::interrupt())?, Endpoint::server(config, a[1].parse()?)?);
    loop {
        tokio::select! {
            _ = stop.recv() => break,
            incoming = endpoint.accept() => if let Some(incoming) = incoming {
                tokio::spawn(async move { if let Ok(c) = incoming.await { serve(c).await; } });
            },
        }
    }
    endpoint.close(0u32.into(), b"");
    let _ = tokio::time::timeout(Duration::from_millis(200), endpoint.wait_idle()).await;
    Ok(())
}
