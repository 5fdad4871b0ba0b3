//! Every kind of page of `--report` at a phone's, half a screen's and a screen's width, in light and in dark colours.

use super::FIXTURES;
use crate::support::browser::{self, Browser};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const FAT_TREE: &str = "topologies/fat-tree-4-2.ibnetdiscover";
const GHOST: &str = "topologies/ghost-cycle.ibnetdiscover";
const TORUS: &str = "topologies/torus-4x4.ibnetdiscover";
const MINHOP: [&str; 3] = ["dumps/torus-minhop.ibnetdiscover", "--lfts", "dumps/torus-minhop.dump_fts"];

/// A run with little traffic.
pub(super) const QUICK: [&str; 8] = ["--load", "0.05", "--warm-up", "20", "--before", "50", "--after", "50"];

/// The name of a page, which is that of its pictures, and the command that writes it.
type Kind<'a> = (&'a str, Vec<&'a str>);

/// A page of every kind, with each of its parts on some page.
fn kinds() -> Vec<Kind<'static>> {
    let sudden = ["--remove-switch", "switch-1", "--sudden", "--scheme", "in-place"];
    let runs = |own: &[&'static str]| [&["simulate"], own, &QUICK[..]].concat();
    vec![
        ("simulate-steady", runs(&[FAT_TREE, "--steady"])),
        ("simulate-removal", runs(&[FAT_TREE, "--remove-root"])),
        ("simulate-compare", runs(&[FAT_TREE, "--remove-root", "--compare"])),
        ("simulate-deadlock", [&["simulate", GHOST, "--adversary"], &sudden[..]].concat()),
        ("simulate-subnets", vec!["simulate", "subnets/two-subnets.subnets.yaml", "--steady", "--load", "0.02"]),
        ("plan-proved", vec!["plan", FAT_TREE, "--remove-switch", "spine-1"]),
        ("plan-refused", [&["plan", GHOST], &sudden[..]].concat()),
        ("plan-not-planned", vec!["plan", TORUS, "--remove-switch", "switch-0-0", "--lmc", "0", "--allow-cut-off"]),
        ("audit-safe", vec!["audit", "dumps/ring-3.ibnetdiscover", "--lfts", "dumps/ring-3.dump_fts"]),
        ("audit-unsafe", [&["audit"], &MINHOP[..]].concat()),
        ("audit-subnets", vec!["audit", "subnets/forgotten-router.subnets.yaml", "--engine", "up-down"]),
        ("route-proved", vec!["route", FAT_TREE]),
        ("route-refused", vec!["route", TORUS, "--engine", "min-hop"]),
        ("route-subnets", vec!["route", "subnets/two-subnets.subnets.yaml"]),
        ("reproduce", vec!["reproduce", "seed-000", "--table", "4a", "--row", "16", "--fabrics", "1"]),
        ("what-if", vec!["what-if", FAT_TREE]),
        ("what-if-worst", vec!["what-if", FAT_TREE, "--worst", "3"]),
        ("what-if-refused", vec!["what-if", "topologies/mesh-4x4.ibnetdiscover", "--lmc", "0", "--engine", "lash"]),
    ]
}

pub(super) fn reconfig(arguments: &[&str]) -> Vec<u8> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").current_dir(FIXTURES).stdin(Stdio::null());
    command.output().expect("the binary runs").stdout
}

pub(super) fn written(arguments: &[&str], folder: &Path) -> String {
    let file = folder.join("report.html");
    reconfig(&[arguments, &["--report", file.to_str().expect("a folder in UTF-8")]].concat());
    let page = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{arguments:?}: {error}"));
    fs::remove_file(file).expect("it is there");
    page
}

#[test]
fn every_kind_of_page_is_looked_at() {
    let help = reconfig(&["--help"]);
    let help = String::from_utf8(help).expect("UTF-8");
    let (_, commands) = help.split_once("Commands:\n").expect("commands");
    let (commands, _) = commands.split_once("\n\n").expect("their end");
    let own =
        commands.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next().filter(|own| !own.is_empty()));
    let pages = |name: &&str| String::from_utf8_lossy(&reconfig(&[name, "--help"])).contains("--report <FILE>");
    let wanted: BTreeSet<&str> = own.filter(pages).collect();
    let looked_at: BTreeSet<&str> = kinds().into_iter().map(|(_, command)| command[0]).collect();
    assert!(wanted.len() > 5, "{wanted:?}");
    assert_eq!(looked_at, wanted);
}

#[test]
fn a_page_is_readable_at_every_width_in_light_and_in_dark() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = Browser::start(folder.path());
    for (name, command) in kinds() {
        browser.assert_readable(name, &written(&command, folder.path()), folder.path());
    }
}

/// What the other tests rest on: a page that fails is noticed.
#[test]
fn a_script_that_fails_a_warning_and_a_wide_page_are_noticed() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (fault, told) in [
        ("<script>none()</script>", "none is not defined"),
        ("<script>console.warn('odd')</script>", "odd"),
        ("<p style='width: 900px'>wide</p>", "pixels, of which"),
        ("<details><summary>more</summary><p style='width: 900px'>wide</p></details>", "unfolded"),
    ] {
        let page = written(&["route", FAT_TREE], folder.path()).replace("</main>", &format!("{fault}</main>"));
        let looks = std::panic::AssertUnwindSafe(|| {
            Browser::start(tempfile::tempdir().expect("a folder").path()).assert_readable(
                "faulty",
                &page,
                folder.path(),
            );
        });
        let why = std::panic::catch_unwind(looks).expect_err(fault);
        let why = why.downcast_ref::<String>().expect("a message");
        assert!(why.contains(told), "{fault}: {why}");
    }
}
