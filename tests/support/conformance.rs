//! Compares what a transition function does with what its chart says, in both directions.

use super::chart::{Chart, Edge};
use std::collections::BTreeSet;
use std::path::Path;

/// What a transition function was seen to do.
#[derive(Default)]
pub struct Conformance {
    met: BTreeSet<(&'static str, &'static str)>,
    taken: BTreeSet<Edge>,
}

impl Conformance {
    /// Notes that a state met an event.
    pub fn meet(&mut self, state: &'static str, event: &'static str) {
        self.met.insert((state, event));
    }

    /// Notes an edge that was taken: state, event, next state, commands in order.
    pub fn take(&mut self, from: &str, on: &str, to: &str, commands: Vec<String>) {
        self.taken.insert(Edge { from: from.into(), on: on.into(), to: to.into(), commands });
    }

    /// Every state of the chart met every event, every edge taken is drawn, and every edge drawn was taken.
    pub fn assert_agrees_with(&self, chart: &Chart) {
        let drawn = chart.edges();
        let undrawn: Vec<_> = self.taken.difference(&drawn).collect();
        assert!(undrawn.is_empty(), "{} does what no row of its chart says: {undrawn:#?}", chart.machine);
        let untaken: Vec<_> = drawn.difference(&self.taken).collect();
        assert!(untaken.is_empty(), "{}: no run ever took these rows of its chart: {untaken:#?}", chart.machine);
        assert_eq!(self.met.len(), chart.states.len() * chart.events.len(), "every state meets every event");
    }
}

/// The page under `docs/state-machines` is the one that the chart draws.
pub fn assert_page_is_current(chart: &Chart) {
    let page = format!("docs/state-machines/{}.md", chart.machine);
    let drawn = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&page));
    assert!(
        drawn.is_ok_and(|drawn| drawn == chart.to_markdown()),
        "{page}: run `cargo run --example draw_state_machines`"
    );
}
