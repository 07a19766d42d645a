//! Compares the logs of both ends of a path, packet by packet: what was lost, reordered and delayed between them.
//!
//! A data segment of the sender's log is the same as one of the receiver's when ports, sequence number, length, IPv4's
//! identification and timestamp are. Addresses are not compared, since a NAT may lie between. The direction is that of the
//! address that sent most payload in the first log. Both logs must hold every packet of it, and be taken before
//! segmentation offload (or with it off); where offloads were on, few segments match, and `unmatched` says so.

use std::collections::VecDeque;

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
    /// Segments that the sender's log has, those sent again included.
    pub sent: u64,
    /// Of these, the ones that the receiver's log has, too.
    pub arrived: u64,
    pub lost: u64,
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

/// Compares the log of the data's sender with that of its receiver.
pub fn compare(sender: &str, receiver: &str) -> Result<Between> {
    let sent = busiest_source(segments(sender)?, sender)?;
    let ports = sent
        .iter()
        .map(|(_, name)| name.ports)
        .collect::<std::collections::HashSet<_>>();
    let mut at: FxHashMap<Name, VecDeque<u32>> = FxHashMap::default();
    for (index, (_, name)) in sent.iter().enumerate() {
        at.entry(*name).or_default().push_back(index as u32);
    }
    let (mut arrived, mut unmatched, mut reordered) = (0u64, 0u64, 0u64);
    let mut latest: Option<u32> = None;
    let mut delays: Vec<i64> = Vec::new();
    for (t_ns, _, name) in segments(receiver)?
        .into_iter()
        .filter(|(_, _, n)| ports.contains(&n.ports))
    {
        let Some(index) = at.get_mut(&name).and_then(VecDeque::pop_front) else {
            unmatched += 1;
            continue;
        };
        arrived += 1;
        reordered += u64::from(latest.is_some_and(|l| index < l));
        latest = Some(latest.map_or(index, |l| l.max(index)));
        delays.push(t_ns - sent[index as usize].0);
    }
    if arrived == 0 {
        return Err(Error::new(
            receiver,
            format!("none of the {} data segments in {sender} is in it", sent.len()),
            "the log of the sender, then that of the receiver, of one time and with offloads off",
        ));
    }
    let steps: Vec<i64> = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    delays.sort_unstable();
    let least = delays.first().copied();
    let rank = (0.99 * delays.len() as f64).ceil() as usize;
    let p99 = delays.get(rank.saturating_sub(1)).copied();
    Ok(Between {
        sent: sent.len() as u64,
        arrived,
        lost: sent.len() as u64 - arrived,
        unmatched,
        reordered,
        least_delay_ns: least,
        delay_variation_p99_ns: p99.zip(least).map(|(p99, least)| p99 - least),
        jitter_ns: (!steps.is_empty()).then(|| steps.iter().sum::<i64>() / steps.len() as i64),
    })
}

type Seen = (i64, u128, Name);

/// Every data segment of a log: its time, its source and its name.
fn segments(log: &str) -> Result<Vec<Seen>> {
    let (reader, _) = input::open(log)?;
    let mut counts = Counts::default();
    let mut found: Vec<Seen> = Vec::new();
    let mut too_many = false;
    let about = container::read(reader, log, &mut counts, &mut |packet, counts| {
        if let Some(segment) = headers::parse(&packet, counts).filter(|s| s.payload_len > 0) {
            too_many |= found.len() >= MOST;
            if !too_many {
                found.push((packet.t_ns, segment.source, Name::of(&segment)));
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
        Some(damage) => Err(Error::new(
            log,
            format!("it is damaged: {damage}"),
            "a whole file",
        )),
        None => Ok(found),
    }
}

fn busiest_source(all: Vec<Seen>, log: &str) -> Result<Vec<(i64, Name)>> {
    let mut bytes: FxHashMap<u128, u64> = FxHashMap::default();
    for (_, source, name) in &all {
        *bytes.entry(*source).or_default() += u64::from(name.bytes);
    }
    let Some((busiest, _)) = bytes.into_iter().max_by_key(|(source, sum)| (*sum, *source)) else {
        return Err(Error::new(
            log,
            "there is no TCP data in it",
            "a log of a download or an upload",
        ));
    };
    Ok(all
        .into_iter()
        .filter(|(_, source, _)| *source == busiest)
        .map(|(t, _, name)| (t, name))
        .collect())
}
