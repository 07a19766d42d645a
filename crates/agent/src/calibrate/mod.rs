//! Calibration: before t = 0, on the idle path, the rig shows its base RTT and its link rate.
//!
//! A run whose rig is not what its plan says has no numbers worth keeping: it fails here, with what was
//! measured. Nothing here depends on how the link is built.

mod dispersal;
mod rtt;
mod train;

use serde::Serialize;

pub use self::rtt::wait_readable;

use crate::clock::Clock;
use crate::error::{Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::sys;
use narrows_plan::{Calibration, CalibrationPath};

#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report {
    pub rtt_min_ns: Option<i64>,
    pub rtt_median_ns: Option<i64>,
    pub rtt_samples: usize,
    pub one_way_down_ns: Option<i64>,
    pub one_way_up_ns: Option<i64>,
    pub rate_down_bps: Option<f64>,
    pub rate_up_bps: Option<f64>,
    /// What passed faster than the rate before a queue stood: the token bucket's depth, roughly.
    pub burst_down_bytes: Option<u64>,
    pub burst_up_bytes: Option<u64>,
    pub ok: bool,
    pub problems: Vec<String>,
    /// Nothing of calibration is left in queues, and buckets are full again, from this t on.
    pub quiet_ns: i64,
}

fn check_rtt(plan: &Calibration, report: &mut Report) {
    for (what, value) in [("minimum", report.rtt_min_ns), ("median", report.rtt_median_ns)] {
        let Some(value) = value else { continue };
        if (value - plan.rtt_ns).abs() > plan.rtt_tolerance_ns {
            report.problems.push(format!(
                "{what} RTT of the idle path is {:.3} ms, the plan says {:.3} ± {:.3} ms",
                value as f64 / 1e6,
                plan.rtt_ns as f64 / 1e6,
                plan.rtt_tolerance_ns as f64 / 1e6
            ));
        }
    }
}

/// The base RTT of one more server: only checked, not reported.
fn check_other(
    plan: &Calibration,
    other: &CalibrationPath,
    nodes: &Nodes,
    clock: Clock,
    report: &mut Report,
) -> Result<()> {
    let path = Calibration {
        server: other.server.clone(),
        server_address: other.server_address,
        rtt_ns: other.rtt_ns,
        ..plan.clone()
    };
    let base = rtt::measure(&path, nodes, clock).map_err(|e| e.stage(Stage::Calibration))?;
    let mut found =
        Report { rtt_min_ns: Some(base.min_ns), rtt_median_ns: Some(base.median_ns), ..Report::default() };
    check_rtt(&path, &mut found);
    let of = |problem| format!("to {}: {problem}", other.server);
    report.problems.extend(found.problems.into_iter().map(of));
    Ok(())
}

/// The rate with a queue that stands, or, where none does, by a paced train.
fn rate(path: &train::Path, nodes: &Nodes, clock: Clock, paced: &mut bool) -> Result<train::Found> {
    if !*paced {
        if let Some(found) = train::measure(path, nodes, clock)? {
            return Ok(found);
        }
        *paced = true;
    }
    // the first direction leaves half of the time that is left
    let end_t = match path.is_last {
        true => path.end_t,
        false => (clock.t() + path.end_t) / 2,
    };
    train::measure_paced(path, end_t, nodes, clock)
}

/// None if the measured rate fits the plan.
fn rate_problem(direction: &str, found: &train::Found, expected: f64, plan: &Calibration) -> Option<String> {
    let measured = found.bps;
    let high = measured > expected * (1.0 + plan.rate_tolerance);
    let low = measured < expected * (1.0 - plan.rate_tolerance) && !plan.rate_is_upper_bound;
    (high || low).then(|| {
        format!(
            "IP-layer rate {direction} is {}{:.3} Mbit/s, the plan says {}{:.3} Mbit/s ± {} %",
            if found.at_least { "at least " } else { "" },
            measured / 1e6,
            if plan.rate_is_upper_bound { "at most " } else { "" },
            expected / 1e6,
            plan.rate_tolerance * 100.0
        )
    })
}

