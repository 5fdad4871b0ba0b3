//! The engine and the scheme that stand in if the user's choice finds no routing, or no change.
//!
//! Leaving a subnet without a reroute is worse than overriding the user's preference. So `auto` tries a change that the
//! chosen scheme cannot make. An engine that routes every connected subnet stands in if the chosen ones find no
//! routing, or none that is proved. The log and `reconfig status` report both. Deliberately omitted: anything less than
//! proved.

use super::config::Config;
use super::error::SmError;
use super::planning::{Planning, computed};
use super::reporting::ReportingManager;
use crate::change::{BringUpError, ChangeError, Prepared, room_for_layers};
use crate::driver::{Driver, DriverError, Preparation};
use crate::fabric::{Fabric, NodeKind, PortId};
use crate::lid;
use crate::plan::Lanes;
use crate::routing::{Demand, Engine};
use crate::tables::{RoutingFunction, SlToVl, SubnetTables};
use crate::transport::Transport;
use crate::verify::{self, Scope};
use std::sync::Arc;

/// A change, and the stand-in for the user's choice, in words, if there is one.
pub(super) struct FoundChange {
    pub(super) prepared: Prepared,
    pub(super) instead: Option<String>,
    /// Whether it stands in only as long as something is lost.
    pub(super) is_partial: bool,
}

/// Prepares a change to `after`: as configured, or else by a stand-in.
///
/// # Errors
/// The port failed; or no change is possible. The error explains why none is possible as configured; no stand-in makes
/// one either.
pub(super) async fn prepared<T: Transport>(
    driver: &mut Driver<ReportingManager<T>>,
    config: &Config,
    after: Arc<Fabric>,
) -> Result<FoundChange, SmError> {
    let preparation = match config.planning {
        Planning::Threaded => driver.preparation(after).hurried(),
        // No time passes, so a run does not depend on what was found out ahead.
        Planning::Inline => driver.preparation(after),
    };
    let failed = match attempt(driver, config, preparation.clone()).await? {
        Ok(prepared) => return Ok(FoundChange { prepared, instead: None, is_partial: false }),
        Err(error) => error,
    };
    let Some(fallback) = config.fallback.as_ref().filter(|_| can_be_mended(&failed)) else {
        return Err(failed.into());
    };
    let by_auto = (!config.auto).then(|| (config.engine.clone(), "scheme auto".to_string()));
    let by_engine = (fallback.clone(), format!("scheme auto, engine {}", fallback.name()));
    let chosen = format!("scheme {}, engine {}", if config.auto { "auto" } else { "double" }, config.engine.name());
    for (engine, name) in by_auto.into_iter().chain([by_engine]) {
        match attempt(driver, config, preparation.clone().otherwise(engine)).await? {
            Ok(prepared) => {
                let instead = format!("{name}, in place of {chosen}, by which no change can be made: {failed}");
                return Ok(FoundChange { prepared, instead: Some(instead), is_partial: false });
            }
            Err(error) => tracing::warn!(%error, "{name} finds no change either"),
        }
    }
    // No change serves all hosts. Those that entries alone can serve are served now; the others are tried again later.
    let manager = &mut driver.subnet_mut().manager;
    match computed(manager, config.planning, || preparation.partly()).await? {
        Some(prepared) => {
            let instead = format!(
                "forwarding entries alone, which serve some of the hosts, in place of {chosen}: no change serves all: {failed}"
            );
            Ok(FoundChange { prepared, instead: Some(instead), is_partial: true })
        }
        None => Err(failed.into()),
    }
}

/// The outer error is the port's.
async fn attempt<T: Transport>(
    driver: &mut Driver<ReportingManager<T>>,
    config: &Config,
    preparation: Preparation,
) -> Result<Result<Prepared, DriverError>, SmError> {
    let manager = &mut driver.subnet_mut().manager;
    Ok(computed(manager, config.planning, || preparation.carried_out()).await?)
}

