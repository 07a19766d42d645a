//! Trace records as the five things that can happen to a packet, in order of time over all cores.
//!
//! It reads the files that `spool` left. Which packet belongs to which queue is for `pairing`.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use super::format::{EventFormat, Field, PageFormat};
use super::pages;

pub const NAMES: [&str; 5] = [
    "net/net_dev_queue",
    "qdisc/qdisc_enqueue",
    "qdisc/qdisc_dequeue",
    "net/net_dev_start_xmit",
    "skb/kfree_skb",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Handed to an interface; `iface` is the place of its name in the list of names.
    Arrive {
        iface: usize,
        bytes: u32,
    },
    /// Its qdisc has taken it.
    Enqueue {
        ifindex: u32,
    },
    Dequeue {
        ifindex: u32,
    },
    /// Handed to a driver.
    Transmit,
    Free {
        reason: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub t_ns: u64,
    pub skb: u64,
    pub what: What,
}

/// Where each event has what is wanted of it.
pub struct Decoder {
    kind: Field,
    ids: [u16; 5],
    skb: [Field; 5],
    /// Of each event the one more field: name, ifindex, ifindex, -, reason.
    extra: [Option<Field>; 5],
    bytes: Field,
    ifaces: Vec<String>,
    pub reasons: HashMap<u64, String>,
}

impl Decoder {
    /// From the texts of the formats, in the order of `NAMES`. Err names what is missing.
    pub fn new(formats: [EventFormat; 5], ifaces: Vec<String>) -> Result<Decoder, String> {
        let need = |i: usize, name: &str| {
            let found: Option<Field> = formats[i].field(name);
            found.ok_or_else(|| format!("this kernel's trace event {} has no field {name}", NAMES[i]))
        };
        let skb = |i| need(i, "skbaddr");
        Ok(Decoder {
            kind: need(0, "common_type")?,
            ids: [0, 1, 2, 3, 4].map(|i: usize| formats[i].id),
            skb: [skb(0)?, skb(1)?, skb(2)?, skb(3)?, skb(4)?],
            extra: [
                Some(need(0, "name")?),
                Some(need(1, "ifindex")?),
                Some(need(2, "ifindex")?),
                None,
                formats[4].field("reason"),
            ],
            bytes: need(0, "len")?,
            ifaces,
            reasons: formats[4].symbols.clone(),
        })
    }

    /// Ok(None) is an event that does not matter; Err a record that is too short for its format.
    fn event(&self, t_ns: u64, record: &[u8]) -> Result<Option<Event>, ()> {
        let kind = self.kind.number(record).ok_or(())?;
        let Some(i) = self.ids.iter().position(|id| u64::from(*id) == kind) else {
            return Ok(None);
        };
        let extra = || self.extra[i].map_or(Some(0), |f| f.number(record)).ok_or(());
        let what = match i {
            0 => {
                let name = self.extra[0].and_then(|f| f.text(record)).ok_or(())?;
                let Some(iface) = self.ifaces.iter().position(|n| n.as_bytes() == name) else {
                    return Ok(None);
                };
                let bytes = self.bytes.number(record).ok_or(())? as u32;
                What::Arrive { iface, bytes }
            }
            1 => What::Enqueue { ifindex: extra()? as u32 },
            2 => What::Dequeue { ifindex: extra()? as u32 },
            3 => What::Transmit,
            _ => What::Free { reason: extra()? as u32 },
        };
        let skb = self.skb[i].number(record).ok_or(())?;
        Ok(Some(Event { t_ns, skb, what }))
    }
}

/// One core's file: pages, each after its length (u32).
struct Core<'a> {
    path: PathBuf,
    file: BufReader<File>,
    waiting: VecDeque<Event>,
    format: &'a PageFormat,
    decoder: &'a Decoder,
}

impl Core<'_> {
    /// Reads pages until an event waits, or to the end.
    fn fill(&mut self) -> Result<(), String> {
        let mut page = Vec::new();
        while self.waiting.is_empty() {
            let mut length = [0; 4];
            match self.file.read_exact(&mut length) {
                Ok(()) => {}
                Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(()),
                Err(e) => return Err(format!("reading {}: {e}", self.path.display())),
            }
            page.resize(u32::from_le_bytes(length) as usize, 0);
            let read = self.file.read_exact(&mut page);
            read.map_err(|e| format!("reading {}: {e}", self.path.display()))?;
            let mut is_whole = true;
            let (decoder, waiting) = (self.decoder, &mut self.waiting);
            let parsed =
                pages::records(&page, self.format, |t_ns, record| match decoder.event(t_ns, record) {
                    Ok(event) => waiting.extend(event),
                    Err(()) => is_whole = false,
                });
            if parsed.is_none() || !is_whole {
                return Err("a page of the trace does not fit the format that the kernel gives".into());
            }
        }
        Ok(())
    }
}

/// Gives all events of all cores' files in order of time; of one instant, in the order of the cores.
pub fn each(
    files: &[PathBuf],
    format: &PageFormat,
    decoder: &Decoder,
    mut take: impl FnMut(Event) -> Result<(), String>,
) -> Result<u64, String> {
    let open = |path: &Path| File::open(path).map_err(|e| format!("opening {}: {e}", path.display()));
    let mut cores = Vec::new();
    for path in files {
        let mut core = Core {
            path: path.clone(),
            file: BufReader::with_capacity(1 << 18, open(path)?),
            waiting: VecDeque::new(),
            format,
            decoder,
        };
        core.fill()?;
        cores.push(core);
    }
    let mut events = 0;
    loop {
        let times = cores.iter().enumerate().filter_map(|(i, c)| Some((c.waiting.front()?.t_ns, i)));
        let Some((_, first)) = times.min() else {
            return Ok(events);
        };
        if let Some(event) = cores[first].waiting.pop_front() {
            events += 1;
            take(event)?;
        }
        if cores[first].waiting.is_empty() {
            cores[first].fill()?;
        }
    }
}
