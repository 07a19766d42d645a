//! The tap of a run on this host: what its queues did, from the kernel's own trace events.
//!
//! It writes `tap.bin` as the virtual machine's tap does, without what no event tells (flow, ECN bits). A queue's
//! records count only if their totals are those of `tc -s` to the byte and no event was lost; otherwise there is no
//! tap there, and the reason is said. Nothing that goes wrong here fails the run.

mod check;
mod events;
mod format;
mod intervals;
mod pages;
mod pairing;
mod spool;
mod tracefs;

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::nodes::Nodes;
use crate::result::{HopResult, HostTapResult, Object};
use crate::sample::link;
use narrows_plan::{Hop, TapMode};
use narrows_tap::{hop_of, Bytes, RECORD_BYTES};

use check::{check, refusers, root, shown};
use events::{Decoder, What};
use format::{EventFormat, PageFormat};
use pairing::{Pairing, Queue, Totals};
use spool::Spool;
pub use tracefs::remove_stale;
use tracefs::Instance;

/// Interfaces of a run have indices of their own, out of the way of others: this many for each process id.
const INDICES: u32 = 10_000;
const FIRST_INDEX: u32 = 1_000_000;
const PIDS: u32 = 100_000;
const BUFFERS_KIB: usize = 256 * 1024;
const BUFFER_KIB: (usize, usize) = (1024, 16 * 1024);

pub struct HostTap {
    raw: PathBuf,
    state: Result<Running, String>,
}

// Order matters: the spool closes its files before the instance goes.
struct Running {
    spool: Spool,
    instance: Owned,
    decoder: Decoder,
    page: PageFormat,
    ifaces: Vec<String>,
}

/// An instance that goes with its owner.
struct Owned(Instance);

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// For a panic: ends the reading and removes this process' instance.
pub fn abandon() {
    spool::stop();
    tracefs::remove_own();
}

fn is_wanted(hop: &Hop) -> bool {
    hop.tap != TapMode::Off
}

impl HostTap {
    /// Starts it, before any interface exists, and has interfaces numbered so that events tell them apart.
    pub fn start(hops: &[Hop], nodes: &Nodes, raw: &Path) -> HostTap {
        let state = match hops.iter().any(is_wanted) {
            true => start(hops, nodes, raw),
            false => Err("no hop of the plan asks for it".into()),
        };
        HostTap { raw: raw.to_path_buf(), state }
    }

    /// Gives `hops` of result.json and the number of events; `tc` is `tc -s` of the idle queues. Removes the instance.
    pub fn finish(
        self,
        hops: &[Hop],
        nodes: &Nodes,
        tc: &Object,
        epoch_ns: u64,
    ) -> (Vec<HopResult>, Option<HostTapResult>) {
        let HostTap { raw, state } = self;
        let read = state.and_then(|running| running.read(hops, nodes, tc, epoch_ns, &raw));
        let (mut totals, events, why) = match read {
            Ok((totals, events)) => (totals, Some(HostTapResult { events }), String::new()),
            Err(why) => (Vec::new(), None, why),
        };
        let mut result = |(number, hop): (usize, &Hop)| {
            let found = totals.iter().position(|(n, _)| usize::from(*n) == number);
            let (tap, note) = match (hop.tap, found.map(|at| totals.swap_remove(at).1)) {
                (TapMode::Off, _) => (None, None),
                (_, Some(Ok(totals))) => (Some(shown(&totals)), None),
                (_, Some(Err(why))) => (None, Some(why)),
                (_, None) => (None, Some(why.clone())),
            };
            HopResult::new(hop, tap, note)
        };
        (hops.iter().enumerate().map(&mut result).collect(), events)
    }
}

fn start(hops: &[Hop], nodes: &Nodes, raw: &Path) -> Result<Running, String> {
    if cfg!(target_endian = "big") {
        return Err("the trace is read on little-endian machines only".into());
    }
    let instance = Owned(Instance::create()?);
    let mut ifaces: Vec<String> = hops.iter().filter(|h| is_wanted(h)).map(|h| h.iface.clone()).collect();
    ifaces.sort();
    ifaces.dedup();
    let trace = &instance.0;
    let format = |name: &str| {
        let text = trace
            .read(&format!("events/{name}/format"))
            .map_err(|e| format!("this kernel has no trace event {name} ({e})"))?;
        EventFormat::parse(&text)
            .ok_or_else(|| format!("the format of the trace event {name} makes no sense"))
    };
    let [a, b, c, d, e] = events::NAMES;
    let decoder = Decoder::new([format(a)?, format(b)?, format(c)?, format(d)?, format(e)?], ifaces.clone())?;
    let page = trace.read("events/header_page")?;
    let page = PageFormat::parse(&page).ok_or("events/header_page makes no sense")?;

    let cores = trace.cores()?.len();
    let buffer_kib = (BUFFERS_KIB / cores).clamp(BUFFER_KIB.0, BUFFER_KIB.1);
    trace.write("trace_clock", "mono")?;
    trace.write("buffer_size_kb", &buffer_kib.to_string())?;
    let first = FIRST_INDEX + std::process::id() % PIDS * INDICES;
    let names: Vec<String> = ifaces.iter().map(|i| format!("name == \"{i}\"")).collect();
    let names = names.join(" || ");
    let indices = format!("ifindex >= {first} && ifindex < {}", first + INDICES);
    let filters = [&names, &indices, &format!("{indices} && skbaddr != 0"), &names, ""];
    let spool = Spool::start(trace, page, raw)?;
    for (event, filter) in events::NAMES.iter().zip(filters) {
        trace.enable(event, filter)?;
    }
    nodes.number_interfaces(first);
    Ok(Running { spool, instance, decoder, page, ifaces })
}

