//! `reconfig audit` of several subnets: each routed by an engine, every path followed, all proved together.

use super::super::choice;
use super::super::outcome::{Answer, Failure};
use super::super::output::Screen;
use super::Arguments;
use crate::report::{self, SubnetsAudit};
use anyhow::anyhow;
use reconfig::audit::across::{Question, SubnetRouting, check_paths};
use reconfig::change::{self, LmcWish, RouteInput, Routed};
use reconfig::fabric::subnets::partitions::usual_manager;
use reconfig::fabric::subnets::{Subnet, Subnets};
use reconfig::ids::Lmc;
use reconfig::routers::{Levels, Partitioning, Routes};
use reconfig::routing::Parameters;
use reconfig::verify::Scope;
use reconfig::verify::across::{AcrossRefusal, Part, Whole, prove_across};

/// Data VLs and hop limit where nothing is said.
const DATA_VLS: u8 = 8;
const HOP_LIMIT: u8 = 64;

/// Runs the command.
pub(super) fn run(arguments: &Arguments, engine: &str, subnets: &Subnets, screen: Screen) -> Result<Answer, Failure> {
    let routed = subnets.subnets().map(|(_, subnet)| arguments.route(engine, subnet));
    let routed = routed.collect::<Result<Vec<Routed>, Failure>>()?;
    let subnets = subnets.with_fabrics(routed.iter().map(|routed| routed.fabric.clone()).collect());
    let report = judge(arguments, engine, &subnets, &routed)?;
    arguments.draw(report.refusal.as_ref().map(AcrossRefusal::to_dot))?;
    screen.show(&report, || report::subnets_audit(&report))?;
    Ok(report.is_safe().into())
}

impl Arguments {
    fn route(&self, engine: &str, subnet: &Subnet) -> Result<Routed, Failure> {
        let parameters = Parameters { seed: self.several.seed.unwrap_or_default(), ..Parameters::default() };
        let engine = change::engine_named(engine, &parameters).map_err(Failure::input)?;
        let lmc = self.lmc.and_then(Lmc::new).map_or(LmcWish::Common, LmcWish::Least);
        let data_vls = choice::data_vls(self.vls.unwrap_or(DATA_VLS))?;
        let routed = change::route(RouteInput { fabric: &subnet.fabric, engine: &*engine, data_vls, lmc });
        routed.map_err(|error| choice::unrouted(error).within(&subnet.name))
    }
}

fn judge(arguments: &Arguments, engine: &str, subnets: &Subnets, routed: &[Routed]) -> Result<SubnetsAudit, Failure> {
    check_joined(arguments, subnets, routed)?;
    let several = &arguments.several;
    let routes = Routes::all(subnets);
    let data_vls = routed.iter().map(|routed| routed.data_vls).min().unwrap_or(DATA_VLS);
    let levels = Levels::new(several.router_sl.unwrap_or_default(), routes.most_crossings(), data_vls)
        .map_err(Failure::input)?;
    let scope = |routed: &Routed| Scope { switches: arguments.switches, ..Scope::of(&routed.halves()) };
    let scopes: Vec<Scope> = routed.iter().map(scope).collect();
    let own = || routed.iter().zip(&scopes);
    let routings = own().map(|(Routed { fabric, tables, .. }, scope)| SubnetRouting {
        fabric,
        lfts: &tables.lfts,
        halves: scope.halves.clone(),
    });
    let routings = routings.collect();
    let managers: Vec<_> = subnets.subnets().map(|(_, subnet)| usual_manager(&subnet.fabric)).collect();
    let partitioning = Partitioning::of(subnets, &managers, several.part_enforce);
    let (hop_limit, partitions) = (several.hop_limit.unwrap_or(HOP_LIMIT), partitioning.as_ref());
    let paths =
        check_paths(&Question { subnets, routings, routes: &routes, levels, hop_limit, partitioning: partitions });
    let parts = own().map(|(Routed { fabric, tables, .. }, scope)| Part::Steady { fabric, tables, scope });
    let whole = Whole { subnets, parts: parts.collect(), routes: vec![&routes], levels };
    let proof = prove_across(&whole).map(|proof| proof.statistics());
    let halves = scopes.iter().map(|scope| scope.halves.len()).min().unwrap_or(1);
    let enforced = partitioning.map(|own| own.enforce);
    Ok(SubnetsAudit::of(subnets, (engine.to_string(), data_vls, halves), levels, paths, proof)
        .with_partitions(enforced))
}

/// There are routers, and each subnet's routing leaves every path open to everybody.
fn check_joined(arguments: &Arguments, subnets: &Subnets, routed: &[Routed]) -> Result<(), Failure> {
    if subnets.routers().is_empty() {
        let file = arguments.fabric.display();
        return Err(Failure::input(anyhow!("{file}: no router joins its subnets: audit each by itself")));
    }
    let layered = routed.iter().zip(subnets.subnets()).find(|(routed, _)| routed.function.path_layers().is_some());
    layered.map_or(Ok(()), |(_, (_, subnet))| {
        let subnet = subnet.name.clone();
        Err(Failure::input(AcrossRefusal::PathLayers { subnet }))
    })
}
