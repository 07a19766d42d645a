//! Replays the kept corpus of the fuzz target, each log also cut short and with bytes changed.

use std::path::Path;
use std::process::Command;

use narrows_paths::fuzzing::packet_log;

fn corpus(to: &Path) -> Vec<Vec<u8>> {
    std::fs::create_dir_all(to).unwrap();
    for archive in ["packet_log.tar.gz", "packet_log.2.tar.gz"] {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus").join(archive);
        let mut tar = Command::new("tar");
        tar.arg("-xzf").arg(kept).arg("-C").arg(to);
        assert!(tar.status().unwrap().success());
    }
    let mut files: Vec<_> = std::fs::read_dir(to).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| std::fs::read(file).unwrap()).collect()
}

#[test]
fn any_log_that_is_cut_short_or_changed_is_read_or_refused_without_a_wrong_number() {
    let place = std::env::temp_dir().join(format!("narrows-paths-corpus-{}", std::process::id()));
    let logs = corpus(&place);
    std::fs::remove_dir_all(&place).unwrap();
    assert!(logs.len() > 8, "the corpus is {} logs", logs.len());
    for log in &logs {
        packet_log(log);
        for end in (0..log.len()).step_by(log.len().div_ceil(50).max(1)) {
            packet_log(&log[..end]);
        }
        // A linear congruential generator: the same changes on every machine.
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        for _ in 0..200 {
            let mut changed = log.clone();
            for _ in 0..3 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (state >> 33) as usize % changed.len();
                changed[at] = (state >> 20) as u8;
            }
            packet_log(&changed);
        }
    }
}
