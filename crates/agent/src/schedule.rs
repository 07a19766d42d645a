//! When items start and stop: a pure function of the plan and of what has ended so far.
//!
//! It knows nothing of sockets or programs. Rules beyond docs/formats.md's "Traffic items":
//! a background item with `at_ns` ≤ 0 starts before the epoch (servers must be up when traffic starts), and
//! no item starts while a background item that was due no later is still getting ready.

use std::collections::HashMap;

use narrows_plan::{Item, Start, Stop};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Waiting,
    Starting,
    Running,
    Done,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Start(usize),
    Stop(usize),
}

#[derive(Clone, Copy, Debug)]
enum When {
    At(i64),
    /// So long after another item's end.
    After(usize, i64),
}

#[derive(Clone, Copy, Debug)]
enum Until {
    Itself,
    At(i64),
    With(usize),
}

struct Entry {
    start: When,
    stop: Until,
    background: bool,
    state: State,
    stop_asked: bool,
    ended_ns: Option<i64>,
}

pub struct Schedule {
    entries: Vec<Entry>,
}

impl Schedule {
    /// `early_ns` (negative) is when background items that are due at or before 0 are started.
    pub fn new(items: &[Item], early_ns: i64) -> Result<Schedule, String> {
        let index: HashMap<&str, usize> = items.iter().enumerate().map(|(i, it)| (it.id(), i)).collect();
        let find = |of: &str, id: &str| {
            index
                .get(id)
                .copied()
                .ok_or_else(|| format!("item '{of}' refers to '{id}', which is not an item"))
        };
        let mut entries = Vec::new();
        for item in items {
            let start = match item.start() {
                Start::At { at_ns } if item.background() && *at_ns <= 0 => When::At(early_ns.min(*at_ns)),
                Start::At { at_ns } => When::At(*at_ns),
                Start::After { after, delay_ns } => When::After(find(item.id(), after)?, *delay_ns),
            };
            let stop = match item.stop() {
                None => Until::Itself,
                Some(Stop::At { at_ns }) => Until::At(*at_ns),
                Some(Stop::With { with }) => Until::With(find(item.id(), with)?),
            };
            let background = item.background();
            let fresh = State::Waiting;
            entries.push(Entry { start, stop, background, state: fresh, stop_asked: false, ended_ns: None });
        }
        let schedule = Schedule { entries };
        schedule.check_cycles(items)?;
        Ok(schedule)
    }

    fn check_cycles(&self, items: &[Item]) -> Result<(), String> {
        for (first, item) in items.iter().enumerate() {
            let mut at = first;
            for _ in 0..=self.entries.len() {
                match self.entries[at].start {
                    When::After(i, _) if i == first => {
                        return Err(format!("item '{}' waits, over its 'after', for itself", item.id()))
                    }
                    When::After(i, _) => at = i,
                    When::At(_) => break,
                }
            }
            if matches!(self.entries[first].stop, Until::With(i) if i == first) {
                return Err(format!("item '{}' stops with itself", item.id()));
            }
        }
        Ok(())
    }

    fn start_time(&self, i: usize) -> Option<i64> {
        match self.entries[i].start {
            When::At(t) => Some(t),
            When::After(other, delay) => self.entries[other].ended_ns.map(|t| t + delay),
        }
    }

    fn stop_time(&self, i: usize) -> Option<i64> {
        match self.entries[i].stop {
            Until::Itself => None,
            Until::At(t) => Some(t),
            Until::With(other) => self.entries[other].ended_ns,
        }
    }

    /// What is due at `t`, in the plan's order, stops before starts.
    pub fn due(&mut self, t: i64) -> Vec<Action> {
        let mut out = Vec::new();
        for i in 0..self.entries.len() {
            let due = self.stop_time(i).is_some_and(|s| s <= t);
            let e = &mut self.entries[i];
            if due && !e.stop_asked && e.state != State::Done {
                e.stop_asked = true;
                match e.state {
                    // Its stop came before it could start: it never runs, and what waits for it goes on.
                    State::Waiting => self.ended(i, t),
                    _ => out.push(Action::Stop(i)),
                }
            }
        }
        for i in 0..self.entries.len() {
            let Some(start) = self.start_time(i).filter(|s| *s <= t) else {
                continue;
            };
            if self.entries[i].state != State::Waiting || self.held(i, start) {
                continue;
            }
            self.entries[i].state = State::Starting;
            out.push(Action::Start(i));
        }
        out
    }

    fn held(&self, i: usize, start: i64) -> bool {
        !self.entries[i].background
            && (0..self.entries.len()).any(|j| {
                let e = &self.entries[j];
                e.background
                    && matches!(e.state, State::Waiting | State::Starting)
                    && self.start_time(j).is_some_and(|s| s <= start)
            })
    }

    /// The next instant at which `due` may have something, as far as is known now.
    pub fn next_time(&self) -> Option<i64> {
        let starts = (0..self.entries.len())
            .filter(|i| self.entries[*i].state == State::Waiting)
            .filter_map(|i| self.start_time(i));
        let stops = (0..self.entries.len())
            .filter(|i| !self.entries[*i].stop_asked && self.entries[*i].state != State::Done)
            .filter_map(|i| self.stop_time(i));
        starts.chain(stops).min()
    }

