//! What a checker reads is bounded by the plan and its fabric, however much a few packed bytes stand for.

use super::{Files, SCRIPT};
use std::process::Command;

/// Kibibytes of memory that a checker of a small plan may have: many times what it needs.
const MOST_KIB: usize = 300 << 10;

/// Bytes that the packed evidence stands for.
const UNPACKED: usize = 512 << 20;

#[test]
fn a_bomb_of_evidence_is_refused_before_it_is_unpacked() {
    let sound = Files::double("ring-8");
    let bomb = |head: &[u8], filler: u8| {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        let written = std::io::Write::write_all(&mut encoder, head);
        let piece = vec![filler; 1 << 20];
        let written = (0..UNPACKED / piece.len())
            .fold(written, |written, _| written.and_then(|()| std::io::Write::write_all(&mut encoder, &piece)));
        written.expect("memory");
        sound.with_packed(&encoder.finish().expect("memory"))
    };
    let (evidence, rows) = (sound.evidence(), sound.rows_at());
    // A row of four thousand million channels, each as far from the last as the first: none at all.
    let row = [&evidence[..rows], &[3, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F]].concat();
    for (name, files, says) in [
        ("after the last row", bomb(&evidence, 0), "bytes follow the last row"),
        ("a row without end", bomb(&row, 0), "names channel 0"),
        ("numbers without end", bomb(&evidence[..1], 0xFF), "exceeds 32 bits"),
    ] {
        assert!(files.certificate.len() < 8 << 20, "{name}: {} bytes", files.certificate.len());
        let folder = tempfile::tempdir().expect("a folder");
        let [plan, certificate] = files.written(folder.path());
        for command in [format!("{} check", env!("CARGO_BIN_EXE_reconfig")), format!("python3 {SCRIPT}")] {
            let limited = format!("ulimit -v {MOST_KIB} && exec {command} \"$0\" \"$1\"");
            let mut shell = Command::new("sh");
            let run = shell.args(["-c", &limited]).args([&plan, &certificate]).output().expect("a shell");
            let said = String::from_utf8_lossy(&run.stdout).into_owned() + &String::from_utf8_lossy(&run.stderr);
            assert_eq!(run.status.code(), Some(1), "{name}: {command}: {said}");
            assert!(said.contains(says), "{name}: {command}: {said}");
        }
    }
}
