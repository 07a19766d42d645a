//! The one error of a run: where it happened, in which node and item, and what the tool said.
//!
//! It becomes `error` of result.json as it is. It does not decide what happens next.

use serde::Serialize;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    Setup,
    Calibration,
    Traffic,
    Limit,
    Internal,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RunError {
    pub stage: Stage,
    pub node: Option<String>,
    pub item: Option<String>,
    pub command: Option<String>,
    pub message: String,
    pub stderr: Option<String>,
    pub exit_code: Option<i32>,
}

pub type Result<T> = std::result::Result<T, RunError>;

impl RunError {
    pub fn new(stage: Stage, message: impl Into<String>) -> RunError {
        RunError {
            stage,
            node: None,
            item: None,
            command: None,
            message: message.into(),
            stderr: None,
            exit_code: None,
        }
    }

    pub fn internal(message: impl Into<String>) -> RunError {
        RunError::new(Stage::Internal, message)
    }

    pub fn node(mut self, node: &str) -> RunError {
        self.node = Some(node.to_string());
        self
    }

    pub fn item(mut self, item: &str) -> RunError {
        self.item.get_or_insert_with(|| item.to_string());
        self
    }

    pub fn command(mut self, command: impl Into<String>) -> RunError {
        self.command = Some(command.into());
        self
    }

    pub fn stage(mut self, stage: Stage) -> RunError {
        self.stage = stage;
        self
    }

    /// One line for a person.
    pub fn line(&self) -> String {
        let mut s = self.message.clone();
        if let Some(n) = &self.node {
            s = format!("node {n}: {s}");
        }
        if let Some(i) = &self.item {
            s = format!("item {i}: {s}");
        }
        if let Some(c) = &self.command {
            s = format!("{s} [{c}]");
        }
        if let Some(e) = self.stderr.as_deref().filter(|e| !e.trim().is_empty()) {
            s = format!("{s}: {}", e.trim().replace('\n', " | "));
        }
        s
    }
}

/// Turns an `io::Error` into a `RunError` that says what was being done.
pub trait During<T> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T>;
}

impl<T> During<T> for std::io::Result<T> {
    fn during(self, what: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|e| RunError::internal(format!("{}: {e}", what())))
    }
}
