//! Follows each packet, by the address of its `sk_buff`, from its arrival at a queue to its end there.
//!
//! An interface is known by its index, which no other interface of the run has (`nodes`). Only a packet that its
//! qdisc refused never shows one: it belongs to `refuser`, the one tapped hop of that name that dropped anything, and
//! `tc -s` must confirm the count. Backlogs are this module's own count.

use std::collections::HashMap;

use super::events::{Event, What};
use super::intervals::Intervals;

pub const RECORD_BYTES: usize = 48;
/// In a record: the header was not seen, so neither flow nor ECN bits are known.
pub const UNKNOWN_FLOW: u32 = u32::MAX;
const PACKET: u8 = 2;
const DEPARTED: u8 = 1;
const DROPPED: u8 = 2;
const QUEUED: u8 = 3;
/// In a record's reason: it is an skb_drop_reason, not a qdisc_drop_reason.
const REASON_OF_SKB: u16 = 0x8000;
/// Names in `enum skb_drop_reason` before Linux 7.0 → the number in `enum qdisc_drop_reason`.
const QDISC_REASONS: [(&str, u16); 9] = [
    ("QDISC_DROP", 1),
    ("QDISC_OVERLIMIT", 2),
    ("QDISC_CONGESTED", 3),
    ("FQ_MAXFLOWS", 4),
    ("CAKE_FLOOD", 5),
    ("FQ_BAND_LIMIT", 6),
    ("FQ_HORIZON_LIMIT", 7),
    ("FQ_FLOW_LIMIT", 8),
    ("DUALPI2_STEP_DROP", 9),
];

