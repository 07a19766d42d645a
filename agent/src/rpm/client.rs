//! The responsiveness client: loads the path with ever more connections, probes it, and stops when the draft says so.
//!
//! Writes JSON lines: every probe with its parts, every interval with its bytes, a summary. The rules are in
//! `stability`; where the draft contradicts itself on the number of probes (100 probes or 100 pairs per second), its
//! own estimate of their cost decides: 100 probes, half of each kind. goresponsiveness (as stored in 2024) sends 100
//! rounds per second whatever the path carries, each a foreign probe and after it one on any of its connections, and
//! begins when the goodput is stable.

use super::args::{ClientArgs, Way};
use super::config::{parse_config, Config, MAX_CONFIG_BYTES, WELL_KNOWN};
use super::exec::Exec;
use super::load::{loaded, Load, Path, Uris};
use super::stability::{
    go_interval_means_ms, is_stable, moving_average, rpm, Parameters, Round, Rpm, Took, Variant,
};
use crate::ndt7::output::{keyed, Lines};
use crate::ndt7::spec::Rng;
use crate::ndt7::{sys, tls};
use serde_json::{json, Map, Value};
use std::cell::{Cell, RefCell};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::Arc;

/// For everything before the first test, and for each idle probe.
const SETUP_TIMEOUT_NS: u64 = 15_000_000_000;
/// The draft's estimate of what one probe of each kind takes.
const PAIR_BYTES: f64 = 6000.0;
/// Between pairs of probes until the first interval has shown the capacity.
const FIRST_GAP_NS: u64 = 100_000_000;
/// Probes under way at once; a path that takes longer gets no more.
const MAX_UNDER_WAY: u64 = 512;

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

fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, port));
    }
    let mut found = (host, port)
        .to_socket_addrs()
        .map_err(|e| format!("{host}: cannot be resolved: {e}"))?;
    found.next().ok_or_else(|| format!("{host}: has no address"))
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
        address: resolve(&args.url.host, args.url.port)?,
        server_name: args.url.host.clone(),
        tls,
        args,
    };
    let deadline_ns = sys::monotonic_ns() + SETUP_TIMEOUT_NS;
    let config = exec
        .before(deadline_ns, configuration(&first))
        .await
        .map_err(|_| format!("{}: no configuration within 15 s", first.args.url.authority))??;
    first.address = resolve(
        config.test_endpoint.as_deref().unwrap_or(&config.small.host),
        config.small.port,
    )?;
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

fn test_name(ways: &[Way]) -> &'static str {
    match ways {
        [one] => one.name(),
        _ => "both",
    }
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
        let probe = Probe {
            start_ns,
            end_ns,
            foreign: true,
            connection: None,
            outcome: Ok(took),
        };
        out.write(&probe.line("idle"))?;
    }
    Ok(())
}

struct Probe {
    start_ns: u64,
    end_ns: u64,
    foreign: bool,
    /// Number of the load-generating connection.
    connection: Option<usize>,
    outcome: Result<Took, String>,
}

impl Probe {
    fn line(&self, test: &str) -> Value {
        let mut value = json!({"test": test, "kind": if self.foreign { "foreign" } else { "self" },
                               "start_ns": self.start_ns, "end_ns": self.end_ns});
        if let Some(number) = self.connection {
            value["connection"] = json!(number);
        }
        match &self.outcome {
            Ok(Took::Foreign {
                tcp_ns,
                tls_ns,
                tls_round_trips,
                http_ns,
            }) => {
                value["tcp_ns"] = json!(tcp_ns);
                value["tls_ns"] = json!(tls_ns);
                value["tls_round_trips"] = json!(tls_ns.map(|_| tls_round_trips));
                value["http_ns"] = json!(http_ns);
            }
            Ok(Took::Loaded { http_ns }) => value["http_ns"] = json!(http_ns),
            Err(e) => value["error"] = json!(e),
        }
        keyed("probe", self.end_ns, value)
    }
}

/// One way's test, or one of both ways at once.
struct Test {
    path: Rc<Path>,
    uris: Rc<Uris>,
    ways: Vec<Way>,
    loads: Rc<RefCell<Vec<Rc<Load>>>>,
    probes: Rc<RefCell<Vec<Probe>>>,
    prober: Rc<Prober>,
}

