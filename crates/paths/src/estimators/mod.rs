//! One estimator a file: what it is, where its definition comes from, its unit, and what makes it NULL.
//!
//! Each sees the events of one direction of one connection as they come, and keeps a bounded amount of them.

pub mod ack_aggregation;
pub mod active_throughput;
pub mod aggregates;
pub mod base_rtt;
pub mod bucket;
pub mod burst;
pub mod capacity;
pub mod initial_window;
pub mod jitter;
pub mod limits;
pub mod losses;
pub mod mss;
pub mod policing;
pub mod queueing_delay;
pub mod reallocations;
pub mod reordering;
pub mod turn_period;
pub mod vantage;
