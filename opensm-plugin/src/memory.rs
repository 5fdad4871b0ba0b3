//! What the engine remembers between two runs: the fabric and the tables that it last handed to OpenSM.
//!
//! On entry of [`Memory::compare`]: what OpenSM sees now. On return: both in one index space with what was lost and
//! what has come, or why that cannot be had, in which case the subnet is taken as found. What is remembered is only
//! trusted as far as the switches hold it.

use crate::sight::Sight;
use reconfig::fabric::difference::{Union, union};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Guid;
use reconfig::tables::Lft;
use std::sync::Arc;

/// The last run.
#[derive(Clone, Debug)]
pub struct Memory {
    /// What was routed.
    pub fabric: Arc<Fabric>,
    /// What was seen then: without what had died, where rows still lead into that, and with what had come and waits.
    pub seen: Arc<Fabric>,
    /// By the nodes of what was routed: what OpenSM was told to write.
    pub lfts: Vec<Arc<Lft>>,
    /// By its nodes: what was in force before.
    pub earlier: Vec<Arc<Lft>>,
    /// Whether `fabric` is what there was before a loss, since some rows still lead into what has died.
    pub has_rest: bool,
}

/// Then and now in one index space.
pub struct ThenAndNow {
    /// What was routed, and what has come.
    pub whole: Arc<Fabric>,
    /// What was routed.
    pub before: Arc<Fabric>,
    /// What is there now.
    pub now: Arc<Fabric>,
    /// By node: what is in force; of what has gone, what was.
    pub lfts: Vec<Arc<Lft>>,
    /// OpenSM's port.
    pub sm: PortId,
    /// Whether something was lost.
    pub lost: bool,
    /// Whether something has come.
    pub gained: bool,
}

impl ThenAndNow {
    /// Whether more has come than cables.
    pub fn has_new_nodes(&self) -> bool {
        self.now.nodes().any(|(id, node)| node.present && !self.before.node(id).present)
    }
}

/// What is remembered beside what is seen.
pub enum Recollection {
    /// Switches hold what they were told to.
    Held(Box<ThenAndNow>),
    /// Some hold what they held before: the last wave was not written to its end, and nothing else has changed.
    Unfinished,
    /// The subnet must be taken as found, for this reason.
    Foreign(String),
}

impl Memory {
    /// What a switch was told.
    pub fn table(&self, guid: u64) -> Option<&Lft> {
        let node = self.fabric.by_guid(Guid(guid)).filter(|&node| self.fabric.node(node).present)?;
        Some(&self.lfts[node.index()])
    }

    /// The sight with what silent switches hold, unless they started anew and hold nothing: blocks that they have
    /// acknowledged, as (node, block), or that the last wave did not change. None where another block is silent.
    pub fn told(&self, sight: &Sight, acknowledged: &[(usize, u16)]) -> Option<Sight> {
        let mut told = sight.clone();
        for &(switch, block) in &sight.silent {
            let node = self.fabric.by_guid(sight.fabric.node(switch).guid);
            let node = node.filter(|&node| self.fabric.node(node).present)?;
            let entries = self.lfts[node.index()].block(block);
            let is_known = acknowledged.contains(&(switch.index(), block));
            if !is_known && self.earlier[node.index()].block(block) != entries {
                return None;
            }
            Arc::make_mut(&mut told.lfts[switch.index()]).set_block(block, &entries);
        }
        Some(told)
    }

    /// A switch of the last run that OpenSM does not see any more, although a link to it carries data.
    pub fn unheard(&self, sight: &Sight) -> Option<String> {
        sight.open.iter().find_map(|&(switch, num)| {
            let own = self.seen.by_guid(sight.fabric.node(switch).guid)?;
            let far = self.seen.neighbour(self.seen.port_at(own, num)?)?;
            let is_there = sight.fabric.by_guid(self.seen.node(far).guid).is_some();
            (self.seen.node(far).is_switch() && !is_there).then(|| {
                let [far, own] = [far, own].map(|node| self.seen.describe_node(node));
                format!("{far} does not answer, although its link to port {num} of {own} is up")
            })
        })
    }

    /// What the last run says of this sight.
    pub fn compare(&self, sight: &Sight) -> Recollection {
        let whole = match union(&self.fabric, &sight.fabric) {
            Ok(whole) => whole,
            Err(why) => return Recollection::Foreign(why.to_string()),
        };
        if let Some(conflict) = whole.lid_conflicts.first() {
            let port = whole.fabric.describe_port(conflict.port);
            return Recollection::Foreign(format!("{port} has another LID than before"));
        }
        let Some(sm) = same_port(&sight.fabric, sight.sm, &whole.fabric) else {
            return Recollection::Foreign("OpenSM runs on a port that was not there".to_string());
        };
        let (before, now) = (whole.before(), whole.after());
        let lost = lacks(&before, &now);
        let gained = lacks(&now, &before);
        match self.in_force(&whole, sight) {
            Ok(lfts) => {
                let [whole, before, now] = [whole.fabric.clone(), before, now].map(Arc::new);
                Recollection::Held(Box::new(ThenAndNow { whole, before, now, lfts, sm, lost, gained }))
            }
            Err(Strange { partly: true, .. }) if self.sees_the_same(&sight.fabric) => Recollection::Unfinished,
            Err(Strange { switch, .. }) => {
                Recollection::Foreign(format!("{switch} holds other forwarding entries than it was given"))
            }
        }
    }

