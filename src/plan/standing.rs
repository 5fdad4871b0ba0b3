//! Whether devices hold what they may hold while a wave of a plan runs.

use super::Plan;
use super::scheme::sl_to_vl_pairs;
use crate::fabric::{Fabric, NodeId};
use crate::tables::{LFT_BLOCK, SubnetTables};
use std::ops::RangeInclusive;

impl Plan {
    /// Whether every entry of `held`, as read from the devices of `alive`, is one of those that this plan has in force while
    /// the wave runs: what it finds, or what it writes. While the plan is called off, anything that it has had in force so
    /// far. Compared are forwarding blocks, the units of a write, and the SL-to-VL tables that a packet may meet; which half
    /// sources send on cannot be read.
    ///
    /// # Errors
    /// The first device that holds something else, as text for the user.
    pub fn admits(&self, held: &SubnetTables, alive: &Fabric, wave: usize, is_called_off: bool) -> Result<(), String> {
        let earliest = if is_called_off { 0 } else { wave };
        let states = &self.states[earliest..=wave + 1];
        for (node, _) in alive.nodes().filter(|(_, node)| node.present) {
            if let Some(block) = self.other_block(held, states, node) {
                let lids = lids_of(block);
                return Err(format!(
                    "{} holds forwarding entries for LIDs {} to {} that this wave has not",
                    alive.describe_node(node),
                    lids.start(),
                    lids.end()
                ));
            }
            let of = |tables: &SubnetTables, (input, output)| *tables.sl_to_vl[node.index()].get(input, output);
            let is_other = |&pair: &_| states.iter().all(|tables| of(tables, pair) != of(held, pair));
            if let Some((input, output)) = sl_to_vl_pairs(alive, node).into_iter().find(is_other) {
                return Err(format!(
                    "{} maps service levels from port {input} to port {output} otherwise than this wave",
                    alive.describe_node(node)
                ));
            }
        }
        Ok(())
    }

    fn other_block(&self, held: &SubnetTables, states: &[SubnetTables], node: NodeId) -> Option<u16> {
        let lft = |tables: &SubnetTables| tables.lfts[node.index()].clone();
        let blocks = states.iter().map(|tables| lft(tables).blocks()).max().unwrap_or(0);
        (0..blocks).find(|&block| states.iter().all(|tables| lft(tables).block(block) != lft(held).block(block)))
    }
}

fn lids_of(block: u16) -> RangeInclusive<usize> {
    let first = usize::from(block) * LFT_BLOCK;
    first..=first + LFT_BLOCK - 1
}
