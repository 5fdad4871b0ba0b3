//! Every observer of section D, the flush, the fence and the vacating, checked by exhaustive search: the judge is the
//! real one, the world around it is written anew.
//!
//! A world is a few switches and end ports, packets in queues that are first in, first out, agents that act late,
//! management packets that are lost, late or doubled, elements that die. In no run may the manager have its proof while
//! a packet remains of which the proof speaks. Each condition on which the proof rests can be taken away, one at a
//! time; then such a run must be found, which shows that the condition is needed and that the model can see its want.

mod aged;
mod counted;
mod flushed;
mod passages;
mod plane;
mod polled;
mod tokens;

use super::search::{Explored, Model, explore};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// States searched at most in one case.
const LIMIT: usize = 6_000_000;

/// A world with an observer in it.
trait Observed: Model<Fault = &'static str> {
    /// Whether the manager has its proof.
    fn claims(&self, state: &Self::State) -> bool;
}

/// Searches a world in which every condition holds: nothing remains whenever there is a proof, and there are proofs.
/// Where `always`, a proof remains within reach from every state.
fn assert_true<M: Observed>(what: &str, model: &M, always: bool) {
    let explored = explore(model, LIMIT);
    println!("{what}: {} states, {} steps", explored.states.len(), explored.steps());
    if let Some(found) = &explored.fault {
        panic!("{what}: {}, after\n{}", found.fault, lines(&found.run));
    }
    assert!(explored.states.iter().any(|state| model.claims(state)), "{what}: there is no proof in any run");
    if always {
        assert_no_trap(what, model, &explored);
    }
}

fn assert_no_trap<M: Observed>(what: &str, model: &M, explored: &Explored<M>) {
    if let Some(trap) = explored.trap(model) {
        panic!("{what}: no proof can come any more, after\n{}", lines(&explored.run_to(model, trap)));
    }
}

/// Searches a world that lacks one condition: there is a false proof, and it is shown by the shortest run.
fn assert_false<M: Observed>(what: &str, without: impl Debug, model: &M) {
    let explored = explore(model, LIMIT);
    let Some(found) = &explored.fault else {
        panic!("{what}: nothing depends on {without:?}, {} states", explored.states.len());
    };
    println!("{what} without {without:?}: {}, after {} steps", found.fault, found.run.len());
    if super::is_thorough() {
        println!("{}", lines(&found.run));
    }
}

fn lines(run: &[impl Debug]) -> String {
    run.iter().map(|step| format!("  {step:?}\n")).collect()
}

/// A judge as part of a state: two are one where their keys are. The key must tell apart all that a judge may do. Most
/// steps leave it alone, so states share it.
#[derive(Clone, Debug)]
struct Judged<J> {
    judge: Arc<J>,
    key: Arc<str>,
}

impl<J: Debug> Judged<J> {
    /// A judge whose states differ in anything that it holds.
    fn whole(judge: J) -> Judged<J> {
        let key = format!("{judge:?}").into();
        Judged { judge: Arc::new(judge), key }
    }
}

impl<J> PartialEq for Judged<J> {
    fn eq(&self, other: &Judged<J>) -> bool {
        self.key == other.key
    }
}

impl<J> Eq for Judged<J> {}

impl<J> Hash for Judged<J> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.key.hash(hasher);
    }
}
