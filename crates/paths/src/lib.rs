//! narrows-paths: reads packet logs in one pass and writes the properties of the paths that they show, as Parquet.
//!
//! The way of a packet: [`input`] (file, compression), [`container`] (pcap, pcapng), [`headers`] (to the TCP segment, or the UDP datagram, which goes to [`udp`]),
//! [`pieces`] and [`sorting`] (order), [`copies`], [`flows`] (its connection), [`half`] (RTT samples, losses), [`estimators`] (one property each), [`aggregate`],
//! [`rows`] and [`table`]. It runs nothing and knows nothing of experiments.

pub mod aggregate;
mod buffer;
pub mod connection;
pub mod container;
pub mod copies;
pub mod counts;
pub mod distribution;
pub mod ends;
pub mod error;
pub mod estimators;
pub mod flows;
pub mod fuzzing;
pub mod half;
pub mod headers;
pub mod input;
pub mod log;
pub mod pieces;
pub mod rows;
pub mod sessions;
pub mod snapshots;
pub mod sorting;
pub mod table;
pub mod udp;
pub mod udp_rows;
