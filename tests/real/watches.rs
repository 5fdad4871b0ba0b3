//! `reconfig watch` in a terminal, before a manager that makes a change in a real subnet.

use super::fabrics::generated;
use super::scene::Scene;
use super::subnet::Subnet;
use super::{installed, reconfig};
use crate::support::tools::all_there;
use reconfig_measuring::process::background::{Background, lossy};
use reconfig_measuring::process::programs::missing;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// How long a screen may take to be drawn, and the program to end.
const LIMIT: Duration = Duration::from_secs(30);
/// Leaves the alternate screen: what the terminal showed before is there again.
const RESTORED: &str = "\u{1b}[?1049l";

/// The program in a terminal of 40 rows and 120 columns.
struct Screen {
    program: Background,
    drawn: PathBuf,
}

impl Screen {
    fn open(subnet: &Subnet, socket: &Path) -> Screen {
        let drawn = subnet.folder().join(subnet.name("watch"));
        let line = "stty rows 40 cols 120; exec \"$RECONFIG\" watch --every 100 --socket \"$SOCKET\"";
        let mut command = Command::new("script");
        command
            .args(["-qefc", line])
            .arg(&drawn)
            .env("RECONFIG", reconfig())
            .env("SOCKET", socket)
            .env("TERM", "xterm");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Screen { program: Background { child: command.spawn().expect("script is installed") }, drawn }
    }

    /// All that was drawn, in its order: words, without what moves the cursor between them.
    fn words(&self) -> String {
        let text = lossy(&self.drawn).unwrap_or_default();
        let rest = |part: &str| part.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).get(1..).map(String::from);
        let drawn: Vec<String> = text.split("\u{1b}[").skip(1).filter_map(rest).collect();
        drawn.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// Waits until these words were drawn, presses q, and finds the terminal as it was.
    fn shows(mut self, subnet: &Subnet, words: &[&str]) {
        let missing = || words.iter().find(|words| !self.words().contains(**words));
        subnet.wait(&format!("{words:?} on the screen"), LIMIT, || missing().is_none());
        let keys = self.program.child.stdin.as_mut().expect("it was opened");
        keys.write_all(b"q").and_then(|()| keys.flush()).expect("the terminal takes keys");
        let mut code = None;
        subnet.wait("the end of the screen", LIMIT, || {
            code = self.program.child.try_wait().expect("it was started").and_then(|status| status.code());
            code.is_some()
        });
        let text = lossy(&self.drawn).unwrap_or_default();
        assert_eq!((code, text.matches(RESTORED).count()), (Some(0), 1), "{text:?}");
    }
}

#[test]
fn a_screen_shows_role_and_state_at_rest_and_at_a_barrier() {
    if !installed() || !all_there(&missing(&["script", "stty"]), "bsdutils, coreutils") {
        return;
    }
    let Scene { subnet, manager, .. } =
        Scene::of(&generated("fat-tree:4,2", 0), &["--pause-at-barriers", "--scheme", "double"]);
    Screen::open(&subnet, manager.socket())
        .shows(&subnet, &["master, running for", "state steady", "8 switches, 16 CAs"]);
    let _order = manager.begin(&subnet, "change", &["--remove-switch", "spine-2", "--planned"]);
    manager.wait(&subnet, "waiting to be continued", 1);
    let state = manager.says(&subnet, "state");
    assert_ne!(state, "steady");
    Screen::open(&subnet, manager.socket())
        .shows(&subnet, &["master, running for", &format!("state {state}"), "spine-2"]);
}
