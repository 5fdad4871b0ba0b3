//! What the console's commands do to the subnet.

use super::console::{CommandError, ConsoleCommand, find_node};
use super::counts::MadCounts;
use super::switchboard::Switchboard;
use crate::fabric::PortId;
use crate::fabric::summary::counted;
use crate::sim::SimError;
use std::fmt::Write;

/// The text that a command prints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CommandOutput(pub String);

/// Why a command was not carried out.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RefusedCommand {
    /// It names nothing.
    #[error(transparent)]
    Place(#[from] CommandError),
    /// The subnet refuses it.
    #[error(transparent)]
    Subnet(#[from] SimError),
}

/// Carries a command out; those that only ask something of the server do nothing here.
///
/// # Errors
/// It names nothing, or the subnet refuses it.
pub fn carry_out(board: &mut Switchboard, command: &ConsoleCommand) -> Result<CommandOutput, RefusedCommand> {
    let done = match command {
        ConsoleCommand::Unlink(place) => {
            let cables = place.cables(board.fabric())?;
            cables.iter().for_each(|&port| board.sim_mut().kill(port));
            format!("{} unlinked", counted(cables.len(), "cable"))
        }
        ConsoleCommand::Relink(place) => {
            let cables = place.cables(board.fabric())?;
            cables.iter().for_each(|&port| board.sim_mut().revive(port));
            format!("{} relinked", counted(cables.len(), "cable"))
        }
        ConsoleCommand::Kill(name) => {
            let node = find_node(board.fabric(), name)?;
            board.sim_mut().kill(node);
            format!("{} killed", board.fabric().describe_node(node))
        }
        ConsoleCommand::Revive(name) => {
            let node = find_node(board.fabric(), name)?;
            board.sim_mut().revive(node);
            format!("{} revived", board.fabric().describe_node(node))
        }
        ConsoleCommand::Sicken(name, sick) => {
            let node = find_node(board.fabric(), name)?;
            board.sim_mut().sicken_node(node, *sick);
            format!("{} fails at {:?}", board.fabric().describe_node(node), sick.attribute)
        }
        ConsoleCommand::Heal(name) => {
            let node = find_node(board.fabric(), name)?;
            board.sim_mut().heal_node(node);
            format!("{} serves everything", board.fabric().describe_node(node))
        }
        ConsoleCommand::Traffic(true) => {
            board.sim_mut().start();
            format!("traffic on, load {}", board.sim().load())
        }
        ConsoleCommand::Traffic(false) => {
            board.sim_mut().stop_sources();
            "traffic off".to_string()
        }
        ConsoleCommand::Load(load) => {
            board.sim_mut().set_load(*load)?;
            format!("load {load}")
        }
        ConsoleCommand::Period => {
            board.sim_mut().begin_period();
            *board.mads_mut() = MadCounts::default();
            format!("period {}", board.sim().periods().len())
        }
        ConsoleCommand::Dump => dump(board),
        ConsoleCommand::Status | ConsoleCommand::Help | ConsoleCommand::Quit => String::new(),
    };
    board.disturbed();
    Ok(CommandOutput(done))
}

/// Every node, its LID, and its cabled ports with their states.
fn dump(board: &Switchboard) -> String {
    let (fabric, mut text) = (board.fabric(), String::new());
    for (id, node) in fabric.nodes() {
        let _ = writeln!(text, "{} \"{}\" {}", node.kind, node.description.trim(), node.guid);
        for port in fabric.ports_of(id) {
            let _ = port_line(board, port, &mut text);
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn port_line(board: &Switchboard, port: PortId, text: &mut String) -> std::fmt::Result {
    let (fabric, sim) = (board.fabric(), board.sim());
    let (num, lid) = (fabric.port(port).num, sim.port_lid(port));
    match fabric.peer(port) {
        Some(peer) => {
            let (state, far) = (sim.port_state(port), fabric.describe_port(peer));
            writeln!(text, "  [{}] {state:?} lid {} to {far}", num.0, lid.0)
        }
        None if num.0 == 0 && lid.0 > 0 => writeln!(text, "  [0] lid {}", lid.0),
        None => Ok(()),
    }
}
