//! The load rate search, type B (RFC 9097 section 8.1 and appendix A; TR-471 section 5.2.1; Y.1540 annex B). Pure.
//!
//! Rates: 0.5 Mbit/s, then 1 to 1000 Mbit/s in steps of 1, then to 10 Gbit/s in steps of 100. While it is below
//! 1 Gbit/s and congestion is not confirmed (`CONFIRM` bad reports in a row without a fast step), it climbs 10
//! steps a report, then one. The first confirmation goes back by three times ten.

/// Rows below which the fast steps are taken: 1 Gbit/s.
const FAST_BELOW: usize = 1000;
const ROWS: usize = 1091;
const FAST_STEP: usize = 10;
const BACK: usize = 3;
const CONFIRM: u32 = 3;

/// What a report is judged by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    pub tolerated: u32,
    pub lower_ms: f64,
    pub upper_ms: f64,
}

#[derive(Debug)]
pub struct Search {
    limits: Limits,
    pub row: usize,
    slow: u32,
}

/// IP-layer bits per second of a row.
pub fn rate_bps(row: usize) -> u64 {
    match row {
        0 => 500_000,
        1..=FAST_BELOW => row as u64 * 1_000_000,
        _ => (1000 + 100 * (row.min(ROWS - 1) - FAST_BELOW) as u64) * 1_000_000,
    }
}

impl Search {
    pub fn new(limits: Limits) -> Search {
        Search { limits, row: 0, slow: 0 }
    }

    /// One report: packets lost, reordered or duplicated, and the delay variation; None of the latter: no change by it.
    pub fn report(&mut self, anomalies: u32, delay_ms: Option<f64>) {
        let delay_ms = delay_ms.unwrap_or(self.limits.lower_ms);
        let fast = self.row < FAST_BELOW;
        if anomalies <= self.limits.tolerated && delay_ms < self.limits.lower_ms {
            if fast && self.slow < CONFIRM {
                self.row = (self.row + FAST_STEP).min(FAST_BELOW);
                self.slow = 0;
            } else {
                self.row = (self.row + 1).min(ROWS - 1);
            }
        } else if anomalies > self.limits.tolerated || delay_ms > self.limits.upper_ms {
            self.slow += 1;
            let back = if fast && self.slow == CONFIRM { BACK * FAST_STEP } else { 1 };
            self.row = self.row.saturating_sub(back);
        }
    }

    /// Nothing was heard for long: from the start.
    pub fn silence(&mut self) {
        self.row = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> Search {
        Search::new(Limits { tolerated: 10, lower_ms: 30.0, upper_ms: 90.0 })
    }

    #[test]
    fn the_table_has_the_rates_of_the_reference_program() {
        assert_eq!(
            [0, 1, 1000, 1001, 1090].map(rate_bps),
            [500_000, 1_000_000, 1_000_000_000, 1_100_000_000, 10_000_000_000]
        );
    }

    #[test]
    fn good_reports_climb_fast_until_congestion_is_confirmed() {
        let mut search = new();
        let mut rows = vec![];
        // (anomalies, delay): two good, one at the limits (10 is tolerated; 30 ms is no longer below), three bad, one good
        let reports = [(0, 0.0), (10, 29.9), (0, 30.0), (11, 0.0), (0, 90.1), (50, 5.0), (0, 1.0)];
        for (anomalies, delay) in reports {
            search.report(anomalies, Some(delay));
            rows.push(search.row);
        }
        // +10, +10, hold, −1, −1, third bad report −30 but not below 0, and from now on +1
        assert_eq!(rows, [10, 20, 20, 19, 18, 0, 1]);
    }

    #[test]
    fn a_good_report_before_the_third_bad_one_forgets_them() {
        let mut search = new();
        search.row = 500;
        for anomalies in [20, 20, 0, 20, 20] {
            search.report(anomalies, Some(0.0));
        }
        // −1 −1 +10 −1 −1: never confirmed
        assert_eq!(search.row, 506);
        search.report(20, Some(0.0));
        assert_eq!(search.row, 476);
        search.report(20, Some(0.0));
        assert_eq!(search.row, 475); // only the third goes back by 30
    }

    #[test]
    fn between_the_thresholds_and_without_a_delay_it_holds() {
        let mut search = new();
        search.row = 50;
        search.report(0, Some(60.0));
        search.report(0, None);
        assert_eq!(search.row, 50);
        search.report(11, None);
        assert_eq!(search.row, 49);
    }

    #[test]
    fn fast_steps_end_at_one_gigabit_and_all_at_ten() {
        let mut search = new();
        search.row = 995;
        search.report(0, Some(0.0));
        assert_eq!(search.row, 1000);
        for _ in 0..200 {
            search.report(0, Some(0.0));
        }
        assert_eq!(rate_bps(search.row), 10_000_000_000);
    }
}
