//! Which phases a way is asked for, one after the other, each from what those before have shown. Pure.
//!
//! | phase | flows | shows |
//! |---|---|---|
//! | ramp | one, growing | the rate, roughly |
//! | fill | one, 1.6 times the rate | the rate, the buffer, where in the queue is dropped, policers |
//! | gentle | A 0.7 + ε, B 0.3, a sparse one, one of all code points | AQM or none and which; queues of flows; code points |
//! | ecn | A 0.8 not-ECT, B 0.3 ECT(1), a sparse one | marks, L4S |
//! | tins | one each of best effort and CS1, at the rate | classes with weights, as CAKE's |
//! | many | 128 equal ones, 1.6 times the rate | hash collisions, which CAKE does not have |

use crate::datagram::IP_UDP_BYTES;
use crate::phase::{Flow, Grow, Phase, Until, Way};
use crate::receiver::Record;

pub const MANY: u16 = 128;
pub const BYTES: u64 = 1222;
/// Of sparse flows: an IP packet of 80 bytes.
const SMALL: u64 = 52;
const MANY_SMALL: u64 = 300;
const MS: u64 = narrows_units::MS as u64;
const S: u64 = narrows_units::S as u64;
pub const LEAST_BPS: f64 = 300_000.0;
const START_BPS: f64 = 500_000.0;
const MOST_PACKETS: f64 = 250_000.0;
/// What is sent beyond the rate, so that a queue of this depth takes so long to fill: longer than an AQM takes to act.
const FILLS_IN_S: f64 = 0.8;
const GENTLE: (f64, f64) = (0.012, 0.08);
/// So long and so many packets show a rate, of those that waited so long.
const UNHURT_NS: i64 = 40_000_000;
const UNHURT: usize = 60;
const WAITS_NS: i64 = 4_000_000;
/// CoDel forgets within eight intervals of 100 ms.
const FORGOTTEN_NS: u64 = 850 * MS;

pub const NOT_ECT: u8 = 0;
const ECT_1: u8 = 1;
const ECT_0: u8 = 2;
const CS1: u8 = 8 << 2;
/// What the quick mode tries: pfifo_fast's bands 0 and 2, Bulk, Voice, precedence, LE, NQB.
const QUICK_DSCP: [u8; 10] = [0, 4, 2, 8, 10, 34, 40, 46, 1, 45];

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode {
    Whole,
    Quick,
}

impl Mode {
    /// Seconds that one way may take.
    pub fn budget_s(self) -> f64 {
        match self {
            Mode::Whole => 29.0,
            Mode::Quick => 4.8,
        }
    }

    pub fn most_rtt_ns(self) -> u64 {
        match self {
            Mode::Whole => 800 * MS,
            Mode::Quick => 150 * MS,
        }
    }

    pub fn least_bps(self) -> f64 {
        match self {
            Mode::Whole => LEAST_BPS,
            Mode::Quick => 2e6,
        }
    }
}

/// What is known of one way.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub way: Way,
    pub mode: Mode,
    pub rtt_ns: u64,
    pub rate_bps: f64,
    /// The most that a packet waited in the fill.
    pub depth_ns: u64,
}

impl Known {
    /// How long is waited after a phase, so that the queue and its memory are empty again.
    pub fn pause_ns(&self) -> u64 {
        match self.mode {
            Mode::Whole => FORGOTTEN_NS,
            Mode::Quick => 300 * MS,
        }
    }

    fn phase(&self, id: u16, name: &str, seconds: f64, flows: Vec<Flow>) -> Phase {
        let packets: f64 = (flows.iter()).map(|f| f.rate_bps / (8.0 * (f.bytes + IP_UDP_BYTES) as f64)).sum();
        let seconds = seconds.min(MOST_PACKETS / packets.max(1.0)).max(0.05);
        Phase {
            id,
            name: name.into(),
            way: self.way,
            duration_ns: (seconds * S as f64) as u64,
            flows,
            grow: None,
            until: None,
            quiet_ns: 200 * MS + self.rtt_ns,
        }
    }

    pub fn ramp(&self, id: u16, most_bps: f64) -> Phase {
        let step_ns = (self.rtt_ns / 6).clamp(10 * MS, 60 * MS);
        let factor: f64 = 1.2;
        let steps = ((most_bps / START_BPS).ln() / factor.ln()).ceil().max(1.0) as u64;
        let duration_ns = steps * step_ns + 300 * MS + 2 * self.rtt_ns;
        let mut phase = self.phase(id, "ramp", 1.0, vec![flow(0, START_BPS, BYTES, &[NOT_ECT])]);
        phase.duration_ns = duration_ns;
        phase.grow = Some(Grow { step_ns, factor, most_bps });
        phase.until = Some(Until::Saturated);
        phase
    }

