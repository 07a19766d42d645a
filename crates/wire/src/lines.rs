//! JSON lines, which is how the tools write down what happens.

use serde_json::{json, Value};
use std::fs::File;
use std::io::{self, Write};

/// Where JSON lines go: each in one write, so that a reader sees whole lines.
pub struct Lines(Box<dyn Write + Send>);

impl Lines {
    pub fn to(out: impl Write + Send + 'static) -> Lines {
        Lines(Box::new(out))
    }

    pub fn open(file: Option<&str>) -> Result<Lines, String> {
        Ok(match file {
            Some(name) => {
                Lines::to(File::create(name).map_err(|e| format!("{name}: cannot be written: {e}"))?)
            }
            None => Lines::to(io::stdout()),
        })
    }

    pub fn write(&mut self, line: &Value) -> Result<(), String> {
        let mut text = line.to_string();
        text.push('\n');
        self.0
            .write_all(text.as_bytes())
            .and_then(|()| self.0.flush())
            .map_err(|e| format!("cannot write results: {e}"))
    }
}

/// `{"Key": …, "Value": …}` like the JSON of M-Lab's Go client, with the time.
pub fn keyed(key: &str, at_ns: u64, value: Value) -> Value {
    json!({"Key": key, "monotonic_ns": at_ns, "Value": value})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named() {
        let error = Lines::open(Some("/nonexistent/x")).err().unwrap();
        assert!(error.contains("/nonexistent/x"), "{error}");
    }
}
