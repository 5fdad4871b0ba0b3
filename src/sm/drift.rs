//! Addresses, forwarding entries and partitions that were changed from outside, found by asking devices in turn.
//!
//! Port-change bits and traps report links, not a LID or an entry that another program wrote. So after each light sweep
//! the manager makes as many further requests as there are switches, and after a few sweeps it has asked all devices; a
//! survey reads every LID at once. Values that differ are rewritten, because no proof covers them. Partition tables are
//! read again instead, because other programs write them.

use super::config::Config;
use super::error::SmError;
use super::partitions;
use super::set_up;
use super::settings::Basis;
use crate::driver::Running;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, Lmc, PortNum};
use crate::subnet::{Ask, Manager, RequestTarget};
use crate::tables::{LFT_BLOCK, Lft, Write};
use crate::transport::Transport;
use crate::wire::{AttributeId, LinearForwardingTable, PKeyTable, PortInfo};
use std::collections::BTreeSet;

/// The least number of questions after a light sweep, also with fewer switches.
const LEAST: usize = 16;

/// What to ask for.
#[derive(Clone, Copy, Debug)]
enum DriftQuestion {
    Address(PortId),
    Block(NodeId, u16),
    /// The first block of a partition table.
    Keys(PortId),
}

/// Where the round of requests continues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rounds {
    next: usize,
}

/// Values in devices that this manager did not write.
#[derive(Clone, Debug, Default)]
pub(super) struct Drift {
    ports: Vec<PortId>,
    blocks: Vec<(NodeId, u16)>,
    keys: Vec<PortId>,
    /// Whether some value to rewrite is not blank. Blank values show no other writer: a device that was switched off
    /// and on has no LID and no forwarding entries.
    by_others: bool,
}

impl Drift {
    /// The ports whose LIDs differ.
    pub(super) fn ports(&self) -> &[PortId] {
        &self.ports
    }

    /// The ports whose partition tables begin otherwise than when they were read.
    pub(super) fn keys(&self) -> &[PortId] {
        &self.keys
    }

    /// The differences that are to be mended, in words; `None` if there are none.
    pub(super) fn in_words(&self, fabric: &Fabric) -> Option<String> {
        let port = |&port: &PortId| format!("the LIDs of {}", fabric.describe_port(port));
        let block = |&(switch, block): &(NodeId, u16)| format!("block {block} of {}", fabric.describe_node(switch));
        let first = self.ports.iter().map(port).chain(self.blocks.iter().map(block)).next()?;
        let more = match self.ports.len() + self.blocks.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(match self.by_others {
            true => format!("somebody else has changed {first}{more}: written again"),
            false => format!("lost, as after a power cycle: {first}{more}; written again"),
        })
    }
}

/// Asks the next devices in turn. An event ends that, since a loss must not wait for answers of lost devices; the same
/// devices are then asked the next time.
pub(super) async fn look<T: Transport>(
    manager: &mut Manager<T>,
    running: &Running,
    rounds: &mut Rounds,
) -> Result<Drift, SmError> {
    let fabric = &*running.routed;
    let all = Questions::about(fabric);
    // A device that was silent lately would hold up the rest.
    let answers = |question: &DriftQuestion| match *question {
        DriftQuestion::Address(port) => !manager.failed_lately(fabric.port(port).node, AttributeId::PortInfo),
        DriftQuestion::Block(switch, _) => !manager.failed_lately(switch, AttributeId::LinearForwardingTable),
        DriftQuestion::Keys(port) => !manager.failed_lately(fabric.port(port).node, AttributeId::PKeyTable),
    };
    let share = all.switches.len().max(LEAST).min(all.count());
    let turn = (rounds.next..rounds.next + share).map(|rank| all.get(rank % all.count()));
    let asked: Vec<DriftQuestion> = turn.filter(answers).collect();
    let ask = |question: &DriftQuestion| match *question {
        DriftQuestion::Address(port) => {
            Ask::get(RequestTarget::Port(port), AttributeId::PortInfo, u32::from(fabric.port(port).num.0))
        }
        DriftQuestion::Block(switch, block) => {
            Ask::get(RequestTarget::Node(switch), AttributeId::LinearForwardingTable, block.into())
        }
        DriftQuestion::Keys(port) => partitions::reading(fabric, port, 0),
    };
    let Some(answers) = manager.ask_beside(asked.iter().map(ask).collect(), true).await? else {
        return Ok(Drift::default());
    };
    rounds.next = (rounds.next + share) % all.count().max(1);
    let given: BTreeSet<Lid> = fabric.lid_ports().flat_map(|port| lids(fabric, port)).collect();
    let mut drift = Drift::default();
    for (question, answer) in asked.into_iter().zip(answers) {
        // Silence is judged elsewhere.
        let Ok(data) = answer else { continue };
        match question {
            DriftQuestion::Address(port) => {
                let held = PortInfo::decode(&data);
                if differs(fabric, port, &held) {
                    drift.ports.push(port);
                    drift.by_others |= !is_blank(&held);
                }
            }
            DriftQuestion::Block(switch, block) => {
                let entries = LinearForwardingTable::decode(&data).0;
                let mut held = Lft::default();
                held.set_block(block, &entries);
                let wanted = &running.tables.lfts[switch.index()];
                // Only LIDs of this block are compared: a thousand switches have millions of rows.
                let first = block * LFT_BLOCK as u16;
                let mut lids = given.range(Lid(first)..=Lid(first + LFT_BLOCK as u16 - 1));
                if lids.any(|&lid| held.get(lid) != wanted.get(lid)) {
                    drift.blocks.push((switch, block));
                    drift.by_others |= entries.iter().any(|&output| output != PortNum::NO_ROUTE.0);
                }
            }
            DriftQuestion::Keys(port) if !partitions::is_known(manager, port, &PKeyTable::decode(&data)) => {
                drift.keys.push(port);
            }
            DriftQuestion::Keys(_) => {}
        }
    }
    Ok(drift)
}