impl Running {
    /// Totals of each wanted hop or why there are none; writes `tap.bin` of those that have.
    #[allow(clippy::type_complexity)]
    fn read(
        mut self,
        hops: &[Hop],
        nodes: &Nodes,
        tc: &Object,
        epoch_ns: u64,
        raw: &Path,
    ) -> Result<(Vec<(u8, Result<Totals, String>)>, u64), String> {
        let trace = &self.instance.0;
        trace.write("tracing_on", "0")?;
        let lost = trace.lost_events()?;
        if self.spool.finish()? || lost > 0 {
            return Err(format!(
                "trace events were lost ({lost} by the kernel's count): the buffers were full before they could be read"
            ));
        }
        let mut queues = Vec::new();
        for (number, hop) in hops.iter().enumerate().filter(|(_, h)| is_wanted(h)) {
            let iface = self.ifaces.iter().position(|i| *i == hop.iface).unwrap_or(0);
            queues.push(Queue {
                number: number as u8,
                ifindex: index_of(nodes, hop)?,
                iface,
                interval_ns: (hop.tap == TapMode::Drops).then_some(hop.tap_interval_ns as u64),
            });
        }
        let refusers = refusers(&queues, hops, self.ifaces.len(), tc);
        let numbers: Vec<u8> = queues.iter().map(|q| q.number).collect();
        let mut pairing = Pairing::new(queues, refusers, epoch_ns);

        let part = raw.join(".tap.part");
        let written = self.write(&mut pairing, &part);
        let checked: Vec<_> = numbers
            .iter()
            .zip(&pairing.totals)
            .map(|(n, totals)| (*n, check(totals, root(tc, &hops[usize::from(*n)]))))
            .collect();
        let good: Vec<u8> = checked.iter().filter(|(_, t)| t.is_ok()).map(|(n, _)| *n).collect();
        let kept = written.and_then(|events| {
            keep(&part, &raw.join("tap.bin"), &good, numbers.len())
                .map_err(|e| format!("writing tap.bin: {e}"))?;
            Ok(events)
        });
        let _ = fs::remove_file(&part);
        Ok((checked, kept?))
    }

    fn write(&self, pairing: &mut Pairing, part: &Path) -> Result<u64, String> {
        let failed = |e: std::io::Error| format!("writing {}: {e}", part.display());
        let mut file = BufWriter::new(File::create(part).map_err(failed)?);
        let mut write_all = |records: &mut Vec<Bytes>| {
            let outcome = records.iter().try_for_each(|r| file.write_all(r)).map_err(failed);
            records.clear();
            outcome
        };
        let events = events::each(&self.spool.files, &self.page, &self.decoder, |event| {
            let reason = match event.what {
                What::Free { reason } => pairing::reason_number(reason, &self.decoder.reasons),
                _ => 0,
            };
            pairing.take(event, reason)?;
            write_all(&mut pairing.records)
        })?;
        pairing.finish();
        write_all(&mut pairing.records)?;
        file.flush().map_err(failed)?;
        Ok(events)
    }
}

/// `tap.bin` from the records of all queues, with those of the good ones.
fn keep(part: &Path, whole: &Path, good: &[u8], all: usize) -> std::io::Result<()> {
    if good.is_empty() {
        return Ok(());
    }
    if good.len() == all {
        return fs::rename(part, whole);
    }
    let mut records = fs::read(part)?;
    let mut to = 0;
    for from in (0..records.len()).step_by(RECORD_BYTES) {
        if hop_of(&records[from..]).is_some_and(|hop| good.contains(&hop)) {
            records.copy_within(from..from + RECORD_BYTES, to);
            to += RECORD_BYTES;
        }
    }
    fs::write(whole, &records[..to])
}

fn index_of(nodes: &Nodes, hop: &Hop) -> Result<u32, String> {
    let place = format!("{} of node {}", hop.iface, hop.node);
    nodes.enter(&hop.node).map_err(|e| e.message)?;
    let all = link::interfaces().map_err(|e| format!("looking for {place}: {e}"))?;
    let found = all.into_iter().find(|i| i.name == hop.iface);
    found.map(|i| i.index).ok_or_else(|| format!("there is no {place}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_records_of_good_queues_are_kept() {
        let dir = std::env::temp_dir().join(format!("narrows-keep-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let (part, whole) = (dir.join("part"), dir.join("whole"));
        let records: Vec<u8> = [0u8, 1, 0]
            .iter()
            .flat_map(|hop| {
                let mut record = [9; RECORD_BYTES];
                record[1] = *hop;
                record
            })
            .collect();
        fs::write(&part, &records).unwrap();
        keep(&part, &whole, &[1], 2).unwrap();
        assert_eq!(fs::read(&whole).unwrap(), records[48..96]);
        fs::remove_dir_all(&dir).unwrap();
    }
}
