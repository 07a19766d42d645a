//! The modelled clients: real HTTP over real connections; which connections, for how long and what is made of the
//! counts is `model`'s. Writes one JSON object.
//!
//! A download counts body bytes as they are read. LibreSpeed's upload counts what the socket took, as a browser's
//! progress events do: the send buffer's worth of it has not arrived. Ookla's counts a chunk when it was answered.

use std::io::Write;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::{json, Value};

use crate::connection::{Connect, Connection};
use crate::model::{
    fastest_half, interquartile_mean, librespeed_ping, ookla_ping, trimmed_slices_bps, LibreSpeed, Sample,
    SLICES,
};
use narrows_wire::args::{Options, Way};
use narrows_wire::{sys, tls};

pub const USAGE: &str = "usage: narrows-agent web-speed-client --server ADDR:PORT --model ookla|librespeed \
    [--tests download,upload] [--duration-ms N] [--cca NAME] [--ca FILE]";

const MS: u64 = narrows_units::MS as u64;
const UPLOAD_WRITE_BYTES: usize = 64 << 10;
/// Ookla: "an appropriately sized set": our choice is what a connection sends in this time.
const CHUNK_NS: u64 = 250 * MS;
const LEAST_CHUNK_BYTES: u64 = 64 << 10;
const MOST_CHUNK_BYTES: u64 = 4 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Model {
    Ookla,
    LibreSpeed,
}

pub struct Args {
    server: SocketAddr,
    model: Model,
    tests: Vec<Way>,
    duration_ms: Option<u64>,
    cca: Option<String>,
    tls: Option<Arc<rustls::ClientConfig>>,
}

/// How one direction of a model is run. What its authors do not document is our choice, and said so in docs/spec.md.
struct Shape {
    path: String,
    /// Bytes of one upload request; None: as many as fit the connection's speed.
    chunk_bytes: Option<u64>,
    connections: usize,
    most_connections: usize,
    delay_ms: u64,
    step_ns: u64,
    grace_ms: u64,
    most_ms: u64,
}

impl Shape {
    fn of(model: Model, up: bool, duration_ms: Option<u64>) -> Shape {
        let mut shape = match (model, up) {
            (Model::Ookla, _) => Shape {
                path: if up { "/upload".into() } else { "/download?size=25000000".into() },
                chunk_bytes: None,
                connections: 4,
                most_connections: 8,
                delay_ms: 0,
                step_ns: 1_000 * MS / 30,
                grace_ms: 0,
                most_ms: 10_000,
            },
            (Model::LibreSpeed, false) => Shape {
                path: "/garbage?ckSize=100".into(),
                chunk_bytes: None,
                connections: 6,
                most_connections: 6,
                delay_ms: 300,
                step_ns: LibreSpeed::STEP_MS * MS,
                grace_ms: 1500,
                most_ms: 15_000,
            },
            (Model::LibreSpeed, true) => Shape {
                path: "/empty".into(),
                chunk_bytes: Some(20 << 20),
                connections: 3,
                most_connections: 3,
                delay_ms: 300,
                step_ns: LibreSpeed::STEP_MS * MS,
                grace_ms: 3000,
                most_ms: 15_000,
            },
        };
        shape.most_ms = duration_ms.unwrap_or(shape.most_ms);
        shape
    }
}

pub fn parse(args: &[String]) -> Result<Args, String> {
    let mut options = Options::read(args, &["server", "model", "tests", "duration-ms", "cca", "ca"], &[])?;
    let server = options.server()?;
    let model = options.take("model").ok_or("--model ookla or librespeed is missing")?;
    Ok(Args {
        server,
        model: match model.as_str() {
            "ookla" => Model::Ookla,
            "librespeed" => Model::LibreSpeed,
            _ => return Err(format!("--model {model}: neither ookla nor librespeed")),
        },
        tests: options.ways()?,
        duration_ms: options.number("duration-ms", 1000..=600_000)?,
        cca: options.take("cca"),
        // TLS, and this certificate is trusted
        tls: match options.take("ca") {
            None => None,
            Some(ca) => Some(tls::client_config(false, Some(&ca))?),
        },
    })
}

