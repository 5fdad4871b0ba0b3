//! The change in `reconfig simulate`: which elements, and in which subnet.

use super::super::Common;
use super::super::addition::{AdditionArguments, Named};
use super::super::at::AtArguments;
use super::super::element::{find_node, guid_of};
use super::super::input::{Capture, Captured, read_after};
use super::super::outcome::Failure;
use super::super::plan::not_united;
use super::super::removal::RemovalArguments;
use super::SubnetsArguments;
use anyhow::anyhow;
use clap::Args;
use reconfig::change;
use reconfig::fabric::difference::{Recabling, union_recabled};
use reconfig::fabric::subnets::{Router, SubnetPort, Subnets};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Guid, SubnetId};
use reconfig::scenario::{Element, EventTime, LaterEvent, ScenarioChange};
use std::path::PathBuf;

/// Options that are meaningless if nothing changes and no manager acts.
const OF_A_CHANGE: [&str; 24] = [
    "at",
    "standby",
    "standby_after",
    "sudden",
    "planned",
    "subnet",
    "scheme",
    "to_engine",
    "to_fdbs",
    "to_lfts",
    "arming",
    "drain",
    "standing_partition",
    "reserved_sl",
    "path_cache",
    "window",
    "smp_time",
    "smp_timeout",
    "smp_retries",
    "smp_loss",
    "smp_duplicates",
    "smp_delay",
    "barrier_timeout",
    "poll_silence",
];

#[derive(Debug, Args)]
#[command(next_help_heading = "What changes")]
pub(super) struct ChangeArguments {
    #[command(flatten)]
    pub(super) element: ElementArguments,
    /// Elements fail first, and the subnet manager detects it (the default).
    #[arg(long, conflicts_with = "planned")]
    pub(super) sudden: bool,
    /// Change the routing first, then remove the elements.
    #[arg(long)]
    pub(super) planned: bool,
    /// Allow the planned removal to cut off end ports; otherwise such a removal counts as refused.
    #[arg(long, requires = "planned")]
    pub(super) allow_cut_off: bool,
}

/// The change, in the subnets that have everything that is present before or after.
pub(super) struct NamedChange {
    pub(super) subnets: Subnets,
    pub(super) change: ScenarioChange,
    /// What happens after that.
    pub(super) later: Vec<LaterEvent>,
    /// What a reader should know of how the captures were taken.
    pub(super) notes: Vec<String>,
}

impl ChangeArguments {
    /// The change among the subnets; of two captures, in the union of both.
    pub(super) fn of(
        &self,
        subnets: Subnets,
        captured: &Captured,
        between: &SubnetsArguments,
        common: Common,
    ) -> Result<NamedChange, Failure> {
        let before = subnets.fabric(SubnetId(0));
        let Some(file) = &self.element.fabric_after else {
            if self.is_of_names() {
                return self.named(before);
            }
            let change = self.element.find(&subnets, between)?;
            return Ok(NamedChange { subnets, change, later: Vec::new(), notes: Vec::new() });
        };
        let after = read_after(Capture { fabric: before, known: captured }, file, common)?;
        let Recabling { union, plugged } = union_recabled(before, &after).map_err(not_united)?;
        let notes: Vec<String> = change::renumbered(&union).into_iter().collect();
        let change = ScenarioChange::from(&union);
        if change == Vec::new().into() && plugged.is_empty() {
            let same = "no node and no cable differs between the two fabrics";
            let notes: String = notes.iter().map(|note| format!("; {note}")).collect();
            return Err(Failure::input(anyhow!("{same}{notes}: --steady simulates traffic without a change")));
        }
        let later = served(plugged).into_iter().collect();
        Ok(NamedChange { subnets: Subnets::alone(union.fabric), change, later, notes })
    }
}

/// Cables that are plugged in where others were.
fn served(plugged: Vec<(PortId, PortId)>) -> Option<LaterEvent> {
    let event = LaterEvent { at: EventTime::Served, elements: Vec::new(), plugged };
    (!event.plugged.is_empty()).then_some(event)
}

impl ChangeArguments {
    /// Whether additions or later events are named; otherwise the change may be in one of several subnets.
    fn is_of_names(&self) -> bool {
        let ElementArguments { addition, removal, remove_root, at, .. } = &self.element;
        let alone = removal.is_empty() && !remove_root;
        let captured = addition.captured().is_some() && alone && !self.sudden && !self.planned;
        at.times().next().is_some() || !(addition.is_empty() || captured)
    }

