//! One host's part of a run on real hosts, as root, controlled over standard input and output.
//!
//! The nodes of this host are namespaces, as in `host`; a cable to another host is a real interface, which is moved
//! into its node and back. So nothing of the host but that interface is touched. docs/formats.md has the messages.

mod controller;
mod elsewhere;
mod guardian;
mod lent;
pub mod part;
mod rig;

pub use self::controller::{say, Controller};
pub use self::elsewhere::{is_elsewhere, owner, Elsewhere};
pub use self::rig::calibrate;
