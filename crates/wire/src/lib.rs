//! What the agent's tools share, each thing once: command lines, JSON lines, TLS, byte streams, heads of HTTP/1.1,
//! datagrams with their arrival, netlink, the kernel's `struct tcp_info`, system calls.
//!
//! It knows no tool, no plan and no run.

pub mod args;
pub mod http1;
pub mod lines;
pub mod net;
pub mod netlink;
pub mod program;
pub mod random;
pub mod stamped;
pub mod sys;
pub mod tcp_info;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tls;
pub mod transport;
