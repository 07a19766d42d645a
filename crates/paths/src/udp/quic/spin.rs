//! RTT by the spin bit (RFC 9000, 17.4), where the bit is used and packets are dense enough to see it turn.
//!
//! The bit turns once a round trip. A turn is seen with the next packet only, so a period counts when neither side
//! paused for more than a tenth of it: then it is within a tenth of the round trip. Ends that do not take part send a
//! constant or a random bit; a random one turns far more often than the handshake's round trip allows.

/// A period counts when no pause within it was longer than this share of it.
const PAUSE: f64 = 0.1;
/// Periods that there must be.
const LEAST: usize = 10;
/// The share of periods that may be shorter than the handshake's round trip, as reordered packets make them.
const SHORT: f64 = 0.05;

#[derive(Debug, Default, Clone)]
struct Way {
    bit: Option<bool>,
    turned_ns: Option<i64>,
    last_ns: i64,
    packets: u64,
}

#[derive(Debug, Default, Clone)]
pub struct Spin {
    ways: [Way; 2],
    /// The longest pause of each side since each side's bit turned: by whose turn, by whose pause.
    pauses_ns: [[i64; 2]; 2],
    /// Periods of each side's bit, and whether packets were dense in it.
    periods: [Vec<(i64, bool)>; 2],
}

impl Spin {
    /// A packet with a short header.
    pub fn packet(&mut self, t_ns: i64, side: usize, bit: bool) {
        let way = &mut self.ways[side];
        if way.packets > 0 {
            let pause_ns = t_ns - way.last_ns;
            for pauses in &mut self.pauses_ns {
                pauses[side] = pauses[side].max(pause_ns);
            }
        }
        way.packets += 1;
        way.last_ns = t_ns;
        if way.bit.replace(bit).is_some_and(|before| before != bit) {
            if let Some(before_ns) = way.turned_ns.replace(t_ns) {
                let period_ns = t_ns - before_ns;
                let longest_ns = self.pauses_ns[side][0].max(self.pauses_ns[side][1]);
                self.periods[side].push((period_ns, longest_ns as f64 <= PAUSE * period_ns as f64));
            }
            self.pauses_ns[side] = [0, 0];
        }
    }

    /// The periods that show the round trip, of the side that sent more packets; empty where the bit does not tell.
    /// `handshake_ns` is the round trip of the handshake, without which nothing says what is too short.
    pub fn rtts_ns(&self, handshake_ns: Option<i64>) -> Vec<i64> {
        let side = usize::from(self.ways[1].packets > self.ways[0].packets);
        let Some(handshake_ns) = handshake_ns.filter(|ns| *ns > 0) else {
            return Vec::new();
        };
        let all = &self.periods[side];
        let dense: Vec<i64> = all.iter().filter(|(_, dense)| *dense).map(|(ns, _)| *ns).collect();
        let short = all.iter().filter(|(ns, _)| (*ns as f64) < 0.9 * handshake_ns as f64).count();
        if dense.len() < LEAST || short as f64 > SHORT * all.len() as f64 {
            return Vec::new();
        }
        dense
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `turn` says whether the bit turns with this packet; a packet a millisecond each way.
    fn run(turn: impl Fn(i64) -> bool) -> Spin {
        let (mut spin, mut bit) = (Spin::default(), false);
        for ms in 0..2000 {
            bit ^= turn(ms);
            spin.packet(ms * 1_000_000, 0, bit);
            spin.packet(ms * 1_000_000, 1, bit);
        }
        spin
    }

    #[test]
    fn a_bit_that_turns_each_round_trip_tells_it() {
        let rtts = run(|ms| ms % 40 == 0).rtts_ns(Some(39_000_000));
        assert!(rtts.len() > 40 && rtts.iter().all(|ns| *ns == 40_000_000));
    }

    #[test]
    fn a_random_a_constant_and_a_rare_bit_tell_nothing() {
        assert!(run(|ms| ms % 3 == 0).rtts_ns(Some(39_000_000)).is_empty());
        assert!(run(|_| false).rtts_ns(Some(39_000_000)).is_empty());
        assert!(run(|ms| ms % 5 == 0).rtts_ns(None).is_empty());
    }
}
