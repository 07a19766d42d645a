//! ACK aggregation (N3): the median of the bytes that a cumulative ACK newly acknowledges, divided by the MSS.
//!
//! Source: Philip 2025, section 5.6. ACKs that carry SACK blocks and the ACK right after one are left out. What
//! receivers add (delayed ACKs, receive offload) and lost ACKs are in it, by definition; ACK compression is not.
//! ACKs that ride on data count like others. SYN and FIN are not bytes.
//!
//! NULL: no ACK qualifies; the MSS is unknown; options were cut by the capture, so that SACK cannot be seen.
//! Unit: segments of one MSS. At a log taken at the receiver it is what the receiver alone does.

use crate::distribution::Sizes;

#[derive(Debug, Clone, Default)]
pub struct AckAggregation {
    sizes: Sizes,
    after_sack: bool,
    /// ACKs whose options were cut.
    unknown: u64,
}

impl AckAggregation {
    /// One ACK that newly acknowledges `bytes` (0: a duplicate or one in front of nothing new).
    #[inline]
    pub fn ack(&mut self, bytes: u32, has_sack: bool, options_cut: bool) {
        if options_cut {
            self.unknown += 1;
        } else {
            if bytes > 0 && !has_sack && !self.after_sack {
                self.sizes.add(bytes);
            }
            self.after_sack = has_sack;
        }
    }

    pub fn merge(&mut self, other: &AckAggregation) {
        self.sizes.merge(&other.sizes);
        self.unknown += other.unknown;
    }

    /// ACKs that count.
    pub fn count(&self) -> u64 {
        self.sizes.count()
    }

    pub fn median_bytes(&self) -> Option<f64> {
        if self.unknown > 0 {
            return None;
        }
        self.sizes.median()
    }

    pub fn options_cut(&self) -> bool {
        self.unknown > 0
    }

    pub fn in_mss(&self, mss_bytes: Option<u32>) -> Option<f64> {
        Some(self.median_bytes()? / f64::from(mss_bytes.filter(|m| *m > 0)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acks_with_sack_and_the_one_after_are_left_out() {
        let mut a = AckAggregation::default();
        for (bytes, sack) in
            [(2896, false), (0, true), (0, true), (40_000, false), (2896, false), (1448, true), (9, false)]
        {
            a.ack(bytes, sack, false);
        }
        assert_eq!((a.count(), a.in_mss(Some(1448))), (2, Some(2.0)));
    }

    #[test]
    fn options_that_were_cut_make_it_unknown() {
        let mut a = AckAggregation::default();
        a.ack(2896, false, false);
        a.ack(2896, false, true);
        assert_eq!(a.median_bytes(), None);
        assert_eq!(AckAggregation::default().median_bytes(), None);
    }
}
