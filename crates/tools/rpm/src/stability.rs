//! When a test may go on or stop: the draft's rules, and goresponsiveness'. Pure arithmetic over what was measured.
//!
//! The same definitions as `narrows.metrics.responsiveness` and `responsiveness_stability` in Python, which compute
//! the published figures; here they only decide how long the test runs.

/// The draft's parameters, under its names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    pub variant: Variant,
    /// ID
    pub interval_ns: u64,
    /// MAD
    pub mad: usize,
    /// TMP, percent
    pub tmp_percent: usize,
    /// SDT, share of the current value
    pub sdt: f64,
    /// INP, INC, MNP: connections at the start, added per interval, at most
    pub inp: usize,
    pub inc: usize,
    pub mnp: usize,
    /// MPS: probes of both kinds per second
    pub mps: f64,
    /// PTC: share of the capacity that probes may take
    pub ptc: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    Draft08,
    Draft09,
    Go,
}

impl Variant {
    pub const ALL: [Variant; 3] = [Variant::Draft08, Variant::Draft09, Variant::Go];

    pub fn name(self) -> &'static str {
        match self {
            Variant::Draft08 => "draft-08",
            Variant::Draft09 => "draft-09",
            Variant::Go => "go",
        }
    }

    pub fn parameters(self) -> Parameters {
        Parameters {
            variant: self,
            interval_ns: if self == Variant::Draft09 { 5_000_000_000 } else { 1_000_000_000 },
            mad: 4,
            tmp_percent: 95,
            sdt: 0.05,
            inp: 1,
            inc: 1,
            mnp: 16,
            mps: 100.0,
            ptc: 0.05,
        }
    }
}

/// Mean of the lowest floor(n × percent / 100) values; none where that keeps none.
pub fn trimmed_mean(values: &[f64], keep_percent: usize) -> Option<f64> {
    let keep = values.len() * keep_percent / 100;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (keep > 0).then(|| sorted[..keep].iter().sum::<f64>() / keep as f64)
}

/// Standard deviation of the population.
fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
}

/// Whether the last MAD values are stable; a value that is missing (NaN) is not. goresponsiveness looks before it
/// files the interval that has just ended: there the values end with the interval before.
pub fn is_stable(values: &[f64], parameters: &Parameters) -> bool {
    let Some(first) = values.len().checked_sub(parameters.mad) else {
        return false;
    };
    let last = &values[first..];
    match parameters.variant {
        Variant::Go => {
            let mean = last.iter().sum::<f64>() / last.len() as f64;
            deviation(last) <= parameters.sdt * mean
        }
        _ => deviation(last) < parameters.sdt * last[last.len() - 1],
    }
}

/// Mean of the last MAD values, those before the first counting as 0.
pub fn moving_average(values: &[f64], mad: usize) -> f64 {
    let first = values.len().saturating_sub(mad);
    values[first..].iter().sum::<f64>() / mad as f64
}

/// What one completed probe took.
#[derive(Clone, Copy, Debug)]
pub enum Took {
    Foreign { tcp_ns: u64, tls_ns: Option<u64>, tls_round_trips: u32, http_ns: u64 },
    Loaded { http_ns: u64 },
}

/// Foreign, loaded and whole responsiveness (round trips per minute) of some probes; none where there are too few.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rpm {
    pub foreign: Option<f64>,
    pub loaded: Option<f64>,
    pub whole: Option<f64>,
}

pub fn rpm<'a>(probes: impl Iterator<Item = &'a Took>, tls: bool, keep_percent: usize) -> Rpm {
    let (mut tcp, mut tls_times, mut http, mut own) = (vec![], vec![], vec![], vec![]);
    for probe in probes {
        match *probe {
            Took::Foreign { tcp_ns, tls_ns, tls_round_trips, http_ns } => {
                tcp.push(tcp_ns as f64);
                if let Some(ns) = tls_ns {
                    tls_times.push(ns as f64 / f64::from(tls_round_trips.max(1)));
                }
                http.push(http_ns as f64);
            }
            Took::Loaded { http_ns } => own.push(http_ns as f64),
        }
    }
    let per_minute = |mean_ns: f64| (mean_ns > 0.0).then(|| 60e9 / mean_ns);
    let mean = |values: &[f64]| trimmed_mean(values, keep_percent);
    let foreign = match (mean(&tcp), mean(&tls_times), mean(&http)) {
        (Some(tcp), Some(between), Some(http)) if tls => per_minute((tcp + between + http) / 3.0),
        (Some(tcp), _, Some(http)) if !tls => per_minute((tcp + http) / 2.0),
        _ => None,
    };
    let loaded = mean(&own).and_then(per_minute);
    let whole = foreign.zip(loaded).map(|(f, l)| (f + l) / 2.0);
    Rpm { foreign, loaded, whole }
}

