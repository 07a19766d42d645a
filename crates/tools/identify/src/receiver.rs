//! Receives a phase: a record of every packet.

use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

use crate::datagram::{self, Kind, HEAD_BYTES};
use crate::phase::{ip_bits, Phase};
use crate::watch::Watch;
use narrows_wire::{stamped, sys};

/// How often is looked: before a socket that nobody could deepen is full, and no more often than that.
const TICK_NS: (i64, i64) = (500_000, 5_000_000);
const PACKETS_PER_LOOK: f64 = 32.0;
/// At this rate of packets a phase of its longest is not exceeded; what comes beyond it is not ours.
const MOST_RECORDS: usize = 4_000_000;
pub const RECORD_BYTES: usize = 24;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Record {
    pub flow: u16,
    pub tos: u8,
    pub number: u32,
    pub sent_ns: i64,
    pub arrived_ns: i64,
}

/// Little endian: flow u16, TOS u8, 0 u8, number u32, sent i64, arrived i64.
pub fn bytes_of(records: &[Record]) -> Vec<u8> {
    let mut out = Vec::with_capacity(records.len() * RECORD_BYTES);
    for r in records {
        out.extend(r.flow.to_le_bytes());
        out.extend([r.tos, 0]);
        out.extend(r.number.to_le_bytes());
        out.extend(r.sent_ns.to_le_bytes());
        out.extend(r.arrived_ns.to_le_bytes());
    }
    out
}

pub fn of_bytes(bytes: &[u8]) -> Vec<Record> {
    let part = |b: &[u8], at: usize| i64::from_le_bytes(b[at..at + 8].try_into().unwrap_or_default());
    (bytes.chunks_exact(RECORD_BYTES))
        .map(|b| Record {
            flow: u16::from_le_bytes([b[0], b[1]]),
            tos: b[2],
            number: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
            sent_ns: part(b, 8),
            arrived_ns: part(b, 16),
        })
        .collect()
}

/// What the other end says meanwhile.
pub enum Said {
    Nothing,
    /// It has sent all that it sends.
    Done,
}

/// Receives until the other end is done and nothing more comes. `stop` is called once when the phase may end.
pub fn receive(
    sockets: &[UdpSocket],
    session: u64,
    phase: &Phase,
    mut said: impl FnMut() -> io::Result<Said>,
    mut stop: impl FnMut() -> io::Result<()>,
) -> io::Result<Vec<Record>> {
    let mut receiver = stamped::Receiver::new(HEAD_BYTES);
    let mut records = Vec::new();
    let mut watch = Watch::new(phase.until);
    let (mut stopped, mut done) = (false, false);
    let tick_ns = look_every_ns(phase);
    let mut now_ns = sys::mono_ns();
    let mut heard_ns = now_ns;
    // A sender that never says that it is done has gone.
    let give_up_ns = now_ns + phase.duration_ns as i64 + 4 * phase.quiet_ns as i64 + 15_000_000_000;
    loop {
        now_ns += tick_ns;
        sys::sleep_until(now_ns);
        for flow in &phase.flows {
            let fd = sockets[usize::from(flow.flow)].as_raw_fd();
            loop {
                let got = receiver.receive(fd, |d| {
                    let Some(head) = datagram::read(d.data) else {
                        return;
                    };
                    if head.kind != Kind::Load || head.session != session || head.phase != phase.id {
                        return;
                    }
                    if head.flow == 0 {
                        watch.take(head.number, head.sent_ns, d.arrived_wall_ns);
                    }
                    if records.len() < MOST_RECORDS {
                        records.push(Record {
                            flow: head.flow,
                            tos: d.tos.unwrap_or(0),
                            number: head.number,
                            sent_ns: head.sent_ns,
                            arrived_ns: d.arrived_wall_ns,
                        });
                    }
                    heard_ns = now_ns;
                });
                match got {
                    Ok(64..) => {}
                    Ok(_) => break,
                    Err(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::Interrupted) => {
                        break
                    }
                    Err(e) => return Err(e),
                }
            }
        }
        if watch.is_done() && !stopped {
            stopped = true;
            stop()?;
        }
        if !done && matches!(said()?, Said::Done) {
            done = true;
            heard_ns = now_ns;
        }
        if done && now_ns - heard_ns > phase.quiet_ns as i64 {
            return Ok(records);
        }
        if now_ns > give_up_ns {
            return Err(io::Error::new(ErrorKind::TimedOut, "the other end does not finish"));
        }
    }
}

fn look_every_ns(phase: &Phase) -> i64 {
    if phase.grow.is_some() {
        return TICK_NS.0;
    }
    let packets_per_s = (phase.flows.iter()).map(|f| f.rate_bps / ip_bits(f.bytes)).fold(1.0, f64::max);
    ((PACKETS_PER_LOOK / packets_per_s * 1e9) as i64).clamp(TICK_NS.0, TICK_NS.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let record = Record { flow: 300, tos: 0xb9, number: 70_000, sent_ns: -1, arrived_ns: i64::MAX };
        let bytes = bytes_of(&[record, record]);
        assert_eq!(bytes.len(), 2 * RECORD_BYTES);
        assert_eq!(of_bytes(&bytes), [record, record]);
    }
}