    /// The change, and what happens later, by names.
    fn named(&self, before: &Fabric) -> Result<NamedChange, Failure> {
        let ElementArguments { addition, removal, remove_root, at, .. } = &self.element;
        if *remove_root && !addition.is_empty() {
            return Err(Failure::input(anyhow!("--remove-root: where something comes, name the switch that leaves")));
        }
        let Named { fabric, elements, plugged } = addition.with(removal, before)?;
        let group = |wanted: usize| {
            let own = elements.iter().filter(move |((option, rank), _)| at.group(option, *rank) == wanted);
            own.map(|(_, element)| *element).collect::<Vec<_>>()
        };
        let mut first: Vec<Element> = remove_root.then_some(Element::Root).into_iter().collect();
        first.extend(group(0));
        let mut later = Vec::new();
        for (rank, time) in at.times().enumerate() {
            let elements = group(rank + 1);
            if elements.is_empty() {
                return Err(Failure::input(anyhow!("--at: no option behind it names what happens then")));
            }
            later.push(LaterEvent { at: time, elements, plugged: Vec::new() });
        }
        later.extend(served(plugged));
        let subnets = Subnets::alone(fabric);
        Ok(NamedChange { subnets, change: first.into(), later, notes: Vec::new() })
    }
}

/// The options belong to the group `what` of the command, which requires one of them.
#[derive(Debug, Args)]
pub(super) struct ElementArguments {
    // The first of these. Readers of values take them and their places from the parsed arguments.
    #[command(flatten)]
    at: AtArguments,
    /// Remove the root of the up*/down* tree.
    #[arg(long, group = "what")]
    remove_root: bool,
    #[command(flatten)]
    removal: RemovalArguments,
    /// `--add-switch NAME`, where NAME is a switch of the file, means that this switch is missing before the change.
    #[command(flatten)]
    addition: AdditionArguments,
    /// Remove this router from all of its subnets; NODE is a description or a GUID.
    #[arg(long, value_name = "NODE", group = "what", conflicts_with_all = ["removal", "remove_root", "addition", "subnet"])]
    pub(super) remove_router: Option<String>,
    /// Run traffic only, without a change, within a fabric or between the subnets of a list.
    #[arg(long, group = "what", conflicts_with_all = ["removal", "remove_root", "addition", "remove_router"])]
    #[arg(conflicts_with_all = OF_A_CHANGE)]
    pub(super) steady: bool,
    /// The fabric after the change: elements missing from this file are removed; new ones are added. Nodes and ports of
    /// both files are matched by GUID and port number.
    #[arg(value_name = "AFTER", group = "what")]
    #[arg(conflicts_with_all = ["removal", "remove_root", "addition", "remove_router", "steady", "subnet"])]
    pub(super) fabric_after: Option<PathBuf>,
}

impl ElementArguments {
    /// Whether something happens later.
    pub(super) fn spreads(&self) -> bool {
        self.at.times().next().is_some()
    }

    /// Whether a named element is added.
    pub(super) fn adds(&self) -> bool {
        !self.addition.is_empty()
    }
}

impl ElementArguments {
    /// The change among the subnets, of which there may be only one; a fabric after the change is not read here.
    fn find(&self, subnets: &Subnets, own: &SubnetsArguments) -> Result<ScenarioChange, Failure> {
        if self.steady {
            return Ok(ScenarioChange::Nothing);
        }
        if let Some(name) = &self.remove_router {
            return find_router(subnets, name).map(ScenarioChange::Router);
        }
        let named = own.subnet.as_ref().map(|name| find_subnet(subnets, name)).transpose()?;
        if let Some(name) = self.addition.captured() {
            let found = find_in(subnets, named, name, |fabric| find_node(fabric, name));
            let (subnet, node) = found.map_err(|failure| {
                let form = "expected the name of a switch of the file, or of a new one with its model, NAME=LIKE:NODE";
                Failure::input(anyhow!("--add-switch {name}: {}; {form}", failure.text()))
            })?;
            return newcomer(subnets.fabric(subnet), node)
                .map(|node| ScenarioChange::In { subnet, elements: vec![node] });
        }
        let mut subnet = named;
        let mut elements: Vec<Element> = self.remove_root.then_some(Element::Root).into_iter().collect();
        for removed in self.removal.names() {
            let (at, found) = find_in(subnets, named, removed.name, |fabric| removed.find(fabric))?;
            if let Some(other) = subnet.replace(at).filter(|&other| other != at) {
                let [here, there] = [at, other].map(|id| &subnets.subnet(id).name);
                let name = removed.name;
                return Err(Failure::input(anyhow!("`{name}` is in {here} and others in {there}: one subnet changes")));
            }
            elements.extend(found);
        }
        Ok(ScenarioChange::In { subnet: subnet.unwrap_or_default(), elements })
    }
}