/// The ports that last reported other LIDs than they were given.
pub(super) fn of_addresses<T: Transport>(manager: &Manager<T>, running: &Running) -> Drift {
    let fabric = &*running.routed;
    let is_there = |&port: &PortId| addressed(&running.alive, port);
    let drifted = |port: &PortId| manager.port_info(*port).is_some_and(|info| differs(fabric, *port, info));
    let ports: Vec<PortId> =
        fabric.lid_ports().filter(|&port| addressed(fabric, port)).filter(is_there).filter(drifted).collect();
    let by_others = ports.iter().filter_map(|&port| manager.port_info(port)).any(|held| !is_blank(held));
    Drift { ports, by_others, ..Drift::default() }
}

/// Writes back the values that devices were given.
pub(super) async fn mend<T: Transport>(
    manager: &mut Manager<T>,
    config: &Config,
    running: &Running,
    drift: &Drift,
) -> Result<(), SmError> {
    set_up::configure(manager, &Basis::of(running, config), &drift.ports).await?;
    let write = |&(switch, block): &(NodeId, u16)| {
        let entries = Box::new(running.tables.lfts[switch.index()].block(block));
        Write::LftBlock { switch, block, entries }
    };
    manager.apply_each(&running.alive, &drift.blocks.iter().map(write).collect::<Vec<_>>()).await?;
    Ok(())
}

/// All questions of a round. A thousand switches have a hundred thousand of them, and each turn takes a few.
struct Questions {
    ports: Vec<PortId>,
    switches: Vec<NodeId>,
    blocks: usize,
}

impl Questions {
    fn about(fabric: &Fabric) -> Questions {
        Questions {
            ports: fabric.lid_ports().filter(|&port| addressed(fabric, port)).collect(),
            switches: fabric.switches().collect(),
            blocks: fabric.max_lid().unwrap_or_default().index() / LFT_BLOCK + 1,
        }
    }

    fn count(&self) -> usize {
        2 * self.ports.len() + self.switches.len() * self.blocks
    }

    fn get(&self, rank: usize) -> DriftQuestion {
        let ports = self.ports.len();
        match rank.checked_sub(2 * ports) {
            None if rank < ports => DriftQuestion::Address(self.ports[rank]),
            None => DriftQuestion::Keys(self.ports[rank - ports]),
            Some(at) => DriftQuestion::Block(self.switches[at / self.blocks], (at % self.blocks) as u16),
        }
    }
}

/// The LIDs of a port.
fn lids(fabric: &Fabric, port: PortId) -> impl Iterator<Item = Lid> {
    let at = fabric.port(port);
    let (first, count) = (at.lid, at.lmc.lids());
    first.into_iter().flat_map(move |first| (0..count).map(move |rank| Lid(first.0 + rank)))
}

/// Whether a port is present and has LIDs.
fn addressed(fabric: &Fabric, port: PortId) -> bool {
    let at = fabric.port(port);
    let node = fabric.node(at.node);
    let reached = node.is_switch() && at.num == PortNum::ZERO || fabric.peer(port).is_some();
    node.present && reached && at.lid.is_some()
}

/// Whether a port has the LID of a device that was switched on and not set up since: none.
fn is_blank(held: &PortInfo) -> bool {
    held.lid == Lid::default()
}

fn differs(fabric: &Fabric, port: PortId, held: &PortInfo) -> bool {
    let given = fabric.port(port);
    // A switch's base port 0 has one LID, whatever its LMC.
    let lmc = |lmc: Lmc| if fabric.node(given.node).is_switch() { Lmc::default() } else { lmc };
    Some(held.lid) != given.lid || lmc(held.lmc) != lmc(given.lmc)
}
