//! Follows each packet, by the address of its `sk_buff`, from its arrival at a queue to its end there.
//!
//! An interface is known by its index, which no other interface of the run has (`nodes`). Only a packet that its
//! qdisc refused never shows one: it belongs to `refuser`, the one tapped hop of that name that dropped anything, and
//! `tc -s` must confirm the count. Backlogs are this module's own count.

use std::collections::HashMap;

use narrows_tap::{Bytes, Outcome, REASON_OF_SKB, UNKNOWN_FLOW};

use super::events::{Event, What};
use super::intervals::{Count, Intervals};

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
    let known = QDISC_REASONS.iter().find(|(n, _)| Some(*n) == name.map(String::as_str));
    match known {
        Some((_, number)) => *number,
        None if reason == 0 => 0,
        None => REASON_OF_SKB | (reason as u16 & 0x7fff),
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
    pub records: Vec<Bytes>,
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
                let packet = Packet { arrival_ns: t_ns, bytes, iface, found, queue: None };
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
                self.left(skb, Outcome::Departed, 0);
            }
            // Those of a bulk dequeue that its event does not name; and packets that no tapped queue has.
            What::Transmit => self.left(skb, Outcome::Departed, 0),
            What::Free { .. } => {
                let refused = self.packets.get(&skb).filter(|p| p.queue.is_none());
                if let Some((q, found)) = refused.and_then(|p| Some((self.refusers[p.iface]?, p.found))) {
                    self.came(skb, q, found);
                }
                self.left(skb, Outcome::Dropped, reason);
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

    fn left(&mut self, skb: u64, outcome: Outcome, reason: u16) {
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
            Outcome::Departed => totals.departed.add(packet.bytes),
            _ => totals.dropped.add(packet.bytes),
        }
        if let Some(intervals) = &mut self.intervals[q] {
            let sojourn_ns = self.last_ns.saturating_sub(packet.arrival_ns);
            intervals.at(self.last_ns, before, &mut self.records);
            intervals.left(packet.bytes, sojourn_ns, outcome == Outcome::Departed, totals.queued);
            if outcome == Outcome::Departed {
                return;
            }
        }
        self.records.push(self.record(&packet, outcome, reason));
    }

    fn record(&self, packet: &Packet, outcome: Outcome, reason: u16) -> Bytes {
        let queue = packet.queue.unwrap_or(0);
        let record = narrows_tap::Packet {
            hop: self.queues[queue].number,
            bytes: packet.bytes.min(0xffff) as u16,
            flow: UNKNOWN_FLOW,
            arrival_ns: packet.arrival_ns,
            sojourn_ns: self.last_ns.saturating_sub(packet.arrival_ns),
            found: packet.found.backlog(),
            left: self.totals[queue].queued.backlog(),
            reason,
            outcome,
            tos_in: 0,
            tos_out: 0,
        };
        record.to_bytes()
    }

    /// Adds records of the packets still queued, the oldest first, and of the intervals that have not ended.
    pub fn finish(&mut self) {
        let mut left: Vec<&Packet> = self.packets.values().filter(|p| p.queue.is_some()).collect();
        left.sort_by_key(|p| p.arrival_ns);
        let left: Vec<_> = left.into_iter().map(|p| self.record(p, Outcome::Queued, 0)).collect();
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
#[path = "pairing_tests.rs"]
mod tests;