pub fn run(args: Args) -> Result<(), String> {
    let mut result = json!({
        "tool": "web-speed",
        "model": if args.model == Model::Ookla { "ookla" } else { "librespeed" },
        "idle": idle(&args).map_err(|e| format!("latency from {}: {e}", args.server))?,
    });
    for way in &args.tests {
        if args.model == Model::LibreSpeed {
            std::thread::sleep(LibreSpeed::PAUSE);
        }
        let name = way.name();
        result[name] =
            phase(&args, *way == Way::Upload).map_err(|e| format!("{name} with {}: {e}", args.server))?;
    }
    println!("{result}");
    Ok(())
}

impl Connect {
    fn of(args: &Args) -> Connect {
        Connect { server: args.server, cca: args.cca.clone(), tls: args.tls.clone() }
    }
}

/// Ten requests on one connection; what the model makes of them.
fn idle(args: &Args) -> std::io::Result<Value> {
    let mut connection = Connection::open(&Connect::of(args), |_| Ok(()))?;
    let pings = (0..10).map(|_| connection.ping()).collect::<std::io::Result<Vec<_>>>()?;
    let times: Vec<f64> = pings.iter().map(|(_, ms)| *ms).collect();
    let (latency_ms, jitter_ms) = match args.model {
        Model::Ookla => ookla_ping(&times),
        Model::LibreSpeed => librespeed_ping(&times),
    };
    Ok(json!({"latency_ms": latency_ms, "jitter_ms": jitter_ms, "pings": pings}))
}

// ---- one direction ----------------------------------------------------------------------------------------

#[derive(Default)]
struct Load {
    bytes: AtomicU64,
    stop: AtomicBool,
    error: Mutex<Option<std::io::Error>>,
    sockets: Mutex<Vec<TcpStream>>,
    pings: Mutex<Vec<(u64, f64)>>,
}

