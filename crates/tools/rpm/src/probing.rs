//! Probes: when they start, where they go, and the book of how they ended.

use crate::load::{loaded, Load, Path, Uris};
use crate::session::Requests;
use crate::stability::{Round, Took};
use narrows_wire::lines::keyed;
use narrows_wire::random::Random;
use narrows_wire::sys;
use serde_json::{json, Value};
use std::cell::{Cell, RefCell};
use std::future::Future;
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
            Ok(Took::Foreign { tcp_ns, tls_ns, tls_round_trips, http_ns }) => {
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

/// What the tasks that probe share: where probes go, on what, and the book of how they ended.
pub struct Prober {
    pub path: Rc<Path>,
    pub uris: Rc<Uris>,
    pub loads: RefCell<Vec<Rc<Load>>>,
    pub probes: RefCell<Vec<Probe>>,
    pub gap_ns: Cell<u64>,
    pub launched_foreign: Cell<u64>,
    pub launched_self: Cell<u64>,
    ended: Cell<u64>,
    pub tasks: RefCell<Vec<u64>>,
    /// goresponsiveness' rounds, in order of their start.
    pub rounds: RefCell<Vec<Round>>,
}

impl Prober {
    pub fn new(path: &Rc<Path>, uris: &Rc<Uris>) -> Prober {
        Prober {
            path: path.clone(),
            uris: uris.clone(),
            loads: RefCell::default(),
            probes: RefCell::default(),
            gap_ns: Cell::default(),
            launched_foreign: Cell::default(),
            launched_self: Cell::default(),
            ended: Cell::default(),
            tasks: RefCell::default(),
            rounds: RefCell::default(),
        }
    }

    /// The task that launches probes: a foreign one, half a gap later one on a load-generating connection.
    pub async fn probe(self: Rc<Self>) {
        let mut random = Random::new(sys::random_u64());
        let mut next_ns = sys::monotonic_ns();
        loop {
            self.launch(None);
            self.path.exec.sleep_until(next_ns + self.gap_ns.get() / 2).await;
            if let Some(on) = self.any_load(&mut random) {
                self.launch(Some(on));
            }
            next_ns += self.gap_ns.get();
            self.path.exec.sleep_until(next_ns).await;
        }
    }

    /// The task that launches goresponsiveness' rounds.
    pub async fn go_rounds(self: Rc<Self>) {
        loop {
            // From now on, as there: a client that was late does not catch up.
            let start_ns = sys::monotonic_ns() + self.gap_ns.get();
            self.path.exec.sleep_until(start_ns).await;
            let number = self.rounds.borrow().len();
            self.rounds.borrow_mut().push(Round { start_ns: sys::monotonic_ns(), took_ns: None });
            let prober = self.clone();
            self.spawn(async move {
                let Some(foreign_ns) = prober.probed(None).await else {
                    return;
                };
                let mut random = Random::new(sys::random_u64());
                let Some(on) = prober.any_load(&mut random) else {
                    return;
                };
                let own_ns = prober.probed(Some(on)).await;
                prober.rounds.borrow_mut()[number].took_ns = own_ns.map(|own_ns| foreign_ns + own_ns);
            });
        }
    }

    /// A load-generating connection that stands, drawn.
    fn any_load(&self, random: &mut Random) -> Option<On> {
        let loads = self.loads.borrow();
        let able: Vec<On> = loads.iter().filter_map(|load| Some((load.number, load.requests()?))).collect();
        (!able.is_empty()).then(|| able[random.next_u64() as usize % able.len()].clone())
    }

    fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        let task = self.path.exec.spawn(task);
        self.tasks.borrow_mut().push(task);
    }

    fn launch(self: &Rc<Self>, on: Option<On>) {
        let launched = self.launched_foreign.get() + self.launched_self.get();
        if launched - self.ended.get() < MAX_UNDER_WAY {
            let prober = self.clone();
            self.spawn(async move {
                prober.probed(on).await;
            });
        }
    }

    /// One probe, from its start to its entry in the book; how long it took, if it succeeded.
    async fn probed(&self, on: Option<On>) -> Option<u64> {
        increment(match on {
            Some(_) => &self.launched_self,
            None => &self.launched_foreign,
        });
        let start_ns = sys::monotonic_ns();
        let result = match &on {
            None => self.path.foreign(&self.uris.small, start_ns).await,
            Some((_, requests)) => loaded(requests, &self.uris.small, start_ns).await,
        };
        let (outcome, end_ns) = match result {
            Ok((took, end_ns)) => (Ok(took), end_ns),
            Err(e) => (Err(e), sys::monotonic_ns()),
        };
        increment(&self.ended);
        let took_ns = outcome.is_ok().then_some(end_ns - start_ns);
        self.probes.borrow_mut().push(Probe {
            start_ns,
            end_ns,
            foreign: on.is_none(),
            connection: on.map(|(number, _)| number),
            outcome,
        });
        took_ns
    }
}

/// Number of a load-generating connection, and how to ask on it.
type On = (usize, Requests);

fn increment(counter: &Cell<u64>) {
    counter.set(counter.get() + 1);
}
