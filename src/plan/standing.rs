//! Whether devices hold what they may hold while a wave of a plan runs.

use super::Plan;
use super::scheme::sl_to_vl_pairs;
use crate::fabric::{Fabric, NodeId};
use crate::ids::{Half, Lid, Sl, Vl};
use crate::tables::{LFT_BLOCK, SlToVl, SubnetTables};
use std::ops::RangeInclusive;

impl Plan {
    /// Whether every entry of `held`, as read from the devices of `alive`, is one of those that this plan has in force while
    /// the wave runs: what it finds, or what it writes. While the plan is called off, anything that it has had in force so
    /// far. Compared are forwarding blocks, the units of a write, and the SL-to-VL tables that a packet may meet. A level
    /// that an end port discards is closed by the manager's fence, and sends nothing that the plan excludes. Which half
    /// sources send on cannot be read. Entries of `free`, a half on which nobody sends, may be any.
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
            let is_held = |held: SlToVl, planned: SlToVl| {
                Sl::all().all(|sl| held.get(sl) == planned.get(sl) || !is_switch && held.get(sl) == Vl::MANAGEMENT)
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
    let blocks = states.iter().map(|tables| lft(tables).blocks()).max().unwrap_or(0);
    let lids_of = |block: u16| {
        let first = block * LFT_BLOCK as u16;
        first..=first + (LFT_BLOCK as u16 - 1)
    };
    let is_as = |tables: &SubnetTables, block: u16| {
        let (planned, read) = (lft(tables).block(block), lft(held).block(block));
        planned == read
            || lids_of(block).zip(planned.iter().zip(&read)).all(|(lid, (a, b))| a == b || is_free(Lid(lid)))
    };
    (0..blocks).find(|&block| !states.iter().any(|tables| is_as(tables, block))).map(lids_of)
}