    pub fn started(&mut self, i: usize) {
        if self.entries[i].state == State::Starting {
            self.entries[i].state = State::Running;
        }
    }

    pub fn ended(&mut self, i: usize, t: i64) {
        let e = &mut self.entries[i];
        e.state = State::Done;
        e.ended_ns.get_or_insert(t);
    }

    /// The item is to stop at `t`, whatever it would have waited for; one that has not begun never does.
    pub fn stop_at(&mut self, i: usize, t: i64) {
        self.entries[i].stop = Until::At(t);
    }

    #[cfg(test)]
    fn state(&self, i: usize) -> State {
        self.entries[i].state
    }

    /// Everything that keeps the run alive has ended.
    pub fn all_done(&self) -> bool {
        self.entries.iter().all(|e| e.background || e.state == State::Done)
    }

    /// Background items that are due before the epoch are all up.
    pub fn early_ready(&self) -> bool {
        (0..self.entries.len()).all(|i| {
            let early = self.entries[i].background && self.start_time(i).is_some_and(|s| s < 0);
            !early || !matches!(self.entries[i].state, State::Waiting | State::Starting)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(id: &str, background: bool, start: &str, stop: &str) -> Item {
        serde_json::from_str(&format!(
            r#"{{"id":"{id}","item":"{id}","kind":"command","tool":"t","node":"n","argv":["x"],"env":{{}},
            "stop_signal":"INT","ok_exits":[0],"background":{background},"ready":null,
            "endpoints":[],"programs":[],"files":[],"memory_bytes":0,
            "start":{start},"stop":{stop}}}"#
        ))
        .unwrap()
    }

    #[test]
    fn an_item_follows_another_and_a_third_stops_with_it() {
        let items = [
            command("one", false, r#"{"at_ns":0}"#, "null"),
            command("two", false, r#"{"after":"one","delay_ns":5}"#, "null"),
            command("bg", false, r#"{"at_ns":0}"#, r#"{"with":"two"}"#),
        ];
        let mut s = Schedule::new(&items, -1).unwrap();
        assert_eq!(s.due(0), [Action::Start(0), Action::Start(2)]);
        s.started(0);
        s.ended(0, 100);
        assert_eq!(s.next_time(), Some(105));
        assert_eq!(s.due(104), []);
        assert_eq!(s.due(105), [Action::Start(1)]);
        s.ended(1, 200);
        assert_eq!(s.due(200), [Action::Stop(2)]);
        assert!(!s.all_done());
        s.ended(2, 201);
        assert!(s.all_done());
    }

    #[test]
    fn traffic_waits_until_a_server_that_was_due_is_ready() {
        let items = [
            command("client", false, r#"{"at_ns":0}"#, "null"),
            command("server", true, r#"{"at_ns":0}"#, "null"),
        ];
        let mut s = Schedule::new(&items, -50).unwrap();
        assert_eq!(s.due(-50), [Action::Start(1)]);
        assert_eq!(s.due(0), []);
        assert!(!s.early_ready());
        s.started(1);
        assert!(s.early_ready());
        assert_eq!(s.due(1), [Action::Start(0)]);
    }

    #[test]
    fn an_item_whose_stop_comes_first_never_starts_and_does_not_block() {
        let items = [
            command("late", false, r#"{"at_ns":10}"#, r#"{"at_ns":5}"#),
            command("next", false, r#"{"after":"late","delay_ns":0}"#, "null"),
        ];
        let mut s = Schedule::new(&items, -1).unwrap();
        assert_eq!(s.due(5), [Action::Start(1)]);
        assert_eq!(s.state(0), State::Done);
    }

    #[test]
    fn an_item_stopped_before_its_time_takes_along_what_stops_with_it() {
        let items = [
            command("flow", false, r#"{"at_ns":0}"#, r#"{"at_ns":1000}"#),
            command("probe", false, r#"{"at_ns":0}"#, r#"{"with":"flow"}"#),
        ];
        let mut s = Schedule::new(&items, -1).unwrap();
        assert_eq!(s.due(0), [Action::Start(0), Action::Start(1)]);
        s.stop_at(0, 300);
        assert_eq!(s.due(300), [Action::Stop(0)]);
        s.ended(0, 300);
        assert_eq!(s.due(300), [Action::Stop(1)]);
        s.ended(1, 300);
        assert!(s.all_done());
        assert_eq!(s.next_time(), None);
    }

    #[test]
    fn items_that_wait_for_each_other_are_refused() {
        let items = [
            command("a", false, r#"{"after":"b","delay_ns":0}"#, "null"),
            command("b", false, r#"{"after":"a","delay_ns":0}"#, "null"),
        ];
        assert!(Schedule::new(&items, -1).err().unwrap().contains("waits"));
    }

    #[test]
    fn a_reference_to_no_item_is_refused_with_both_names() {
        let items = [command("a", false, r#"{"after":"zz","delay_ns":0}"#, "null")];
        let e = Schedule::new(&items, -1).err().unwrap();
        assert!(e.contains("'a'") && e.contains("'zz'"), "{e}");
    }
}