#[derive(Default)]
struct Prober {
    gap_ns: Cell<u64>,
    launched_foreign: Cell<u64>,
    launched_self: Cell<u64>,
    ended: Cell<u64>,
    tasks: RefCell<Vec<u64>>,
    /// goresponsiveness' rounds, in order of their start.
    rounds: RefCell<Vec<Round>>,
}

fn increment(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

/// Confidence of a stage, in the draft's words.
fn confidence(intervals: usize, stable: bool, parameters: &Parameters) -> &'static str {
    match (intervals < parameters.mad, stable) {
        (true, _) => "low",
        (false, true) => "high",
        (false, false) => "medium",
    }
}

impl Test {
    fn new(path: &Rc<Path>, uris: &Rc<Uris>, ways: Vec<Way>) -> Test {
        Test {
            path: path.clone(),
            uris: uris.clone(),
            ways,
            loads: Rc::default(),
            probes: Rc::default(),
            prober: Rc::default(),
        }
    }

    fn add(&self, count: usize) {
        for way in &self.ways {
            for _ in 0..count {
                let mut loads = self.loads.borrow_mut();
                if loads.iter().filter(|load| load.way == *way).count() < self.path.args.parameters.mnp {
                    let number = loads.len();
                    loads.push(Load::start(&self.path, &self.uris, number, *way));
                }
            }
        }
    }

    /// Figures, and why the test counts as failed if it does.
    async fn run(self, out: &mut Lines) -> Result<(Value, Option<String>), String> {
        let (exec, name) = (self.path.exec.clone(), test_name(&self.ways));
        let p = self.path.args.parameters;
        let limit = self.path.args.stage_intervals;
        let start_ns = sys::monotonic_ns();
        out.write(&keyed(
            "begin",
            start_ns,
            json!({"test": name, "start_ns": start_ns}),
        ))?;
        let go = p.variant == Variant::Go;
        self.prober
            .gap_ns
            .set(if go { (1e9 / p.mps) as u64 } else { FIRST_GAP_NS });
        self.add(p.inp);
        let mut probing = (!go).then(|| exec.spawn(self.probe()));
        let mut written = 0;
        let (mut before, mut goodputs, mut averages) = (vec![0; self.ways.len()], vec![], vec![]);
        let (mut series, mut results): (Vec<f64>, Vec<Rpm>) = (vec![], vec![]);
        let (mut goodput_stable_at, mut stage_two_from, mut stable_at, mut error) = (None, None, None, None);
        let mut last = json!({});
        for i in 0.. {
            let end_ns = start_ns + (i as u64 + 1) * p.interval_ns;
            exec.sleep_until(end_ns).await;
            let now: Vec<u64> = self.ways.iter().map(|way| self.bytes(*way)).collect();
            let moved: Vec<u64> = now
                .iter()
                .zip(&before)
                .map(|(n, b)| n.saturating_sub(*b))
                .collect();
            before = now;
            let seconds = p.interval_ns as f64 / 1e9;
            goodputs.push(moved.iter().sum::<u64>() as f64 * 8.0 / seconds);
            averages.push(moving_average(&goodputs, p.mad));
            let mut value = json!({"test": name, "index": i, "start_ns": end_ns - p.interval_ns, "end_ns": end_ns,
                                   "connections": self.loads.borrow().len(), "goodput_bps": averages[i],
                                   "stage": if stage_two_from.is_some() { "responsiveness" } else { "goodput" }});
            for (way, bytes) in self.ways.iter().zip(&moved) {
                value[format!("{}_bytes", way.name())] = json!(bytes);
            }
            if stage_two_from.is_none() {
                let of = if go { &goodputs[..i] } else { &averages[..] };
                if is_stable(of, &p) {
                    goodput_stable_at = Some(i);
                }
                if goodput_stable_at.is_some() || i + 1 >= limit {
                    stage_two_from = Some(i + 1);
                    probing.get_or_insert_with(|| exec.spawn(self.rounds()));
                }
            } else {
                let result = self.responsiveness(end_ns, &p);
                value["rpm"] = json!(result.whole);
                value["foreign_rpm"] = json!(result.foreign);
                value["loaded_rpm"] = json!(result.loaded);
                results.push(result);
                if go {
                    let (count, rounds) = (results.len() - 1, self.prober.rounds.borrow());
                    let first_ns = end_ns - results.len() as u64 * p.interval_ns;
                    series = go_interval_means_ms(&rounds, first_ns, p.interval_ns, count);
                } else {
                    series.push(result.whole.unwrap_or(f64::NAN));
                }
                stable_at = is_stable(&series, &p).then_some(i);
            }
            written += self.write_probes(out, name, written)?;
            out.write(&keyed("interval", sys::monotonic_ns(), value.clone()))?;
            last = value;
            error = self.loads.borrow().iter().find_map(|load| load.error());
            if stable_at.is_some() || results.len() >= limit || error.is_some() {
                break;
            }
            self.set_gap(averages[i].max(goodputs[i]), &p);
            self.add(p.inc);
        }
        if let Some(task) = probing {
            exec.abort(task);
        }
        let cca = self.loads.borrow().iter().find_map(|load| load.cca());
        for load in self.loads.borrow().iter() {
            load.stop(&exec);
        }
        for task in self.prober.tasks.take() {
            exec.abort(task);
        }
        let result = results.last().copied().unwrap_or_default();
        let first = stage_two_from.unwrap_or(goodputs.len());
        let probes = self.probes.borrow();
        let count = |foreign: bool, ok: bool| {
            let of = |p: &&Probe| p.foreign == foreign && p.outcome.is_ok() == ok;
            probes.iter().filter(of).count()
        };
        let figures = json!({
            "intervals": goodputs.len(), "connections": last["connections"], "goodput_bps": last["goodput_bps"],
            "client_cca": cca,
            "goodput_stable_at": goodput_stable_at,
            "goodput_confidence": confidence(first, goodput_stable_at.is_some(), &p),
            "responsiveness_stable_at": stable_at,
            "responsiveness_confidence": confidence(results.len(), stable_at.is_some(), &p),
            "rpm": result.whole, "foreign_rpm": result.foreign, "loaded_rpm": result.loaded,
            "foreign_probes": {"launched": self.prober.launched_foreign.get(), "completed": count(true, true),
                               "failed": count(true, false)},
            "self_probes": {"launched": self.prober.launched_self.get(), "completed": count(false, true),
                            "failed": count(false, false)},
        });
        Ok((figures, error))
    }

