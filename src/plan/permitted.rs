//! Compares the tables of devices with those that a wave of a plan permits.

use super::scheme::sl_to_vl_pairs;
use super::{MovedBy, Plan, Scheme};
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, Lid, Sl, Vl};
use crate::tables::{LFT_BLOCK, SlToVl, SubnetTables};
use std::ops::RangeInclusive;

impl Plan {
    /// Verifies that every entry of `held`, as read from the devices of `alive`, is one that this plan has in force
    /// while the wave runs: one that it finds, or one that it writes. While the plan is called off, any entry that it
    /// has had in force so far is permitted. The units of comparison are forwarding blocks, as in a write, and the
    /// SL-to-VL tables that a packet may meet. Where this plan moves sources behind a fence, a level that an end port
    /// discards is closed by that fence, which opens it, and carries nothing that the plan excludes. The half on which
    /// sources send cannot be read. Entries of `free`, a half on which no host sends, are not compared.
    ///
    /// # Errors
    /// The first device that holds something else, as text for the user.
    pub fn admits(
        &self,
        held: &SubnetTables,
        alive: &Fabric,
        wave: usize,
        is_called_off: bool,
        free: Option<Half>,
    ) -> Result<(), String> {
        let is_fenced = self.scheme() == Scheme::Double && self.policy().sources == MovedBy::Fence;
        // `states` has one entry more than the plan has waves: a wave begins with its own entry and ends with the next
        // one. Calling off reverts SL-to-VL tables in any order and leaves forwarding entries as they are (C.1), so
        // every state up to this one may be found.
        let earliest = if is_called_off { 0 } else { wave };
        let states = &self.states[earliest..=wave + 1];
        let is_free = |lid: Lid| free.is_some() && alive.half_of(lid) == free;
        for (node, _) in alive.nodes().filter(|(_, node)| node.present) {
            if let Some(lids) = other_block(held, states, node, is_free) {
                return Err(format!(
                    "{} holds forwarding entries for LIDs {} to {} that this wave has not",
                    alive.describe_node(node),
                    lids.start(),
                    lids.end()
                ));
            }
            let of = |tables: &SubnetTables, (input, output)| *tables.sl_to_vl[node.index()].get(input, output);
            let is_switch = alive.node(node).is_switch();
            // C.4 excepts levels that an end port discards, since a fence only takes packets away from what was proved.
            // A switch has no fence: VL 15 there would be another table. Nor has a change that moves no sources, or
            // notifies them: it would leave closed what a recovery closed meanwhile.
            let is_held = |held: SlToVl, planned: SlToVl| {
                Sl::all().all(|sl| {
                    held.get(sl) == planned.get(sl) || is_fenced && !is_switch && held.get(sl) == Vl::MANAGEMENT
                })
            };
            let is_other = |&pair: &_| states.iter().all(|tables| !is_held(of(held, pair), of(tables, pair)));
            if let Some((input, output)) = sl_to_vl_pairs(alive, node).into_iter().find(is_other) {
                return Err(format!(
                    "{} maps service levels from port {input} to port {output} otherwise than this wave",
                    alive.describe_node(node)
                ));
            }
        }
        Ok(())
    }
}

/// The first block of a switch that is as in none of the states.
fn other_block(
    held: &SubnetTables,
    states: &[SubnetTables],
    node: NodeId,
    is_free: impl Fn(Lid) -> bool,
) -> Option<RangeInclusive<u16>> {
    let lft = |tables: &SubnetTables| tables.lfts[node.index()].clone();
    // The plan routes no LID beyond these blocks, so no class of its proof meets an entry there.
    let blocks = states.iter().map(|tables| lft(tables).blocks()).max().unwrap_or(0);
    let lids_of = |block: u16| {
        let first = block * LFT_BLOCK as u16;
        first..=first + (LFT_BLOCK as u16 - 1)
    };
    let is_as = |tables: &SubnetTables, block: u16| {
        let (planned, read) = (lft(tables).block(block), lft(held).block(block));
        // Each block by itself, against each state by itself: a block is written at once, and blocks of one wave land
        // in any order, so two blocks may be of different states, but none is a mixture.
        planned == read
            || lids_of(block).zip(planned.iter().zip(&read)).all(|(lid, (a, b))| a == b || is_free(Lid(lid)))
    };
    (0..blocks).find(|&block| !states.iter().any(|tables| is_as(tables, block))).map(lids_of)
}
