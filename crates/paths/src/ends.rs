//! Compares the logs of both ends of a path, packet by packet: what was lost, reordered and delayed between them.
//!
//! A data segment of the sender's log is the same as one of the receiver's when ports, sequence number, length, IPv4's
//! identification and timestamp are. Addresses are not compared, since a NAT may lie between. One that changes ports or writes
//! identifications of its own is found by what it leaves: then less tells a segment that was sent again from its original. The
//! direction is that of the address that sent most payload in the first log. Both logs must hold every packet of it, and be taken
//! before segmentation offload (or with it off); where offloads were on, few segments match, and `unmatched` says so.
//!
//! Only the time that both logs cover is compared: what would have arrived before the first or after the last packet of the
//! receiver's log, by the least and the largest delay seen, is neither lost nor counted as sent, but `outside`.

use std::collections::{HashSet, VecDeque};
use std::ffi::OsStr;

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::container;
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::headers::{self, Segment};
use crate::input;

/// Data segments of a log that are kept for the comparison, of 32 bytes each.
const MOST: usize = 50_000_000;

/// What happened between the two ends. Counts are of data segments; times are by the clocks of both.
#[derive(Debug, Serialize)]
pub struct Between {
    /// Segments of the time that both logs cover that the sender's has, those sent again included.
    pub sent: u64,
    /// Of these, the ones that the receiver's log has, too.
    pub arrived: u64,
    pub lost: u64,
    /// Segments of the sender's log that the time of the receiver's does not cover.
    pub outside: u64,
    /// Segments that only the receiver's log has: the sender's misses them, or offloads changed them.
    pub unmatched: u64,
    /// Segments that arrived after one that had been sent later (RFC 4737, Type-P-Reordered).
    pub reordered: u64,
    /// Least difference of the two times: the one-way delay, and how far the clocks are apart.
    pub least_delay_ns: Option<i64>,
    /// 99th percentile less the least: what one clock's offset does not change.
    pub delay_variation_p99_ns: Option<i64>,
    /// Mean absolute difference of the delays of segments that arrive one after another (RFC 5481, IPDV).
    pub jitter_ns: Option<i64>,
    /// What the same segments agree in, beside sequence number, length and timestamp.
    pub same_by: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Name {
    ports: (u16, u16),
    seq: u32,
    bytes: u32,
    id: u16,
    tsval: u32,
}

impl Name {
    fn of(segment: &Segment) -> Self {
        Name {
            ports: (segment.source_port, segment.target_port),
            seq: segment.seq,
            bytes: segment.payload_len,
            id: segment.ip_id.unwrap_or(0),
            tsval: segment.options.timestamps.map_or(0, |t| t.0),
        }
    }
}

/// What of a name is compared, the surest first.
#[derive(Debug, Clone, Copy)]
struct Way {
    ports: bool,
    id: bool,
    words: &'static str,
}

const WAYS: [Way; 4] = [
    Way { ports: true, id: true, words: "ports, identification" },
    Way { ports: false, id: true, words: "identification" },
    Way { ports: true, id: false, words: "ports" },
    Way { ports: false, id: false, words: "nothing more" },
];
/// A way that finds so many of the segments that can be found need not be bettered.
const FOUND: f64 = 0.5;

impl Way {
    fn name(self, name: Name) -> Name {
        Name {
            ports: if self.ports { name.ports } else { (0, 0) },
            id: if self.id { name.id } else { 0 },
            ..name
        }
    }

