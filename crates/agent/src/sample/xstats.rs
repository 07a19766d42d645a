//! What a queueing discipline tells of itself beyond the counters that all have (TCA_STATS_APP): marks, the
//! probability it acts with, and the delay it sees. Where each lies says its file in `python/narrows/qdiscs`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::netlink::{u32_at, u64_at};

/// The columns: marks for whatever reason of its own; its drop or mark probability, 0 to 1; the delay of the packet
/// dequeued last, or its estimate; of two queues, the packets that entered each, and of the second its own marks and delay.
pub const COLUMNS: [&str; 7] =
    ["marks", "probability", "delay_us", "packets_c", "packets_l", "step_marks", "delay_l_us"];

/// What the agent needs to know of a kind.
#[derive(Deserialize)]
pub struct Kind {
    /// Nothing it does waits for a timer with slack.
    pub keeps_time: bool,
    pub has_filters: bool,
    /// By column, where its parts lie, by offset in the structs of `linux/pkt_sched.h`; of a probability the offset and
    /// the bits of its fraction. `of`: what is not 0 there is of a class.
    tells: HashMap<String, Vec<usize>>,
}

/// Written from the declarations in Python (tests/unit/test_qdiscs.py).
pub static KINDS: LazyLock<HashMap<String, Kind>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../../qdiscs.json")).expect("qdiscs.json"));

/// A cell for each column; empty: this discipline does not tell it.
pub fn parse(kind: &str, b: &[u8]) -> [String; 7] {
    let Some(Kind { tells, .. }) = KINDS.get(kind) else {
        return Default::default();
    };
    let at = |offset: &usize| (b.len() >= offset + 4).then(|| u32_at(b, *offset) as u64);
    if (tells.get("of")).is_some_and(|of| at(&of[0]) != Some(0)) {
        return Default::default();
    }
    COLUMNS.map(|column| {
        let told = match (tells.get(column).map(Vec::as_slice), column) {
            (Some([offset, 64]), "probability") => {
                (b.len() >= offset + 8).then(|| (u64_at(b, *offset) as f64 / 2f64.powi(64)).to_string())
            }
            (Some([offset, bits]), "probability") => {
                at(offset).map(|p| (p as f64 / 2f64.powi(*bits as i32)).to_string())
            }
            (parts, _) => parts.and_then(|parts| {
                let sum: Option<u64> = parts.iter().map(at).sum();
                sum.map(|sum| sum.to_string())
            }),
        };
        told.unwrap_or_default()
    })
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
        assert_eq!(x, ["9", "", "4800", "", "", "", ""]);
    }

    #[test]
    fn pie_tells_its_probability_as_a_fraction() {
        // prob (u64) = a quarter of 2^64, delay, avg_dq_rate, estimating, packets_in, dropped, overlimit, maxq, ecn_mark
        let mut b = (1u64 << 62).to_ne_bytes().to_vec();
        b.extend(words(&[15_000, 0, 0, 100, 5, 0, 40, 3]));
        let x = parse("pie", &b);
        assert_eq!(x, ["3", "0.25", "15000", "", "", "", ""]);
    }

    #[test]
    fn dualpi2_tells_its_two_queues_apart() {
        // prob, delay_c, delay_l, packets_in_c, packets_in_l, maxq, ecn_mark, step_marks, credit, memory: used, max, limit
        let x = parse("dualpi2", &words(&[1 << 31, 15_000, 300, 100, 200, 40, 9, 4, 0, 0, 0, 0]));
        assert_eq!(x, ["9", "0.5", "15000", "100", "200", "4", "300"]);
    }

    #[test]
    fn a_discipline_that_tells_nothing_and_a_short_answer_give_nothing() {
        let nothing = <[String; 7]>::default();
        assert_eq!(parse("pfifo", &words(&[1; 12])), nothing);
        assert_eq!(parse("red", &words(&[1])), nothing);
        assert_eq!(parse("fq_codel", &words(&[1; 12])), nothing); // of a class
    }
}
