//! Reads one packet log into its tables: `connections/ID.parquet`, `sessions/ID.parquet`, on request `acks/ID.parquet`,
//! or, of snapshots, `snapshots/ID.parquet`; and, last, `logs/ID.json`, which says what the log held and that it is done.

use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use serde::Serialize;

use crate::aggregate::{limits, Aggregate};
use crate::connection::Connection;
use crate::container::{About, Reader};
use crate::counts::Counts;
use crate::error::{Error, Result};
use crate::flows::{Flows, Limits, Sink};
use crate::half::Acked;
use crate::headers::{self, Unit};
use crate::input;
use crate::pieces::Pieces;
use crate::rows::{
    role, AckRow, ConnectionRow, LimitRow, SessionRow, SnapshotRow, ACKS, CONNECTIONS, LIMITS, SESSIONS,
    SNAPSHOTS,
};
use crate::sessions::{Rules, Service, Session};
use crate::snapshots;
use crate::sorting::Sorter;
use crate::table::Table;
use crate::udp::quic::keys::KeyLog;
use crate::udp::{self, Conversation, Conversations, Second};
use crate::udp_rows::{RtpRow, SecondRow, UdpRow, RTP, UDP, UDP_SECONDS};

#[derive(Debug, Clone)]
pub struct Settings {
    pub limits: Limits,
    pub rules: Rules,
    /// Write one row for each ACK.
    pub acks: bool,
    /// Read logs again that were read with the same settings before.
    pub again: bool,
    /// What standard input is called in the tables; None: "-".
    pub stdin_name: Option<String>,
    /// Secrets of QUIC connections, as NSS's key log has them.
    pub keys: KeyLog,
    /// Write a qlog of each connection that they open.
    pub qlog: bool,
}

/// What is said of one log.
#[derive(Debug, Serialize)]
pub struct Summary {
    pub log: String,
    pub id: String,
    pub state: String,
    pub compression: String,
    pub container: About,
    pub counts: Counts,
    pub first_ns: Option<i64>,
    pub last_ns: Option<i64>,
    /// Segments that were put before others that stood before them in the log, and those that came too late for it.
    pub sorted: u64,
    pub time_went_back: u64,
    pub connections: u64,
    pub connections_evicted: u64,
    /// Conversations of UDP, and those that were ended early.
    pub conversations: u64,
    pub conversations_evicted: u64,
    pub sessions: u64,
    pub sessions_too_short: u64,
    /// Snapshots of TCP_INFO, where the file holds these in place of packets.
    pub snapshots: u64,
}

/// Every table that a log may have, by its directory.
const TABLES: [&str; 8] =
    ["connections", "sessions", "limits", "acks", "udp", "udp_seconds", "rtp", "snapshots"];

/// Reads a log, or pieces of one, into tables under `out`. None: this was done before, and nothing was read.
pub fn read(files: &[OsString], out: &Path, settings: &Settings) -> Result<Option<Summary>> {
    let Identity { log, id, state } = identity(files, settings);
    let name: &str = &files[0].to_string_lossy();
    let done = out.join("logs").join(format!("{id}.json"));
    if !settings.again && name != input::STDIN && is_done(&done, &state) {
        return Ok(None);
    }
    let (reader, compression) = input::open(&files[0])?;
    let mut reader = BufReader::new(reader);
    let begins =
        reader.fill_buf().map_err(|e| Error::new(name, format!("cannot be read: {e}"), "check the file"))?;
    let is_json = begins.first() == Some(&b'{') && files.len() == 1;
    for directory in TABLES.into_iter().chain(["logs", "qlog"]) {
        let wanted = match directory {
            "logs" => true,
            "snapshots" => is_json,
            "acks" => settings.acks && !is_json,
            "qlog" => settings.qlog && !is_json,
            _ => !is_json,
        };
        if wanted {
            let path = out.join(directory);
            fs::create_dir_all(&path).map_err(|e| Error::write(&path, e))?;
        }
    }
    // What is there of an older reading goes, its summary first: it says that the tables are whole.
    let tables = TABLES.map(|d| out.join(d).join(format!("{id}.parquet")));
    for file in [&done].into_iter().chain(&tables) {
        match fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::write(file, error))
            }
            _ => {}
        }
    }
    if is_json {
        return of_snapshots(reader, name, out, Identity { log, id, state }, compression).map(Some);
    }
    // A log whose packets stand in the order of their times needs no sorting; of one that does not this is found by reading.
    // What comes from a pipe cannot be read again.
    let mut sorting = !fs::metadata(&files[0]).is_ok_and(|file| file.is_file());
    let mut source = Some(Source::of(files, reader)?);
    let (read, counts, all, sink) = loop {
        let mut sink = Tables::create(out, &log, &id, settings)?;
        let mut all = All::new(settings);
        let mut counts = Counts::default();
        let again = || Source::of(files, BufReader::new(input::open(&files[0])?.0));
        let source = match source.take() {
            Some(source) => source,
            None => again()?,
        };
        match follow(source, name, sorting, &mut counts, &mut all, &mut sink) {
            Ok(Some(read)) => break (read, counts, all, sink),
            Ok(None) => sorting = true,
            Err(error) => {
                sink.discard();
                return Err(error);
            }
        }
        sink.discard();
    };
    let (mut all, mut sink) = (all, sink);
    let (connections, short) = all.flows.close(&mut sink);
    let conversations = all.conversations.close(&mut sink);
    let sessions = sink.sessions_written;
    sink.finish()?;
    let Read { about: container, first, last, sorter } = read;
    let any = last != i64::MIN;
    let summary = Summary {
        log,
        id,
        state,
        compression: compression.to_owned(),
        container,
        counts,
        first_ns: any.then_some(first),
        last_ns: any.then_some(last),
        sorted: sorter.sorted,
        time_went_back: sorter.late,
        connections,
        connections_evicted: all.flows.evicted,
        conversations,
        conversations_evicted: all.conversations.evicted,
        sessions,
        sessions_too_short: short,
        snapshots: 0,
    };
    done_with(&summary, &done)?;
    Ok(Some(summary))
}