    /// Pairs of the same segments, by their places in both logs.
    fn pairs(self, sent: &[Seen], received: &[Seen]) -> Vec<(u32, u32)> {
        let mut at: FxHashMap<Name, VecDeque<u32>> = FxHashMap::default();
        for (index, (_, _, name)) in sent.iter().enumerate() {
            at.entry(self.name(*name)).or_default().push_back(index as u32);
        }
        received
            .iter()
            .enumerate()
            .filter_map(|(index, (_, _, name))| {
                let same = at.get_mut(&self.name(*name))?.pop_front()?;
                Some((same, index as u32))
            })
            .collect()
    }
}

/// Compares the log of the data's sender with that of its receiver.
pub fn compare(sender: impl AsRef<OsStr>, receiver: impl AsRef<OsStr>) -> Result<Between> {
    let (sender_file, receiver_file) = (sender.as_ref(), receiver.as_ref());
    let (sender, receiver): (&str, &str) = (&sender_file.to_string_lossy(), &receiver_file.to_string_lossy());
    let (here, there) = (Log::read(sender_file)?.of_its_busiest(sender)?, Log::read(receiver_file)?);
    let (sent, received) = (&here.segments, &there.segments);
    let enough = (FOUND * sent.len().min(received.len()) as f64) as usize;
    let (mut pairs, mut way) = (WAYS[0].pairs(sent, received), WAYS[0]);
    for other in &WAYS[1..] {
        if pairs.len() < enough {
            let found = other.pairs(sent, received);
            if found.len() > pairs.len() {
                (pairs, way) = (found, *other);
            }
        }
    }
    let mut delays: Vec<i64> =
        pairs.iter().map(|(i, j)| received[*j as usize].0 - sent[*i as usize].0).collect();
    let (Some(least), Some(most)) = (delays.iter().min().copied(), delays.iter().max().copied()) else {
        return Err(Error::new(
            receiver,
            format!("none of the {} data segments in {sender} is in it", sent.len()),
            "the log of the sender, then that of the receiver, of one time and with offloads off",
        ));
    };
    let (mut matched, mut known) = (vec![false; sent.len()], vec![false; received.len()]);
    let mut ports = HashSet::new();
    let (mut reordered, mut latest) = (0, 0);
    for (i, j) in &pairs {
        (matched[*i as usize], known[*j as usize]) = (true, true);
        ports.insert(received[*j as usize].2.ports);
        reordered += u64::from(*i < latest);
        latest = latest.max(*i);
    }
    let lost = (0..sent.len())
        .filter(|i| !matched[*i] && (there.first_ns - least..=there.last_ns - most).contains(&sent[*i].0))
        .count() as u64;
    let unmatched = (0..received.len())
        .filter(|j| {
            let (t_ns, _, name) = &received[*j];
            !known[*j]
                && ports.contains(&name.ports)
                && (here.first_ns + most..=here.last_ns + least).contains(t_ns)
        })
        .count() as u64;
    let steps: Vec<i64> = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    delays.sort_unstable();
    let rank = (0.99 * delays.len() as f64).ceil() as usize;
    let p99 = delays.get(rank.saturating_sub(1)).copied();
    let arrived = pairs.len() as u64;
    Ok(Between {
        sent: arrived + lost,
        arrived,
        lost,
        outside: sent.len() as u64 - arrived - lost,
        unmatched,
        reordered,
        least_delay_ns: Some(least),
        delay_variation_p99_ns: p99.map(|p99| p99 - least),
        jitter_ns: (!steps.is_empty()).then(|| steps.iter().sum::<i64>() / steps.len() as i64),
        same_by: way.words,
    })
}

type Seen = (i64, u128, Name);

/// Every data segment of a log, and the time that it covers.
struct Log {
    first_ns: i64,
    last_ns: i64,
    segments: Vec<Seen>,
}

impl Log {
    fn read(file: &OsStr) -> Result<Self> {
        let (reader, _) = input::open(file)?;
        let log: &str = &file.to_string_lossy();
        let mut counts = Counts::default();
        let mut found = Log { first_ns: i64::MAX, last_ns: i64::MIN, segments: Vec::new() };
        let mut too_many = false;
        let about = container::read(reader, log, &mut counts, &mut |packet, counts| {
            found.first_ns = found.first_ns.min(packet.t_ns);
            found.last_ns = found.last_ns.max(packet.t_ns);
            if let Some(segment) = headers::parse(&packet, counts).filter(|s| s.payload_len > 0) {
                too_many |= found.segments.len() >= MOST;
                if !too_many {
                    found.segments.push((packet.t_ns, segment.source, Name::of(&segment)));
                }
            }
        })?;
        if too_many {
            return Err(Error::new(
                log,
                format!("it holds more than {MOST} data segments, and all must be kept"),
                "cut both logs to the same time: editcap -A … -B …",
            ));
        }
        match about.damage {
            // What is missing at the end of one log would count as lost.
            Some(damage) => Err(Error::new(log, format!("it is damaged: {damage}"), "a whole file")),
            None => Ok(found),
        }
    }

    /// The segments of the address that sent most payload.
    fn of_its_busiest(mut self, log: &str) -> Result<Self> {
        let mut bytes: FxHashMap<u128, u64> = FxHashMap::default();
        for (_, source, name) in &self.segments {
            *bytes.entry(*source).or_default() += u64::from(name.bytes);
        }
        let Some((busiest, _)) = bytes.into_iter().max_by_key(|(source, sum)| (*sum, *source)) else {
            return Err(Error::new(log, "there is no TCP data in it", "a log of a download or an upload"));
        };
        self.segments.retain(|(_, source, _)| *source == busiest);
        Ok(self)
    }
}
