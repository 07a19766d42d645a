//! Where on the path a log was taken, from the two halves of the round trip.
//!
//! Our own definition. The near half goes from the capture to the data's sender and back, the far half to the receiver.
//! The capture is at the end whose half is at most 5 % of both together, but not of a path of under 100 µs, whose halves are
//! the hosts' own times. At the receiver that holds for the median of the far half, too: where it is longer, a queue lies
//! behind the capture. "unknown": one half has no sample.

use crate::distribution::Durations;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vantage {
    Sender,
    Middle,
    Receiver,
    Unknown,
}

const END: f64 = 0.05;
const SHORTEST_NS: i64 = 100_000;

pub fn vantage(far: &Durations, near: &Durations) -> Vantage {
    let (Some(median), Some(far), Some(near)) = (far.percentile(0.5), far.min(), near.min()) else {
        return Vantage::Unknown;
    };
    let whole = far + near;
    if whole < SHORTEST_NS {
        return Vantage::Unknown;
    }
    if near as f64 <= END * whole as f64 {
        Vantage::Sender
    } else if median as f64 <= END * whole as f64 {
        Vantage::Receiver
    } else {
        Vantage::Middle
    }
}

impl Vantage {
    pub fn name(self) -> &'static str {
        match self {
            Vantage::Sender => "sender",
            Vantage::Middle => "middle",
            Vantage::Receiver => "receiver",
            Vantage::Unknown => "unknown",
        }
    }
}
