//! Stops the bulk flows once what they delivered has settled (`until_settled` of the plan).
//!
//! The rule is that of `narrows.metrics.settled`: at t a metric has settled if over [t − window, t] its largest
//! and smallest value differ by less than `within` times its value at t, and its record reaches back that far.
//! The metrics are of what each flow delivered from the window's start until t, by the kernel's own counter of
//! acknowledged bytes (TCP_INFO: the one that the flow tap samples), read at the instants at which the flow tap
//! samples. When the flows stop otherwise is the plan's affair: here that is only noted.

use std::collections::{BTreeMap, VecDeque};

use narrows_plan::{bulk_items, Item, SettleMetric, UntilSettled};
use serde::Serialize;

/// One quantity: the values of its last window.
#[derive(Default)]
struct Series {
    points: VecDeque<(i64, f64)>,
    /// Where its record begins; a missing value ends the record.
    since_ns: Option<i64>,
}

impl Series {
    fn push(&mut self, t_ns: i64, value: Option<f64>, window_ns: i64) {
        let Some(value) = value else {
            *self = Series::default();
            return;
        };
        self.since_ns.get_or_insert(t_ns);
        self.points.push_back((t_ns, value));
        while self.points.front().is_some_and(|(t, _)| *t < t_ns - window_ns) {
            self.points.pop_front();
        }
    }

    fn last(&self) -> Option<f64> {
        self.points.back().map(|(_, value)| *value)
    }

    /// Largest less smallest value of the window; None if the record does not reach back that far.
    fn range(&self, window_ns: i64) -> Option<f64> {
        let (last_ns, _) = self.points.back()?;
        if last_ns - self.since_ns? < window_ns {
            return None;
        }
        let values = self.points.iter().map(|(_, value)| *value);
        Some(values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min))
    }

    fn moved(&self, window_ns: i64) -> Option<f64> {
        let range = self.range(window_ns)?;
        self.last().filter(|now| *now != 0.0).map(|now| range / now.abs())
    }

    fn settled(&self, window_ns: i64, within: f64) -> bool {
        match (self.range(window_ns), self.last()) {
            (Some(range), Some(now)) => range < within * now.abs(),
            _ => false,
        }
    }
}

fn jain(delivered: &[f64]) -> Option<f64> {
    let sum: f64 = delivered.iter().sum();
    let squares: f64 = delivered.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (delivered.len() as f64 * squares))
}

/// The rule at work in one run.
pub struct Settling {
    plan: UntilSettled,
    /// The CCA of each flow, in the order of the counters.
    ccas: Vec<String>,
    /// Each flow's counter at its first sample, and when the first of all was taken.
    first: Vec<Option<u64>>,
    begun_ns: Option<i64>,
    samples: u64,
    /// The instant of the next sample: exact, where the clock may be a little later.
    due_ns: i64,
    /// By metric and, of shares, CCA.
    series: BTreeMap<(SettleMetric, Option<String>), Series>,
    /// How and when it ended.
    end: Option<(Reason, i64)>,
}

impl Settling {
    pub fn new(plan: &UntilSettled, traffic: &[Item]) -> Settling {
        let mut ccas = Vec::new();
        for bulk in bulk_items(traffic) {
            let cca = bulk.cca.clone().unwrap_or_else(|| "default".into());
            ccas.extend((0..bulk.flows).map(|_| cca.clone()));
        }
        let mut series = BTreeMap::new();
        for metric in plan.metrics.iter().copied() {
            match metric {
                SettleMetric::Shares => {
                    series.extend(ccas.iter().map(|c| ((metric, Some(c.clone())), Series::default())))
                }
                _ => drop(series.insert((metric, None), Series::default())),
            }
        }
        Settling {
            plan: plan.clone(),
            first: vec![None; ccas.len()],
            ccas,
            begun_ns: None,
            samples: 0,
            due_ns: i64::MIN,
            series,
            end: None,
        }
    }

