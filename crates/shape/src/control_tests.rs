//! The law of one direction, in a line of the ISP that the test knows.

use super::*;

const RTT_NS: i64 = 30 * MS;

/// A link of the ISP with a queue, as the law sees it; what is let through comes at the rate that is set.
struct Line {
    law: Direction,
    capacity_bps: f64,
    queue_bits: f64,
    own_packets: u32,
    t_ns: i64,
}

impl Line {
    fn new(rate_bps: f64, capacity_bps: f64) -> Line {
        let law = Direction::new(false, 0.98, Some(rate_bps));
        Line { law, capacity_bps, queue_bits: 0.0, own_packets: 0, t_ns: 0 }
    }

    /// So long with as much load as is let through; the senders hear of a change at once.
    fn run(&mut self, ms: i64) -> Vec<Why> {
        (0..ms / 10).map(|_| self.tick(f64::INFINITY, true)).collect()
    }

    fn tick(&mut self, wanted_bps: f64, told: bool) -> Why {
        self.t_ns += 10 * MS;
        let rate = self.law.rate_bps.unwrap();
        let come = wanted_bps.min(rate) * 0.01;
        self.queue_bits = (self.queue_bits + come - self.capacity_bps * 0.01).max(0.0);
        let passed = if self.queue_bits > 0.0 { self.capacity_bps * 0.01 } else { come };
        self.own_packets = if wanted_bps > rate && self.queue_bits == 0.0 { 20 } else { 0 };
        let queue_ns = (self.queue_bits / self.capacity_bps * S as f64) as i64;
        self.law.step(Tick {
            t_ns: self.t_ns,
            bytes: (passed / 8.0) as u64,
            queue_ns: told.then_some(queue_ns),
            rtt_ns: Some(RTT_NS),
            backlog_packets: self.own_packets,
        })
    }

    fn rate(&self) -> f64 {
        self.law.rate_bps.unwrap() / 1e6
    }
}

#[test]
fn a_rate_that_falls_is_met_within_half_a_second_and_the_queue_beyond_is_gone() {
    let mut line = Line::new(80e6, 80e6);
    line.run(2000);
    line.capacity_bps = 10e6;
    line.run(500);
    assert!((7.0..11.0).contains(&line.rate()), "{}", line.rate());
    assert!(line.queue_bits / line.capacity_bps < 0.02, "{}", line.queue_bits);
    let met = line.law.capacity_bps.unwrap();
    assert!((9.5e6..10.5e6).contains(&met), "{met}");
}

#[test]
fn a_rate_that_rises_is_found_within_three_seconds() {
    let mut line = Line::new(10e6, 10e6);
    line.run(3000);
    line.capacity_bps = 80e6;
    line.run(3000);
    assert!(line.rate() > 0.9 * 80.0, "{}", line.rate());
}

#[test]
fn idle_and_a_little_load_leave_the_rate_alone() {
    let mut line = Line::new(50e6, 60e6);
    for _ in 0..1000 {
        line.tick(0.0, false);
    }
    assert_eq!(line.tick(0.0, false), Why::Idle);
    for _ in 0..1000 {
        assert_eq!(line.tick(5e6, true), Why::Hold);
    }
    assert_eq!(line.rate(), 50.0);
}

#[test]
fn nobody_to_tell_the_delay_changes_nothing_however_long() {
    let mut line = Line::new(50e6, 20e6);
    for _ in 0..1000 {
        line.tick(f64::INFINITY, false);
    }
    assert_eq!(line.rate(), 50.0);
}

#[test]
fn an_outage_is_no_rate() {
    let mut line = Line::new(50e6, 52e6);
    line.run(2000);
    let before = line.rate();
    for _ in 0..100 {
        // Nothing arrives and nobody says a word.
        line.t_ns += 10 * MS;
        line.law.step(Tick {
            t_ns: line.t_ns,
            bytes: 0,
            queue_ns: None,
            rtt_ns: Some(RTT_NS),
            backlog_packets: 0,
        });
    }
    line.run(1000);
    assert!(line.rate() > 0.8 * before, "{} after {before}", line.rate());
}

#[test]
fn a_longer_path_is_no_queue() {
    let mut law = Direction::new(false, 0.98, Some(20e6));
    let mut whys = vec![];
    for k in 0..300 {
        let (t_ns, rate) = (k * 10 * MS, law.rate_bps.unwrap());
        // 25 ms more from half a second on; what arrives is what is let through, and my queue holds the rest.
        let queue_ns = if k < 50 || whys.contains(&Why::Rebase) { 0 } else { 25 * MS };
        let bytes = (rate * 0.01 / 8.0) as u64;
        whys.push(law.step(Tick {
            t_ns,
            bytes,
            queue_ns: Some(queue_ns),
            rtt_ns: Some(RTT_NS),
            backlog_packets: 20,
        }));
    }
    assert!(whys.contains(&Why::Rebase), "{whys:?}");
    assert!(law.rate_bps.unwrap() > 15e6, "{:?}", law.rate_bps);
}

#[test]
fn the_way_up_is_measured_by_what_had_left_when_it_was_echoed() {
    // 20 Mbit/s leave, 5 Mbit/s pass: the queue grows by three seconds a second.
    let mut law = Direction::new(true, 0.98, Some(20e6));
    for k in 0..20i64 {
        law.history.push_back(Tick {
            t_ns: 1000 * MS + k * 10 * MS,
            bytes: 25_000,
            queue_ns: Some(0),
            rtt_ns: Some(RTT_NS),
            backlog_packets: 0,
        });
    }
    // Echoed over 100 ms: what left within 25 ms.
    for k in 0..=10i64 {
        law.history.push_back(Tick {
            t_ns: 1200 * MS + k * 10 * MS,
            bytes: 0,
            queue_ns: Some(k * 15 * MS / 2),
            rtt_ns: Some(RTT_NS),
            backlog_packets: 0,
        });
    }
    let measured = law.measured_over(MOST_WINDOW_NS, 1300 * MS, RTT_NS).unwrap();
    assert!((4e6..7e6).contains(&measured), "{measured}");
}