/// Whether another scheme or engine may do better.
fn can_be_mended(error: &DriverError) -> bool {
    match error {
        DriverError::Change(error) => !matches!(
            **error,
            ChangeError::SmLeaves { .. }
                | ChangeError::LostAndGained { .. }
                | ChangeError::NarrowNewcomer { .. }
                | ChangeError::Old(_)
        ),
        DriverError::Subnet(_) | DriverError::Unknown(_) | DriverError::Journal(_) | DriverError::Sources { .. } => {
            false
        }
    }
}

/// The routing of a whole subnet, and its tables, proved.
pub(super) struct FoundRouting {
    pub(super) function: RoutingFunction,
    pub(super) tables: SubnetTables,
    /// Whether they close no cycle whatever lanes devices map service levels to (docs/PROOF.md, Corollary 1).
    pub(super) on_any_lanes: bool,
    pub(super) instead: Option<String>,
}

/// Routes a subnet by the configured engine, or else by the one that stands in.
///
/// # Errors
/// The configured engine finds no routing, which the error explains, and no stand-in finds one either.
pub(super) fn routed(config: &Config, fabric: &Fabric, sm: PortId) -> Result<FoundRouting, SmError> {
    let failed = match routed_by(&*config.engine, config, fabric, sm) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let Some(fallback) = &config.fallback else { return Err(failed) };
    match routed_by(&**fallback, config, fabric, sm) {
        Ok(found) => {
            let (other, chosen) = (fallback.name(), config.engine.name());
            let instead = match &failed {
                SmError::Route(why) => {
                    // One engine has named itself.
                    let why = why.to_string();
                    let why = why.strip_prefix(&format!("{chosen}: ")).unwrap_or(&why);
                    let why = why.trim_end_matches("; choose another engine");
                    format!("engine {other} in place of {chosen}, which cannot route this fabric: {why}")
                }
                SmError::Unproved(why) => {
                    format!("engine {other} in place of {chosen}, whose routing cannot be proved: {why}")
                }
                why => format!("engine {other} in place of {chosen}, whose routing cannot be used: {why}"),
            };
            Ok(FoundRouting { instead: Some(instead), ..found })
        }
        Err(error) => {
            tracing::warn!(%error, engine = fallback.name(), "the engine that stands in finds no routing either");
            Err(failed)
        }
    }
}

/// Whether packets of other subnets arrive, whose lanes a proof of several subnets relies on.
pub(super) fn has_routers(fabric: &Fabric) -> bool {
    fabric.nodes().any(|(_, node)| node.present && node.kind == NodeKind::Router)
}

fn routed_by(engine: &dyn Engine, config: &Config, fabric: &Fabric, sm: PortId) -> Result<FoundRouting, SmError> {
    let reserved_sl = config.policy.reserved_sl;
    let demand = Demand::joined_with(fabric, sm, config.paths()).within(room_for_layers(fabric, reserved_sl));
    let function = match fabric.switches().next() {
        Some(_) => engine.route(fabric, &demand)?,
        // Two end ports at one cable, which needs no entry.
        None => RoutingFunction::new(fabric, engine.name(), Vec::new(), config.paths()),
    };
    lid::check_fits(fabric, &function).map_err(BringUpError::from)?;
    let lfts = lid::bring_up(fabric, &function, 1);
    let scope = Scope::of(fabric.halves()).by(function.path_layers());
    // Prove both halves together: until a change separates them, hosts may send to any LID of either.
    let prove = |tables: &SubnetTables| verify::prove_tables(fabric, tables, &scope).map(drop);
    let one_lane = lfts.clone().on_lanes(SlToVl::ONE);
    let tables = lfts.on_lanes(Lanes::steady_table(fabric, &config.policy));
    let may_be = function.layers() == 1 && reserved_sl.is_none() && !has_routers(fabric);
    let on_any_lanes = may_be && prove(&one_lane).is_ok();
    if !on_any_lanes {
        prove(&tables).map_err(SmError::Unproved)?;
    }
    Ok(FoundRouting { function, tables, on_any_lanes, instead: None })
}
