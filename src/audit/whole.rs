//! Judges subnets that an engine routed as a whole: follows every path, and proves all subnets together with their
//! routers free of deadlock.
//!
//! On entry [`RoutedSubnets`]: the tables of each subnet, and what routers do between them. On return [`WholeAudit`]:
//! what `across` finds of the paths and `verify::across` proves or refuses, over the same tables, routes and levels.
//! Deliberately omitted: engines that specify the paths of each source, which the proof does not handle.

use super::across::{PathAudit, Question, SubnetRouting, check_paths};
use super::{AuditError, AuditVerdict};
use crate::fabric::subnets::partitions::usual_manager;
use crate::fabric::subnets::{Subnet, Subnets};
use crate::routers::{Levels, LevelsRule, PartEnforce, Partitioning, Routes};
use crate::verify::across::{AcrossRefusal, AcrossStatistics, Part, Whole, prove_across};
use serde::Serialize;

/// The subject of the audit.
#[derive(Clone, Debug)]
pub struct RoutedSubnets<'a> {
    /// The subnets, with the LIDs that their tables are for.
    pub subnets: &'a Subnets,
    /// The routing of each, in their order.
    pub routings: Vec<SubnetRouting<'a>>,
    /// The name of the engine that did.
    pub engine: &'a str,
    /// Data VLs in operation: the least of all subnets.
    pub data_vls: u8,
    /// The rule by which routers set service levels.
    pub router_sl: LevelsRule,
    /// The hop limit that sources give.
    pub hop_limit: u8,
    /// The direction in which router ports enforce partitions; none: both where the subnets have some, else not at all.
    pub part_enforce: Option<PartEnforce>,
}

/// The results for subnets and the routers between them.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, schemars::JsonSchema)]
pub struct WholeAudit {
    /// The engine that routed them.
    pub engine: String,
    /// Routers between them.
    pub routers: usize,
    /// The rule by which routers set service levels.
    pub router_sl: LevelsRule,
    /// Layers of service levels; 1 where they are kept.
    pub layers: u8,
    /// Data VLs: the least of all subnets.
    pub data_vls: u8,
    /// LIDs of so many halves are followed.
    pub halves: usize,
    /// The direction in which ports of routers check partitions, where there are some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_enforce: Option<PartEnforce>,
    /// The ends of packets.
    pub paths: PathAudit,
    /// The extent of the proof, where there is one.
    pub proof: Option<AcrossStatistics>,
    /// Why there is none.
    pub refusal: Option<AcrossRefusal>,
}

impl WholeAudit {
    /// Safe if every path arrives and no deadlock is possible.
    pub fn verdict(&self) -> AuditVerdict {
        (self.paths.is_sound() && self.refusal.is_none()).into()
    }
}

/// Audits subnets with their routers.
///
/// # Errors
/// A routing that specifies the paths of each source, or too few service levels.
///
/// Panics where there are not as many routings as subnets.
pub fn audit_whole(asked: &RoutedSubnets<'_>) -> Result<WholeAudit, AuditError> {
    let subnets = asked.subnets;
    let mut layered = asked.routings.iter().zip(subnets.subnets()).filter(|(routing, _)| routing.scope.ways.is_some());
    if let Some((_, (_, subnet))) = layered.next() {
        return Err(AuditError::Whole(AcrossRefusal::PathLayers { subnet: subnet.name.clone() }));
    }
    let routes = Routes::all(subnets);
    let levels = Levels::new(asked.router_sl, routes.most_raises(asked.router_sl, subnets), asked.data_vls)?;
    let managers: Vec<_> = subnets.subnets().map(|(_, subnet)| usual_manager(&subnet.fabric)).collect();
    let partitioning = Partitioning::of(subnets, &managers, asked.part_enforce);
    let paths = check_paths(&Question {
        subnets,
        routings: &asked.routings,
        routes: &routes,
        levels,
        hop_limit: asked.hop_limit,
        partitioning: partitioning.as_ref(),
    });
    let own = subnets.subnets().zip(&asked.routings);
    let parts = own
        .map(|((_, Subnet { fabric, .. }), SubnetRouting { tables, scope })| Part::Steady { fabric, tables, scope })
        .collect();
    let proof = prove_across(&Whole { subnets, parts, routes: vec![&routes], levels });
    Ok(WholeAudit {
        engine: asked.engine.to_string(),
        routers: subnets.routers().len(),
        router_sl: levels.rule(),
        layers: levels.layers(),
        data_vls: asked.data_vls,
        halves: asked.routings.iter().map(|routing| routing.scope.halves.len()).min().unwrap_or(1),
        part_enforce: partitioning.map(|own| own.enforce),
        paths,
        proof: proof.as_ref().ok().map(|proof| proof.statistics()),
        refusal: proof.err(),
    })
}
