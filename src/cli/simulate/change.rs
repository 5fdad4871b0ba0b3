//! The change in `reconfig simulate`: which element, and in which subnet.

use super::super::element::{find_node, find_port, guid_of};
use super::super::outcome::Failure;
use super::SubnetsArguments;
use anyhow::anyhow;
use clap::Args;
use reconfig::fabric::Fabric;
use reconfig::fabric::subnets::{Router, SubnetPort, Subnets};
use reconfig::ids::{Guid, SubnetId};
use reconfig::scenario::{Element, ScenarioChange};

/// Options that are meaningless if nothing changes and no manager acts.
const OF_A_CHANGE: [&str; 18] = [
    "sudden",
    "planned",
    "subnet",
    "scheme",
    "to_engine",
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
];

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(super) struct ElementArguments {
    /// The root of the up*/down* tree leaves.
    #[arg(long)]
    remove_root: bool,
    /// This switch leaves: a description or a GUID.
    #[arg(long, value_name = "NODE")]
    pub(super) remove_switch: Option<String>,
    /// The cable at this port leaves.
    #[arg(long, value_name = "NODE:PORT")]
    pub(super) remove_link: Option<String>,
    /// This switch is added: the file contains it, the fabric before the change does not.
    #[arg(long, value_name = "NODE", conflicts_with_all = ["sudden", "planned"])]
    pub(super) add_switch: Option<String>,
    /// This router between subnets leaves all of its subnets: a description or a GUID.
    #[arg(long, value_name = "NODE", conflicts_with = "subnet")]
    pub(super) remove_router: Option<String>,
    /// Nothing changes: only traffic, within a fabric or between the subnets of a list.
    #[arg(long, conflicts_with_all = OF_A_CHANGE)]
    pub(super) steady: bool,
}

impl ElementArguments {
    /// The change among the subnets, of which there may be only one.
    pub(super) fn find(&self, subnets: &Subnets, own: &SubnetsArguments) -> Result<ScenarioChange, Failure> {
        if self.steady {
            return Ok(ScenarioChange::Nothing);
        }
        if let Some(name) = &self.remove_router {
            return find_router(subnets, name).map(ScenarioChange::Router);
        }
        let named = own.subnet.as_ref().map(|name| find_subnet(subnets, name)).transpose()?;
        let node = |name: &str| find_in(subnets, named, name, |fabric| find_node(fabric, name));
        let (subnet, element) = match (&self.remove_switch, &self.remove_link, &self.add_switch) {
            (Some(name), _, _) => node(name).map(|(subnet, node)| (subnet, Element::Switch(node)))?,
            (_, Some(name), _) => {
                let (subnet, port) = find_in(subnets, named, name, |fabric| find_port(fabric, name))?;
                (subnet, Element::Link(port))
            }
            (_, _, Some(name)) => node(name).map(|(subnet, node)| (subnet, Element::Newcomer(node)))?,
            (None, None, None) => (named.unwrap_or_default(), Element::Root),
        };
        Ok(ScenarioChange::In { subnet, element })
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
    let listed = |ranks: &[usize], tell: fn(&Router) -> String| {
        ranks.iter().map(|&rank| tell(&routers[rank])).collect::<Vec<_>>().join(", ")
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
fn find_in<T>(
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
            Err(Failure::input(anyhow!("{count} subnets have an element `{name}`: choose one (--subnet): {names}")))
        }
    }
}
