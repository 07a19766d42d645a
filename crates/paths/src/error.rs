//! Errors for a person: what is wrong, where, and what to do. It does not print them.

use std::fmt;

/// One message. `place` is the file (and byte) it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub place: String,
    pub message: String,
    pub remedy: String,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn new(place: impl Into<String>, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Error { place: place.into(), message: message.into(), remedy: remedy.into() }
    }

    /// The message about a file that could not be written or moved.
    pub fn write(path: &std::path::Path, error: impl fmt::Display) -> Self {
        Error::new(
            path.display().to_string(),
            format!("cannot be written: {error}"),
            "check space and permission",
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        write!(f, "{}", self.message)?;
        if !self.remedy.is_empty() {
            write!(f, "\n  → {}", self.remedy)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
