//! What comes to a fabric, as options name it: switches, hosts and cables that no capture has.

use super::element::{find_node, find_port};
use super::outcome::Failure;
use super::output::remark;
use anyhow::anyhow;
use clap::Args;
use reconfig::fabric::{Fabric, PortId};

/// The options belong to the group `what` of their command.
#[derive(Clone, Debug, Default, Args)]
#[group(id = "addition")]
pub(super) struct AdditionArguments {
    /// A switch NAME comes that is like LIKE: with as many ports, and cables to the first free port of each switch that
    /// LIKE is cabled to. Each of these options may be given several times, and with removals: all of it is one change.
    #[arg(long, value_name = "NAME=LIKE:NODE", group = "what")]
    add_switch: Vec<String>,
    /// A cable comes between two ports without one.
    #[arg(long, value_name = "NODE:PORT=NODE:PORT", group = "what")]
    add_link: Vec<String>,
    /// A host NAME of one port comes, cabled to this port of a switch.
    #[arg(long, value_name = "NAME=NODE:PORT", group = "what")]
    add_host: Vec<String>,
}

/// What stands between the name of a new switch and that of its model.
const LIKE: &str = "=LIKE:";

impl AdditionArguments {
    /// Whether nothing is to come.
    pub(super) fn is_empty(&self) -> bool {
        self.add_switch.is_empty() && self.add_link.is_empty() && self.add_host.is_empty()
    }

    /// The only name that is given, if it is that of a switch that the capture has.
    pub(super) fn captured(&self) -> Option<&str> {
        let alone = self.add_link.is_empty() && self.add_host.is_empty();
        match &self.add_switch[..] {
            [name] if alone && !name.contains(LIKE) => Some(name),
            _ => None,
        }
    }

    /// The fabric with what comes: first switches, then cables, then hosts, so that later ones may name earlier ones.
    pub(super) fn added_to(&self, fabric: &Fabric) -> Result<Fabric, Failure> {
        let mut fabric = fabric.clone();
        for text in &self.add_switch {
            let expected = || {
                let form = "expected NAME=LIKE:NODE, such as `spine-5=LIKE:spine-1`";
                let alone = "the name of a switch of the file stands alone, for `simulate`, where that switch comes";
                Failure::input(anyhow!("--add-switch {text}: {form} ({alone})"))
            };
            let (name, like) = text.split_once(LIKE).ok_or_else(expected)?;
            let like = find_node(&fabric, like)?;
            let (grown, cables) = fabric.with_switch_like(name.trim(), like).map_err(Failure::input)?;
            let told: Vec<String> = cables.iter().map(|&port| cable(&grown, port)).collect();
            remark(&format!("{} comes with the cables {}", name.trim(), told.join(", ")));
            fabric = grown;
        }
        for text in &self.add_link {
            let (a, b) = halves(text, "--add-link", "NODE:PORT=NODE:PORT, such as `leaf-1:7=spine-5:1`")?;
            let (a, b) = (find_port(&fabric, a)?, find_port(&fabric, b)?);
            fabric = fabric.with_cable(a, b).map_err(Failure::input)?;
        }
        for text in &self.add_host {
            let (name, at) = halves(text, "--add-host", "NAME=NODE:PORT, such as `new-host=leaf-1:7`")?;
            let at = find_port(&fabric, at)?;
            fabric = fabric.with_host(name.trim(), at).map_err(Failure::input)?;
        }
        Ok(fabric)
    }
}

fn halves<'a>(text: &'a str, option: &str, form: &str) -> Result<(&'a str, &'a str), Failure> {
    let halves = text.split_once('=').filter(|(first, second)| !first.trim().is_empty() && !second.is_empty());
    halves.ok_or_else(|| Failure::input(anyhow!("{option} {text}: expected {form}")))
}

fn cable(fabric: &Fabric, port: PortId) -> String {
    let peer = fabric.peer(port).map_or_else(String::new, |peer| fabric.describe_port(peer));
    format!("{} to {peer}", fabric.describe_port(port))
}
