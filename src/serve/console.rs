//! The console's commands: a line of text, what it means, and of which node or port it speaks.
//!
//! `Unlink "node"[port]`, `Relink` and `Dump` are ibsim's, written as there; the others are ours. Nodes go by
//! description, by GUID, or as ibnetdiscover names them (`S-…`, `H-…`, `R-…`). Case does not matter in the commands.

use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Guid, PortNum};
use crate::sim::{SickAttribute, Sickness};
use crate::wire::AttributeId;

/// The commands, for users.
pub const HELP: &str = "\
Unlink \"node\"[port]   the cable at this port dies; without a port, all of the node's
Relink \"node\"[port]   it comes back
Kill \"node\"           the node dies, with all its cables
Revive \"node\"         it comes back, empty
Sicken \"node\" 25 how   its agent fails at attribute 25: refuses, ignores, silent
                      or lacks; a fourth word, writes, spares reads
Heal \"node\"           it serves all attributes again
Traffic on|off        sources send, or send no more
Traffic load 0.2      the offered load, a fraction of each end port's rate
Period                ends the period of measurement and begins the next
Status                the counts, as JSON
Dump                  ports and their states
Help                  this
Quit                  ends the server";

/// A command, its words understood, its names not yet looked up.
#[derive(Clone, PartialEq, Debug)]
pub enum ConsoleCommand {
    /// A cable dies; all of a node where no port is named.
    Unlink(ElementName),
    /// It comes back.
    Relink(ElementName),
    /// A node dies.
    Kill(String),
    /// It comes back.
    Revive(String),
    /// A node's agent fails at an attribute.
    Sicken(String, SickAttribute),
    /// It serves all attributes again.
    Heal(String),
    /// Sources send, or send no more.
    Traffic(bool),
    /// The offered load, a fraction of each end port's rate.
    Load(f64),
    /// A new period of measurement.
    Period,
    /// The counts.
    Status,
    /// Ports and their states.
    Dump,
    /// The commands.
    Help,
    /// The end.
    Quit,
}

/// A node or one of its ports, as it was typed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementName {
    /// The node.
    pub node: String,
    /// The port; none means all of them.
    pub port: Option<PortNum>,
}

/// Why a line is no command, or names nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No command begins so.
    #[error("`{0}` is no command: Help lists them")]
    Unknown(String),
    /// The command is one, its operands are not.
    #[error("{command} takes {expected}, and was given `{found}`")]
    Operands {
        /// The command.
        command: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What was given.
        found: String,
    },
    /// No node has this name.
    #[error("no node is called `{0}`: give a description or a GUID, as Dump lists them")]
    NoNode(String),
    /// Several have.
    #[error("{count} nodes are called `{name}`: give a GUID")]
    Ambiguous {
        /// The name.
        name: String,
        /// How many have it.
        count: usize,
    },
    /// The node has no such port.
    #[error("{node} has ports 1 to {ports}: there is no port {found}")]
    NoPort {
        /// The node.
        node: String,
        /// Its ports.
        ports: u8,
        /// The port named.
        found: u8,
    },
    /// The port has no cable.
    #[error("{0} has no cable")]
    NoCable(String),
}

impl ConsoleCommand {
    /// Reads a line; none where it is empty.
    ///
    /// # Errors
    /// It is no command, or its operands are not what it takes.
    pub fn read(line: &str) -> Result<Option<ConsoleCommand>, CommandError> {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let node = "a node, such as \"leaf-1\"";
        let command = match word.to_ascii_lowercase().as_str() {
            "" => return Ok(None),
            "unlink" => ConsoleCommand::Unlink(ElementName::read("Unlink", rest)?),
            "relink" => ConsoleCommand::Relink(ElementName::read("Relink", rest)?),
            "kill" => ConsoleCommand::Kill(only_node("Kill", node, rest)?),
            "revive" => ConsoleCommand::Revive(only_node("Revive", node, rest)?),
            "sicken" => sicken(rest)?,
            "heal" => ConsoleCommand::Heal(only_node("Heal", node, rest)?),
            "traffic" => traffic(rest)?,
            "period" => alone("Period", ConsoleCommand::Period, rest)?,
            "status" => alone("Status", ConsoleCommand::Status, rest)?,
            "dump" => alone("Dump", ConsoleCommand::Dump, rest)?,
            "help" | "?" => alone("Help", ConsoleCommand::Help, rest)?,
            "quit" => alone("Quit", ConsoleCommand::Quit, rest)?,
            _ => return Err(CommandError::Unknown(word.to_string())),
        };
        Ok(Some(command))
    }
}

