//! Probes: when they start, where they go, and the book of how they ended.

use crate::load::{loaded, Load, Path, Uris};
use crate::session::Requests;
use crate::stability::{Round, Took};
use crate::test::Test;
use narrows_wire::lines::keyed;
use narrows_wire::random::Random;
use narrows_wire::sys;
use serde_json::{json, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Probes under way at once; a path that takes longer gets no more.
const MAX_UNDER_WAY: u64 = 512;

pub struct Probe {
    pub start_ns: u64,
    pub end_ns: u64,
    pub foreign: bool,
    /// Number of the load-generating connection.
    pub connection: Option<usize>,
    pub outcome: Result<Took, String>,
}

impl Probe {
    pub fn line(&self, test: &str) -> Value {
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

#[derive(Default)]
pub struct Prober {
    pub gap_ns: Cell<u64>,
    pub launched_foreign: Cell<u64>,
    pub launched_self: Cell<u64>,
    ended: Cell<u64>,
    pub tasks: RefCell<Vec<u64>>,
    /// goresponsiveness' rounds, in order of their start.
    pub rounds: RefCell<Vec<Round>>,
}

impl Test {
    /// The task that launches probes: a foreign one, half a gap later one on a load-generating connection.
    pub fn probe(&self) -> impl std::future::Future<Output = ()> + 'static {
        let (path, uris) = (self.path.clone(), self.uris.clone());
        let (loads, probes, prober) = (self.loads.clone(), self.probes.clone(), self.prober.clone());
        async move {
            let mut random = Random::new(sys::random_u64());
            let mut next_ns = sys::monotonic_ns();
            loop {
                launch(&path, &uris, &probes, &prober, None);
                path.exec.sleep_until(next_ns + prober.gap_ns.get() / 2).await;
                if let Some(on) = any_of(&loads, &mut random) {
                    launch(&path, &uris, &probes, &prober, Some(on));
                }
                next_ns += prober.gap_ns.get();
                path.exec.sleep_until(next_ns).await;
            }
        }
    }

    /// The task that launches goresponsiveness' rounds.
    pub fn rounds(&self) -> impl std::future::Future<Output = ()> + 'static {
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
                    let mut random = Random::new(sys::random_u64());
                    let Some(on) = any_of(&loads, &mut random) else {
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

fn increment(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}

/// A load-generating connection that stands, drawn.
fn any_of(loads: &RefCell<Vec<Rc<Load>>>, random: &mut Random) -> Option<On> {
    let able: Vec<On> = loads
        .borrow()
        .iter()
        .filter_map(|load| Some((load.number, load.requests()?)))
        .collect();
    (!able.is_empty()).then(|| able[random.next_u64() as usize % able.len()].clone())
}

/// Number of a load-generating connection, and how to ask on it.
type On = (usize, Requests);

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
