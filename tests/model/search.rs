//! Exhaustive search of a finite model: every state that can be reached, breadth first, so that a fault is shown by the
//! shortest run to it; and of the whole graph, whether an end can still be reached from everywhere.
//!
//! States are kept whole, not as fingerprints: none is ever taken for another. Nothing depends on hashing order: states
//! are numbered as they are found.

use rustc_hash::FxHasher;
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// What is searched.
pub trait Model {
    type State: Clone + Eq + Hash;
    type Step: Clone + Debug;
    type Fault: Debug;

    fn initial(&self) -> Self::State;

    /// Every step that can be taken, and where it leads.
    fn steps(&self, state: &Self::State, found: &mut Vec<(Self::Step, Self::State)>);

    /// What must never be. Nothing is looked for behind a faulty state.
    fn fault(&self, state: &Self::State) -> Option<Self::Fault>;

    /// Whether the run may rest here. From every state one such must remain within reach.
    fn is_end(&self, state: &Self::State) -> bool;
}

/// What a search has found.
pub struct Explored<M: Model> {
    pub states: Vec<M::State>,
    pub fault: Option<Found<M>>,
    /// Where each state was reached from first; the first state from itself.
    parents: Vec<u32>,
    /// By state: where its edges begin in `heads`.
    edges: Vec<usize>,
    heads: Vec<u32>,
}

/// A state that must not be, and the shortest run to it.
pub struct Found<M: Model> {
    pub fault: M::Fault,
    pub run: Vec<M::Step>,
}

/// Searches until a fault is found or every state was met.
///
/// # Panics
/// More than `limit` states: the case is too large to be searched, and a part of it proves nothing.
pub fn explore<M: Model>(model: &M, limit: usize) -> Explored<M> {
    let mut explored: Explored<M> =
        Explored { states: Vec::new(), fault: None, parents: Vec::new(), edges: vec![0], heads: Vec::new() };
    let mut index = Index::new();
    let mut found = Vec::new();
    index.number(&mut explored.states, model.initial());
    explored.parents.push(0);
    let mut at = 0;
    while at < explored.states.len() {
        let state = explored.states[at].clone();
        if let Some(fault) = model.fault(&state) {
            explored.fault = Some(Found { fault, run: explored.run_to(model, at) });
            return explored;
        }
        found.clear();
        model.steps(&state, &mut found);
        for (_, next) in found.drain(..) {
            let head = index.number(&mut explored.states, next);
            if head == explored.parents.len() {
                explored.parents.push(at as u32);
            }
            explored.heads.push(head as u32);
        }
        explored.edges.push(explored.heads.len());
        assert!(explored.states.len() <= limit, "more than {limit} states: the case is too large");
        at += 1;
    }
    explored
}

impl<M: Model> Explored<M> {
    /// How many steps were taken in all.
    pub fn steps(&self) -> usize {
        self.heads.len()
    }

    /// The shortest run to a state, by its number.
    pub fn run_to(&self, model: &M, state: usize) -> Vec<M::Step> {
        let mut way = vec![state];
        while way[way.len() - 1] != 0 {
            way.push(self.parents[way[way.len() - 1]] as usize);
        }
        way.reverse();
        let mut found = Vec::new();
        let step = |pair: &[usize]| {
            found.clear();
            model.steps(&self.states[pair[0]], &mut found);
            let taken = found.iter().find(|(_, next)| *next == self.states[pair[1]]);
            taken.map(|(step, _)| step.clone()).expect("a step led there")
        };
        way.windows(2).map(step).collect()
    }

    /// The first state from which no end can be reached any more.
    pub fn trap(&self, model: &M) -> Option<usize> {
        let mut ends = vec![false; self.states.len()];
        let mut open: Vec<u32> = Vec::new();
        for (at, _) in self.states.iter().enumerate().filter(|(_, state)| model.is_end(state)) {
            ends[at] = true;
            open.push(at as u32);
        }
        let tails = self.tails();
        while let Some(head) = open.pop() {
            for &tail in tails.of(head as usize) {
                if !std::mem::replace(&mut ends[tail as usize], true) {
                    open.push(tail);
                }
            }
        }
        ends.iter().position(|reached| !reached)
    }

