//! Delays read from made-up segments.

use super::*;

const KEY: FlowKey = FlowKey { local: [1; 16], remote: [2; 16], ports: (1, 2) };

/// A flow with a packet each way every 2 ms, 20 ms each way and more as `extra` (down, up) says.
fn run(stamps: &mut Stamps, key: FlowKey, ms: std::ops::Range<i64>, tick_us: i64, extra: (i64, i64)) {
    for k in ms.step_by(2) {
        let t = k * MS;
        let clock = |t: i64| (t / (tick_us * 1000)) as u32;
        let tcp =
            |value, echo| Tcp { key, stamps: Some((value, echo)), ack: true, seq: 0, acked: 0, payload: 0 };
        stamps.packet(t, true, &tcp(k as u32, 0));
        // What arrives now left 20 ms (and what it waited) ago, and echoes what had arrived by then.
        let left = t - 20 * MS - extra.0;
        let echo = (left - 20 * MS - extra.1) / MS / 2 * 2;
        if left > 0 && echo >= 0 {
            stamps.packet(t, false, &tcp(clock(left), echo as u32));
        }
    }
}

#[test]
fn each_way_is_told_by_itself() {
    for tick_us in [1, 1000, 4000] {
        let mut stamps = Stamps::default();
        run(&mut stamps, KEY, 0..2000, tick_us, (0, 0));
        let quiet = stamps.read(2000 * MS);
        assert!(quiet.down_ns.unwrap() <= 4 * MS && quiet.up_ns.unwrap() <= 6 * MS, "{tick_us} {quiet:?}");
        run(&mut stamps, KEY, 2000..2300, tick_us, (30 * MS, 0));
        let down = stamps.read(2300 * MS);
        assert!((26 * MS..36 * MS).contains(&down.down_ns.unwrap()), "{tick_us} {down:?}");
        assert!(down.up_ns.unwrap() <= 6 * MS, "{tick_us} {down:?}");
        run(&mut stamps, KEY, 2300..2700, tick_us, (0, 30 * MS));
        let up = stamps.read(2700 * MS);
        assert!((24 * MS..36 * MS).contains(&up.up_ns.unwrap()), "{tick_us} {up:?}");
        assert!(up.down_ns.unwrap() <= 4 * MS, "{tick_us} {up:?}");
        assert!((38 * MS..46 * MS).contains(&up.rtt_ns.unwrap()), "{tick_us} {up:?}");
    }
}

#[test]
fn a_clock_that_is_too_coarse_says_nothing() {
    let mut stamps = Stamps::default();
    run(&mut stamps, KEY, 0..2000, 100_000, (0, 0));
    let reading = stamps.read(2000 * MS);
    assert_eq!((reading.down_ns, reading.up_ns, reading.flows), (None, None, 0));
}

#[test]
fn a_longer_path_is_a_base_once_it_is_said_to_be() {
    let mut stamps = Stamps::default();
    run(&mut stamps, KEY, 0..1500, 1000, (0, 0));
    run(&mut stamps, KEY, 1500..1700, 1000, (30 * MS, 0));
    stamps.rebase(false);
    run(&mut stamps, KEY, 1700..1800, 1000, (30 * MS, 0));
    assert!(stamps.read(1800 * MS).down_ns.unwrap() < 2 * MS);
}

#[test]
fn silence_says_nothing_and_one_odd_flow_of_four_moves_little() {
    let mut stamps = Stamps::default();
    for n in 0..4 {
        let key = FlowKey { ports: (n, 2), ..KEY };
        run(&mut stamps, key, 0..1500, 1000, (0, 0));
        run(&mut stamps, key, 1500..1600, 1000, (if n == 0 { 50 * MS } else { 0 }, 0));
    }
    let reading = stamps.read(1600 * MS);
    assert!(reading.down_ns.unwrap() < 3 * MS, "{reading:?}");
    assert_eq!(reading.flows, 4);
    assert_eq!(stamps.read(1800 * MS).down_ns, None);
}