    pub fn fill(&self, id: u16) -> Phase {
        let seconds = match self.mode {
            Mode::Whole => 4.0,
            Mode::Quick => 1.0,
        };
        let mut phase =
            self.phase(id, "fill", seconds, vec![flow(0, 1.6 * self.rate_bps, BYTES, &[NOT_ECT])]);
        phase.until = Some(Until::Full);
        phase
    }

    /// `more`: times what A sends, where other traffic took the place of the excess.
    pub fn gentle(&self, id: u16, more: f64) -> Phase {
        let rate = self.rate_bps;
        let depth_s = self.depth_ns as f64 / S as f64;
        let excess = (depth_s / FILLS_IN_S).clamp(GENTLE.0, GENTLE.1);
        let sparse = (100.0 * 640.0f64).min(rate * 0.01);
        let sweep = (400.0 * 640.0f64).min(rate * 0.02);
        let seconds = match self.mode {
            Mode::Whole => 3.2,
            Mode::Quick => 1.5,
        };
        let dscp: Vec<u8> = match self.mode {
            Mode::Whole => (0..64).map(|code| code << 2).collect(),
            Mode::Quick => QUICK_DSCP.iter().map(|code| code << 2).collect(),
        };
        let a = (0.7 + excess) * rate - sparse - sweep;
        let flows = vec![
            flow(0, a * more, BYTES, &[ECT_0]),
            flow(1, 0.3 * rate, BYTES, &[NOT_ECT]),
            flow(2, sparse, SMALL, &[NOT_ECT]),
            flow(3, sweep, SMALL, &dscp),
        ];
        self.phase(id, "gentle", seconds, flows)
    }

    pub fn ecn(&self, id: u16) -> Phase {
        let flows = vec![
            flow(0, 0.8 * self.rate_bps, BYTES, &[NOT_ECT]),
            flow(1, 0.3 * self.rate_bps, BYTES, &[ECT_1]),
            flow(2, (100.0 * 640.0f64).min(self.rate_bps * 0.01), SMALL, &[NOT_ECT]),
        ];
        self.phase(id, "ecn", 2.0, flows)
    }

    pub fn tins(&self, id: u16) -> Phase {
        let flows = vec![flow(0, self.rate_bps, BYTES, &[NOT_ECT]), flow(1, self.rate_bps, BYTES, &[CS1])];
        self.phase(id, "tins", 1.2, flows)
    }

    pub fn many(&self, id: u16) -> Phase {
        // Small enough that a flow's share is some tens of packets.
        let bytes = if self.rate_bps < 100e6 { MANY_SMALL } else { BYTES };
        let each = 1.6 * self.rate_bps / f64::from(MANY);
        let flows = (0..MANY).map(|n| flow(n, each, bytes, &[NOT_ECT])).collect();
        self.phase(id, "many", 2.0, flows)
    }
}

fn flow(flow: u16, rate_bps: f64, bytes: u64, tos: &[u8]) -> Flow {
    Flow { flow, rate_bps, bytes, tos: tos.to_vec() }
}

/// The rate of the IP packets that arrived, over the last `share` of them; None of too few.
pub fn rate_bps(records: &[Record], bytes: u64, share: f64) -> Option<f64> {
    let mut arrived: Vec<i64> = records.iter().filter(|r| r.flow == 0).map(|r| r.arrived_ns).collect();
    arrived.sort_unstable();
    let from = ((arrived.len() as f64) * (1.0 - share)) as usize;
    let part = &arrived[from.min(arrived.len())..];
    let (first, last) = (part.first()?, part.last()?);
    if part.len() < 8 || last <= first {
        return None;
    }
    let bits = (part.len() - 1) as f64 * (bytes + IP_UDP_BYTES) as f64 * 8.0;
    Some(bits * 1e9 / (last - first) as f64)
}

