//! perf over s2n-quic's streams: a client asks for bytes or sends them, a server does as each stream's first eight bytes say.
use s2n_quic::{connection::Connection, stream::BidirectionalStream};
use std::{sync::Arc, sync::Mutex, time::Duration, time::Instant};
use tokio::signal::unix::Signal;

pub type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
/// Bytes that came, and when the last of them did.
type Got = Arc<Mutex<(usize, Instant)>>;

async fn send(s: &mut BidirectionalStream, mut left: u64) -> Done<()> {
    let zeros = bytes::Bytes::from(vec![0; 1 << 16]);
    while left > 0 { s.send(zeros.slice(..left.min(1 << 16) as usize)).await?; left -= left.min(1 << 16); }
    Ok(s.finish()?)
}

async fn receive(s: &mut BidirectionalStream, head: usize, got: &Got) -> Done<Vec<u8>> {
    let mut first = vec![];
    while let Some(data) = s.receive().await? {
        let cut = data.len().min(head - first.len());
        first.extend(&data[..cut]);
        if let Ok(mut got) = got.lock() { *got = (got.0 + data.len() - cut, Instant::now()); }
    }
    Ok(first)
}

async fn answer(mut s: BidirectionalStream, got: Got) -> Done<()> {
    let head = receive(&mut s, 8, &got).await?;
    send(&mut s, u64::from_be_bytes(head[..].try_into()?)).await
}

/// Of a client: what it asks for, and what it sends.
pub async fn perform(mut c: Connection, stop: &mut Signal, asks: Option<(u64, u64)>) -> Done<bool> {
    let (begun, got) = (Instant::now(), Got::new(Mutex::new((0, Instant::now()))));
    let work = async {
        if let Some((ask, sent)) = asks {
            let mut s = c.open_bidirectional_stream().await?;
            s.send(ask.to_be_bytes().to_vec().into()).await?;
            send(&mut s, sent).await?;
            return receive(&mut s, 0, &got).await.map(drop);
        }
        while let Some(s) = c.accept_bidirectional_stream().await? { tokio::spawn(answer(s, got.clone())); }
        Done::Ok(())
    };
    let stopped = tokio::select! { _ = work => false, _ = stop.recv() => true };
    let (bytes, last) = *got.lock().map_err(|e| e.to_string())?;
    println!(r#"{{"kind":"end","received_bytes":{bytes},"seconds":{}}}"#, (last - begun).as_secs_f64());
    c.close(0u32.into());
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(stopped)
}