fn alone(name: &'static str, command: ConsoleCommand, rest: &str) -> Result<ConsoleCommand, CommandError> {
    let refuse = || CommandError::Operands { command: name, expected: "nothing", found: rest.to_string() };
    rest.is_empty().then_some(command).ok_or_else(refuse)
}

fn only_node(command: &'static str, expected: &'static str, rest: &str) -> Result<String, CommandError> {
    let refuse = || CommandError::Operands { command, expected, found: rest.to_string() };
    let place = ElementName::parse(rest).ok_or_else(refuse)?;
    if place.port.is_some() { Err(refuse()) } else { Ok(place.node) }
}

fn sicken(rest: &str) -> Result<ConsoleCommand, CommandError> {
    let refuse = || CommandError::Operands {
        command: "Sicken",
        expected: "a node, the number of an attribute, and refuses, ignores, silent or lacks; then perhaps `writes`",
        found: rest.to_string(),
    };
    // A name in quotes may hold blanks.
    let at = if rest.starts_with('"') { rest.rfind('"').map(|at| at + 1) } else { rest.find(char::is_whitespace) };
    let (name, rest) = rest.split_at(at.ok_or_else(refuse)?);
    let place = ElementName::parse(name).filter(|place| place.port.is_none()).ok_or_else(refuse)?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let (number, how, writes_only) = match words[..] {
        [number, how] => (number, how, false),
        [number, how, "writes"] => (number, how, true),
        _ => return Err(refuse()),
    };
    let number: u16 = number.parse().map_err(|_| refuse())?;
    let sickness = match how {
        "refuses" => Sickness::Refuses,
        "ignores" => Sickness::Ignores,
        "silent" => Sickness::Silent,
        "lacks" => Sickness::Lacks,
        _ => return Err(refuse()),
    };
    let sick = SickAttribute { attribute: AttributeId::from(number), sickness, writes_only };
    Ok(ConsoleCommand::Sicken(place.node, sick))
}

fn traffic(rest: &str) -> Result<ConsoleCommand, CommandError> {
    let words: Vec<String> = rest.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let load = |text: &str| text.parse().ok().filter(|load| (0.0..=1.0).contains(load)).map(ConsoleCommand::Load);
    let found = match words[..] {
        ["on"] => Some(ConsoleCommand::Traffic(true)),
        ["off"] => Some(ConsoleCommand::Traffic(false)),
        ["load", fraction] => load(fraction),
        _ => None,
    };
    let expected = "on, off, or load and a fraction from 0 to 1";
    found.ok_or_else(|| CommandError::Operands { command: "Traffic", expected, found: rest.to_string() })
}

impl ElementName {
    fn read(command: &'static str, text: &str) -> Result<ElementName, CommandError> {
        let expected = "a node and a port, such as \"leaf-1\"[3]";
        ElementName::parse(text).ok_or_else(|| CommandError::Operands { command, expected, found: text.to_string() })
    }

