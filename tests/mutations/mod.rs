//! Ways to break a plan, what the prover is told, or what carries a plan out; each is caught, and the table in
//! docs/MUTATIONS.md says by what.
//!
//! The table is written by this test (`UPDATE_EXPECT=1 cargo test --release --test suite mutations::`) and compared
//! otherwise. A row whose mutation nobody catches must say why it is harmless; `prover.sh` breaks the prover itself.

mod carried;
mod facts;
mod hosts_first;
mod plans;
mod recoveries;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Who can catch a mutation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Catcher {
    Reader,
    Lint,
    Prover,
    Checker,
    Machine,
    Judge,
    Manager,
    Ledger,
}

impl fmt::Display for Catcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Catcher::Reader => "reader",
            Catcher::Lint => "lint",
            Catcher::Prover => "prover",
            Catcher::Checker => "checker",
            Catcher::Machine => "machine",
            Catcher::Judge => "judge",
            Catcher::Manager => "manager",
            Catcher::Ledger => "simulator",
        })
    }
}

/// One row of a table: the mutation, what it breaks, and who catches it.
struct Row {
    name: &'static str,
    broken: &'static str,
    caught: Vec<Catcher>,
    /// Why nobody need catch it.
    harmless: Option<&'static str>,
}

impl Row {
    fn line(&self) -> String {
        let names: Vec<String> = self.caught.iter().map(Catcher::to_string).collect();
        let caught = match (self.caught.is_empty(), self.harmless) {
            (false, None) => names.join(", "),
            (false, Some(why)) => format!("{} ({why})", names.join(", ")),
            (true, Some(why)) => format!("nobody: {why}"),
            (true, None) => "**nobody**".to_string(),
        };
        format!("| {} | {} | {} |\n", self.name, self.broken, caught)
    }
}

const PAGE: &str = "docs/MUTATIONS.md";

/// Puts rows where the page has them, or compares.
fn settle(table: &str, rows: &[Row]) {
    let names: BTreeMap<_, _> = rows.iter().map(|row| (row.name, ())).collect();
    assert_eq!(names.len(), rows.len(), "two mutations have one name");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let page = std::fs::read_to_string(&path).expect("docs/MUTATIONS.md can be read");
    let (begin, end) = (format!("<!-- {table} -->\n"), format!("<!-- end of {table} -->"));
    let start = page.find(&begin).unwrap_or_else(|| panic!("{PAGE} has no table `{table}`")) + begin.len();
    let stop = page.find(&end).unwrap_or_else(|| panic!("{PAGE} has no end of table `{table}`"));
    let lines: String = rows.iter().map(Row::line).collect();
    let wanted = format!("| mutation | what is broken | caught by |\n|---|---|---|\n{lines}");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        let page = [&page[..start], &wanted, &page[stop..]].concat();
        std::fs::write(&path, page).expect("docs/MUTATIONS.md can be written");
    } else {
        assert!(page[start..stop] == wanted, "{PAGE}, table `{table}`, is not what was found:\n{wanted}");
    }
    for row in rows {
        assert!(!row.caught.is_empty() || row.harmless.is_some(), "nobody catches it: {}", row.name);
    }
}

#[test]
fn broken_plans_are_caught() {
    settle("plans", &plans::rows());
}

#[test]
fn broken_recoveries_are_caught() {
    settle("recoveries", &recoveries::rows());
}

#[test]
fn broken_plans_for_hosts_first_are_caught() {
    settle("hosts first", &hosts_first::rows());
}

#[test]
fn lies_to_the_prover_are_caught() {
    settle("facts", &facts::rows());
}

#[test]
fn what_goes_wrong_when_a_plan_is_carried_out_is_caught() {
    settle("carried out", &carried::rows());
}

#[test]
fn there_are_enough_of_them() {
    let plans = plans::MUTATIONS.len() + recoveries::MUTATIONS.len() + hosts_first::MUTATIONS.len();
    let count = plans + facts::LIES.len() + carried::MISHAPS.len();
    assert!(count >= 50, "{count} mutations");
}
