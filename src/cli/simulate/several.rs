//! `reconfig simulate` on a list of several subnets.

use super::super::choice::EngineArguments;
use super::super::element::{find_node, find_port, guid_of};
use super::super::evidence::draw_across;
use super::super::outcome::{Answer, Failure};
use super::super::output::{Batch, Screen, check_places};
use super::super::progress::Progress;
use super::{Common, ElementArguments, is_the_users, told};
use crate::report;
use anyhow::anyhow;
use clap::Args;
use reconfig::fabric::Fabric;
use reconfig::fabric::subnets::{Router, SubnetPort, Subnets};
use reconfig::ids::{Guid, SubnetId};
use reconfig::routers::{LevelsRule, PartEnforce};
use reconfig::scenario::{AcrossChange, AcrossError, AcrossScenario, Element, Scenario, run_across};
use std::path::PathBuf;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Several subnets (a list, docs/SUBNETS.md)")]
pub(super) struct SubnetsArguments {
    /// The subnet in which something changes [default: the one that has what is named, else the first].
    #[arg(long, value_name = "NAME")]
    subnet: Option<String>,
    /// Of the packets whose destination is drawn, the share that goes to other subnets [default: 0.1]
    #[arg(long, value_name = "SHARE")]
    cross: Option<f64>,
    /// What routers do with service levels: raise (a layer higher with each crossing, which keeps circles from leading through
    /// routers) or keep [default: raise]
    #[arg(long, value_name = "RULE")]
    router_sl: Option<LevelsRule>,
    /// The hop limit that sources give [default: 64]
    #[arg(long, value_name = "COUNT")]
    hop_limit: Option<u8>,
    /// Which way ports of routers look at partitions: both, in, out or off [default: both where the list names partitions, else
    /// off]
    #[arg(long, value_name = "WAY")]
    part_enforce: Option<PartEnforce>,
}

impl SubnetsArguments {
    /// An option that means nothing for one fabric, where one is given.
    pub(super) fn only_for_lists(&self) -> Option<&'static str> {
        let given = [
            (self.subnet.is_some(), "--subnet"),
            (self.cross.is_some(), "--cross"),
            (self.router_sl.is_some(), "--router-sl"),
            (self.hop_limit.is_some(), "--hop-limit"),
            (self.part_enforce.is_some(), "--part-enforce"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, name)| name)
    }
}

/// What is asked of the command.
pub(super) struct Asked<'a> {
    pub subnets: Subnets,
    pub own: &'a SubnetsArguments,
    pub element: &'a ElementArguments,
    pub engine: &'a EngineArguments,
    /// The manager's node.
    pub sm: Option<&'a str>,
    /// Everything else.
    pub settings: Scenario,
    /// Where a refusal is to be drawn.
    pub dot: Option<&'a PathBuf>,
}

/// Runs the command.
pub(super) fn run(asked: Asked<'_>, common: Common) -> Result<Answer, Failure> {
    let screen = Screen::beside(common, [asked.dot])?;
    check_places([asked.dot])?;
    let change = change(&asked)?;
    let own = asked.own;
    let mut scenario = AcrossScenario { settings: asked.settings, ..AcrossScenario::new(asked.subnets, change) };
    scenario.settings.sm = match (asked.sm, change) {
        (None, _) => None,
        (Some(name), AcrossChange::In { subnet, .. }) => Some(find_node(scenario.subnets.fabric(subnet), name)?),
        (Some(_), _) => return Err(Failure::input(anyhow!("--sm names the manager of the one subnet that changes"))),
    };
    scenario.rule = own.router_sl.unwrap_or(scenario.rule);
    scenario.cross = own.cross.unwrap_or(scenario.cross);
    scenario.hop_limit = own.hop_limit.unwrap_or(scenario.hop_limit);
    scenario.part_enforce = own.part_enforce;
    let engines = asked.engine.engines()?;
    let outcome = run_across(&scenario, engines, &mut Progress::new("subnets"));
    let (dot, mut batch) = (asked.dot.map(PathBuf::as_path), Batch::default());
    match &outcome {
        Ok(report) => draw_across(dot, report.proof.evidence.as_ref(), &mut batch)?,
        Err(AcrossError::Refused(refusal)) => draw_across(dot, Some(refusal), &mut batch)?,
        Err(_) => {}
    }
    batch.finish()?;
    let report = outcome.map_err(refused)?;
    screen.show(&report, || report::subnets_simulation(&report))?;
    Ok(report.is_clean().into())
}

