//! Files that are none of ours and do not end: a device of zeroes, a line of 100 MB. Every command that reads files
//! refuses them in little memory.

use crate::support::is_thorough;
use std::process::Command;

/// Kibibytes of address space that a command may have: some times the longest file here.
const MOST_KIB: usize = 600 << 10;
const LINE: usize = 100 << 20;

/// Commands; `FILE` is what is read, `FABRIC` and `PLAN` are sound, `OUT` is a folder.
const COMMANDS: [&str; 16] = [
    "fabric show FILE",
    "fabric diff FABRIC FILE",
    "fabric show FABRIC --names FILE",
    "lids FILE",
    "route FILE",
    "route FABRIC --from-fdbs FILE",
    "audit FABRIC --fdbs FILE",
    "audit FABRIC --lfts FILE",
    "plan FABRIC FILE",
    "check FILE",
    "check PLAN FILE",
    "simulate FILE --remove-root",
    "simulate FABRIC --remove-root --traffic permutation:FILE",
    "what-if FILE",
    "journal show FILE",
    "campaign FILE --into OUT",
];

/// Those that read it as the first command does: the brief form gives them the device, and not the line as well.
const ALIKE: [&str; 6] = [
    "fabric diff FABRIC FILE",
    "lids FILE",
    "route FILE",
    "plan FABRIC FILE",
    "simulate FILE --remove-root",
    "what-if FILE",
];

#[test]
fn what_does_not_end_is_refused_in_little_memory() {
    let folder = tempfile::tempdir().expect("room");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [fabric, plan, line, out] = ["fabric.ibnetdiscover", "change.plan", "line", "out"].map(path);
    std::fs::write(&line, vec![b'a'; LINE]).expect("room");
    let reconfig = |words: &str| {
        let limited = format!("ulimit -v {MOST_KIB} && exec {} {words}", env!("CARGO_BIN_EXE_reconfig"));
        let ended = Command::new("sh").args(["-c", &limited]).output().expect("a shell");
        let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
        (ended.status.code(), said)
    };
    let made = reconfig(&format!("fabric generate torus:3x3,1 -o {fabric}"));
    assert_eq!(made.0, Some(0), "{}", made.1);
    let planned = reconfig(&format!("plan {fabric} --remove-link switch-0-0:2 -o {plan}"));
    assert_eq!(planned.0, Some(0), "{}", planned.1);
    for file in ["/dev/zero", &line] {
        let is_tried = |command: &&str| file != line || !ALIKE.contains(command) || is_thorough();
        for command in COMMANDS.into_iter().filter(is_tried) {
            let words = [("FILE", file), ("FABRIC", &fabric), ("PLAN", &plan), ("OUT", &out)];
            let words = words.iter().fold(command.to_string(), |text, (word, path)| text.replace(word, path));
            let (code, said) = reconfig(&words);
            // A journal's last line may be torn, whatever its length.
            let is_torn = command.starts_with("journal") && file == line;
            let is_refused = match code {
                Some(0) => is_torn && said.contains("torn"),
                Some(1) => said.contains("which is NOT accepted"),
                Some(2) => said.contains(file),
                _ => false,
            };
            let head: String = said.chars().take(1_000).collect();
            assert!(is_refused, "{words}: {code:?}: {head}");
        }
    }
}