/// A round of goresponsiveness' probes: a foreign one, then one on a load-generating connection. None: not over, or
/// one of them failed.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    pub start_ns: u64,
    pub took_ns: Option<u64>,
}

/// goresponsiveness' measure of each of `count` intervals from `first_ns` on: mean of its rounds in whole milliseconds;
/// NaN of one without rounds, or where a round is not over.
pub fn go_interval_means_ms(rounds: &[Round], first_ns: u64, interval_ns: u64, count: usize) -> Vec<f64> {
    let mean = |from_ns: u64| {
        let of: Option<Vec<f64>> = (rounds.iter())
            .filter(|round| (from_ns..from_ns + interval_ns).contains(&round.start_ns))
            .map(|round| Some((round.took_ns? / 1_000_000) as f64))
            .collect();
        of.map_or(f64::NAN, |ms| ms.iter().sum::<f64>() / ms.len() as f64)
    };
    (0..count as u64).map(|i| mean(first_ns + i * interval_ns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drafts_formula_inverts_before_it_averages() {
        // 20 probes each; the trimmed mean of equal values is the value. Foreign 10 ms: 6000; loaded 100 ms: 600.
        let ms = 1_000_000;
        let foreign =
            Took::Foreign { tcp_ns: 10 * ms, tls_ns: Some(20 * ms), tls_round_trips: 2, http_ns: 10 * ms };
        let own = Took::Loaded { http_ns: 100 * ms };
        let probes: Vec<Took> = (0..40).map(|i| if i % 2 == 0 { foreign } else { own }).collect();
        let found = rpm(probes.iter(), true, 95);
        assert_eq!(found, Rpm { foreign: Some(6000.0), loaded: Some(600.0), whole: Some(3300.0) });
        assert_eq!(rpm(probes[..1].iter(), true, 95), Rpm::default());
    }

    #[test]
    fn a_constant_goodput_is_stable_at_interval_6_in_the_draft_and_at_4_in_goresponsiveness() {
        for (variant, expected) in [(Variant::Draft08, 6), (Variant::Draft09, 6), (Variant::Go, 4)] {
            let parameters = variant.parameters();
            let (mut raw, mut averages, mut stable) = (vec![], vec![], None);
            for i in 0..20 {
                raw.push(100.0);
                averages.push(moving_average(&raw, parameters.mad));
                let series = if variant == Variant::Go { &raw[..i] } else { &averages[..] };
                if stable.is_none() && is_stable(series, &parameters) {
                    stable = Some(i);
                }
            }
            assert_eq!(stable, Some(expected), "{variant:?}");
        }
    }

    #[test]
    fn a_go_interval_is_the_mean_of_its_whole_rounds_in_whole_milliseconds() {
        let round = |start_ms: u64, took_us: Option<u64>| Round {
            start_ns: start_ms * 1_000_000,
            took_ns: took_us.map(|us| us * 1000),
        };
        // Intervals of 100 ms from 1000 ms: (10 + 13) / 2 of 10.9 and 13.0 ms; none; one that is not over; before and
        // behind the three there is more.
        let rounds = [
            round(990, Some(99_000)),
            round(1000, Some(10_900)),
            round(1099, Some(13_000)),
            round(1200, Some(5_000)),
            round(1210, None),
            round(1300, Some(7_000)),
        ];
        let means = go_interval_means_ms(&rounds, 1_000_000_000, 100_000_000, 3);
        assert_eq!(means[0], 11.5);
        assert!(means[1].is_nan() && means[2].is_nan());
    }

    #[test]
    fn a_missing_value_is_not_stable_and_a_trimmed_mean_of_one_is_none() {
        let parameters = Variant::Draft08.parameters();
        assert!(!is_stable(&[1.0, 1.0, f64::NAN, 1.0], &parameters));
        assert!(is_stable(&[f64::NAN, 1.0, 1.0, 1.0, 1.0], &parameters));
        assert_eq!(trimmed_mean(&[1.0], 95), None);
        assert_eq!(trimmed_mean(&[9.0, 1.0], 95), Some(1.0));
    }
}