/// Where packets come from.
enum Source {
    Log(BufReader<Box<dyn io::Read + Send>>),
    Pieces(Pieces),
}

impl Source {
    fn of(files: &[OsString], reader: BufReader<Box<dyn io::Read + Send>>) -> Result<Self> {
        if files.len() > 1 {
            return Ok(Source::Pieces(Pieces::open(files)?));
        }
        Ok(Source::Log(reader))
    }
}

/// What was read.
struct Read {
    about: About,
    first: i64,
    last: i64,
    sorter: Sorter<Unit>,
}

/// What is kept of the log while it is read.
struct All {
    flows: Flows,
    conversations: Conversations,
}

impl All {
    fn new(settings: &Settings) -> Self {
        let Limits { connections, idle_ns } = settings.limits;
        let keys = settings.keys.clone();
        All {
            flows: Flows::new(settings.limits, settings.rules),
            conversations: Conversations::new(connections, idle_ns, keys, settings.qlog),
        }
    }

    #[inline]
    fn unit(&mut self, t_ns: i64, unit: &Unit, sink: &mut Tables) {
        match unit {
            Unit::Segment(segment) => self.flows.segment(t_ns, segment, sink),
            Unit::Datagram(datagram) => self.conversations.datagram(t_ns, datagram, sink),
            Unit::Secrets(text) => self.conversations.add_keys(text),
        }
    }
}

/// Hands every segment to its connection, and every datagram to its conversation. None: they stand out of order, and `sorting` would put them into it.
fn follow(
    source: Source,
    name: &str,
    sorting: bool,
    counts: &mut Counts,
    all: &mut All,
    sink: &mut Tables,
) -> Result<Option<Read>> {
    let mut sorter = Sorter::default();
    let (mut first, mut last) = (i64::MAX, i64::MIN);
    let mut hand_on = |t_ns: i64, unit: &Unit| all.unit(t_ns, unit, sink);
    let about = match source {
        Source::Pieces(pieces) => pieces.read(counts, &mut |t_ns, unit, counts| {
            (first, last) = (first.min(t_ns), last.max(t_ns));
            for text in counts.secrets.drain(..) {
                hand_on(t_ns, &Unit::Secrets(text));
            }
            if let Some(unit) = unit {
                sorter.push(t_ns, unit, &mut hand_on);
            }
        })?,
        Source::Log(reader) => {
            let mut reader = Reader::open(reader, name)?;
            while let Some(packet) = reader.next(counts)? {
                let t_ns = packet.t_ns;
                (first, last) = (first.min(t_ns), last.max(t_ns));
                let unit = headers::unwrap(&packet, counts);
                for text in counts.secrets.drain(..) {
                    hand_on(t_ns, &Unit::Secrets(text));
                }
                let Some(unit) = unit else { continue };
                if sorting {
                    sorter.push(t_ns, unit, &mut hand_on);
                } else {
                    if sorter.can_sort(t_ns) {
                        return Ok(None);
                    }
                    hand_on(t_ns, &unit);
                }
            }
            reader.about
        }
    };
    sorter.finish(&mut hand_on);
    Ok(Some(Read { about, first, last, sorter }))
}