    /// When the next sample is due: the first instant after `t_ns`, and not before the window's start, at which
    /// the flow tap samples too.
    pub fn next_due(&mut self, t_ns: i64, epoch_mono_ns: i64) -> i64 {
        let interval_ns = self.plan.interval_ns;
        let earliest = self.plan.start_ns.max(t_ns + 1) + epoch_mono_ns;
        let wait_ns = (interval_ns - earliest.rem_euclid(interval_ns)) % interval_ns;
        self.due_ns = earliest + wait_ns - epoch_mono_ns;
        self.due_ns
    }

    pub fn open(&self) -> bool {
        self.end.is_none()
    }

    /// Takes the counters of all flows (None: not connected yet); true once everything has settled.
    pub fn sample(&mut self, counters: &[Option<u64>]) -> bool {
        let t_ns = self.due_ns;
        let begun_ns = *self.begun_ns.get_or_insert(t_ns);
        self.samples += 1;
        for (first, now) in self.first.iter_mut().zip(counters) {
            *first = first.or(*now);
        }
        let delivered: Vec<f64> = self.first.iter().zip(counters).map(since).collect();
        let total: f64 = delivered.iter().sum();
        for ((metric, of), series) in &mut self.series {
            let value = match metric {
                SettleMetric::Jain => jain(&delivered),
                SettleMetric::Goodput => {
                    let seconds = (t_ns - begun_ns) as f64 / 1e9;
                    (total > 0.0).then_some(total * 8.0 / seconds)
                }
                SettleMetric::Shares => {
                    let own = self.ccas.iter().zip(&delivered);
                    let own: f64 = own.filter(|(cca, _)| Some(*cca) == of.as_ref()).map(|(_, d)| d).sum();
                    (total > 0.0).then_some(own / total)
                }
            };
            series.push(t_ns, value, self.plan.window_ns);
        }
        let (window_ns, within) = (self.plan.window_ns, self.plan.within);
        t_ns >= self.plan.not_before_ns && self.series.values().all(|s| s.settled(window_ns, within))
    }

    /// The flows are about to be stopped; only the first reason counts.
    pub fn end(&mut self, reason: Reason, t_ns: i64) {
        self.end.get_or_insert((reason, t_ns));
    }

    /// For people: "jain moved 2.1 %".
    pub fn note(&self) -> Option<String> {
        let moved = |s: &Series| s.moved(self.plan.window_ns);
        let worst = self.series.iter().filter_map(|(name, s)| Some((moved(s)?, name)));
        let (moved, (metric, of)) = worst.max_by(|a, b| a.0.total_cmp(&b.0))?;
        let of = of.as_ref().map(|cca| format!(" of {cca}")).unwrap_or_default();
        Some(format!("{}{of} moved {:.1} %", metric.name(), 100.0 * moved))
    }

    /// `until_settled` of result.json.
    pub fn report(&self) -> Settled {
        let each = |((metric, of), s): (&(SettleMetric, Option<String>), &Series)| SettledMetric {
            metric: metric.name(),
            of: of.clone(),
            value: s.last(),
            moved: s.moved(self.plan.window_ns),
        };
        Settled {
            reason: self.end.map(|e| e.0),
            at_ns: self.end.map(|e| e.1),
            samples: self.samples,
            metrics: self.series.iter().map(each).collect(),
        }
    }
}

#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    Settled,
    Limit,
}

/// How the rule ended.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Settled {
    reason: Option<Reason>,
    at_ns: Option<i64>,
    samples: u64,
    metrics: Vec<SettledMetric>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SettledMetric {
    metric: &'static str,
    /// Of shares, the CCA.
    of: Option<String>,
    value: Option<f64>,
    /// Largest less smallest value of the last window over the last value; None: the record is shorter.
    moved: Option<f64>,
}

