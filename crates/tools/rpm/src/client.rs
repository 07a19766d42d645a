//! The responsiveness client: loads the path with ever more connections, probes it, and stops when the draft says so.
//!
//! Writes JSON lines: every probe with its parts, every interval with its bytes, a summary. The rules are in
//! `stability`; where the draft contradicts itself on the number of probes (100 probes or 100 pairs per second), its
//! own estimate of their cost decides: 100 probes, half of each kind. goresponsiveness (as stored in 2024) sends 100
//! rounds per second whatever the path carries, each a foreign probe and after it one on any of its connections, and
//! begins when the goodput is stable.

use crate::args::ClientArgs;
use crate::config::{parse_config, Config, MAX_CONFIG_BYTES, WELL_KNOWN};
use crate::exec::Exec;
use crate::load::{Path, Uris};
use crate::probing::Probe;
use crate::test::{test_name, Test};
use narrows_wire::lines::{keyed, Lines};
use narrows_wire::net::resolve;
use narrows_wire::{sys, tls};
use serde_json::{json, Map};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::Arc;

/// For everything before the first test, and for each idle probe.
const SETUP_TIMEOUT_NS: u64 = 15_000_000_000;

pub fn run(args: ClientArgs) -> Result<(), String> {
    let stop = sys::stop_signals().map_err(|e| format!("cannot wait for signals: {e}"))?;
    let out = Lines::open(args.out.as_deref())?;
    run_until(args, out, &stop)
}

/// Like `run`, until `stop` becomes readable.
pub fn run_until(args: ClientArgs, out: Lines, stop: &impl AsRawFd) -> Result<(), String> {
    sys::raise_file_limit();
    let failed = |e: std::io::Error| format!("cannot wait for events: {e}");
    let exec = Exec::new(args.coalesce_ns).map_err(failed)?;
    let stop = exec.watch(stop.as_raw_fd()).map_err(failed)?;
    let (waiting, main) = (exec.clone(), exec.clone());
    let ended = Rc::new(RefCell::new(Err("interrupted by a signal".to_owned())));
    let place = ended.clone();
    exec.run(async move {
        let over = Rc::new(Cell::new(false));
        let told = over.clone();
        let source = stop.clone();
        let waker = Rc::new(RefCell::new(None::<std::task::Waker>));
        let wake = waker.clone();
        main.clone().spawn(async move {
            *place.borrow_mut() = all(main, args, out).await;
            told.set(true);
            if let Some(waker) = wake.borrow_mut().take() {
                waker.wake();
            }
        });
        let mut signal = std::pin::pin!(waiting.readable(&source));
        std::future::poll_fn(|cx| {
            *waker.borrow_mut() = Some(cx.waker().clone());
            if over.get() {
                return std::task::Poll::Ready(());
            }
            std::future::Future::poll(signal.as_mut(), cx)
        })
        .await;
    })
    .map_err(failed)?;
    let result = ended.borrow().clone();
    result
}

fn resolve_named(host: &str, port: u16) -> Result<SocketAddr, String> {
    resolve(host, port).map_err(|why| format!("{host}: {why}"))
}

async fn all(exec: Exec, args: ClientArgs, mut out: Lines) -> Result<(), String> {
    let tls = if args.url.tls {
        let mut config = (*tls::client_config(args.insecure, args.ca.as_deref())?).clone();
        config.alpn_protocols = vec![b"h2".to_vec()];
        // A foreign probe is a stranger's: it makes the whole handshake.
        config.resumption = rustls::client::Resumption::disabled();
        Some(Arc::new(config))
    } else {
        None
    };
    let mut first = Path {
        exec: exec.clone(),
        address: resolve_named(&args.url.host, args.url.port)?,
        server_name: args.url.host.clone(),
        tls,
        args,
    };
    let deadline_ns = sys::monotonic_ns() + SETUP_TIMEOUT_NS;
    let config = exec
        .before(deadline_ns, configuration(&first))
        .await
        .map_err(|_| format!("{}: no configuration within 15 s", first.args.url.authority))??;
    first.address =
        resolve_named(config.test_endpoint.as_deref().unwrap_or(&config.small.host), config.small.port)?;
    first.server_name = config.small.host.clone();
    if config.small.tls != first.args.url.tls {
        return Err(format!(
            "{}: the configuration came from a server with other encryption",
            config.small.text()
        ));
    }
    let (path, uris) = (Rc::new(first), Rc::new(Uris::of(&config)?));
    let p = path.args.parameters;
    out.write(&keyed(
        "starting",
        sys::monotonic_ns(),
        json!({"variant": p.variant.name(), "interval_ns": p.interval_ns, "mad": p.mad, "tmp_percent": p.tmp_percent,
               "sdt": p.sdt, "inp": p.inp, "inc": p.inc, "mnp": p.mnp, "mps": p.mps, "ptc": p.ptc,
               "stage_intervals": path.args.stage_intervals, "tls": path.tls.is_some(),
               "coalesce_ns": path.args.coalesce_ns, "notsent_lowat_bytes": path.args.notsent_bytes,
               "address": path.address.to_string(), "small_download_url": config.small.text()}),
    ))?;
    idle(&path, &uris, &mut out).await?;
    let (mut results, mut failure) = (Map::new(), None);
    let many = path.args.tests.clone();
    for ways in many {
        let name = test_name(&ways);
        let (mut figures, error) = Test::new(&path, &uris, ways).run(&mut out).await?;
        figures["error"] = json!(error);
        if let Some(e) = error {
            failure.get_or_insert(format!("{name} from {}: {e}", path.args.url.authority));
        }
        results.insert(name.into(), figures);
    }
    let server = json!({"url": path.args.url.text(), "address": path.address.to_string()});
    let summary = json!({"server": server, "variant": p.variant.name(), "tests": results});
    out.write(&keyed("summary", sys::monotonic_ns(), summary))?;
    failure.map_or(Ok(()), Err)
}

async fn configuration(path: &Path) -> Result<Config, String> {
    let mut url = path.args.url.clone();
    if url.path == "/" {
        url.path = WELL_KNOWN.into();
    }
    let text = url.text();
    let uri = text.parse().map_err(|e| format!("{text}: {e}"))?;
    let session = path.session().await?;
    let bytes = session.requests().fetch(&uri, MAX_CONFIG_BYTES).await?;
    parse_config(&bytes).map_err(|why| format!("{text}: not a configuration: {why}"))
}

/// Foreign probes one after another on the idle path.
async fn idle(path: &Rc<Path>, uris: &Rc<Uris>, out: &mut Lines) -> Result<(), String> {
    for _ in 0..path.args.idle_probes {
        let start_ns = sys::monotonic_ns();
        let probe = path.foreign(&uris.small, start_ns);
        let result = path.exec.before(start_ns + SETUP_TIMEOUT_NS, probe).await;
        let result = result.unwrap_or_else(|_| Err("not answered within 15 s".into()));
        let (took, end_ns) = result.map_err(|e| format!("a probe of the idle path failed: {e}"))?;
        let probe = Probe { start_ns, end_ns, foreign: true, connection: None, outcome: Ok(took) };
        out.write(&probe.line("idle"))?;
    }
    Ok(())
}
