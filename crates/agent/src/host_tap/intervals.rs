//! The tap mode `drops`: what a queue did, added up per interval; the same sums as in the virtual machine's tap.
//!
//! Intervals start at multiples of their length from the run's epoch. It keeps no packet.

use narrows_tap::{Backlog, Bytes, Levels, Traffic, UNKNOWN_MARKS};

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

    pub fn take(&mut self, bytes: u32) {
        self.packets -= 1;
        self.bytes -= u64::from(bytes);
    }

    pub fn backlog(self) -> Backlog {
        Backlog { bytes: self.bytes as u32, packets: self.packets as u32 }
    }

    /// As an interval's record has it.
    pub fn in_record(self) -> narrows_tap::Count {
        narrows_tap::Count { packets: self.packets as u32, bytes: self.bytes as u32 }
    }
}

#[derive(Clone, Debug)]
pub struct Intervals {
    hop: u8,
    length_ns: u64,
    start_ns: u64,
    last_ns: u64,
    byte_ns: u128,
    packet_ns: u128,
    sojourn_sum_ns: u64,
    sojourn_max_ns: u64,
    arrived: Count,
    departed: Count,
    dropped: Count,
    min: Count,
    max: Count,
}

impl Intervals {
    pub fn new(hop: u8, length_ns: u64, epoch_ns: u64) -> Intervals {
        // Set-up lies before the epoch; the clock's own zero lies before all.
        let start_ns = epoch_ns % length_ns;
        Intervals {
            hop,
            length_ns,
            start_ns,
            last_ns: start_ns,
            byte_ns: 0,
            packet_ns: 0,
            sojourn_sum_ns: 0,
            sojourn_max_ns: 0,
            arrived: Count::default(),
            departed: Count::default(),
            dropped: Count::default(),
            min: Count::default(),
            max: Count::default(),
        }
    }

    fn clear(&mut self, start_ns: u64, queued: Count) {
        let fresh = Intervals::new(self.hop, self.length_ns, start_ns);
        *self = Intervals { start_ns, last_ns: start_ns, min: queued, max: queued, ..fresh };
    }

    /// Adds the time since the last change, during which nothing changed.
    fn pass_time(&mut self, now: u64, queued: Count) {
        let span_ns = u128::from(now.saturating_sub(self.last_ns));
        self.byte_ns += u128::from(queued.bytes) * span_ns;
        self.packet_ns += u128::from(queued.packets) * span_ns;
        self.last_ns = now.max(self.last_ns);
    }

    /// Comes before each change at `now`; `queued` is what was there until then.
    pub fn at(&mut self, now: u64, queued: Count, out: &mut Vec<Bytes>) {
        while now >= self.start_ns + self.length_ns {
            let end_ns = self.start_ns + self.length_ns;
            self.pass_time(end_ns, queued);
            self.write(out);
            // Of intervals in which an empty queue saw nothing there is no record.
            let next_ns = match queued.packets {
                0 => now - (now - end_ns) % self.length_ns,
                _ => end_ns,
            };
            self.clear(next_ns, queued);
        }
        self.pass_time(now, queued);
    }

    pub fn arrived(&mut self, bytes: u32, found: Count) {
        self.arrived.add(bytes);
        self.max.bytes = self.max.bytes.max(found.bytes);
        self.max.packets = self.max.packets.max(found.packets);
    }

    /// `after` is what was left behind.
    pub fn left(&mut self, bytes: u32, sojourn_ns: u64, is_departure: bool, after: Count) {
        self.min.bytes = self.min.bytes.min(after.bytes);
        self.min.packets = self.min.packets.min(after.packets);
        if !is_departure {
            self.dropped.add(bytes);
            return;
        }
        self.departed.add(bytes);
        self.sojourn_sum_ns += sojourn_ns;
        self.sojourn_max_ns = self.sojourn_max_ns.max(sojourn_ns);
    }

    pub fn write(&self, out: &mut Vec<Bytes>) {
        if self.arrived.packets == 0 && self.max.packets == 0 {
            return;
        }
        let length_ns = u128::from((self.last_ns - self.start_ns).max(1));
        let traffic = Traffic {
            hop: self.hop,
            marked_packets: UNKNOWN_MARKS,
            start_ns: self.start_ns,
            arrived: self.arrived.in_record(),
            departed: self.departed.in_record(),
            dropped: self.dropped.in_record(),
            sojourn_sum_ns: self.sojourn_sum_ns,
        };
        let levels = Levels {
            hop: self.hop,
            start_ns: self.start_ns,
            bytes_min: self.min.bytes as u32,
            bytes_mean: (self.byte_ns / length_ns) as u32,
            bytes_max: self.max.bytes as u32,
            packets_min: self.min.packets as u32,
            packets_mean_x1000: (self.packet_ns * 1000 / length_ns) as u32,
            packets_max: self.max.packets as u32,
            sojourn_max_ns: self.sojourn_max_ns,
        };
        out.extend([traffic.to_bytes(), levels.to_bytes()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRAFFIC: u8 = 3;
    const LEVELS: u8 = 4;

    fn numbers(r: &Bytes) -> (u8, u64, [u32; 6], u64) {
        let u64_at = |at: usize| u64::from_le_bytes(r[at..at + 8].try_into().unwrap());
        let six = [0, 1, 2, 3, 4, 5]
            .map(|i: usize| u32::from_le_bytes(r[16 + 4 * i..20 + 4 * i].try_into().unwrap()));
        (r[0], u64_at(8), six, u64_at(40))
    }

    #[test]
    fn what_happens_is_added_up_per_interval_from_the_epoch() {
        let (mut intervals, mut out) = (Intervals::new(3, 100, 1030), Vec::new());
        let (empty, one) = (Count::default(), Count { packets: 1, bytes: 50 });
        // One packet from 1040 to 1180: the intervals 1030 and 1130 saw it.
        intervals.at(1040, empty, &mut out);
        intervals.arrived(50, empty);
        intervals.at(1180, one, &mut out);
        intervals.left(50, 140, true, empty);
        // Nothing until 1999, when a packet is refused: the interval 1930.
        intervals.at(1999, empty, &mut out);
        intervals.arrived(60, empty);
        intervals.left(60, 0, false, empty);
        intervals.write(&mut out);
        let found: Vec<_> = out.iter().map(numbers).collect();
        assert_eq!(found[0], (TRAFFIC, 1030, [1, 50, 0, 0, 0, 0], 0));
        // 50 bytes for 90 of 100 ns.
        assert_eq!(found[1], (LEVELS, 1030, [0, 45, 0, 0, 900, 0], 0));
        assert_eq!(found[2], (TRAFFIC, 1130, [0, 0, 1, 50, 0, 0], 140));
        assert_eq!(found[3], (LEVELS, 1130, [0, 25, 50, 0, 500, 1], 140));
        assert_eq!(found[4], (TRAFFIC, 1930, [1, 60, 0, 0, 1, 60], 0));
        assert_eq!(found.len(), 6);
        assert_eq!(out[0][4..8], [0xff; 4]);
    }
}
