//! Reads the state machines that people write (`state-machines/*.yaml`) and draws them. Nothing runs by a chart: tests
//! compare each with its transition function, and `examples/draw_state_machines.rs` draws the pages under
//! `docs/state-machines` from it.

use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A state machine as written by hand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Chart {
    /// Its name, that of its file.
    pub machine: String,
    /// Its name for people.
    pub title: String,
    /// What it is.
    pub about: String,
    /// The states; a run begins in the first.
    pub states: Vec<StateEntry>,
    /// The events.
    pub events: Vec<Named>,
    /// The commands.
    pub commands: Vec<Named>,
    /// The barriers.
    pub barriers: Vec<BarrierEntry>,
    /// The rows, with lists in them.
    pub transitions: Vec<Row>,
}

/// A state.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateEntry {
    /// Its name.
    pub name: String,
    /// What is the case in it.
    pub meaning: String,
    /// Why nothing can deadlock in it.
    pub safe: String,
}

/// An event or a command.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it means.
    pub meaning: String,
}

/// A barrier.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BarrierEntry {
    /// Its name.
    pub name: String,
    /// What must be true.
    pub demands: String,
    /// Who can show it.
    pub given_by: String,
    /// What happens when nobody can.
    pub when_missing: String,
}

/// One row: stands for an edge from each state of `from` on each event of `on`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Where it leads from.
    pub from: Names,
    /// What it is taken on.
    pub on: Names,
    /// When it is taken, where state and event do not settle it.
    #[serde(default)]
    pub guard: Option<String>,
    /// Where it leads to; `same` for where it came from.
    pub to: String,
    /// What is done, in order.
    #[serde(rename = "do")]
    pub commands: Vec<String>,
}

/// One name or several.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Names {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Names {
    fn all(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }
}

/// One edge: what happens in a state on an event.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edge {
    /// The state it leads from.
    pub from: String,
    /// The event.
    pub on: String,
    /// The state it leads to.
    pub to: String,
    /// The commands, in order.
    pub commands: Vec<String>,
}

/// Why a chart cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    /// No YAML, or not of this form; the message holds line and column.
    #[error("reading a state machine: {0}")]
    Yaml(#[from] serde_yaml::Error),
    /// A row names what was not declared.
    #[error("a row from {from} on {on} names the {kind} `{name}`, which is not declared: declare it, or mend the name")]
    Undeclared {
        /// Where the row leads from.
        from: String,
        /// What it is taken on.
        on: String,
        /// `state`, `event` or `command`.
        kind: &'static str,
        /// The name.
        name: String,
    },
    /// Two rows for one state and event without guards to tell them apart.
    #[error("two rows lead from {from} on {on} and are told apart by no guard: give each a guard of its own")]
    Ambiguous {
        /// The state.
        from: String,
        /// The event.
        on: String,
    },
}

impl Chart {
    /// Reads a chart and checks that its rows use declared names, and that guards tell apart what must be told apart.
    ///
    /// # Errors
    /// What [`ChartError`] lists.
    pub fn parse(yaml: &str) -> Result<Chart, ChartError> {
        let chart: Chart = serde_yaml::from_str(yaml)?;
        chart.check_names()?;
        chart.check_guards()?;
        Ok(chart)
    }

    /// Every row with its lists spelled out, in the order written.
    fn rows(&self) -> impl Iterator<Item = (&Row, Edge)> {
        self.transitions.iter().flat_map(|row| {
            let pairs = row.from.all().iter().flat_map(|from| row.on.all().iter().map(move |on| (from, on)));
            pairs.map(move |(from, on)| {
                let to = if row.to == "same" { from } else { &row.to };
                let edge = Edge { from: from.clone(), on: on.clone(), to: to.clone(), commands: row.commands.clone() };
                (row, edge)
            })
        })
    }

    /// Every edge.
    pub fn edges(&self) -> BTreeSet<Edge> {
        self.rows().map(|(_, edge)| edge).collect()
    }

    fn check_names(&self) -> Result<(), ChartError> {
        let states: BTreeSet<_> = self.states.iter().map(|state| &state.name).collect();
        let events: BTreeSet<_> = self.events.iter().map(|event| &event.name).collect();
        let commands: BTreeSet<_> = self.commands.iter().map(|command| &command.name).collect();
        for (_, edge) in self.rows() {
            let uses = [("state", &edge.from, &states), ("event", &edge.on, &events), ("state", &edge.to, &states)];
            let told = edge.commands.iter().map(|command| ("command", command, &commands));
            let unknown = uses.into_iter().chain(told).find(|(_, name, declared)| !declared.contains(name));
            if let Some((kind, name, _)) = unknown {
                let name = name.clone();
                return Err(ChartError::Undeclared { from: edge.from.clone(), on: edge.on.clone(), kind, name });
            }
        }
        Ok(())
    }

    /// Of the rows for one state and event at most one may do without a guard, and no two may share one.
    fn check_guards(&self) -> Result<(), ChartError> {
        let mut seen = BTreeSet::new();
        for (row, edge) in self.rows() {
            if !seen.insert((edge.from.clone(), edge.on.clone(), row.guard.clone())) {
                return Err(ChartError::Ambiguous { from: edge.from, on: edge.on });
            }
        }
        Ok(())
    }

