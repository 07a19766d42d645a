//! An item, sampler or capture, and what became of it.

use serde_json::Value;

use crate::actor::Actor;

pub struct Slot {
    pub id: String,
    pub actor: Box<dyn Actor>,
    pub start_ns: Option<i64>,
    pub end_ns: Option<i64>,
    pub stopped: bool,
    pub failed: bool,
    pub details: Option<Value>,
}

impl Slot {
    pub fn new(id: &str, actor: Box<dyn Actor>) -> Slot {
        Slot {
            id: id.to_string(),
            actor,
            start_ns: None,
            end_ns: None,
            stopped: false,
            failed: false,
            details: None,
        }
    }
}
