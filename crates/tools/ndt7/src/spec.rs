//! Constants of the NDT7 protocol, and the two rules that are arithmetic only: message scaling and the ticker.
//!
//! Does no input or output and keeps no connection state.

use narrows_wire::args::Way;
use narrows_wire::random::Random;

/// `Sec-WebSocket-Protocol` of NDT7; a request without it is refused with 400.
pub const SUBPROTOCOL: &str = "net.measurementlab.ndt.v7";
pub const DOWNLOAD_PATH: &str = "/ndt/v7/download";
pub const UPLOAD_PATH: &str = "/ndt/v7/upload";

/// Longest query string a client may send.
pub const MAX_QUERY_BYTES: usize = 4096;

/// First binary message.
pub const INITIAL_MESSAGE_BYTES: usize = 1 << 13;
/// Largest binary message that we send.
pub const MAX_SCALED_MESSAGE_BYTES: usize = 1 << 20;
/// Largest message (all its fragments together) that we accept.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 24;
/// A message grows while it is at most this fraction (1/16) of what was sent so far.
pub const SCALING_FRACTION: u64 = 16;

/// Expected duration of one test.
pub const DEFAULT_DURATION_NS: u64 = 10_000_000_000;
/// The server closes the connection this long after the expected end (10 s + 3 s).
pub const SERVER_GRACE_NS: u64 = 3_000_000_000;
/// The client closes the connection this long after the expected end (10 s + 5 s), so the server comes first.
pub const CLIENT_GRACE_NS: u64 = 5_000_000_000;

/// The memoryless ticker of measurements: mean, and the values to which a draw is clamped.
pub const TICK_MEAN_NS: u64 = 250_000_000;
pub const TICK_MIN_NS: u64 = 25_000_000;
pub const TICK_MAX_NS: u64 = 625_000_000;

/// `early_exit=250` ends a download once this many bytes were acknowledged (megabytes of 1e6).
pub const EARLY_EXIT_KEY: &str = "early_exit";
pub const EARLY_EXIT_MEGABYTES: [u64; 1] = [250];

pub fn path(test: Way) -> &'static str {
    match test {
        Way::Download => DOWNLOAD_PATH,
        Way::Upload => UPLOAD_PATH,
    }
}

/// The test that a path asks for.
pub fn test_at(path: &str) -> Option<Way> {
    match path {
        DOWNLOAD_PATH => Some(Way::Download),
        UPLOAD_PATH => Some(Way::Upload),
        _ => None,
    }
}

/// Size of the next binary message, given the size of the last and all bytes sent so far (the last included).
///
/// As in the specification's appendix and the official server and client, nothing else counts: on a slow path
/// measurements wait for the message in front of them.
pub fn next_message_bytes(current: usize, sent_bytes: u64) -> usize {
    if current >= MAX_SCALED_MESSAGE_BYTES || current as u64 > sent_bytes / SCALING_FRACTION {
        return current;
    }
    current * 2
}

/// One interval of the memoryless ticker: exponential with the given mean, clamped.
pub fn tick_ns(random: &mut Random) -> u64 {
    // 53 random bits, in (0, 1]: the logarithm is finite.
    let uniform = ((random.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64;
    let draw = -uniform.ln() * TICK_MEAN_NS as f64;
    (draw as u64).clamp(TICK_MIN_NS, TICK_MAX_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_start_at_8_kib_double_at_a_sixteenth_and_stop_at_1_mib() {
        let (mut size, mut sent, mut sizes) = (INITIAL_MESSAGE_BYTES, 0u64, vec![]);
        for _ in 0..400 {
            sent += size as u64;
            let next = next_message_bytes(size, sent);
            if next != size {
                sizes.push((size, sent));
            }
            size = next;
        }
        // 16 messages of 8 KiB make 128 KiB, of which 8 KiB is a sixteenth: then each doubling takes 8 messages.
        assert_eq!(sizes[0], (8192, 16 * 8192));
        assert_eq!(sizes[1], (16384, 16 * 16384));
        assert_eq!(size, MAX_SCALED_MESSAGE_BYTES);
        assert_eq!(sizes.len(), 7);
    }

    #[test]
    fn ticks_are_clamped_and_about_forty_fall_into_ten_seconds() {
        let mut random = Random::new(1);
        let draws: Vec<u64> = (0..20_000).map(|_| tick_ns(&mut random)).collect();
        assert!(draws.iter().all(|d| (TICK_MIN_NS..=TICK_MAX_NS).contains(d)));
        assert!(draws.contains(&TICK_MIN_NS) && draws.contains(&TICK_MAX_NS));
        // Mean of the clamped law: 25 + 250 (e^-0.1 - e^-2.5) = 230.7 ms; its deviation is about 188 ms, so the
        // mean of 20000 draws lies within 5 * 188 / sqrt(20000) = 6.7 ms of it.
        let mean_ms = draws.iter().sum::<u64>() as f64 / draws.len() as f64 / 1e6;
        assert!((mean_ms - 230.7).abs() < 6.7, "mean {mean_ms} ms");
    }

    #[test]
    fn the_same_seed_gives_the_same_ticks() {
        let ticks = |seed| {
            (0..8).map(|_| ()).scan(Random::new(seed), |random, ()| Some(tick_ns(random))).collect::<Vec<_>>()
        };
        assert_eq!(ticks(7), ticks(7));
        assert_ne!(ticks(7), ticks(8));
    }
}
