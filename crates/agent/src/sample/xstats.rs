//! What a queueing discipline tells of itself beyond the counters that all have (TCA_STATS_APP): marks, the
//! probability it acts with, and the delay it sees. CAKE's own statistics are nested per tin and are left to
//! `tc -s -j` before and after the run.

use crate::netlink::{u32_at, u64_at};

/// `None`: this discipline does not tell it.
#[derive(Debug, Default, PartialEq)]
pub struct Xstats {
    /// Packets marked CE, for whatever reason of its own.
    pub marks: Option<u64>,
    /// Drop or mark probability, 0 to 1. DualPI2: the PI controller's, before coupling.
    pub probability: Option<f64>,
    /// CoDel: of the packet dequeued last. PIE: its estimate. DualPI2: the classic queue's.
    pub delay_us: Option<u32>,
    /// DualPI2: packets that entered its classic and its low-latency queue, marks by the latter's own step
    /// threshold, and the delay there.
    pub dual: [Option<u32>; 4],
}

/// Fields by their offset in the structs of `linux/pkt_sched.h`.
pub fn parse(kind: &str, b: &[u8]) -> Xstats {
    let at = |offset: usize| (b.len() >= offset + 4).then(|| u32_at(b, offset));
    let sum = |a: Option<u32>, b: Option<u32>| Some(a? as u64 + b? as u64);
    match kind {
        // tc_codel_xstats: ldelay, ecn_mark, ce_mark
        "codel" => Xstats {
            marks: sum(at(24), at(32)),
            delay_us: at(12),
            ..Xstats::default()
        },
        // tc_fq_codel_xstats: type (0: of the qdisc), then ecn_mark, ce_mark
        "fq_codel" if at(0) == Some(0) => Xstats {
            marks: sum(at(12), at(28)),
            ..Xstats::default()
        },
        // tc_pie_xstats: prob as a fraction of 2^64, delay, ecn_mark
        "pie" => Xstats {
            marks: at(36).map(u64::from),
            probability: (b.len() >= 8).then(|| u64_at(b, 0) as f64 / 2f64.powi(64)),
            delay_us: at(8),
            ..Xstats::default()
        },
        // tc_fq_pie_xstats: ecn_mark
        "fq_pie" => Xstats {
            marks: at(16).map(u64::from),
            ..Xstats::default()
        },
        // tc_red_xstats: marked
        "red" => Xstats {
            marks: at(12).map(u64::from),
            ..Xstats::default()
        },
        // tc_dualpi2_xstats: prob as a fraction of 2^32, delay_c, delay_l, packets_in_c, packets_in_l, maxq,
        // ecn_mark, step_marks (which are among ecn_mark)
        "dualpi2" => Xstats {
            marks: at(24).map(u64::from),
            probability: at(0).map(|p| p as f64 / 2f64.powi(32)),
            delay_us: at(4),
            dual: [12, 16, 28, 8].map(at),
        },
        _ => Xstats::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[u32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_ne_bytes()).collect()
    }

    #[test]
    fn codel_counts_both_kinds_of_marks() {
        // maxpacket, count, lastcount, ldelay, drop_next, drop_overlimit, ecn_mark, dropping, ce_mark
        let x = parse("codel", &words(&[1514, 1, 1, 4800, 0, 0, 7, 0, 2]));
        assert_eq!((x.marks, x.delay_us, x.probability), (Some(9), Some(4800), None));
    }

    #[test]
    fn pie_tells_its_probability_as_a_fraction() {
        // prob (u64) = a quarter of 2^64, delay, avg_dq_rate, estimating, packets_in, dropped, overlimit, maxq, ecn_mark
        let mut b = (1u64 << 62).to_ne_bytes().to_vec();
        b.extend(words(&[15_000, 0, 0, 100, 5, 0, 40, 3]));
        let x = parse("pie", &b);
        assert_eq!(
            (x.marks, x.delay_us, x.probability),
            (Some(3), Some(15_000), Some(0.25))
        );
    }

    #[test]
    fn dualpi2_tells_its_two_queues_apart() {
        // prob, delay_c, delay_l, packets_in_c, packets_in_l, maxq, ecn_mark, step_marks, credit, memory: used, max, limit
        let x = parse(
            "dualpi2",
            &words(&[1 << 31, 15_000, 300, 100, 200, 40, 9, 4, 0, 0, 0, 0]),
        );
        assert_eq!(
            (x.marks, x.delay_us, x.probability),
            (Some(9), Some(15_000), Some(0.5))
        );
        assert_eq!(x.dual, [Some(100), Some(200), Some(4), Some(300)]);
    }

    #[test]
    fn a_discipline_that_tells_nothing_and_a_short_answer_give_nothing() {
        assert_eq!(parse("pfifo", &words(&[1; 12])), Xstats::default());
        assert_eq!(parse("red", &words(&[1])), Xstats::default());
        assert_eq!(parse("fq_codel", &words(&[1; 12])), Xstats::default()); // of a class
    }
}
