//! What the control socket takes, and how a server ends.

use crate::serve::harness::{Served, bundled};
use std::process::{Command, Stdio};

/// The lines of Dump about one node.
fn dumped(served: &Served, node: &str) -> Vec<String> {
    let dump = served.command("Dump");
    let mut lines = dump.lines().skip_while(|line| !line.contains(&format!("\"{node}\"")));
    let head = lines.next().unwrap_or_else(|| panic!("no {node} in\n{dump}"));
    [head].into_iter().chain(lines.take_while(|line| line.starts_with(' '))).map(str::to_string).collect()
}

fn state(served: &Served, node: &str, port: u8) -> String {
    let lines = dumped(served, node);
    let port = lines.iter().find_map(|line| line.trim().strip_prefix(&format!("[{port}] ")));
    port.unwrap().split_whitespace().next().unwrap().to_string()
}

#[test]
fn cables_and_nodes_die_and_come_back() {
    let served = Served::start(&bundled("ring-8"), &[]);
    assert_eq!(state(&served, "switch-1", 3), "Initialize");
    assert_eq!(served.command("Unlink \"switch-1\"[3]"), "1 cable unlinked");
    assert_eq!((state(&served, "switch-1", 3), state(&served, "switch-2", 4)), ("Down".into(), "Down".into()));
    assert_eq!(served.command("Relink \"switch-1\"[3]"), "1 cable relinked");
    assert_eq!(
        (state(&served, "switch-1", 3), state(&served, "switch-2", 4)),
        ("Initialize".into(), "Initialize".into())
    );
    served.command("Kill \"switch-5\"");
    assert_eq!((state(&served, "switch-4", 3), state(&served, "switch-5", 3)), ("Down".into(), "Down".into()));
    served.command("Revive \"switch-5\"");
    assert_eq!(state(&served, "switch-4", 3), "Initialize");
    assert_eq!(served.command("Unlink S-0200000700000000"), "4 cables unlinked");
}

#[test]
fn what_is_wrong_is_told() {
    let served = Served::start(&bundled("ring-8"), &[]);
    for (line, told) in [
        ("Reboot", "`Reboot` is no command"),
        ("Unlink \"switch-9\"[1]", "no node is called `switch-9`"),
        ("Unlink \"switch-1\"[77]", "has ports 1 to 8"),
        ("Unlink \"switch-1\"[8]", "has no cable"),
        ("Traffic load 3", "a fraction from 0 to 1"),
    ] {
        let reply = served.command(line);
        assert!(reply.starts_with("error: ") && reply.contains(told), "{line}: {reply}");
    }
    assert!(served.command("Help").contains("Unlink"));
}

#[test]
fn counts_are_told_by_command_and_at_the_end() {
    let served = Served::start(&bundled("ring-8"), &["--speed", "0.01", "--load", "0.2"]);
    assert_eq!(served.status()["traffic"], false);
    assert_eq!(served.command("Traffic on"), "traffic on, load 0.2");
    assert_eq!(served.command("Traffic load 0.3"), "load 0.3");
    assert_eq!(served.command("Period"), "period 2");
    let status = served.status();
    assert_eq!((&status["traffic"], &status["load"]), (&true.into(), &0.3.into()));
    assert_eq!(status["periods"].as_array().unwrap().len(), 2);
    let simulated = |status: &serde_json::Value| status["simulated_ns"].as_u64().unwrap();
    served.until("simulated time", |served| simulated(&served.status()) > simulated(&status));
    let last = served.end();
    assert_eq!(last["schema"], "reconfig.serve/1");
    assert!(simulated(&last) > simulated(&status));
}

#[test]
fn a_name_that_is_taken_is_refused() {
    let served = Served::start(&bundled("ring-8"), &[]);
    let name = served.name();
    let second = Command::new(env!("CARGO_BIN_EXE_reconfig"))
        .args(["serve", "-n", "--socket", name])
        .arg(bundled("ring-8"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(3), "{errors}");
    assert!(errors.contains("another server has this name"), "{errors}");
}

#[test]
fn quit_ends_the_server() {
    let served = Served::start(&bundled("ring-8"), &[]);
    served.command("Quit");
    assert!(served.wait().success());
}

#[test]
fn speeds_outside_their_range_are_refused() {
    for speed in ["2", "-0.1", "fast"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.args(["serve", "-n", &format!("--speed={speed}")]).arg(bundled("ring-8")).stdin(Stdio::null());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{speed}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("is no speed"), "{speed}");
    }
}
