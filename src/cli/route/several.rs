//! `reconfig route` of a list of subnets: each routed and proved by itself, its files in a folder of its name.

use super::super::outcome::{Answer, Failure};
use super::super::output::{self, Batch};
use super::{Arguments, Common};
use crate::report::{self, RouteReport, RoutesReport, SubnetRoute};
use anyhow::anyhow;
use reconfig::change::Routed;
use reconfig::fabric::subnets::{Subnet, Subnets};
use std::time::Instant;

/// Runs the command.
pub(super) fn run(arguments: &Arguments, subnets: &Subnets, common: Common) -> Result<Answer, Failure> {
    arguments.check_for_several()?;
    let routed = subnets.subnets().map(|(_, subnet)| arguments.route_subnet(subnet));
    let mut routed = routed.collect::<Result<Vec<(SubnetRoute, Routed)>, Failure>>()?;
    if routed.iter().all(|(route, _)| route.report.safe) || arguments.allow_unproved {
        arguments.write_several(&mut routed)?;
    }
    let report = RoutesReport::of(routed.into_iter().map(|(route, _)| route).collect());
    if common.json {
        output::print_json(&report)?;
    } else {
        output::print(&report::routes(&report))?;
    }
    Ok(report.safe.into())
}

impl Arguments {
    /// Refuses options that apply to one fabric only.
    fn check_for_several(&self) -> Result<(), Failure> {
        let exports = self.exports.forms().iter().any(|(asked, ..)| asked.is_some());
        let asked = [
            ("a root", self.choice.root.is_some()),
            ("tables of others", self.from.is_given()),
            ("a worst permutation", self.worst.worst_permutation.is_some()),
            ("a drawing", self.dot.is_some()),
            ("a file by its name (--output names a folder for all)", exports),
        ];
        asked.iter().find(|(_, given)| *given).map_or(Ok(()), |(what, _)| {
            Err(Failure::input(anyhow!("a list of several subnets was named, and {what}, which is of one fabric")))
        })
    }

    fn route_subnet(&self, subnet: &Subnet) -> Result<(SubnetRoute, Routed), Failure> {
        let engine = self.choice.engine(&subnet.fabric)?;
        let start = Instant::now();
        let routed = self.route(&subnet.fabric, &*engine).map_err(|failure| failure.within(&subnet.name))?;
        let routing_ns = start.elapsed().as_nanos() as u64;
        let start = Instant::now();
        let judged = routed.prove();
        let proof_ns = start.elapsed().as_nanos() as u64;
        let report = RouteReport { routing_ns, proof_ns, ..RouteReport::of(&routed, judged.as_ref()) };
        Ok((SubnetRoute { subnet: subnet.name.clone(), report }, routed))
    }

    /// Writes the usual files of each subnet, all of them or nothing.
    fn write_several(&self, routed: &mut [(SubnetRoute, Routed)]) -> Result<(), Failure> {
        let Some(folder) = &self.exports.output else { return Ok(()) };
        let mut batch = Batch::default();
        batch.folder(folder)?;
        for (route, routed) in routed {
            let own = folder.join(&route.subnet);
            batch.folder(&own)?;
            for (_, usual, parts) in self.exports.forms() {
                let file = own.join(usual);
                batch.stage(&file, parts(routed))?;
                route.report.files.push(file.display().to_string());
            }
        }
        batch.finish()
    }
}
