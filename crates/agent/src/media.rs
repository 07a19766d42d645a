//! Drives `/proc/medium`: interfaces that serve their queue at the turns of a schedule (kernel/src, medium.c).
//!
//! The plan has the schedules as text, one word a turn (docs/links.md, The format); the kernel takes them as they lie in its
//! memory. What became of each packet the kernel writes to a file of the host.

use std::fs;

use crate::clock::Clock;
use crate::error::{During, Result, RunError, Stage};
use crate::nodes::Nodes;
use crate::result::MediumTotals;
use narrows_plan::Medium;

const FILE: &str = "/proc/medium";
const TURN_BYTES: usize = 32;
/// The kernel takes 64 KiB a write, a line among them.
const TURNS_A_WRITE: usize = 2000;
const BY_DEMAND: u32 = 1;
const SPLITS: u32 = 2;
/// The kernel counts a frame with its Ethernet header.
const HEADER_BYTES: i64 = 14;

/// Tells the kernel of every medium; packets pass as if it was not there until `start`.
pub fn set_up(plan: &[Medium], nodes: &Nodes, guest: bool) -> Result<()> {
    if plan.is_empty() {
        return Ok(());
    }
    if !guest {
        let what = "a medium below the interface needs the guest's kernel: run it without --engine";
        return Err(RunError::new(Stage::Setup, what));
    }
    for (number, medium) in plan.iter().enumerate() {
        let turns =
            turns(medium).map_err(|e| RunError::internal(format!("plan.json: media[{number}]: {e}")))?;
        let flags = u32::from(medium.by_demand) * BY_DEMAND + u32::from(medium.splits) * SPLITS;
        let add = format!(
            "add {} {number} {} {} {} {flags} {} {} {} {}",
            medium.iface,
            medium.air,
            turns.len() / TURN_BYTES,
            medium.repeat_ns,
            medium.overhead_bytes - HEADER_BYTES,
            medium.ring_bytes,
            medium.retries,
            medium.grant_turns
        );
        nodes.enter(&medium.node)?;
        write(add.as_bytes(), &add, medium)?;
        for part in turns.chunks(TURNS_A_WRITE * TURN_BYTES) {
            let line = format!("turns {number}\n");
            write(&[line.as_bytes(), part].concat(), &line, medium)?;
        }
    }
    Ok(())
}

fn write(bytes: &[u8], line: &str, medium: &Medium) -> Result<()> {
    fs::write(FILE, bytes).map_err(|e| {
        RunError::new(Stage::Setup, format!("{FILE} (does this kernel have media?): {e}"))
            .node(&medium.node)
            .command(line.trim_end())
    })
}

/// From the epoch on the schedules hold.
pub fn start(plan: &[Medium], clock: Clock) -> Result<()> {
    match plan {
        [] => Ok(()),
        _ => fs::write(FILE, format!("start {}", clock.epoch_mono_ns)).during(|| format!("writing {FILE}")),
    }
}

/// Writes out what is buffered; gives `media` of result.json.
pub fn finish(plan: &[Medium]) -> Result<Vec<MediumTotals>> {
    if plan.is_empty() {
        return Ok(Vec::new());
    }
    fs::write(FILE, "flush").during(|| format!("flushing {FILE}"))?;
    let text = fs::read_to_string(FILE).during(|| format!("reading {FILE}"))?;
    text.lines().zip(plan).map(|(line, medium)| totals(line, medium)).collect()
}

fn totals(line: &str, medium: &Medium) -> Result<MediumTotals> {
    let words: Option<Vec<i64>> = line.split_whitespace().map(|w| w.parse().ok()).collect();
    match words.as_deref() {
        Some([_, entered, entered_bytes, arrived, arrived_bytes, lost, lost_bytes, held, turns, 0]) => {
            Ok(MediumTotals {
                direction: medium.direction.clone(),
                entered_packets: *entered,
                entered_bytes: *entered_bytes,
                arrived_packets: *arrived,
                arrived_bytes: *arrived_bytes,
                lost_packets: *lost,
                lost_bytes: *lost_bytes,
                held_packets: *held,
                turns: *turns,
            })
        }
        Some([.., error]) if *error != 0 => {
            let e = std::io::Error::from_raw_os_error(*error as i32);
            Err(RunError::internal(format!("writing media.bin failed: {e}")))
        }
        _ => Err(RunError::internal(format!("{FILE} says {line:?}"))),
    }
}

/// The turns of a schedule as the kernel has them: wait, packets that fail (u64), bytes, hold, kbit/s (u32), packets, flags
/// (u16). A word is `wait/bytes/hold/kbps/packets/lost/fails*count`, from which what is as in the turn before may be left
/// out at the end or stand empty; times are in the medium's unit.
fn turns(medium: &Medium) -> std::result::Result<Vec<u8>, String> {
    let mut fields = [0u64; 7];
    let mut out = Vec::new();
    for word in medium.turns.split_ascii_whitespace() {
        let wrong = || format!("{word:?} is no turn");
        let (own, count) = word.split_once('*').unwrap_or((word, "1"));
        for (at, text) in own.split('/').enumerate().filter(|(_, t)| !t.is_empty()) {
            *fields.get_mut(at).ok_or_else(wrong)? = text.parse().map_err(|_| wrong())?;
        }
        let [wait, bytes, hold, kbps, packets, lost, fails] = fields;
        let count: usize = count.parse().map_err(|_| wrong())?;
        let small = |v: u64| u32::try_from(v).map_err(|_| wrong());
        let mut turn = Vec::with_capacity(TURN_BYTES);
        turn.extend(wait.checked_mul(medium.unit_ns).ok_or_else(wrong)?.to_ne_bytes());
        turn.extend(fails.to_ne_bytes());
        turn.extend(small(bytes)?.to_ne_bytes());
        turn.extend(small(hold.checked_mul(medium.unit_ns).ok_or_else(wrong)?)?.to_ne_bytes());
        turn.extend(small(kbps)?.to_ne_bytes());
        turn.extend(u16::try_from(packets).map_err(|_| wrong())?.to_ne_bytes());
        turn.extend(u16::try_from(lost).map_err(|_| wrong())?.to_ne_bytes());
        out.extend(turn.repeat(count));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn medium(turns: &str) -> Medium {
        let json = serde_json::json!({
            "node": "router", "iface": "eth1", "direction": "down", "model": "m", "air": 0, "by_demand": false,
            "splits": true, "overhead_bytes": 4, "ring_bytes": 1, "retries": 0, "grant_turns": 0, "repeat_ns": 5,
            "unit_ns": 1000, "turns": turns
        });
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_as_before_is_left_out_of_a_word() {
        let bytes = turns(&medium("3/1500/2/7/1/0/5 /1400 4*2")).unwrap();
        assert_eq!(bytes.len(), 4 * TURN_BYTES);
        let wait = |n: usize| u64::from_ne_bytes(bytes[n * 32..n * 32 + 8].try_into().unwrap());
        let size = |n: usize| u32::from_ne_bytes(bytes[n * 32 + 16..n * 32 + 20].try_into().unwrap());
        assert_eq!((0..4).map(wait).collect::<Vec<_>>(), [3000, 3000, 4000, 4000]);
        assert_eq!((0..4).map(size).collect::<Vec<_>>(), [1500, 1400, 1400, 1400]);
    }

    #[test]
    fn a_word_that_is_no_turn_is_named() {
        for word in ["x", "1/2/3/4/5/6/7/8", "1/99999999999", "1*x"] {
            assert!(turns(&medium(word)).unwrap_err().contains(word));
        }
    }
}
