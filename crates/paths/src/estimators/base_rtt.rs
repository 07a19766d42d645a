//! Base RTT (N1): the least of all RTT samples of a connection, or of a session's connections.
//!
//! Source: Philip 2025, section 5.4. A sample is taken at every ACK that acknowledges new data: the time from the
//! latest sending of the data that it newly acknowledges to the ACK. Our choices where the text is silent:
//! - Karn: an ACK that newly covers anything that was sent twice gives none, but for a SYN whose answer echoes the
//!   timestamp of the last one.
//! - Data that a SACK block had acknowledged before is not newly acknowledged.
//! - The handshake counts (SYN to SYN-ACK, SYN-ACK to ACK), as TCP stacks take it.
//! - Of a log that was not taken at the sender, a sample is the way from the capture to the receiver and back (the
//!   far half). The near half is the same of the other direction. Their minima add up to the path's.
//!
//! NULL: no sample; or the log was taken elsewhere than at the sender and one half has none. Unit: nanoseconds.

use super::vantage::Vantage;
use crate::distribution::Durations;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BaseRtt {
    pub min_ns: Option<i64>,
    /// The same with the 1st percentile in place of the minimum, the check of section 5.4.4.
    pub p01_ns: Option<i64>,
    /// "sender", "two halves" or "far half".
    pub method: Option<&'static str>,
}

pub fn base_rtt(far: &Durations, near: &Durations, vantage: Vantage) -> BaseRtt {
    let (min, p01) = (far.min(), far.percentile(0.01));
    match vantage {
        Vantage::Sender => BaseRtt { min_ns: min, p01_ns: p01, method: min.map(|_| "sender") },
        // Nothing says where the log was taken, and there is no near half to add: this is a lower bound.
        Vantage::Unknown => BaseRtt { min_ns: min, p01_ns: p01, method: min.map(|_| "far half") },
        Vantage::Middle | Vantage::Receiver => {
            let both = |a: Option<i64>, b: Option<i64>| Some(a? + b?);
            let min_ns = both(min, near.min());
            BaseRtt { min_ns, p01_ns: both(p01, near.percentile(0.01)), method: min_ns.map(|_| "two halves") }
        }
    }
}