    /// `"node"`, `"node"[port]`, or the same without quotes where the name holds neither blanks nor brackets.
    fn parse(text: &str) -> Option<ElementName> {
        let (node, rest) = match text.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"')?,
            None => text.split_at(text.find(|c: char| c == '[' || c.is_whitespace()).unwrap_or(text.len())),
        };
        let rest = rest.trim();
        let port = match rest.strip_prefix('[') {
            Some(number) => Some(PortNum(number.strip_suffix(']')?.trim().parse().ok()?)),
            None if rest.is_empty() => None,
            None => return None,
        };
        (!node.trim().is_empty()).then(|| ElementName { node: node.to_string(), port })
    }

    /// The cabled ports meant.
    ///
    /// # Errors
    /// There is no such node, port or cable.
    pub fn cables(&self, fabric: &Fabric) -> Result<Vec<PortId>, CommandError> {
        let node = find_node(fabric, &self.node)?;
        let cabled = |port: &PortId| fabric.port(*port).peer.is_some();
        let Some(num) = self.port else { return Ok(fabric.ports_of(node).filter(cabled).collect()) };
        let port = fabric.port_at(node, num).filter(|_| num != PortNum::ZERO).ok_or_else(|| CommandError::NoPort {
            node: fabric.describe_node(node),
            ports: fabric.node(node).num_ports,
            found: num.0,
        })?;
        if cabled(&port) { Ok(vec![port]) } else { Err(CommandError::NoCable(fabric.describe_port(port))) }
    }
}

/// The node that `text` names.
///
/// # Errors
/// None does, or several do.
pub fn find_node(fabric: &Fabric, text: &str) -> Result<NodeId, CommandError> {
    let wanted = text.trim();
    let described = |(id, node): (NodeId, &crate::fabric::Node)| (node.description.trim() == wanted).then_some(id);
    let named: Vec<NodeId> = fabric.nodes().filter_map(described).collect();
    if let [only] = named[..] {
        return Ok(only);
    }
    let digits = ["S-", "H-", "R-"].into_iter().find_map(|kind| wanted.strip_prefix(kind)).unwrap_or(wanted);
    let by_guid = digits.parse::<Guid>().ok().and_then(|guid| fabric.by_guid(guid));
    by_guid.ok_or_else(|| match named.len() {
        0 => CommandError::NoNode(wanted.to_string()),
        count => CommandError::Ambiguous { name: wanted.to_string(), count },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(node: &str, port: Option<u8>) -> ElementName {
        ElementName { node: node.to_string(), port: port.map(PortNum) }
    }

    #[test]
    fn commands_are_read_as_ibsim_writes_them() {
        let cases = [
            (r#"Unlink "spine 1"[3]"#, ConsoleCommand::Unlink(place("spine 1", Some(3)))),
            (r#"unlink "S-0200000700000000""#, ConsoleCommand::Unlink(place("S-0200000700000000", None))),
            (r"Relink leaf-1 [12]", ConsoleCommand::Relink(place("leaf-1", Some(12)))),
            (r#"Kill "spine 1""#, ConsoleCommand::Kill("spine 1".into())),
            ("REVIVE spine-1", ConsoleCommand::Revive("spine-1".into())),
            ("Traffic ON", ConsoleCommand::Traffic(true)),
            (
                r#"Sicken "spine 1" 25 silent writes"#,
                ConsoleCommand::Sicken(
                    "spine 1".into(),
                    SickAttribute {
                        attribute: AttributeId::LinearForwardingTable,
                        sickness: Sickness::Silent,
                        writes_only: true,
                    },
                ),
            ),
            ("heal leaf-1", ConsoleCommand::Heal("leaf-1".into())),
            ("traffic load 0.25", ConsoleCommand::Load(0.25)),
            ("  status ", ConsoleCommand::Status),
        ];
        for (line, command) in cases {
            assert_eq!(ConsoleCommand::read(line), Ok(Some(command)), "{line}");
        }
        assert_eq!(ConsoleCommand::read("   "), Ok(None));
    }

    #[test]
    fn what_is_no_command_is_refused() {
        let cases = [
            "Reboot",
            "Unlink",
            r#"Unlink "a"[x]"#,
            r#"Unlink "a" 3"#,
            r#"Kill "a"[3]"#,
            "Traffic load 2",
            "Quit now",
            "Sicken a 25",
            "Sicken a x silent",
        ];
        for line in cases {
            assert!(ConsoleCommand::read(line).is_err(), "{line}");
        }
    }
}