    /// The chart as a page: a diagram of the edges that change the state, and tables of everything.
    pub fn to_markdown(&self) -> String {
        let mut page = format!(
            "# {}\n\nDrawn from `state-machines/{}.yaml` by `cargo run --example draw_state_machines`; do not edit.\n\n{}\n\n",
            self.title,
            self.machine,
            wrapped(&self.about)
        );
        page += &self.diagram();
        let states = self.states.iter().map(|state| vec![code(&state.name), state.meaning.clone(), state.safe.clone()]);
        page += &table("States", &["state", "meaning", "why it is safe"], states);
        let named = |entries: &[Named]| -> Vec<Vec<String>> {
            entries.iter().map(|entry| vec![code(&entry.name), entry.meaning.clone()]).collect()
        };
        page += &table("Events", &["event", "meaning"], named(&self.events).into_iter());
        page += &table("Commands", &["command", "meaning"], named(&self.commands).into_iter());
        let barriers = self.barriers.iter().map(|barrier| {
            vec![code(&barrier.name), barrier.demands.clone(), barrier.given_by.clone(), barrier.when_missing.clone()]
        });
        if !self.barriers.is_empty() {
            page += &table("Barriers", &["barrier", "demands", "given by", "when it does not come"], barriers);
        }
        let rows = self.transitions.iter().map(|row| {
            let list = |names: &Names| names.all().iter().map(|name| code(name)).collect::<Vec<_>>().join(", ");
            let commands = row.commands.iter().map(|command| code(command)).collect::<Vec<_>>().join(", ");
            let to = if row.to == "same" { "stays".to_string() } else { code(&row.to) };
            vec![list(&row.from), list(&row.on), row.guard.clone().unwrap_or_default(), to, commands]
        });
        page += &table("Transitions", &["from", "on", "when", "to", "commands"], rows);
        page
    }

    /// The edges that change the state, as a Mermaid diagram; several events between two states share an arrow.
    fn diagram(&self) -> String {
        let mut text = String::from("```mermaid\nstateDiagram-v2\n");
        for state in &self.states {
            _ = writeln!(text, "    state \"{}\" as {}", state.name, identifier(&state.name));
        }
        if let Some(first) = self.states.first() {
            _ = writeln!(text, "    [*] --> {}", identifier(&first.name));
        }
        let mut drawn: Vec<(String, String, Vec<String>)> = Vec::new();
        for (_, edge) in self.rows().filter(|(_, edge)| edge.from != edge.to) {
            match drawn.iter_mut().find(|(from, to, _)| (from, to) == (&edge.from, &edge.to)) {
                Some((_, _, events)) if events.contains(&edge.on) => {}
                Some((_, _, events)) => events.push(edge.on),
                None => drawn.push((edge.from, edge.to, vec![edge.on])),
            }
        }
        for (from, to, events) in drawn {
            _ = writeln!(text, "    {} --> {}: {}", identifier(&from), identifier(&to), events.join(" / "));
        }
        text + "```\n\n"
    }
}

/// Prose in lines of 120 columns at most, as in pages that people write.
fn wrapped(text: &str) -> String {
    let (mut lines, mut columns) = (String::new(), 0);
    for word in text.split_whitespace() {
        let length = word.chars().count();
        let fits = columns > 0 && columns + 1 + length <= 120;
        if columns > 0 {
            lines.push(if fits { ' ' } else { '\n' });
        }
        lines += word;
        columns = if fits { columns + 1 + length } else { length };
    }
    lines
}

fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

fn code(name: &str) -> String {
    format!("`{name}`")
}

fn table(title: &str, columns: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut text = format!("## {title}\n\n| {} |\n|{}\n", columns.join(" | "), "---|".repeat(columns.len()));
    for row in rows {
        _ = writeln!(text, "| {} |", row.join(" | "));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "
machine: door
title: A door
about: Opens.
states:
  - {name: shut, meaning: m, safe: s}
  - {name: open, meaning: m, safe: s}
events: [{name: push, meaning: m}]
commands: [{name: creak, meaning: m}]
barriers: []
transitions:
  - {from: shut, on: push, to: open, do: [creak]}
  - {from: [shut, open], on: push, guard: locked, to: same, do: []}
";

    #[test]
    fn lists_are_spelled_out() {
        let edges = Chart::parse(SMALL).unwrap().edges();
        let named: Vec<_> = edges.iter().map(|edge| format!("{}-{}>{}", edge.from, edge.on, edge.to)).collect();
        assert_eq!(named, ["open-push>open", "shut-push>open", "shut-push>shut"]);
    }

    #[test]
    fn an_undeclared_name_and_an_ambiguous_row_are_refused() {
        let undeclared = SMALL.replace("do: [creak]", "do: [squeak]");
        let message = Chart::parse(&undeclared).unwrap_err().to_string();
        assert!(message.contains("the command `squeak`"), "{message}");
        let ambiguous = SMALL.replace(", guard: locked", "");
        let message = Chart::parse(&ambiguous).unwrap_err().to_string();
        assert!(message.contains("from shut on push"), "{message}");
    }

    #[test]
    fn a_misspelt_key_is_named_with_its_line() {
        let message = Chart::parse(&SMALL.replace("about:", "abuot:")).unwrap_err().to_string();
        assert!(message.contains("abuot"), "{message}");
    }
}