fn since((first, now): (&Option<u64>, &Option<u64>)) -> f64 {
    match (first, now) {
        (Some(first), Some(now)) => now.saturating_sub(*first) as f64,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{json, Value};

    use super::*;
    use narrows_units::S;

    fn bulk(id: &str, cca: &str, flows: u32) -> Item {
        serde_json::from_value(json!({
            "kind": "tcp_bulk", "id": id, "item": id, "sender": "s", "receiver": "r", "receiver_address": "10.0.0.1",
            "port": 1, "flows": flows, "cca": cca, "dscp": 0, "ecn": false, "bytes": null,
            "start_spread_ns": 0, "sample_interval_ns": null, "start": {"at_ns": 0}, "stop": {"at_ns": 9}
        }))
        .unwrap()
    }

    fn settling(metrics: &[SettleMetric], within: f64, window_s: i64, traffic: &[Item]) -> Settling {
        let plan = UntilSettled {
            metrics: metrics.to_vec(),
            within,
            window_ns: window_s * S,
            start_ns: 10 * S,
            interval_ns: S,
            not_before_ns: 0,
        };
        Settling::new(&plan, traffic)
    }

    fn sample(rule: &mut Settling, t_s: i64, counters: &[Option<u64>]) -> bool {
        rule.due_ns = t_s * S;
        rule.sample(counters)
    }

    /// When it first settles, of counters per second from t = 10 s on.
    fn settles_at(rule: &mut Settling, rows: &[&[u64]]) -> Option<i64> {
        for (n, row) in rows.iter().enumerate() {
            let t_s = 10 + n as i64;
            if sample(rule, t_s, &row.iter().map(|v| Some(*v)).collect::<Vec<_>>()) {
                return Some(t_s);
            }
        }
        None
    }

    #[test]
    fn a_record_is_settled_when_it_moved_less_than_its_share_over_the_whole_window() {
        // The series of the Python metric's test: 0.4 < 0.01 × 50.45 only over the last two.
        let mut series = Series::default();
        let settled: Vec<bool> = [(0, 10.0), (1, 50.0), (2, 50.2), (3, 50.0), (4, 50.4)]
            .into_iter()
            .map(|(t, x)| {
                series.push(t, Some(x), 2);
                series.settled(2, 0.01)
            })
            .collect();
        assert_eq!(settled, [false, false, false, true, true]); // at 2 the window still holds 10
        assert_eq!(series.range(2), Some(50.4 - 50.0));
        assert_eq!(series.range(6), None); // the record is not that long
    }

    #[test]
    fn a_move_of_exactly_the_share_is_not_less_than_it() {
        let mut series = Series::default();
        for (t, x) in [(0, 3.0), (1, 4.0)] {
            series.push(t, Some(x), 1);
        }
        assert!(!series.settled(1, 0.25)); // 1 < 0.25 × 4 does not hold
        assert_eq!(series.moved(1), Some(0.25));
    }

    #[test]
    fn a_missing_value_begins_the_record_anew() {
        let mut series = Series::default();
        for (t, x) in [(0, Some(1.0)), (1, None), (2, Some(1.0)), (3, Some(1.0))] {
            series.push(t, x, 2);
        }
        assert!(!series.settled(2, 0.01));
        series.push(4, Some(1.0), 2);
        assert!(series.settled(2, 0.01));
    }

    #[test]
    fn fair_flows_settle_a_window_after_their_first_delivery() {
        let mut rule = settling(&[SettleMetric::Jain], 0.01, 3, &[bulk("b", "reno", 2)]);
        // Nothing is delivered since the start at 10 s yet, so the record is from 11 s on: 11 + 3.
        let rows: Vec<Vec<u64>> = (5..20).map(|n| vec![100 * n, 100 * n]).collect();
        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
        assert_eq!(settles_at(&mut rule, &rows), Some(14));
        rule.end(Reason::Settled, 14 * S);
        rule.end(Reason::Limit, 15 * S);
        let report = json!(rule.report());
        assert_eq!((&report["reason"], &report["at_ns"]), (&json!("settled"), &json!(14 * S)));
        assert_eq!(report["samples"], 5);
        assert_eq!(report["metrics"], json!([{"metric": "jain", "of": null, "value": 1.0, "moved": 0.0}]));
    }

    #[test]
    fn what_was_delivered_before_the_start_does_not_count() {
        let mut rule = settling(&[SettleMetric::Jain], 0.01, 1, &[bulk("b", "reno", 2)]);
        sample(&mut rule, 10, &[Some(1_000_000), Some(0)]);
        sample(&mut rule, 11, &[Some(1_000_100), Some(100)]);
        assert_eq!(json!(rule.report())["metrics"][0]["value"], 1.0);
    }

    #[test]
    fn a_flow_that_never_connects_has_delivered_nothing() {
        let mut rule = settling(&[SettleMetric::Jain], 0.01, 1, &[bulk("b", "reno", 2)]);
        sample(&mut rule, 10, &[Some(0), None]);
        sample(&mut rule, 11, &[Some(100), None]);
        assert_eq!(json!(rule.report())["metrics"][0]["value"], 0.5); // 100² / (2 × 100²)
    }

    #[test]
    fn every_share_must_have_settled_and_the_smaller_one_moves_more() {
        let items = [bulk("a", "bbr", 1), bulk("b", "reno", 2)];
        let mut rule = settling(&[SettleMetric::Shares], 0.1, 1, &items);
        // Delivered until 11, 12 and 13 s: BBR 10 of 100, 30 of 250, 42 of 400.
        let rows: [&[u64]; 4] = [&[0, 0, 0], &[10, 45, 45], &[30, 110, 110], &[42, 179, 179]];
        // From 0.100 to 0.120 the share of BBR moves 17 %, NewReno's 2 %; from 0.120 to 0.105 14 % and 2 %.
        assert_eq!(settles_at(&mut rule, &rows), None);
        let metrics = json!(rule.report())["metrics"].clone();
        let moved: Vec<f64> = (0..2).map(|i| metrics[i]["moved"].as_f64().unwrap()).collect();
        assert_eq!((&metrics[0]["of"], &metrics[1]["of"]), (&json!("bbr"), &json!("reno")));
        assert!((moved[0] - 0.015 / 0.105).abs() < 1e-12 && (moved[1] - 0.015 / 0.895).abs() < 1e-12);
        assert_eq!(rule.note().unwrap(), "share of bbr moved 14.3 %");
        let mut loose = settling(&[SettleMetric::Shares], 0.15, 1, &items);
        assert_eq!(settles_at(&mut loose, &rows), Some(13));
    }

    #[test]
    fn goodput_is_the_mean_since_the_start() {
        let mut rule = settling(&[SettleMetric::Goodput], 0.01, 1, &[bulk("b", "reno", 1)]);
        sample(&mut rule, 10, &[Some(0)]);
        sample(&mut rule, 12, &[Some(1000)]);
        assert_eq!(json!(rule.report())["metrics"][0]["value"], 4000.0); // 8000 bit in 2 s
    }

    #[test]
    fn nothing_has_settled_before_the_least_time() {
        let mut rule = settling(&[SettleMetric::Jain], 0.01, 1, &[bulk("b", "reno", 1)]);
        rule.plan.not_before_ns = 15 * S;
        let rows: Vec<Vec<u64>> = (0..9).map(|n| vec![n]).collect();
        let rows: Vec<&[u64]> = rows.iter().map(Vec::as_slice).collect();
        assert_eq!(settles_at(&mut rule, &rows), Some(15));
    }

    #[test]
    fn a_record_shorter_than_the_window_says_no_movement() {
        let mut rule = settling(&[SettleMetric::Jain], 0.01, 5, &[bulk("b", "reno", 1)]);
        assert_eq!(settles_at(&mut rule, &[&[0], &[1], &[2]]), None);
        rule.end(Reason::Limit, 12 * S);
        assert_eq!(json!(rule.report())["metrics"][0]["moved"], Value::Null);
        assert_eq!(rule.note(), None);
    }

    #[test]
    fn samples_are_taken_when_the_flow_tap_does_on_the_monotonic_clock() {
        let mut rule = settling(&[SettleMetric::Jain], 0.01, 5, &[bulk("b", "reno", 1)]);
        rule.plan.interval_ns = 4 * S;
        // Multiples of 4 s on the clock; the epoch is at 3 s, the start at t = 10 s is 13 s: 16 s is t = 13 s.
        assert_eq!(rule.next_due(0, 3 * S), 13 * S);
        assert_eq!(rule.next_due(13 * S, 3 * S), 17 * S);
        rule.plan.start_ns = 13 * S;
        assert_eq!(rule.next_due(0, 3 * S), 13 * S); // the start itself, where they meet
    }
}
