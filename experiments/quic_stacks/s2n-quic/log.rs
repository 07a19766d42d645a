//! s2n-quic writes no qlog: some of its events become one.
use s2n_quic::provider::event::{self, events};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs::File, io::Result, io::Write, path::Path, sync::Mutex};

pub struct Log(Option<Mutex<File>>);

impl Log {
    pub fn begin() -> Result<Log> {
        let Ok(folder) = env::var("QLOGDIR") else { return Ok(Log(None)) };
        let mut file = File::create(Path::new(&folder).join("s2n.sqlog"))?;
        writeln!(file, r#"{{"qlog_version":"0.3","trace":{{}}}}"#)?;
        Ok(Log(Some(Mutex::new(file))))
    }

    fn line(&self, name: &str, data: String) {
        let ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |d| d.as_secs_f64() * 1e3);
        if let Some(Ok(mut file)) = self.0.as_ref().map(Mutex::lock) {
            let _ = writeln!(file, r#"{{"time":{ms},"name":"recovery:{name}","data":{{{data}}}}}"#);
        }
    }
}

impl event::Subscriber for Log {
    type ConnectionContext = ();
    fn create_connection_context(&mut self, _: &event::ConnectionMeta, _: &event::ConnectionInfo) {}
    fn on_recovery_metrics(&mut self, _: &mut (), _: &event::ConnectionMeta, e: &events::RecoveryMetrics) {
        let (rtt, least) = (e.smoothed_rtt.as_secs_f64() * 1e3, e.min_rtt.as_secs_f64() * 1e3);
        self.line("metrics_updated", format!(r#""smoothed_rtt":{rtt},"min_rtt":{least},"congestion_window":{},"bytes_in_flight":{}"#,
            e.congestion_window, e.bytes_in_flight));
    }
    fn on_packet_lost(&mut self, _: &mut (), _: &event::ConnectionMeta, _: &events::PacketLost) {
        self.line("packet_lost", String::new());
    }
}
