//! How the modelled speed tests compute their results. Pure; nothing here sends a byte.
//!
//! Ookla: what its support page "What is the test flow and methodology for the Speedtest?" says. Latency: the lowest
//! of ten. Download: samples up to 30 times a second, put together into 20 slices, the fastest 10 % and the slowest
//! 30 % of the slices dropped, the rest averaged. Upload: chunks sorted by speed, the fastest half averaged
//! (here: slices of what the server has acknowledged, as chunks of several connections overlap). Its present programs
//! are closed and may do otherwise; latency under load as an interquartile mean is our choice.
//!
//! LibreSpeed: `speedtest_worker.js` with the settings that its `doc.md` 6.2.1 lists. Bytes after a grace time over the
//! time after it, times 1.06; a fast link shortens the test (5.x and 6.x; 4.x shortens it by 6.4 in 10^5 and at most
//! 800 ms a step); latency is the lowest of the pings but the first, jitter follows upwards faster than downwards.

use std::time::Duration;

pub const SLICES: usize = 20;
/// Of 20 slices: 10 % and 30 %.
const FASTEST: usize = 2;
const SLOWEST: usize = 6;

/// A count of bytes at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub t_ns: u64,
    pub bytes: u64,
}

/// Ookla's download, from cumulative counts; the first is the start. None with fewer samples than slices.
pub fn trimmed_slices_bps(samples: &[Sample]) -> Option<f64> {
    let steps = samples.len().checked_sub(1).filter(|n| *n >= SLICES)?;
    let mut rates: Vec<f64> = (0..SLICES)
        .map(|i| {
            let (from, to) = (samples[i * steps / SLICES], samples[(i + 1) * steps / SLICES]);
            (to.bytes - from.bytes) as f64 * 8e9 / (to.t_ns - from.t_ns) as f64
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    let kept = &rates[SLOWEST..SLICES - FASTEST];
    Some(kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Ookla's upload: the mean of the fastest half (rounded up) of the speeds.
pub fn fastest_half(speeds: &[f64]) -> Option<f64> {
    let mut sorted = speeds.to_vec();
    sorted.sort_by(|a, b| b.total_cmp(a));
    sorted.truncate(speeds.len().div_ceil(2));
    (!sorted.is_empty()).then(|| sorted.iter().sum::<f64>() / sorted.len() as f64)
}

/// Mean of the middle half: the lowest and the highest quarter (rounded down) are left out.
pub fn interquartile_mean(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let out = values.len() / 4;
    let kept = sorted.get(out..values.len() - out)?;
    (!kept.is_empty()).then(|| kept.iter().sum::<f64>() / kept.len() as f64)
}

/// Ookla's latency, the lowest, and jitter, the mean difference of consecutive ones (ours).
pub fn ookla_ping(times_ms: &[f64]) -> (Option<f64>, Option<f64>) {
    let steps: Vec<f64> = times_ms.windows(2).map(|w| (w[1] - w[0]).abs()).collect();
    let jitter = (!steps.is_empty()).then(|| steps.iter().sum::<f64>() / steps.len() as f64);
    (times_ms.iter().copied().reduce(f64::min), jitter)
}

/// LibreSpeed's latency and jitter (`pingTest`). The first ping only opens the connection. One below 1 ms counts as the
/// one before, or as 1 ms. What a ping differs from the one before moves the jitter by 0.7 of the way up or 0.2 down;
/// the first difference is the jitter's start.
pub fn librespeed_ping(times_ms: &[f64]) -> (Option<f64>, Option<f64>) {
    let (mut ping, mut jitter, mut before) = (None::<f64>, None::<f64>, None::<f64>);
    for time in times_ms.iter().skip(1) {
        let now = if *time < 1.0 { before.unwrap_or(1.0) } else { *time };
        ping = Some(ping.map_or(now, |lowest| lowest.min(now)));
        if let Some(before) = before {
            let step = (now - before).abs();
            jitter = Some(match jitter {
                None => step,
                Some(so_far) if step > so_far => so_far * 0.3 + step * 0.7,
                Some(so_far) => so_far * 0.8 + step * 0.2,
            });
        }
        before = Some(now);
    }
    (ping, jitter)
}

/// LibreSpeed's rule, stepped every 200 ms with the bytes so far.
pub struct LibreSpeed {
    grace_ms: f64,
    most_ms: f64,
    bonus_ms: f64,
    begin_ms: f64,
    bytes_before: u64,
    grace_done: bool,
    /// The result as shown last, with the overhead.
    pub shown_bps: Option<f64>,
}

impl LibreSpeed {
    /// overheadCompensationFactor
    pub const OVERHEAD: f64 = 1.06;
    pub const STEP_MS: u64 = 200;
    /// Before each direction: the `_` of its test_order, IP_D_U.
    pub const PAUSE: Duration = Duration::from_secs(1);

    pub fn new(grace_ms: f64, most_ms: f64) -> LibreSpeed {
        LibreSpeed {
            grace_ms,
            most_ms,
            bonus_ms: 0.0,
            begin_ms: 0.0,
            bytes_before: 0,
            grace_done: false,
            shown_bps: None,
        }
    }

    /// `now_ms` since the test began. True when it is over.
    pub fn step(&mut self, now_ms: f64, bytes: u64) -> bool {
        let t_ms = now_ms - self.begin_ms;
        if t_ms < Self::STEP_MS as f64 {
            return false;
        }
        if !self.grace_done {
            if t_ms > self.grace_ms {
                if bytes > 0 {
                    (self.begin_ms, self.bytes_before, self.bonus_ms) = (now_ms, bytes, 0.0);
                }
                self.grace_done = true;
            }
            return false;
        }
        let per_s = (bytes - self.bytes_before) as f64 / (t_ms / 1000.0);
        self.bonus_ms += (5.0 * per_s / 100_000.0).min(400.0);
        self.shown_bps = Some(per_s * 8.0 * Self::OVERHEAD);
        t_ms + self.bonus_ms > self.most_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(rates_per_slice: &[u64]) -> Vec<Sample> {
        let mut samples = vec![Sample { t_ns: 0, bytes: 0 }];
        for (i, rate) in rates_per_slice.iter().enumerate() {
            let bytes = samples[i].bytes + rate;
            samples.push(Sample { t_ns: (i as u64 + 1) * 1_000_000_000, bytes });
        }
        samples
    }

    #[test]
    fn the_two_fastest_and_the_six_slowest_of_twenty_slices_do_not_count() {
        // slices of 1, 2, … 20 bytes in 1 s each: 7 … 18 are kept, their mean is 12.5 bytes, 100 bit/s
        let samples = counted(&(1..=20).collect::<Vec<_>>());
        assert_eq!(trimmed_slices_bps(&samples), Some(100.0));
        assert_eq!(trimmed_slices_bps(&samples[..20]), None);
    }

    #[test]
    fn more_samples_than_slices_are_put_together() {
        // 40 samples of 1 s at 1 byte/s: every slice is 2 s with 2 bytes
        assert_eq!(trimmed_slices_bps(&counted(&[1; 40])), Some(8.0));
    }

    #[test]
    fn the_fastest_half_is_rounded_up() {
        assert_eq!(fastest_half(&[1.0, 4.0, 2.0]), Some(3.0)); // 4 and 2
        assert_eq!(fastest_half(&[]), None);
    }

    #[test]
    fn an_interquartile_mean_leaves_a_quarter_out_at_each_end() {
        assert_eq!(interquartile_mean(&[100.0, 1.0, 3.0, 2.0]), Some(2.5)); // 2 and 3
        assert_eq!(interquartile_mean(&[7.0]), Some(7.0));
        assert_eq!(interquartile_mean(&[]), None);
    }

    #[test]
    fn librespeeds_jitter_rises_fast_and_falls_slowly_and_its_first_ping_does_not_count() {
        // 99 is left out. Differences 10 (the start), 20: 0.3 × 10 + 0.7 × 20 = 17, 0: 0.8 × 17 = 13.6.
        let (ping, jitter) = librespeed_ping(&[99.0, 20.0, 30.0, 50.0, 50.0]);
        assert_eq!(ping, Some(20.0));
        assert!((jitter.unwrap() - 13.6).abs() < 1e-9, "{jitter:?}");
        // Below 1 ms: 1 ms where nothing came before, else the one before: 1, 1, 3, 3. Differences 0, 2, 0:
        // 0.7 × 2 = 1.4, then 0.8 × 1.4.
        let (ping, jitter) = librespeed_ping(&[5.0, 0.4, 0.2, 3.0, 0.9]);
        assert_eq!(ping, Some(1.0));
        assert!((jitter.unwrap() - 1.12).abs() < 1e-9, "{jitter:?}");
        assert_eq!(librespeed_ping(&[5.0]), (None, None));
        assert_eq!(librespeed_ping(&[5.0, 7.0]), (Some(7.0), None));
        assert_eq!(ookla_ping(&[5.0, 7.0, 4.0]), (Some(4.0), Some(2.5)));
    }

    #[test]
    fn librespeed_forgets_the_grace_time_and_a_fast_link_ends_sooner() {
        // 1 MB/s: a bonus of 5 × 10^6 / 10^5 = 50 ms at each step of 200 ms. The grace time ends at the step after
        // 1500 ms, 1600 ms. The test is over when t + 50 × steps > 15000: step 61 has t = 12200, bonus 3050.
        let mut model = LibreSpeed::new(1500.0, 15_000.0);
        let mut steps = 0;
        for i in 1u64.. {
            let now = i * LibreSpeed::STEP_MS;
            steps = i;
            if model.step(now as f64, now * 1000) {
                break;
            }
        }
        assert_eq!(steps, 8 + 61);
        let shown = model.shown_bps.unwrap();
        assert!((shown - 8e6 * 1.06).abs() < 1.0, "{shown}");
    }
}