fn newcomer(fabric: &Fabric, node: NodeId) -> Result<Element, Failure> {
    match fabric.node(node).is_switch() {
        true => Ok(Element::Newcomer(node)),
        false => Err(Failure::input(anyhow!("{} is not a switch: --add-switch adds one", fabric.describe_node(node)))),
    }
}

fn find_subnet(subnets: &Subnets, name: &str) -> Result<SubnetId, Failure> {
    let names = || subnets.subnets().map(|(_, subnet)| subnet.name.as_str()).collect::<Vec<_>>().join(", ");
    subnets
        .by_name(name)
        .ok_or_else(|| Failure::input(anyhow!("no subnet has the name `{name}`: there are {}", names())))
}

fn find_router(subnets: &Subnets, name: &str) -> Result<usize, Failure> {
    let (wanted, routers) = (name.trim(), subnets.routers());
    let guid = guid_of(wanted);
    let is = |router: &Router| router.name == wanted || guid.is_some_and(|guid| has_node(subnets, router, guid));
    let found: Vec<usize> = (0..routers.len()).filter(|&rank| is(&routers[rank])).collect();
    let listed = |ranks: &[usize], name: fn(&Router) -> String| {
        ranks.iter().map(|&rank| name(&routers[rank])).collect::<Vec<_>>().join(", ")
    };
    Err(Failure::input(match found[..] {
        [only] => return Ok(only),
        [] if routers.is_empty() => {
            anyhow!("no router between subnets has the name `{name}`: none joins these subnets")
        }
        [] => {
            let names = listed(&(0..routers.len()).collect::<Vec<_>>(), |router| router.name.clone());
            anyhow!("no router between subnets has the name `{name}`: there are {names}")
        }
        _ => {
            let guids = listed(&found, |router| router.guid.to_string());
            anyhow!("{} routers have the name `{name}`: give a GUID, one of {guids}", found.len())
        }
    }))
}

/// Whether the router has a node of this GUID: it may have one in each subnet.
fn has_node(subnets: &Subnets, router: &Router, guid: Guid) -> bool {
    let of = |at: &SubnetPort| {
        let fabric = subnets.fabric(at.subnet);
        fabric.node(fabric.port(at.port).node).guid
    };
    router.guid == guid || router.ports.iter().any(|at| of(at) == guid)
}

/// Searches the named subnet; without a name, the element must be in exactly one subnet.
pub(super) fn find_in<T>(
    subnets: &Subnets,
    named: Option<SubnetId>,
    name: &str,
    find: impl Fn(&Fabric) -> Result<T, Failure>,
) -> Result<(SubnetId, T), Failure> {
    if let Some(subnet) = named {
        return find(subnets.fabric(subnet)).map(|found| (subnet, found));
    }
    let mut found: Vec<(SubnetId, T)> = Vec::new();
    let mut last = None;
    for (id, subnet) in subnets.subnets() {
        match find(&subnet.fabric) {
            Ok(one) => found.push((id, one)),
            Err(error) => last = Some(error),
        }
    }
    match (found.len(), last) {
        (1, _) => Ok(found.remove(0)),
        (0, Some(error)) => Err(error),
        (count, _) => {
            let names: Vec<&str> = found.iter().map(|(id, _)| subnets.subnet(*id).name.as_str()).collect();
            let names = names.join(", ");
            Err(Failure::input(anyhow!(
                "{count} subnets have an element `{name}`: choose one by its GUID or subnet (--subnet): {names}"
            )))
        }
    }
}