    fn bytes(&self, way: Way) -> u64 {
        let loads = self.loads.borrow();
        loads.iter().filter(|l| l.way == way).map(|l| l.bytes()).sum()
    }

    /// RPM of the probes of the last MAD intervals, by the draft's formula.
    fn responsiveness(&self, end_ns: u64, p: &Parameters) -> Rpm {
        let probes = self.probes.borrow();
        let from = end_ns.saturating_sub(p.mad as u64 * p.interval_ns);
        let recent = probes
            .iter()
            .filter(|probe| (from..end_ns).contains(&probe.end_ns))
            .filter_map(|probe| probe.outcome.as_ref().ok());
        rpm(recent, self.path.tls.is_some(), p.tmp_percent)
    }

    /// Probes take at most their share of the capacity that was seen.
    fn set_gap(&self, goodput_bps: f64, p: &Parameters) {
        if p.variant == Variant::Go {
            return;
        }
        let pairs_per_s = (p.ptc * goodput_bps / 8.0 / PAIR_BYTES).min(p.mps / 2.0);
        let gap_ns = (1e9 / pairs_per_s).min(p.interval_ns as f64);
        self.prober.gap_ns.set(gap_ns as u64);
    }

    fn write_probes(&self, out: &mut Lines, name: &str, from: usize) -> Result<usize, String> {
        let probes = self.probes.borrow();
        for probe in &probes[from..] {
            out.write(&probe.line(name))?;
        }
        Ok(probes.len() - from)
    }

