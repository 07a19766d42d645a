//! A client of `narrows-agent h3-server` for tests and `make bench`: fetches a file by quinn and h3 for so many seconds and
//! says how many bytes came.

use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Buf;
use http::Request;
use narrows_wire::tls;

type Any = Box<dyn std::error::Error>;

fn main() -> Result<(), Any> {
    let args: Vec<String> = std::env::args().collect();
    let [_, address, path, seconds] = args.as_slice() else {
        return Err("usage: h3_get ADDR:PORT /PATH SECONDS".into());
    };
    let (address, seconds) = (address.parse()?, seconds.parse()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(get(address, path, Duration::from_secs_f64(seconds)))
}

async fn get(address: SocketAddr, path: &str, most: Duration) -> Result<(), Any> {
    let mut crypto = (*tls::client_config(true, None)?).clone();
    // Secrets go to the file that SSLKEYLOGFILE names, if it does.
    crypto.key_log = Arc::new(rustls::KeyLogFile::new());
    crypto.alpn_protocols = vec![b"h3".to_vec()];
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(crypto)?;
    let mut endpoint = quinn::Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(quinn::ClientConfig::new(Arc::new(crypto)));
    let connection = endpoint.connect(address, "server")?.await?;
    let (mut driver, mut session) = h3::client::new(h3_quinn::Connection::new(connection.clone())).await?;
    tokio::spawn(async move { poll_fn(|cx| driver.poll_close(cx)).await });
    let request = Request::get(format!("https://server{path}")).body(())?;
    let mut stream = session.send_request(request).await?;
    stream.finish().await?;
    let status = stream.recv_response().await?.status();
    let (since, mut bytes) = (Instant::now(), 0);
    while since.elapsed() < most {
        let Some(data) = stream.recv_data().await? else {
            break;
        };
        bytes += data.remaining();
    }
    println!("{status} {bytes} bytes in {:.6} s", since.elapsed().as_secs_f64());
    connection.close(0u32.into(), b"");
    endpoint.wait_idle().await;
    Ok(())
}
