//! Reordering: segments that came, or were acknowledged, out of the order in which they were sent.
//!
//! Source: asked for by Philip 2025, section 6.2, with no definition. Two places, two counts:
//! - before the capture: a segment fills a hole in the sequence that was there when later data passed. It was reordered,
//!   not sent again, when its TSval is older than the newest one seen or, where both are the same or unknown, when it
//!   comes sooner than any retransmission can (the least whole round trip seen, or 3 ms while there is none).
//! - behind the capture: an ACK covers a segment that was never sent again after later data had been SACKed, and that
//!   was not reordered before.
//!
//! Counts are never NULL; both are 0 where nothing could show them, so read them with `data_segments`. Unit: segments.

#[derive(Debug, Clone, Copy, Default)]
pub struct Reordering {
    pub before: u64,
    pub behind: u64,
}

/// Without any RTT a hole that is filled within this was reordering (tshark's rule).
const SOON_NS: i64 = 3_000_000;

/// Whether a segment that fills a hole was reordered on the way to the capture.
pub fn fills_late(
    lag_ns: i64,
    tsval: Option<u32>,
    newest_tsval: Option<u32>,
    round_trip_ns: Option<i64>,
) -> bool {
    if let (Some(mine), Some(newest)) = (tsval, newest_tsval) {
        let newer = mine.wrapping_sub(newest) as i32;
        if newer != 0 {
            return newer < 0;
        }
    }
    lag_ns < round_trip_ns.unwrap_or(SOON_NS)
}
