//! One way's test, or one of both ways at once: stage after stage, interval after interval, until the draft's rules end it.

use crate::load::{Load, Path, Uris};
use crate::probing::{Probe, Prober};
use crate::stability::{go_interval_means_ms, is_stable, moving_average, rpm, Parameters, Rpm, Variant};
use narrows_wire::args::Way;
use narrows_wire::lines::{keyed, Lines};
use narrows_wire::sys;
use serde_json::{json, Value};
use std::rc::Rc;

/// The draft's estimate of what one probe of each kind takes.
const PAIR_BYTES: f64 = 6000.0;
/// Between pairs of probes until the first interval has shown the capacity.
const FIRST_GAP_NS: u64 = 100_000_000;

/// One way's test, or one of both ways at once.
pub struct Test {
    ways: Vec<Way>,
    prober: Rc<Prober>,
}

pub fn test_name(ways: &[Way]) -> &'static str {
    match ways {
        [one] => one.name(),
        _ => "both",
    }
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
    pub fn new(path: &Rc<Path>, uris: &Rc<Uris>, ways: Vec<Way>) -> Test {
        Test { ways, prober: Rc::new(Prober::new(path, uris)) }
    }

    fn add(&self, count: usize) {
        for way in &self.ways {
            for _ in 0..count {
                let mut loads = self.prober.loads.borrow_mut();
                if loads.iter().filter(|load| load.way == *way).count() < self.prober.path.args.parameters.mnp
                {
                    let number = loads.len();
                    loads.push(Load::start(&self.prober.path, &self.prober.uris, number, *way));
                }
            }
        }
    }

    /// Figures, and why the test counts as failed if it does.
    pub async fn run(self, out: &mut Lines) -> Result<(Value, Option<String>), String> {
        let (exec, name) = (self.prober.path.exec.clone(), test_name(&self.ways));
        let p = self.prober.path.args.parameters;
        let limit = self.prober.path.args.stage_intervals;
        let start_ns = sys::monotonic_ns();
        out.write(&keyed("begin", start_ns, json!({"test": name, "start_ns": start_ns})))?;
        let go = p.variant == Variant::Go;
        self.prober.gap_ns.set(if go { (1e9 / p.mps) as u64 } else { FIRST_GAP_NS });
        self.add(p.inp);
        let mut probing = (!go).then(|| exec.spawn(self.prober.clone().probe()));
        let mut written = 0;
        let (mut before, mut goodputs, mut averages) = (vec![0; self.ways.len()], vec![], vec![]);
        let (mut series, mut results): (Vec<f64>, Vec<Rpm>) = (vec![], vec![]);
        let (mut goodput_stable_at, mut stage_two_from, mut stable_at, mut error) = (None, None, None, None);
        let mut last = json!({});
        for i in 0.. {
            let end_ns = start_ns + (i as u64 + 1) * p.interval_ns;
            exec.sleep_until(end_ns).await;
            let now: Vec<u64> = self.ways.iter().map(|way| self.bytes(*way)).collect();
            let moved: Vec<u64> = now.iter().zip(&before).map(|(n, b)| n.saturating_sub(*b)).collect();
            before = now;
            let seconds = p.interval_ns as f64 / 1e9;
            goodputs.push(moved.iter().sum::<u64>() as f64 * 8.0 / seconds);
            averages.push(moving_average(&goodputs, p.mad));
            let mut value = json!({"test": name, "index": i, "start_ns": end_ns - p.interval_ns, "end_ns": end_ns,
                                   "connections": self.prober.loads.borrow().len(), "goodput_bps": averages[i],
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
                    probing.get_or_insert_with(|| exec.spawn(self.prober.clone().go_rounds()));
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
            error = self.prober.loads.borrow().iter().find_map(|load| load.error());
            if stable_at.is_some() || results.len() >= limit || error.is_some() {
                break;
            }
            self.set_gap(averages[i].max(goodputs[i]), &p);
            self.add(p.inc);
        }
        if let Some(task) = probing {
            exec.abort(task);
        }
        let cca = self.prober.loads.borrow().iter().find_map(|load| load.cca());
        for load in self.prober.loads.borrow().iter() {
            load.stop(&exec);
        }
        for task in self.prober.tasks.take() {
            exec.abort(task);
        }
        let result = results.last().copied().unwrap_or_default();
        let first = stage_two_from.unwrap_or(goodputs.len());
        let probes = self.prober.probes.borrow();
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
        let loads = self.prober.loads.borrow();
        loads.iter().filter(|l| l.way == way).map(|l| l.bytes()).sum()
    }

    /// RPM of the probes of the last MAD intervals, by the draft's formula.
    fn responsiveness(&self, end_ns: u64, p: &Parameters) -> Rpm {
        let probes = self.prober.probes.borrow();
        let from = end_ns.saturating_sub(p.mad as u64 * p.interval_ns);
        let recent = probes
            .iter()
            .filter(|probe| (from..end_ns).contains(&probe.end_ns))
            .filter_map(|probe| probe.outcome.as_ref().ok());
        rpm(recent, self.prober.path.tls.is_some(), p.tmp_percent)
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
        let probes = self.prober.probes.borrow();
        for probe in &probes[from..] {
            out.write(&probe.line(name))?;
        }
        Ok(probes.len() - from)
    }
}
