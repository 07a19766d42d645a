//! The grid on which bursts come: a cell's block each TTI, a modem's grant each MAP, a satellite's frame.
//!
//! Our own definition. A period fits when the times from one burst to the next, and from one to the 128th after it, are
//! whole multiples of it: of these phases the mean cosine is at least 0.9 and 0.8. So turns that only are about equally
//! long (a Wi-Fi alone on the air) are no grid, as their differences add up. Tried are the commonest gap and its whole
//! parts; the longest that fits is it. A tenth of the bursts must come one period after another: where a sender follows
//! its ACKs, parts of a packet's time fit, too. A link with a rate sends full packets at equal distances, but hardly two
//! at once, and none sooner or later than its bytes take: a tenth of the bursts must be of several packets, or have
//! another rate than most while they keep the grid, at two multiples at least.
//!
//! NULL: fewer than 256 bursts, or no such period. Unit: nanoseconds.

use std::collections::BTreeSet;
use std::f64::consts::TAU;

const BURSTS: usize = 256;
/// Steps over which the period is made more exact, one after the other.
const LAGS: [usize; 5] = [1, 4, 16, 64, 128];
const NEAR: f64 = 0.9;
const FAR: f64 = 0.8;
/// Of the commonest gap.
const PARTS: i32 = 8;
const SHORTEST_NS: f64 = 100_000.0;
const SHARE: f64 = 0.1;

/// What came together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burst {
    pub t_ns: i64,
    pub packets: u32,
    pub bytes: u32,
}

pub fn period_ns(bursts: &[Burst]) -> Option<i64> {
    if bursts.len() < BURSTS {
        return None;
    }
    let common = commonest(bursts)?;
    (1..=PARTS)
        .map(|part| common / f64::from(part))
        .take_while(|period| *period >= SHORTEST_NS)
        .filter_map(|about| fitted(bursts, about))
        .find(|period| is_grid(bursts, *period))
        .map(|period| period.round() as i64)
}

/// The middle of the most gaps that are within 6 % of each other.
fn commonest(bursts: &[Burst]) -> Option<f64> {
    let mut gaps: Vec<f64> = gaps(bursts, 1).filter(|gap| *gap > 0.0).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let (mut most, mut from) = (0..0, 0);
    for to in 0..gaps.len() {
        while gaps[to] > 1.06 * gaps[from] {
            from += 1;
        }
        if to - from >= most.len() {
            most = from..to + 1;
        }
    }
    gaps.get((most.start + most.end) / 2).copied()
}

fn gaps(bursts: &[Burst], lag: usize) -> impl Iterator<Item = f64> + '_ {
    bursts.windows(lag + 1).map(move |run| (run[lag].t_ns - run[0].t_ns) as f64)
}

/// The period near `about` of which gaps are whole multiples.
fn fitted(bursts: &[Burst], about: f64) -> Option<f64> {
    let mut period = about;
    for lag in LAGS {
        let (mut left, mut turns) = (0.0, 0.0);
        for gap in gaps(bursts, lag) {
            let whole = (gap / period).round();
            left += gap - whole * period;
            turns += whole;
        }
        if turns > 0.0 {
            period += left / turns;
        }
    }
    let fits = |lag: usize, least: f64| mean_cosine(gaps(bursts, lag), period) >= least;
    (fits(1, NEAR) && fits(LAGS[4], FAR)).then_some(period)
}

fn mean_cosine(gaps: impl Iterator<Item = f64>, period: f64) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for gap in gaps {
        sum += (TAU * (gap / period).fract()).cos();
        count += 1.0;
    }
    sum / f64::max(count, 1.0)
}

/// Whether the bursts are other than those of a link with a rate.
fn is_grid(bursts: &[Burst], period: f64) -> bool {
    let least = SHARE * bursts.len() as f64;
    let turns = |gap: f64| (gap / period).round() as i64;
    let next = gaps(bursts, 1).filter(|gap| turns(*gap) == 1).count();
    let several = bursts.iter().filter(|burst| burst.packets > 1).count();
    if (next as f64) < least || several as f64 >= least {
        return next as f64 >= least;
    }
    let rates: Vec<(f64, f64)> = gaps(bursts, 1)
        .zip(&bursts[1..])
        .filter(|(gap, burst)| *gap > 0.0 && burst.bytes > 0)
        .map(|(gap, burst)| (f64::from(burst.bytes) / gap, gap))
        .collect();
    let mut sorted: Vec<f64> = rates.iter().map(|(rate, _)| *rate).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let Some(usual) = sorted.get(sorted.len() / 2) else {
        return false;
    };
    let other = || rates.iter().filter(|(rate, _)| (rate / usual - 1.0).abs() > 0.25).map(|(_, gap)| *gap);
    let multiples: BTreeSet<i64> = other().map(turns).collect();
    other().count() as f64 >= least && multiples.len() > 1 && mean_cosine(other(), period) >= NEAR
}
