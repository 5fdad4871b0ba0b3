//! The transcripts of README, the tour and the page for operators: each is what its command prints.
//!
//! A transcript is a `text` block after a `sh` block, whose last command printed it. A line `[…]` stands for lines that
//! the page omits. Nothing in these outputs depends on the machine, trace hashes included, so nothing is masked.

use crate::support::capture::capture;
use std::path::Path;
use std::process::Command;

const PAGES: [&str; 3] = ["README.md", "docs/TOUR.md", "docs/OPERATING.md"];
const OMITTED: &str = "[…]";

/// Another test compares it: its last command runs Python.
const ELSEWHERE: &str = "python3 examples/check_certificate.py change.plan change.certificate";

/// A command as typed, and the lines that the page shows for it.
struct Transcript {
    page: &'static str,
    command: String,
    shown: Vec<String>,
}

fn transcripts(page: &'static str) -> Vec<Transcript> {
    let text = std::fs::read_to_string(format!("{}/{page}", env!("CARGO_MANIFEST_DIR"))).expect("the page");
    let mut command = None;
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut block = || lines.by_ref().take_while(|line| *line != "```").map(str::to_string).collect::<Vec<_>>();
        match line {
            "```sh" => command = block().join("\n").replace("\\\n", " ").lines().last().map(str::to_string),
            "```text" => {
                let command = command.take().unwrap_or_else(|| panic!("{page}: a transcript without a command"));
                found.push(Transcript { page, command, shown: block() });
            }
            // A command belongs to the transcript that follows it at once.
            _ if line.is_empty() || line.starts_with("<!--") => {}
            _ => command = None,
        }
    }
    found
}

impl Transcript {
    fn printed(&self, folder: &Path) -> Vec<String> {
        let words: Vec<&str> = self.command.split_whitespace().map(|word| word.trim_matches('"')).collect();
        let arguments = words.strip_prefix(&["reconfig"][..]);
        let arguments = arguments.or_else(|| words.strip_prefix(&["cargo", "run", "--release", "--"][..]));
        let arguments = arguments.unwrap_or_else(|| panic!("{}: `{}` cannot be run here", self.page, self.command));
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        let output = command.args(arguments).current_dir(folder).output().expect("it runs");
        String::from_utf8(output.stdout).expect("text").lines().map(str::to_string).collect()
    }

    /// Consecutive lines between omissions must be consecutive in the output, in the same order; without an omission at
    /// an end of the page's lines, the output begins or ends there too.
    fn check(&self, folder: &Path) {
        let printed = self.printed(folder);
        let mut pieces = self.shown.split(|line| line == OMITTED).map(trimmed).peekable();
        let mut from = 0;
        let mut anchored = true;
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none();
            let rest = &printed[from..];
            let at = match (anchored, last) {
                (true, _) => Some(0),
                (false, true) => rest.len().checked_sub(piece.len()),
                (false, false) => (0..rest.len()).find(|&at| rest[at..].starts_with(piece)),
            };
            let at = at.filter(|&at| rest[at..].starts_with(piece));
            let at = at.unwrap_or_else(|| self.differs(piece, &printed));
            from += at + piece.len();
            anchored = false;
            assert!(!last || piece.is_empty() || from == printed.len(), "{}", self.difference(piece, &printed));
        }
    }

    fn differs(&self, piece: &[String], printed: &[String]) -> ! {
        panic!("{}", self.difference(piece, printed))
    }

    fn difference(&self, piece: &[String], printed: &[String]) -> String {
        let (page, command) = (self.page, &self.command);
        format!("{page}: `{command}`\n--- shown\n{}\n--- printed\n{}\n", piece.join("\n"), printed.join("\n"))
    }
}

/// Without the blank lines that set an omission apart.
fn trimmed(lines: &[String]) -> &[String] {
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let end = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
    &lines[first..end]
}

#[test]
fn the_pages_show_what_the_commands_print() {
    let all: Vec<Transcript> = PAGES.into_iter().flat_map(transcripts).collect();
    let (elsewhere, here): (Vec<_>, Vec<_>) = all.into_iter().partition(|transcript| transcript.command == ELSEWHERE);
    assert_eq!(
        (elsewhere.len(), here.len()),
        (1, 12),
        "README has one transcript, the tour four, the page for operators eight"
    );
    here.iter().for_each(|transcript| transcript.check(Path::new(env!("CARGO_MANIFEST_DIR"))));
}

/// The page about a real cluster: its commands run in the folder of the capture.
#[test]
fn the_page_of_a_real_cluster_shows_what_the_commands_print() {
    let all = transcripts("docs/CLUSTER.md");
    assert_eq!(all.len(), 7);
    let Some(file) = capture("formats/plafrim/ibnetdiscover-p.txt") else { return };
    let folder = file.parent().expect("a folder");
    all.iter().for_each(|transcript| transcript.check(folder));
}