impl Load {
    fn over(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An error once all is over is how a connection ends; before, it is one.
    fn note(&self, result: std::io::Result<()>) {
        if let (Err(e), false) = (result, self.over()) {
            self.error.lock().unwrap_or_else(|p| p.into_inner()).get_or_insert(e);
        }
    }

    fn open(&self, to: &Connect) -> std::io::Result<Connection> {
        Connection::open(to, |socket| {
            let clone = socket.try_clone()?;
            self.sockets.lock().unwrap_or_else(|p| p.into_inner()).push(clone);
            if self.over() {
                socket.shutdown(Shutdown::Both)?;
            }
            Ok(())
        })
    }
}

fn download(load: &Load, to: &Connect, path: &str) -> std::io::Result<()> {
    let mut connection = load.open(to)?;
    while !load.over() {
        connection.send_head("GET", path, 0)?;
        connection.read_answer(|n| {
            load.bytes.fetch_add(n, Ordering::Relaxed);
        })?;
    }
    Ok(())
}

/// With `chunk_bytes` None each request counts when the server has answered it, and takes about `CHUNK_NS`; else requests
/// of that size count as the socket takes them.
fn upload(load: &Load, to: &Connect, path: &str, chunk_bytes: Option<u64>) -> std::io::Result<()> {
    let mut connection = load.open(to)?;
    let zeros = vec![b'0'; UPLOAD_WRITE_BYTES];
    let mut bytes = chunk_bytes.unwrap_or(LEAST_CHUNK_BYTES);
    while !load.over() {
        let began_ns = sys::monotonic_ns();
        connection.send_head("POST", path, bytes)?;
        let mut rest = bytes;
        while rest > 0 {
            let n = rest.min(zeros.len() as u64);
            connection.stream.write_all(&zeros[..n as usize])?;
            if chunk_bytes.is_some() {
                load.bytes.fetch_add(n, Ordering::Relaxed);
            }
            rest -= n;
        }
        connection.read_answer(|_| ())?;
        if chunk_bytes.is_none() {
            load.bytes.fetch_add(bytes, Ordering::Relaxed);
            let took_ns = (sys::monotonic_ns() - began_ns).max(1);
            let next = (u128::from(bytes) * u128::from(CHUNK_NS) / u128::from(took_ns)) as u64;
            bytes = next.clamp(LEAST_CHUNK_BYTES, MOST_CHUNK_BYTES);
        }
    }
    Ok(())
}

fn pings(load: &Load, to: &Connect) -> std::io::Result<()> {
    let mut connection = load.open(to)?;
    while !load.over() {
        let ping = connection.ping()?;
        load.pings.lock().unwrap_or_else(|p| p.into_inner()).push(ping);
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn spawn(
    load: &Arc<Load>,
    work: impl FnOnce(&Load) -> std::io::Result<()> + Send + 'static,
) -> JoinHandle<()> {
    let load = load.clone();
    std::thread::spawn(move || load.note(work(&load)))
}

fn phase(args: &Args, up: bool) -> std::io::Result<Value> {
    let shape = Shape::of(args.model, up, args.duration_ms);
    let load = Arc::new(Load::default());
    let to = Connect::of(args);
    let began_ns = sys::monotonic_ns();
    let mut threads = Vec::new();
    let mut opened: Vec<(u64, usize)> = Vec::new();
    let mut connect = |count: usize, t_ns: u64, opened: &mut Vec<(u64, usize)>| {
        for _ in 0..count {
            let (to, path, chunk) = (to.clone(), shape.path.clone(), shape.chunk_bytes);
            let delay = Duration::from_millis(shape.delay_ms * threads.len() as u64);
            threads.push(spawn(&load, move |load| {
                std::thread::sleep(delay);
                if up {
                    upload(load, &to, &path, chunk)
                } else {
                    download(load, &to, &path)
                }
            }));
        }
        opened.push((t_ns, threads.len()));
    };
    connect(shape.connections, began_ns, &mut opened);
    let to_ping = to.clone();
    let pinger = (args.model == Model::Ookla).then(|| spawn(&load, move |load| pings(load, &to_ping)));

    let mut samples = vec![Sample { t_ns: began_ns, bytes: 0 }];
    let mut rule = LibreSpeed::new(shape.grace_ms as f64, shape.most_ms as f64);
    let per_s = (1_000 * MS / shape.step_ns) as usize;
    let result = loop {
        let due_ns = began_ns + samples.len() as u64 * shape.step_ns;
        sys::sleep_until(due_ns as i64);
        let sample = Sample { t_ns: sys::monotonic_ns(), bytes: load.bytes.load(Ordering::Relaxed) };
        samples.push(sample);
        if let Some(e) = load.error.lock().unwrap_or_else(|p| p.into_inner()).take() {
            break Err(e);
        }
        let now_ms = (sample.t_ns - began_ns) as f64 / MS as f64;
        if args.model == Model::LibreSpeed {
            if rule.step(now_ms, sample.bytes) {
                break Ok(rule.shown_bps);
            }
        } else {
            let whole = samples.len() - 1;
            if whole % per_s == 0
                && whole >= 2 * per_s
                && opened.last().is_some_and(|o| o.1 < shape.most_connections)
            {
                let (now, last, before) =
                    (samples[whole].bytes, samples[whole - per_s].bytes, samples[whole - 2 * per_s].bytes);
                // Connections are added while they help.
                if (now - last) as f64 > 1.05 * (last - before) as f64 {
                    connect(2, sample.t_ns, &mut opened);
                }
            }
            if now_ms >= shape.most_ms as f64 {
                break Ok(if up { fastest_half(&slices(&samples)) } else { trimmed_slices_bps(&samples) });
            }
        }
    };
    load.stop.store(true, Ordering::Relaxed);
    for socket in load.sockets.lock().unwrap_or_else(|p| p.into_inner()).iter() {
        let _ = socket.shutdown(Shutdown::Both);
    }
    for thread in threads.into_iter().chain(pinger) {
        let _ = thread.join();
    }
    let result_bps = result?;
    let pings = load.pings.lock().unwrap_or_else(|p| p.into_inner()).clone();
    let times: Vec<f64> = pings.iter().map(|(_, ms)| *ms).collect();
    Ok(json!({
        "result_bps": result_bps,
        "bytes": samples.last().map(|s| s.bytes),
        "began_ns": began_ns,
        "samples": samples.iter().map(|s| (s.t_ns, s.bytes)).collect::<Vec<_>>(),
        "connections": opened,
        "loaded_latency_ms": interquartile_mean(&times),
        "pings": pings,
    }))
}

/// Rates of the slices, in order of time.
fn slices(samples: &[Sample]) -> Vec<f64> {
    let steps = samples.len() - 1;
    (0..SLICES.min(steps))
        .map(|i| {
            let count = SLICES.min(steps);
            let (from, to) = (samples[i * steps / count], samples[(i + 1) * steps / count]);
            (to.bytes - from.bytes) as f64 * 8e9 / (to.t_ns - from.t_ns) as f64
        })
        .collect()
}
