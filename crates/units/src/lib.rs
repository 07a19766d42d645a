//! Durations are integers of nanoseconds everywhere; these make them readable.

pub const MS: i64 = 1_000_000;
pub const S: i64 = 1_000 * MS;