    /// The edges turned round.
    fn tails(&self) -> Lists {
        let mut first = vec![0usize; self.states.len() + 1];
        self.heads.iter().for_each(|&head| first[head as usize + 1] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let mut free = first.clone();
        let mut entries = vec![0u32; self.heads.len()];
        for (tail, range) in self.edges.windows(2).enumerate() {
            for &head in &self.heads[range[0]..range[1]] {
                entries[free[head as usize]] = tail as u32;
                free[head as usize] += 1;
            }
        }
        Lists { first, entries }
    }
}

/// Lists one behind the other.
struct Lists {
    first: Vec<usize>,
    entries: Vec<u32>,
}

impl Lists {
    fn of(&self, index: usize) -> &[u32] {
        &self.entries[self.first[index]..self.first[index + 1]]
    }
}

/// Numbers of states by their content: open addressing into the list of states. A state is compared only with those of
/// its hash: they are large, and far apart in memory.
struct Index {
    slots: Vec<u32>,
    /// By state.
    hashes: Vec<u64>,
}

const FREE: u32 = u32::MAX;

impl Index {
    fn new() -> Index {
        Index { slots: vec![FREE; 1 << 10], hashes: Vec::new() }
    }

    /// The number of a state, which joins the list if it is new.
    fn number<S: Eq + Hash>(&mut self, states: &mut Vec<S>, state: S) -> usize {
        if states.len() * 2 > self.slots.len() {
            self.grow();
        }
        let mut hasher = FxHasher::default();
        state.hash(&mut hasher);
        let hash = hasher.finish();
        let slot = self.slot(hash, |number| states[number] == state);
        if self.slots[slot] == FREE {
            self.slots[slot] = states.len() as u32;
            self.hashes.push(hash);
            states.push(state);
        }
        self.slots[slot] as usize
    }

    /// Where the state of a hash is, or where it belongs. `is_it` compares with the state of a number.
    fn slot(&self, hash: u64, is_it: impl Fn(usize) -> bool) -> usize {
        let mask = self.slots.len() - 1;
        let other = |number: u32| number != FREE && !(self.hashes[number as usize] == hash && is_it(number as usize));
        let mut slot = hash as usize & mask;
        while other(self.slots[slot]) {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![FREE; self.slots.len() * 4];
        for (number, &hash) in self.hashes.iter().enumerate() {
            // All of them differ, so each takes a free slot.
            let slot = self.slot(hash, |_| false);
            self.slots[slot] = number as u32;
        }
    }
}

/// Steps on a small graph, to test the search itself.
struct Graph {
    edges: &'static [(u8, u8)],
    bad: Option<u8>,
    end: u8,
}

impl Model for Graph {
    type State = u8;
    type Step = u8;
    type Fault = u8;

    fn initial(&self) -> u8 {
        0
    }

    fn steps(&self, state: &u8, found: &mut Vec<(u8, u8)>) {
        found.extend(self.edges.iter().filter(|edge| edge.0 == *state).map(|edge| (edge.1, edge.1)));
    }

    fn fault(&self, state: &u8) -> Option<u8> {
        self.bad.filter(|bad| bad == state)
    }

    fn is_end(&self, state: &u8) -> bool {
        *state == self.end
    }
}

#[test]
fn a_fault_is_shown_by_the_shortest_run() {
    let edges = &[(0, 1), (1, 2), (2, 9), (0, 3), (3, 9), (9, 5)];
    let explored = explore(&Graph { edges, bad: Some(9), end: 5 }, 100);
    assert_eq!(explored.fault.map(|found| (found.fault, found.run)), Some((9, vec![3, 9])));
    let explored = explore(&Graph { edges, bad: Some(7), end: 5 }, 100);
    assert!(explored.fault.is_none(), "what cannot be reached is no fault");
    assert_eq!((explored.states.len(), explored.steps()), (6, 6));
}

#[test]
fn a_round_without_a_way_to_the_end_is_a_trap() {
    let graph = |edges| Graph { edges, bad: None, end: 3 };
    let trapped = graph(&[(0, 1), (1, 2), (2, 1), (0, 3)]);
    let explored = explore(&trapped, 100);
    let trap = explored.trap(&trapped).expect("1 and 2 lead round for ever");
    assert_eq!(explored.states[trap], 1);
    let free = graph(&[(0, 1), (1, 2), (2, 1), (2, 3)]);
    assert_eq!(explore(&free, 100).trap(&free), None);
}

#[test]
#[should_panic(expected = "more than 2 states")]
fn a_search_that_does_not_end_is_a_failure() {
    explore(&Graph { edges: &[(0, 1), (1, 2), (2, 3)], bad: None, end: 3 }, 2);
}