/// The rate of the packets that waited before the first was lost; None of too few. A queue that counts what it drops as
/// passed (CAKE's `ingress`) passes ever less of too much, and shows its rate only then.
pub fn unhurt_rate_bps(records: &[Record], bytes: u64) -> Option<f64> {
    let mut mine: Vec<&Record> = records.iter().filter(|r| r.flow == 0).collect();
    mine.sort_unstable_by_key(|r| r.number);
    let lost = mine.iter().enumerate().position(|(n, r)| r.number != n as u32);
    let late = |r: &Record| r.arrived_ns - r.sent_ns;
    let least = mine.iter().map(|r| late(r)).min()?;
    let waits = |r: &&&Record| late(r) - least > WAITS_NS;
    let kept = mine[..lost?].iter().skip_while(|r| !waits(r));
    let part: Vec<Record> = kept.map(|r| **r).collect();
    let span_ns = part.last()?.arrived_ns - part.first()?.arrived_ns;
    (span_ns > UNHURT_NS && part.len() >= UNHURT).then(|| rate_bps(&part, bytes, 1.0)).flatten()
}

/// What a packet waited at most: the 98th percentile of delay above the smallest.
pub fn depth_ns(records: &[Record]) -> u64 {
    let mut late: Vec<i64> =
        (records.iter().filter(|r| r.flow == 0)).map(|r| r.arrived_ns - r.sent_ns).collect();
    late.sort_unstable();
    match late.first() {
        None => 0,
        Some(least) => (late[late.len() * 98 / 100] - least).max(0) as u64,
    }
}

/// Of the first flow: the share that did not arrive.
pub fn share_lost(records: &[Record], sent: u32) -> f64 {
    let got = records.iter().filter(|r| r.flow == 0).count();
    1.0 - (got as f64 / f64::from(sent.max(1))).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(mode: Mode) -> Known {
        Known { way: Way::Down, mode, rtt_ns: 20 * MS, rate_bps: 10e6, depth_ns: 40 * MS }
    }

    fn records(every_ns: i64, late_ns: i64) -> Vec<Record> {
        (0..100)
            .map(|n| Record {
                flow: 0,
                tos: 0,
                number: n as u32,
                sent_ns: n * every_ns,
                arrived_ns: n * (every_ns + late_ns),
            })
            .collect()
    }

    #[test]
    fn the_rate_is_that_of_the_last_arrivals_and_the_depth_the_longest_wait() {
        // 1250 bytes each ms: 10 Mbit/s
        let records = records(900_000, 100_000);
        assert_eq!(rate_bps(&records, BYTES, 0.5), Some(10e6));
        assert_eq!(depth_ns(&records), 9_800_000);
        assert_eq!(share_lost(&records, 200), 0.5);
        assert_eq!(rate_bps(&records[..5], BYTES, 1.0), None);
    }

    #[test]
    fn a_queue_that_passes_less_once_it_drops_shows_its_rate_before() {
        // One packet each ms while none is lost; then, with half of them lost, one each 2 ms.
        let mut records = records(900_000, 100_000);
        assert_eq!(unhurt_rate_bps(&records, BYTES), None, "nothing was lost");
        for n in 100..200i64 {
            records.push(Record {
                number: (2 * n - 99) as u32,
                sent_ns: n * 900_000,
                arrived_ns: (n * 2 - 100) * 1_000_000,
                ..records[0]
            });
        }
        // Of the 100 packets in a row 59 waited more than 4 ms; with 0.55 ms more a packet it is 92.
        assert_eq!(unhurt_rate_bps(&records, BYTES), None, "too few waited");
        for record in &mut records {
            record.sent_ns /= 2;
        }
        assert_eq!(unhurt_rate_bps(&records, BYTES), Some(10e6));
    }

    #[test]
    fn gentle_exceeds_the_rate_by_what_fills_the_buffer_slowly() {
        let sum = |depth_ns| {
            let known = Known { depth_ns, ..known(Mode::Whole) };
            let phase = known.gentle(1, 1.0);
            phase.flows.iter().map(|f| f.rate_bps).sum::<f64>() / known.rate_bps
        };
        assert!((sum(40 * MS) - 1.05).abs() < 1e-9);
        assert!((sum(MS) - 1.012).abs() < 1e-9);
        assert!((sum(S) - 1.08).abs() < 1e-9);
    }

    #[test]
    fn every_phase_is_one_that_a_server_sends() {
        for mode in [Mode::Whole, Mode::Quick] {
            let known = known(mode);
            for phase in [
                known.ramp(0, 2e9),
                known.fill(1),
                known.gentle(2, 1.0),
                known.ecn(3),
                known.tins(4),
                known.many(5),
            ] {
                assert_eq!(phase.check(usize::from(MANY), 2e9), Ok(()), "{}", phase.name);
            }
        }
    }
}