pub fn reason_number(reason: u32, names: &HashMap<u64, String>) -> u16 {
    let name = names.get(&u64::from(reason));
    let known = QDISC_REASONS
        .iter()
        .find(|(n, _)| Some(*n) == name.map(String::as_str));
    match known {
        Some((_, number)) => *number,
        None if reason == 0 => 0,
        None => REASON_OF_SKB | (reason as u16 & 0x7fff),
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub packets: u64,
    pub bytes: u64,
}

impl Count {
    pub fn add(&mut self, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
    }

    fn take(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    pub arrived: Count,
    pub departed: Count,
    pub dropped: Count,
    pub queued: Count,
}

/// A tapped queue. `number` is its place in the plan's hops, `iface` that of its name among the names.
#[derive(Clone, Debug)]
pub struct Queue {
    pub number: u8,
    pub ifindex: u32,
    pub iface: usize,
    /// In the mode `drops`.
    pub interval_ns: Option<u64>,
}

struct Packet {
    arrival_ns: u64,
    bytes: u32,
    iface: usize,
    /// What it found at the queue that may refuse it.
    found: Count,
    /// The queue that has it, once one does.
    queue: Option<usize>,
}

pub struct Pairing {
    queues: Vec<Queue>,
    /// Of queues in the mode `drops`.
    intervals: Vec<Option<Intervals>>,
    refusers: Vec<Option<usize>>,
    pub totals: Vec<Totals>,
    packets: HashMap<u64, Packet>,
    last_ns: u64,
    /// Not yet taken by the caller, in order of time.
    pub records: Vec<[u8; RECORD_BYTES]>,
}

impl Pairing {
    /// `refusers`: for each name of an interface the queue (its place in `queues`) to which packets belong that
    /// no qdisc took.
    pub fn new(queues: Vec<Queue>, refusers: Vec<Option<usize>>, epoch_ns: u64) -> Pairing {
        let intervals = |q: &Queue| Some(Intervals::new(q.number, q.interval_ns?, epoch_ns));
        Pairing {
            totals: vec![Totals::default(); queues.len()],
            intervals: queues.iter().map(intervals).collect(),
            queues,
            refusers,
            packets: HashMap::new(),
            last_ns: 0,
            records: Vec::new(),
        }
    }

    /// Takes one event. `reason` is as in a record.
    pub fn take(&mut self, event: Event, reason: u16) -> Result<(), String> {
        let Event { t_ns, skb, what } = event;
        self.last_ns = t_ns;
        match what {
            What::Arrive { iface, bytes } => {
                let found = self.refusers[iface].map_or(Count::default(), |q| self.totals[q].queued);
                let packet = Packet {
                    arrival_ns: t_ns,
                    bytes,
                    iface,
                    found,
                    queue: None,
                };
                if let Some(Packet { queue: Some(_), .. }) = self.packets.insert(skb, packet) {
                    return Err(format!(
                        "the packet at {skb:#x} came again at {t_ns} ns without having left its queue"
                    ));
                }
            }
            What::Enqueue { ifindex } => self.enqueued(skb, ifindex),
            What::Dequeue { ifindex } => {
                // Not noted as enqueued where another packet was dropped for it (NET_XMIT_CN).
                if self.packets.get(&skb).is_some_and(|p| p.queue.is_none()) {
                    self.enqueued(skb, ifindex);
                }
                self.left(skb, DEPARTED, 0);
            }
            // Those of a bulk dequeue that its event does not name; and packets that no tapped queue has.
            What::Transmit => self.left(skb, DEPARTED, 0),
            What::Free { .. } => {
                let refused = self.packets.get(&skb).filter(|p| p.queue.is_none());
                if let Some((q, found)) = refused.and_then(|p| Some((self.refusers[p.iface]?, p.found))) {
                    self.came(skb, q, found);
                }
                self.left(skb, DROPPED, reason);
            }
        }
        Ok(())
    }

    fn enqueued(&mut self, skb: u64, ifindex: u32) {
        match self.queues.iter().position(|q| q.ifindex == ifindex) {
            Some(q) => self.came(skb, q, self.totals[q].queued),
            None => drop(self.packets.remove(&skb)), // of a queue that is not tapped
        }
    }

    /// The packet belongs to queue `q` from here on.
    fn came(&mut self, skb: u64, q: usize, found: Count) {
        let Some(packet) = self.packets.get_mut(&skb).filter(|p| p.queue.is_none()) else {
            return;
        };
        (packet.queue, packet.found) = (Some(q), found);
        let totals = &mut self.totals[q];
        if let Some(intervals) = &mut self.intervals[q] {
            intervals.at(self.last_ns, totals.queued, &mut self.records);
            intervals.arrived(packet.bytes, found);
        }
        totals.arrived.add(packet.bytes);
        totals.queued.add(packet.bytes);
    }

    fn left(&mut self, skb: u64, outcome: u8, reason: u16) {
        let Some(packet) = self.packets.remove(&skb) else {
            return;
        };
        let Some(q) = packet.queue else {
            return;
        };
        let before = self.totals[q].queued;
        let totals = &mut self.totals[q];
        totals.queued.take(packet.bytes);
        match outcome {
            DEPARTED => totals.departed.add(packet.bytes),
            _ => totals.dropped.add(packet.bytes),
        }
        if let Some(intervals) = &mut self.intervals[q] {
            let sojourn_ns = self.last_ns.saturating_sub(packet.arrival_ns);
            intervals.at(self.last_ns, before, &mut self.records);
            intervals.left(packet.bytes, sojourn_ns, outcome == DEPARTED, totals.queued);
            if outcome == DEPARTED {
                return;
            }
        }
        self.records.push(self.record(&packet, outcome, reason));
    }

    fn record(&self, packet: &Packet, outcome: u8, reason: u16) -> [u8; RECORD_BYTES] {
        let queue = packet.queue.unwrap_or(0);
        let after = self.totals[queue].queued;
        let mut r = [0; RECORD_BYTES];
        (r[0], r[1]) = (PACKET, self.queues[queue].number);
        r[2..4].copy_from_slice(&(packet.bytes.min(0xffff) as u16).to_le_bytes());
        r[4..8].copy_from_slice(&UNKNOWN_FLOW.to_le_bytes());
        r[8..16].copy_from_slice(&packet.arrival_ns.to_le_bytes());
        r[16..24].copy_from_slice(&self.last_ns.saturating_sub(packet.arrival_ns).to_le_bytes());
        let levels = [
            packet.found.bytes,
            packet.found.packets,
            after.bytes,
            after.packets,
        ];
        for (i, level) in levels.into_iter().enumerate() {
            r[24 + 4 * i..28 + 4 * i].copy_from_slice(&(level as u32).to_le_bytes());
        }
        r[40..42].copy_from_slice(&reason.to_le_bytes());
        r[42] = outcome;
        r
    }

    /// Adds records of the packets still queued, the oldest first, and of the intervals that have not ended.
    pub fn finish(&mut self) {
        let mut left: Vec<&Packet> = self.packets.values().filter(|p| p.queue.is_some()).collect();
        left.sort_by_key(|p| p.arrival_ns);
        let left: Vec<_> = left.into_iter().map(|p| self.record(p, QUEUED, 0)).collect();
        self.records.extend(left);
        for (intervals, totals) in self.intervals.iter_mut().zip(&self.totals) {
            if let Some(intervals) = intervals {
                intervals.at(self.last_ns, totals.queued, &mut self.records);
                intervals.write(&mut self.records);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IFINDEX: u32 = 1_000_001;

    fn arrive(bytes: u32) -> What {
        What::Arrive { iface: 0, bytes }
    }

    fn enqueue(ifindex: u32) -> What {
        What::Enqueue { ifindex }
    }

    fn dequeue(ifindex: u32) -> What {
        What::Dequeue { ifindex }
    }

    const FREE: What = What::Free { reason: 2 };

    type Paired = (Pairing, Vec<[u8; RECORD_BYTES]>);

    /// One tapped queue, and what came of (time, packet, event).
    fn paired(events: &[(u64, u64, What)], refuser: Option<usize>) -> Paired {
        paired_in(events, refuser, None)
    }

    fn paired_in(events: &[(u64, u64, What)], refuser: Option<usize>, interval_ns: Option<u64>) -> Paired {
        let queue = Queue {
            number: 3,
            ifindex: IFINDEX,
            iface: 0,
            interval_ns,
        };
        let mut pairing = Pairing::new(vec![queue], vec![refuser], 0);
        for (t_ns, skb, what) in events.iter().copied() {
            pairing.take(Event { t_ns, skb, what }, 2).unwrap();
        }
        let records = std::mem::take(&mut pairing.records);
        (pairing, records)
    }

    fn count(packets: u64, bytes: u64) -> Count {
        Count { packets, bytes }
    }

    fn u64_at(r: &[u8], at: usize) -> u64 {
        u64::from_le_bytes(r[at..at + 8].try_into().unwrap())
    }

    fn u32_at(r: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(r[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn a_packet_that_passes_has_its_sojourn_and_what_it_found() {
        let events = [
            (10, 1, arrive(1514)),
            (11, 1, enqueue(IFINDEX)),
            (20, 2, arrive(66)),
            (21, 2, enqueue(IFINDEX)),
            (50, 1, dequeue(IFINDEX)),
            (51, 1, What::Transmit),
            (70, 2, dequeue(IFINDEX)),
        ];
        let (pairing, records) = paired(&events, None);
        let expected = Totals {
            arrived: count(2, 1580),
            departed: count(2, 1580),
            ..Totals::default()
        };
        assert_eq!(pairing.totals[0], expected);
        assert_eq!(records.len(), 2);
        let second = &records[1];
        assert_eq!((second[0], second[1], second[42]), (2, 3, DEPARTED));
        assert_eq!((u64_at(second, 8), u64_at(second, 16)), (20, 50));
        assert_eq!((u32_at(second, 24), u32_at(second, 28)), (1514, 1)); // found the first
        assert_eq!((u32_at(&records[0], 32), u32_at(&records[0], 36)), (66, 1)); // which left it behind
        assert_eq!(u32_at(second, 4), UNKNOWN_FLOW);
    }

    #[test]
    fn a_refused_packet_belongs_to_the_one_queue_that_drops_and_to_none_without_one() {
        let events = [(10, 1, arrive(1514)), (12, 1, FREE)];
        let (pairing, records) = paired(&events, Some(0));
        let expected = Totals {
            arrived: count(1, 1514),
            dropped: count(1, 1514),
            ..Totals::default()
        };
        assert_eq!(pairing.totals[0], expected);
        assert_eq!((records[0][42], records[0][40]), (DROPPED, 2));
        let (pairing, records) = paired(&events, None);
        assert_eq!((&pairing.totals[0], records.len()), (&Totals::default(), 0));
    }

    #[test]
    fn a_packet_that_an_aqm_drops_was_queued() {
        let events = [(10, 1, arrive(100)), (11, 1, enqueue(IFINDEX)), (40, 1, FREE)];
        let (pairing, records) = paired(&events, None);
        assert_eq!(pairing.totals[0].dropped, count(1, 100));
        assert_eq!(u64_at(&records[0], 16), 30);
    }

    #[test]
    fn all_of_a_bulk_dequeue_depart() {
        let events = [
            (10, 1, arrive(100)),
            (11, 1, enqueue(IFINDEX)),
            (12, 2, arrive(100)),
            (13, 2, enqueue(IFINDEX)),
            (20, 1, dequeue(IFINDEX)), // names the first alone
            (21, 1, What::Transmit),
            (22, 2, What::Transmit),
            (30, 2, FREE), // long gone from here
        ];
        let (pairing, records) = paired(&events, Some(0));
        assert_eq!((pairing.totals[0].departed, records.len()), (count(2, 200), 2));
        assert_eq!(pairing.totals[0].dropped, count(0, 0));
    }

    #[test]
    fn other_interfaces_of_the_same_name_do_not_count() {
        let events = [
            (10, 1, arrive(100)), // no qdisc there
            (11, 1, What::Transmit),
            (12, 2, arrive(100)), // a qdisc that is not tapped
            (13, 2, enqueue(7)),
            (14, 2, FREE),
        ];
        let (pairing, records) = paired(&events, Some(0));
        assert_eq!((&pairing.totals[0], records.len()), (&Totals::default(), 0));
    }

    #[test]
    fn a_packet_taken_in_another_ones_place_counts_when_it_leaves() {
        let events = [(10, 1, arrive(100)), (30, 1, dequeue(IFINDEX))];
        let (pairing, _) = paired(&events, None);
        assert_eq!(pairing.totals[0].departed, count(1, 100));
        assert_eq!(pairing.totals[0].queued, count(0, 0));
    }

    #[test]
    fn what_is_still_queued_at_the_end_is_told() {
        let (mut pairing, _) = paired(&[(10, 1, arrive(100)), (11, 1, enqueue(IFINDEX))], None);
        assert_eq!(pairing.totals[0].queued, count(1, 100));
        pairing.finish();
        assert_eq!(pairing.records[0][42], QUEUED);
    }

    #[test]
    fn in_the_mode_drops_only_dropped_packets_have_records_and_intervals_count_all() {
        let events = [
            (10, 1, arrive(100)),
            (11, 1, enqueue(IFINDEX)),
            (12, 2, arrive(60)),
            (13, 2, FREE),
            (20, 1, dequeue(IFINDEX)),
        ];
        let (mut pairing, mut records) = paired_in(&events, Some(0), Some(1000));
        pairing.finish();
        records.append(&mut pairing.records);
        let kinds: Vec<(u8, u8)> = records.iter().map(|r| (r[0], r[42])).collect();
        assert_eq!(kinds, [(2, DROPPED), (3, 0), (4, 0)]);
        let counts: Vec<u32> = (16..40).step_by(4).map(|at| u32_at(&records[1], at)).collect();
        assert_eq!(counts, [2, 160, 1, 100, 1, 60]);
        assert_eq!(u64_at(&records[2], 40), 10); // the longest sojourn
    }

    #[test]
    fn a_packet_cannot_come_twice_without_leaving() {
        let queue = Queue {
            number: 0,
            ifindex: IFINDEX,
            iface: 0,
            interval_ns: None,
        };
        let mut pairing = Pairing::new(vec![queue], vec![None], 0);
        let mut take = |t_ns, what| pairing.take(Event { t_ns, skb: 1, what }, 0);
        take(1, arrive(100)).unwrap();
        take(2, enqueue(IFINDEX)).unwrap();
        assert!(take(3, arrive(100)).unwrap_err().contains("came again"));
    }

    #[test]
    fn a_reason_keeps_its_name_over_kernels_and_else_its_number() {
        let names = HashMap::from([
            (65, "QDISC_OVERLIMIT".to_string()),
            (2, "NOT_SPECIFIED".to_string()),
        ]);
        assert_eq!(reason_number(65, &names), 2);
        assert_eq!(reason_number(2, &names), 0x8002);
        assert_eq!(reason_number(0, &names), 0);
    }
}