/// A change that is refused cannot be made; settings that cannot be meant are the user's to change.
fn refused(error: AcrossError) -> Failure {
    match error {
        AcrossError::Refused(_) => Failure::undone(error),
        AcrossError::Run(error) => told(error),
        AcrossError::Levels(_)
        | AcrossError::Lanes { .. }
        | AcrossError::SeveralNodes { .. }
        | AcrossError::Unsupported(_) => Failure::input(error),
        // The same mistake has the same exit code in one fabric and in one of several.
        AcrossError::Subnet { ref source, .. } if is_the_users(source) => Failure::input(error),
        AcrossError::Subnet { .. } => Failure::undone(error),
    }
}

fn change(asked: &Asked<'_>) -> Result<AcrossChange, Failure> {
    let (element, subnets) = (asked.element, &asked.subnets);
    if element.steady {
        return Ok(AcrossChange::Nothing);
    }
    if let Some(name) = &element.remove_router {
        return find_router(subnets, name).map(AcrossChange::Router);
    }
    let named = asked.own.subnet.as_ref().map(|name| find_subnet(subnets, name)).transpose()?;
    if let Some(name) = &element.remove_switch {
        let (subnet, node) = find_in(subnets, named, name, |fabric| find_node(fabric, name))?;
        return Ok(AcrossChange::In { subnet, element: Element::Switch(node) });
    }
    if let Some(name) = &element.remove_link {
        let (subnet, port) = find_in(subnets, named, name, |fabric| find_port(fabric, name))?;
        return Ok(AcrossChange::In { subnet, element: Element::Link(port) });
    }
    if element.add_switch.is_some() {
        return Err(Failure::input(anyhow!("--add-switch takes one fabric: give the subnet's own file")));
    }
    Ok(AcrossChange::In { subnet: named.unwrap_or_default(), element: Element::Root })
}

fn find_subnet(subnets: &Subnets, name: &str) -> Result<SubnetId, Failure> {
    let names = || subnets.subnets().map(|(_, subnet)| subnet.name.as_str()).collect::<Vec<_>>().join(", ");
    subnets.by_name(name).ok_or_else(|| Failure::input(anyhow!("no subnet is called `{name}`: there are {}", names())))
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
        [] if routers.is_empty() => anyhow!("no router between subnets is called `{name}`: none joins these subnets"),
        [] => {
            let names = listed(&(0..routers.len()).collect::<Vec<_>>(), |router| router.name.clone());
            anyhow!("no router between subnets is called `{name}`: there are {names}")
        }
        _ => {
            let guids = listed(&found, |router| router.guid.to_string());
            anyhow!("{} routers are called `{name}`: give a GUID, one of {guids}", found.len())
        }
    }))
}

/// Whether a node of this GUID is of the router: it may have one in each subnet.
fn has_node(subnets: &Subnets, router: &Router, guid: Guid) -> bool {
    let of = |at: &SubnetPort| {
        let fabric = subnets.fabric(at.subnet);
        fabric.node(fabric.port(at.port).node).guid
    };
    router.guid == guid || router.ports.iter().any(|at| of(at) == guid)
}

/// What is found in the subnet named, or in the only one that has it.
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
            Err(Failure::input(anyhow!("{count} subnets have what is called `{name}`: say which (--subnet): {names}")))
        }
    }
}