    /// The task that launches probes: a foreign one, half a gap later one on a load-generating connection.
    fn probe(&self) -> impl std::future::Future<Output = ()> + 'static {
        let (path, uris) = (self.path.clone(), self.uris.clone());
        let (loads, probes, prober) = (self.loads.clone(), self.probes.clone(), self.prober.clone());
        async move {
            let mut rng = Rng::new(sys::random_u64());
            let mut next_ns = sys::monotonic_ns();
            loop {
                launch(&path, &uris, &probes, &prober, None);
                path.exec.sleep_until(next_ns + prober.gap_ns.get() / 2).await;
                if let Some(on) = any_of(&loads, &mut rng) {
                    launch(&path, &uris, &probes, &prober, Some(on));
                }
                next_ns += prober.gap_ns.get();
                path.exec.sleep_until(next_ns).await;
            }
        }
    }

    /// The task that launches goresponsiveness' rounds.
    fn rounds(&self) -> impl std::future::Future<Output = ()> + 'static {
        let (path, uris) = (self.path.clone(), self.uris.clone());
        let (loads, probes, prober) = (self.loads.clone(), self.probes.clone(), self.prober.clone());
        async move {
            loop {
                // From now on, as there: a client that was late does not catch up.
                path.exec
                    .sleep_until(sys::monotonic_ns() + prober.gap_ns.get())
                    .await;
                let (path_of, uris, loads) = (path.clone(), uris.clone(), loads.clone());
                let (probes, prober_of) = (probes.clone(), prober.clone());
                let number = prober.rounds.borrow().len();
                let start_ns = sys::monotonic_ns();
                prober.rounds.borrow_mut().push(Round {
                    start_ns,
                    took_ns: None,
                });
                let task = path.exec.spawn(async move {
                    let foreign = probed(&path_of, &uris, &probes, &prober_of, None).await;
                    let Some(foreign_ns) = foreign else { return };
                    let mut rng = Rng::new(sys::random_u64());
                    let Some(on) = any_of(&loads, &mut rng) else {
                        return;
                    };
                    let own = probed(&path_of, &uris, &probes, &prober_of, Some(on)).await;
                    let took_ns = own.map(|own_ns| foreign_ns + own_ns);
                    prober_of.rounds.borrow_mut()[number].took_ns = took_ns;
                });
                prober.tasks.borrow_mut().push(task);
            }
        }
    }
}

/// A load-generating connection that stands, drawn.
fn any_of(loads: &RefCell<Vec<Rc<Load>>>, rng: &mut Rng) -> Option<On> {
    let able: Vec<On> = loads
        .borrow()
        .iter()
        .filter_map(|load| Some((load.number, load.requests()?)))
        .collect();
    (!able.is_empty()).then(|| able[rng.next_u64() as usize % able.len()].clone())
}

/// Number of a load-generating connection, and how to ask on it.
type On = (usize, super::session::Requests);

fn launch(
    path: &Rc<Path>,
    uris: &Rc<Uris>,
    probes: &Rc<RefCell<Vec<Probe>>>,
    prober: &Rc<Prober>,
    on: Option<On>,
) {
    let launched = prober.launched_foreign.get() + prober.launched_self.get();
    if launched - prober.ended.get() >= MAX_UNDER_WAY {
        return;
    }
    let (path_of, uris, probes, prober_of) = (path.clone(), uris.clone(), probes.clone(), prober.clone());
    let task = path.exec.spawn(async move {
        probed(&path_of, &uris, &probes, &prober_of, on).await;
    });
    prober.tasks.borrow_mut().push(task);
}

/// One probe, from its start to its entry in the book; how long it took, if it succeeded.
async fn probed(
    path: &Path,
    uris: &Uris,
    probes: &RefCell<Vec<Probe>>,
    prober: &Prober,
    on: Option<On>,
) -> Option<u64> {
    increment(if on.is_some() {
        &prober.launched_self
    } else {
        &prober.launched_foreign
    });
    let start_ns = sys::monotonic_ns();
    let result = match &on {
        None => path.foreign(&uris.small, start_ns).await,
        Some((_, requests)) => loaded(requests, &uris.small, start_ns).await,
    };
    let (outcome, end_ns) = match result {
        Ok((took, end_ns)) => (Ok(took), end_ns),
        Err(e) => (Err(e), sys::monotonic_ns()),
    };
    increment(&prober.ended);
    let took_ns = outcome.is_ok().then_some(end_ns - start_ns);
    probes.borrow_mut().push(Probe {
        start_ns,
        end_ns,
        foreign: on.is_none(),
        connection: on.map(|(number, _)| number),
        outcome,
    });
    took_ns
}