/// Writes the summary, which says that the tables are whole.
fn done_with(summary: &Summary, done: &Path) -> Result<()> {
    let text = serde_json::to_string_pretty(summary).map_err(|e| Error::write(done, e))?;
    let unfinished = done.with_extension("json.tmp");
    fs::write(&unfinished, text).map_err(|e| Error::write(&unfinished, e))?;
    fs::rename(&unfinished, done).map_err(|e| Error::write(done, e))
}

/// The same of a file of snapshots, which has one table.
fn of_snapshots(
    reader: impl io::Read,
    name: &str,
    out: &Path,
    identity: Identity,
    compression: &str,
) -> Result<Summary> {
    let Identity { log, id, state } = identity;
    let mut counts = Counts::default();
    let found = snapshots::read(reader, name, &mut counts)?;
    let mut table = Table::create(&out.join("snapshots").join(format!("{id}.parquet")), SNAPSHOTS)?;
    let count = found.series.iter().map(|s| s.count).sum();
    let connections = found.series.len() as u64;
    for series in found.series {
        let p = series.properties();
        let added = table.push(SnapshotRow { log: log.clone(), series, p });
        if let Err(error) = added {
            table.discard();
            return Err(error);
        }
    }
    table.finish()?;
    let done = out.join("logs").join(format!("{id}.json"));
    let summary = Summary {
        log,
        id,
        state,
        compression: compression.to_owned(),
        container: About { format: found.format, damage: found.damage, ..About::default() },
        counts,
        first_ns: None,
        last_ns: None,
        sorted: 0,
        time_went_back: 0,
        connections,
        connections_evicted: 0,
        conversations: 0,
        conversations_evicted: 0,
        sessions: 0,
        sessions_too_short: 0,
        snapshots: count,
    };
    done_with(&summary, &done)?;
    Ok(summary)
}

/// Where a log's tables are, and what decides whether they are still right.
struct Identity {
    /// The full path, or "-".
    log: String,
    /// The file's name and a hash of the full path: another version of a log replaces its tables.
    id: String,
    /// Size, time and settings: what was read with the same state need not be read again.
    state: String,
}

fn identity(files: &[OsString], settings: &Settings) -> Identity {
    if files == [input::STDIN] {
        let called = settings.stdin_name.as_deref();
        return Identity {
            log: called.unwrap_or(input::STDIN).to_owned(),
            id: called.map_or_else(|| "stdin".to_owned(), plain),
            state: signature(settings),
        };
    }
    let (mut full, mut size, mut modified_ns) = (Vec::new(), 0, 0);
    for file in files {
        let path = Path::new(file);
        full.push(fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string());
        if let Ok(metadata) = fs::metadata(path) {
            size += metadata.len();
            let modified = metadata.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
            modified_ns = modified_ns.max(modified.map_or(0, |d| d.as_nanos()));
        }
    }
    let name = Path::new(&files[0]).file_name().unwrap_or_default();
    let stem = plain(&name.to_string_lossy());
    let bytes: Vec<u8> = full.join("\0".as_ref()).into_encoded_bytes();
    let pieces = if files.len() > 1 { format!(" in {} pieces", files.len()) } else { String::new() };
    Identity {
        id: format!("{stem}-{:08x}", fnv(&bytes) as u32),
        state: format!("{size} bytes{pieces}, changed at {modified_ns} ns; {}", signature(settings)),
        log: full[0].to_string_lossy().into_owned(),
    }
}

/// A name as files have it.
fn plain(name: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    name.chars().map(|c| if allowed(c) { c } else { '_' }).take(80).collect()
}

/// Whether a log's summary is there and of the same state.
fn is_done(file: &Path, state: &str) -> bool {
    let said = fs::read(file).ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    said.is_some_and(|said| said["state"] == state)
}

/// FNV-1a: the same number on every machine and with every compiler.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

fn signature(s: &Settings) -> String {
    let service = match s.rules.service {
        Service::Port => "port",
        Service::Server => "server",
        Service::All => "all",
    };
    format!(
        "narrows-paths {}, {} columns; session gap {} ns, least {} ns, service {service}; idle {} ns; {} connections; acks {}; {} secrets, qlog {}",
        env!("CARGO_PKG_VERSION"),
        CONNECTIONS.len(),
        s.rules.gap_ns,
        s.rules.min_ns,
        s.limits.idle_ns,
        s.limits.connections,
        s.acks,
        s.keys.signature(),
        s.qlog,
    )
}

