//! Proof that a routing function, and every moment of a transition between two, is free of deadlock, loops and black
//! holes, and brings every packet to the port that owns its DLID.
//!
//! On entry: a [`Transition`], which says wave by wave what may be mixed. On return: [`Proved`], which nobody else can
//! make, or a refusal with its evidence. Knows no engine, no scheme and no phase.

use crate::fabric::Fabric;
use crate::ids::{Half, VlSet};
use crate::tables::SubnetTables;

/// What the prover must know of a plan.
pub trait Transition {
    /// The fabric before the change, LIDs assigned.
    fn fabric(&self) -> &Fabric;

    /// What is there while the waves run, with the same indices: `fabric` less what died beforehand.
    fn surviving(&self) -> &Fabric;

    /// The waves in order.
    fn waves(&self) -> Vec<WaveFacts<'_>>;
}

/// One wave as the prover sees it: any subset of its writes may have landed, in any order.
#[derive(Clone, Debug)]
pub struct WaveFacts<'a> {
    /// Its name, for evidence.
    pub name: String,
    /// Tables when the wave begins.
    pub before: &'a SubnetTables,
    /// Tables when it has ended.
    pub after: &'a SubnetTables,
    /// By half: whether sources may inject packets of its classes while the wave runs.
    pub injected: [bool; 2],
    /// Data lanes that the barrier before left empty everywhere, with nothing latched for them.
    pub empty: VlSet,
    /// Halves of which the barrier before left no packet anywhere.
    pub gone: [bool; 2],
}

impl WaveFacts<'_> {
    /// Whether sources may inject packets of a half while the wave runs.
    pub fn injects(&self, half: Half) -> bool {
        self.injected[half.index()]
    }
}

/// A value that the prover accepted. Only this module makes one.
#[derive(Clone, Debug)]
pub struct Proved<T>(T);

impl<T> Proved<T> {
    /// What was proved.
    pub fn get(&self) -> &T {
        &self.0
    }
}