/// Measures and compares. `deadline_t` bounds it in virtual time. The report is filled in also when this fails.
pub fn run(
    plan: &Calibration,
    nodes: &Nodes,
    clock: Clock,
    deadline_t: i64,
    report: &mut Report,
) -> Result<()> {
    let failed = |message: String| RunError::new(Stage::Calibration, message);
    let base = rtt::measure(plan, nodes, clock).map_err(|e| e.stage(Stage::Calibration))?;
    report.rtt_samples = base.samples;
    report.rtt_min_ns = Some(base.min_ns);
    report.rtt_median_ns = Some(base.median_ns);
    report.one_way_up_ns = Some(base.up_ns);
    report.one_way_down_ns = Some(base.down_ns);
    check_rtt(plan, report);
    for other in &plan.others {
        check_other(plan, other, nodes, clock, report)?;
    }
    let mut quiet_ns = clock.t();
    // Where no queue stands in one direction, the other's is not waited for: there is time for one attempt only.
    let mut paced = false;
    for down in [true, false] {
        let expected = if down { plan.rate_down_bps } else { plan.rate_up_bps };
        let Some(expected_bps) = expected.map(|bps| bps as f64) else {
            continue;
        };
        let (from, to, address, one_way_ns) = match down {
            true => (&plan.server, &plan.client, plan.client_address, base.down_ns),
            false => (&plan.client, &plan.server, plan.server_address, base.up_ns),
        };
        let direction = if down { "down" } else { "up" };
        let path = train::Path {
            from,
            to,
            address,
            expected_bps,
            too_fast_bps: expected_bps * (1.0 + plan.rate_tolerance),
            one_way_ns,
            // the first direction leaves half of the time to the second
            deadline_t: if down { (clock.t() + deadline_t) / 2 } else { deadline_t },
            end_t: deadline_t,
            is_last: !down,
        };
        let found = rate(&path, nodes, clock, &mut paced).map_err(|mut e| {
            e.message = format!("rate {direction}: {}", e.message);
            e.stage(Stage::Calibration)
        })?;
        match down {
            true => {
                (report.rate_down_bps, report.burst_down_bytes) = (Some(found.bps), Some(found.burst_bytes))
            }
            false => (report.rate_up_bps, report.burst_up_bytes) = (Some(found.bps), Some(found.burst_bytes)),
        }
        report.problems.extend(rate_problem(direction, &found, expected_bps, plan));
        let refill_ns = (found.burst_bytes as f64 * 8e9 / found.bps) as i64;
        quiet_ns = quiet_ns.max(clock.t() + refill_ns + 2 * base.median_ns);
    }
    report.quiet_ns = quiet_ns;
    report.ok = report.problems.is_empty();
    if !report.ok {
        return Err(failed(format!("the rig is not what the plan says: {}", report.problems.join("; "))));
    }
    if quiet_ns > deadline_t {
        return Err(failed(format!(
            "calibration needs {:.0} ms more before t = 0: raise epoch_monotonic_ns",
            (quiet_ns - deadline_t) as f64 / 1e6
        )));
    }
    sys::sleep_until(quiet_ns + clock.epoch_mono_ns);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(upper: bool) -> Calibration {
        serde_json::from_value(serde_json::json!({
            "client": "c", "server": "s", "server_address": "10.0.2.1", "client_address": "10.0.0.1",
            "rtt_ns": 1_000_000, "rtt_tolerance_ns": 100_000, "rate_down_bps": 100_000_000, "rate_up_bps": null,
            "rate_tolerance": 0.02, "rate_is_upper_bound": upper
        }))
        .unwrap()
    }

    fn found(bps: f64) -> train::Found {
        train::Found { bps, at_least: false, burst_bytes: 0 }
    }

    #[test]
    fn a_rate_outside_its_tolerance_is_a_problem_with_both_numbers() {
        assert_eq!(rate_problem("down", &found(1.019e8), 1e8, &plan(false)), None);
        let p = rate_problem("down", &found(0.95e8), 1e8, &plan(false)).unwrap();
        assert!(p.contains("95.000") && p.contains("100.000"), "{p}");
    }

    #[test]
    fn below_an_upper_bound_is_fine_and_above_is_not() {
        assert_eq!(rate_problem("down", &found(0.5e8), 1e8, &plan(true)), None);
        assert!(rate_problem("down", &found(1.1e8), 1e8, &plan(true)).is_some());
    }

    #[test]
    fn an_rtt_outside_its_tolerance_is_a_problem() {
        let mut report = Report { rtt_min_ns: Some(0), rtt_median_ns: Some(1_050_000), ..Report::default() };
        check_rtt(&plan(false), &mut report);
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    }
}
