//! `simulate --report`: a page by itself, whose numbers are those of `--json`.

use super::command::{FABRIC, QUICK, simulate};
use crate::support::tools::all_there;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

const GHOST_CYCLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/ghost-cycle.ibnetdiscover");

/// The page of a run and its JSON.
fn made(folder: &Path, arguments: &[&str]) -> (PathBuf, String, Value) {
    let file = folder.join("page.html");
    let named = file.to_str().expect("UTF-8");
    let output = simulate(&[arguments, &["--json", "--report", named]].concat());
    let page = std::fs::read_to_string(&file)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (file, page, serde_json::from_slice(&output.stdout).expect("JSON beside the page"))
}

/// A number as reports show it: groups of three.
fn grouped(value: &Value) -> String {
    let digits = value.as_u64().expect("a count").to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join("\u{a0}")
}

fn text_of(page: &str) -> String {
    page.replace(['\u{202f}', '\u{2009}', ' '], "\u{a0}")
}

#[test]
fn a_page_has_the_numbers_of_the_run_and_names_nothing_outside() {
    let folder = tempfile::tempdir().unwrap();
    let (_, page, report) = made(folder.path(), &[&["--remove-root"], &QUICK[..], &[FABRIC]].concat());
    let page = text_of(&page);
    for (name, value) in [
        ("lost to the change", &report["packets"]["lost_to_change"]),
        ("lost in all", &report["lost_in_all"]),
        ("SMPs", &report["smps"]["total"]),
    ] {
        let shown = format!("<dt>{}</dt>", text_of(name));
        let after = page.split_once(&shown).unwrap_or_else(|| panic!("no figure `{name}`")).1;
        let value = grouped(value);
        assert!(after.split("</dd>").next().unwrap().ends_with(&format!(">{value}")), "{name}: {value}");
    }
    let trace = report["trace_hash"].as_str().map(str::to_string);
    let trace = trace.unwrap_or_else(|| format!("{:016x}", report["trace_hash"].as_u64().expect("a trace hash")));
    assert!(page.contains(&trace), "{trace}");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_same_run_gives_the_same_page() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = [&["--remove-root", "--compare"], &QUICK[..], &[FABRIC]].concat();
    let pages = [(); 2].map(|()| made(folder.path(), &arguments).1);
    assert!(pages[0] == pages[1] && pages[0].contains("Schemes side by side"));
}

#[test]
fn a_refused_run_leaves_no_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let output = simulate(&["--remove-switch", "nobody", "--report", file.to_str().unwrap(), FABRIC]);
    assert_eq!(output.status.code(), Some(2));
    assert!(!file.exists());
}

/// What Chromium makes of pages: no error of the script, tables that can be sorted, the deadlock drawn.
#[test]
fn pages_work_in_a_browser() {
    let browser = ["chromium", "chromium-browser", "google-chrome"];
    let starts = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success());
    let Some(browser) = browser.into_iter().find(starts) else {
        all_there(&["chromium".to_string()], "chromium");
        return;
    };
    let deadlocked = ["--remove-root", "--scheme", "in-place", "--adversary", GHOST_CYCLE];
    let compared = [&["--remove-root", "--compare"], &QUICK[..], &[FABRIC]].concat();
    for (arguments, wanted) in
        [(&deadlocked[..], "waits for, in the deadlock"), (&compared[..], "The same axes for all")]
    {
        let folder = tempfile::tempdir().unwrap();
        let (file, _, _) = made(folder.path(), arguments);
        let profile = format!("--user-data-dir={}", folder.path().join("profile").display());
        let options =
            ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom", &profile];
        let output =
            Command::new(browser).args(options).arg(format!("file://{}", file.display())).output().expect("it starts");
        let (dom, log) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(dom.contains(wanted), "{wanted}: {log}");
        assert!(dom.contains("<button type=\"button\">"), "the script has run: {log}");
        assert!(!log.contains("CONSOLE"), "{log}");
    }
}