    /// Whether nothing was lost and nothing has come since the last run.
    pub fn sees_the_same(&self, fabric: &Fabric) -> bool {
        union(&self.seen, fabric).is_ok_and(|both| {
            let (then, now) = (both.before(), both.after());
            both.lid_conflicts.is_empty() && !lacks(&then, &now) && !lacks(&now, &then)
        })
    }

    /// By node of both: what is in force.
    fn in_force(&self, whole: &Union, sight: &Sight) -> Result<Vec<Arc<Lft>>, Strange> {
        let mut lfts = vec![Arc::default(); whole.fabric.node_count()];
        // Indices of what was are indices of both.
        lfts[..self.lfts.len()].clone_from_slice(&self.lfts);
        let mut strange: Option<Strange> = None;
        for switch in sight.fabric.switches() {
            let guid = sight.fabric.node(switch).guid;
            let Some(at) = whole.fabric.by_guid(guid) else { continue };
            let held = &sight.lfts[switch.index()];
            let known = self.fabric.by_guid(guid).filter(|&node| self.fabric.node(node).present);
            let Some(known) = known.filter(|known| !same(&sight.fabric, held, &self.lfts[known.index()])) else {
                // One value where they lead alike: what is known of the tables in force is known by that.
                let alike = known.map(|known| &self.lfts[known.index()]);
                let alike = alike.filter(|lft| lft.differing(held).next().is_none());
                lfts[at.index()] = alike.unwrap_or(held).clone();
                continue;
            };
            let partly = self.is_mixture(known, held);
            let all = strange.as_ref().is_none_or(|earlier| earlier.partly) && partly;
            strange = Some(Strange { switch: sight.fabric.describe_node(switch), partly: all });
        }
        strange.map_or(Ok(lfts), Err)
    }

    /// Whether each entry that a switch holds is of the tables before or after the last wave.
    fn is_mixture(&self, switch: NodeId, held: &Lft) -> bool {
        let (old, new) = (&self.earlier[switch.index()], &self.lfts[switch.index()]);
        held.differing(new).all(|lid| held.get(lid) == old.get(lid))
    }
}

/// A switch that holds what it was not told to.
struct Strange {
    switch: String,
    /// Whether all such switches hold what they held before the last wave.
    partly: bool,
}

/// Whether two tables lead alike wherever somebody owns the LID.
fn same(fabric: &Fabric, one: &Lft, other: &Lft) -> bool {
    one.differing(other).all(|lid| fabric.lid_owner(lid).is_none())
}

/// Whether one fabric has a node or a cable that another of the same indices lacks.
fn lacks(having: &Fabric, lacking: &Fabric) -> bool {
    let node = having.nodes().any(|(id, node)| node.present && !lacking.node(id).present);
    node || having.ports().any(|(id, port)| port.peer.is_some() && lacking.peer(id).is_none())
}

/// A port by the GUID of its node, and its number.
pub fn same_port(from: &Fabric, port: PortId, to: &Fabric) -> Option<PortId> {
    let held = from.port(port);
    to.by_guid(from.node(held.node).guid).and_then(|node| to.port_at(node, held.num))
}

/// Tables by the nodes of another fabric; `own` has those of nodes that the first one lacks.
pub fn carried(from: &Fabric, lfts: &[Arc<Lft>], to: &Fabric, own: &[Arc<Lft>]) -> Vec<Arc<Lft>> {
    let present = |guid| from.by_guid(guid).filter(|&node| from.node(node).present);
    let table = |(id, guid): (NodeId, Guid)| present(guid).map_or(&own[id.index()], |node| &lfts[node.index()]).clone();
    to.nodes().map(|(id, node)| table((id, node.guid))).collect()
}

/// `having` without the nodes and cables that `lacking` does not have. Nodes are found by GUID.
pub fn common(having: &Fabric, lacking: &Fabric) -> Fabric {
    let other = |node: NodeId| lacking.by_guid(having.node(node).guid).filter(|&other| lacking.node(other).present);
    let gone: Vec<NodeId> = having.nodes().map(|(id, _)| id).filter(|&id| other(id).is_none()).collect();
    let cabled = |port: PortId| same_port(having, port, lacking).is_some_and(|port| lacking.peer(port).is_some());
    let ports = having.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id);
    let uncabled: Vec<PortId> = ports.filter(|&port| !cabled(port)).collect();
    having.without_nodes(&gone).without_links(&uncabled)
}