struct Tables {
    log: String,
    connections: Table<ConnectionRow>,
    sessions: Table<SessionRow>,
    limits: Table<LimitRow>,
    acks: Option<Table<AckRow>>,
    udp: Table<UdpRow>,
    seconds: Table<SecondRow>,
    rtp: Table<RtpRow>,
    /// Where qlogs go, and what they begin with.
    qlog: Option<PathBuf>,
    sessions_written: u64,
    failed: Option<Error>,
}

impl Tables {
    fn create(out: &Path, log: &str, id: &str, settings: &Settings) -> Result<Self> {
        let table = |directory: &str| -> PathBuf { out.join(directory).join(format!("{id}.parquet")) };
        Ok(Tables {
            log: log.to_owned(),
            connections: Table::create(&table("connections"), CONNECTIONS)?,
            sessions: Table::create(&table("sessions"), SESSIONS)?,
            limits: Table::create(&table("limits"), LIMITS)?,
            acks: settings.acks.then(|| Table::create(&table("acks"), ACKS)).transpose()?,
            udp: Table::create(&table("udp"), UDP)?,
            seconds: Table::create(&table("udp_seconds"), UDP_SECONDS)?,
            rtp: Table::create(&table("rtp"), RTP)?,
            qlog: settings.qlog.then(|| out.join("qlog").join(id)),
            sessions_written: 0,
            failed: None,
        })
    }

    fn note(&mut self, result: Result<()>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    fn finish(self) -> Result<()> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.connections.finish()?;
        self.sessions.finish()?;
        self.limits.finish()?;
        self.udp.finish()?;
        self.seconds.finish()?;
        self.rtp.finish()?;
        self.acks.map_or(Ok(()), Table::finish)
    }

    /// Removes what was begun.
    fn discard(self) {
        self.connections.discard();
        self.sessions.discard();
        self.limits.discard();
        self.udp.discard();
        self.seconds.discard();
        self.rtp.discard();
        if let Some(acks) = self.acks {
            acks.discard();
        }
    }
}

impl Sink for Tables {
    fn connection(&mut self, connection: &Connection, aggregate: &Aggregate) {
        let row = ConnectionRow::new(&self.log, connection, aggregate);
        let result = self.connections.push(row);
        self.note(result);
        let sender = connection.sender();
        let Some(start_ns) = connection.halves[sender].limits.start_ns() else {
            return;
        };
        for limited in limits(connection).unwrap_or_default() {
            let result = self.limits.push(LimitRow {
                log: self.log.clone(),
                connection: connection.number,
                sender: role(connection, sender),
                start_ns,
                limited,
            });
            self.note(result);
        }
    }

    fn session(&mut self, session: &Session) {
        self.sessions_written += 1;
        let row = SessionRow::new(&self.log, session);
        let result = self.sessions.push(row);
        self.note(result);
    }

    #[inline]
    fn ack(&mut self, connection: &Connection, sender: usize, t_ns: i64, acked: Acked, has_sack: bool) {
        let Some(acks) = &mut self.acks else { return };
        let row = AckRow {
            log: self.log.clone(),
            connection: connection.number,
            sender: role(connection, sender),
            t_ns,
            acked,
            has_sack,
        };
        let result = acks.push(row);
        self.note(result);
    }
}

impl udp::Sink for Tables {
    fn conversation(&mut self, conversation: &Conversation) {
        let result = self.udp.push(UdpRow::new(&self.log, conversation));
        self.note(result);
        for stream in conversation.streams.iter().filter(|s| s.is_rtp()) {
            let result = self.rtp.push(RtpRow::new(&self.log, conversation, stream));
            self.note(result);
        }
        let opened = conversation.quic.as_ref().filter(|quic| quic.has_secrets);
        let qlog = opened.and_then(|quic| {
            let group = quic.first_target.map(|cid| cid.hex()).unwrap_or_default();
            quic.qlog.as_ref()?.text(&self.log, &group)
        });
        if let (Some(place), Some(text)) = (&self.qlog, qlog) {
            let mut file = place.clone().into_os_string();
            file.push(format!("-{}.sqlog", conversation.number));
            let result = fs::write(&file, text).map_err(|e| Error::write(Path::new(&file), e));
            self.note(result);
        }
    }

    fn second(&mut self, conversation: u64, is_client: bool, second: &Second) {
        let result =
            self.seconds.push(SecondRow { log: self.log.clone(), conversation, is_client, second: *second });
        self.note(result);
    }
}
