//! A fabric routed by an engine, as it would be brought up: LIDs, tables and service levels, and whether they are safe.

use super::{BringUpError, CaptureSettings, data_vls};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Lid, Lmc, Sl};
use crate::lid::{self, Needs};
use crate::routing::{Demand, Engine, MOST_LAYERS};
use crate::tables::{RoutingFunction, SubnetTables};
use crate::verify::{self, Refusal, Scope, TableProof};

/// A fabric to route.
#[derive(Clone, Copy)]
pub struct RouteInput<'a> {
    /// As captured; LIDs stay where they suffice.
    pub fabric: &'a Fabric,
    /// The engine that routes it.
    pub engine: &'a dyn Engine,
    /// Data VLs in operation; less where a cabled port has less. As many layers are possible, eight at most.
    pub data_vls: u8,
    /// LIDs of end ports.
    pub lmc: LmcWish,
}

/// How many LIDs end ports get.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LmcWish {
    /// One LMC for all, at least so much. With LMC 0 there is a lower half only.
    Least(Lmc),
    /// One LMC for all, at least so much, and no half is spare: every LID may have a path of its own. For a fabric that
    /// is never to change; sources must be simulated without halves too.
    Undivided(Lmc),
    /// One LMC for all, the least that gives each half what some destination needs.
    Common,
    /// For each destination the least LMC that gives each half what it needs.
    Each,
}

impl LmcWish {
    fn least(self) -> Lmc {
        match self {
            LmcWish::Least(lmc) | LmcWish::Undivided(lmc) => lmc,
            LmcWish::Common | LmcWish::Each => Lmc::default(),
        }
    }
}

/// A routed fabric.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Routed {
    /// With its LIDs.
    pub fabric: Fabric,
    /// What the engine computed.
    pub function: RoutingFunction,
    /// The tables that realise it, on both halves where there are two.
    pub tables: SubnetTables,
    /// Data VLs in operation.
    pub data_vls: u8,
}

/// Routes a fabric, and realises what the engine computed. Nothing is proved yet.
///
/// # Errors
/// Lanes, LIDs or an engine that do not suffice.
pub fn route(input: RouteInput<'_>) -> Result<Routed, BringUpError> {
    let asked = input.lmc.least();
    let ready = CaptureSettings { data_vls: input.data_vls, optimised_sl_to_vl: None, lmc: asked, reserved_sl: None }
        .equip(input.fabric)?;
    let lanes = data_vls(&ready);
    let undivided = matches!(input.lmc, LmcWish::Undivided(_));
    let paths = usize::from(if undivided { asked.lids() } else { asked.lids() / 2 }).max(1);
    let demand = Demand::all(&ready, paths).within(lanes.min(MOST_LAYERS));
    let function = input.engine.route(&ready, &demand)?;
    let fabric = match input.lmc {
        LmcWish::Least(_) | LmcWish::Undivided(_) => ready,
        LmcWish::Common => lid::assign(&ready, Needs::of(&ready, &function)?.largest(&ready))?,
        LmcWish::Each => lid::assign_each(&ready, &Needs::of(&ready, &function)?)?,
    };
    if undivided {
        let tables = lid::bring_up_undivided(&fabric, &function, lanes);
        return Ok(Routed { fabric, function, tables, data_vls: lanes });
    }
    lid::check_fits(&fabric, &function)?;
    let tables = lid::bring_up(&fabric, &function, lanes);
    Ok(Routed { fabric, function, tables, data_vls: lanes })
}

impl Routed {
    /// The halves that there are: both, where every end port has two.
    pub fn halves(&self) -> Vec<Half> {
        let has_two = |port| self.fabric.half_lids(port, Half::Upper).next().is_some();
        match self.fabric.end_ports().all(has_two) {
            true => vec![Half::Lower, Half::Upper],
            false => vec![Half::Lower],
        }
    }

    /// Proves it: no cycle of lanes, no loop, no hole, every packet at the owner of its DLID.
    ///
    /// # Errors
    /// What is wrong.
    pub fn prove(&self) -> Result<TableProof, Refusal> {
        let scope = Scope::of(&self.halves()).by(self.function.path_layers());
        verify::prove_tables(&self.fabric, &self.tables, &scope)
    }

    /// The service level of a port's packets to a LID; none if it has no owner, or its path is not for that source:
    /// such are those LIDs that a destination has beyond what it needs.
    pub fn level(&self, source: PortId, lid: Lid) -> Option<Sl> {
        let owner = self.fabric.lid_owner(lid)?;
        let half = self.fabric.half_of(lid);
        let own = half.and_then(|half| self.fabric.half_lids(owner, half).position(|own| own == lid)).unwrap_or(0);
        let layer = match self.function.path_layers() {
            None => 0,
            Some(layers) => layers.layer(source, owner, own)?,
        };
        Sl::new(layer + 8 * half.unwrap_or_default().index() as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::routing::UpDown;

    fn ring() -> Fabric {
        let topology: Topology = "ring:4".parse().expect("a topology");
        generate(&topology, &Options::default()).expect("a ring")
    }

    fn wish(lmc: Option<u8>) -> LmcWish {
        lmc.map_or(LmcWish::Common, |lmc| LmcWish::Least(Lmc::masked(lmc)))
    }

    fn routed(lmc: Option<u8>) -> Result<Routed, BringUpError> {
        let engine = UpDown::default();
        route(RouteInput { fabric: &ring(), engine: &engine, data_vls: 4, lmc: wish(lmc) })
    }

    #[test]
    fn halves_are_as_large_as_the_function_needs() {
        for (asked, given, paths) in [(None, 1, 1), (Some(0), 0, 1), (Some(1), 1, 1), (Some(3), 3, 4)] {
            let routed = routed(asked).expect("a ring is routed");
            let lmc = routed.end_lmc();
            assert_eq!((lmc, routed.function.paths()), (Lmc::masked(given), paths), "asked for {asked:?}");
            assert!(routed.prove().is_ok());
        }
    }

    #[test]
    fn each_half_has_its_service_levels() {
        let routed = routed(Some(2)).expect("a ring is routed");
        let ends: Vec<PortId> = routed.fabric.end_ports().collect();
        let base = routed.fabric.port(ends[1]).lid.expect("an assigned LID").0;
        let levels: Vec<_> = (base..base + 5).map(|lid| routed.level(ends[0], Lid(lid)).map(Sl::get)).collect();
        assert_eq!(levels[..4], [Some(0), Some(0), Some(8), Some(8)]);
        assert_eq!(routed.level(ends[0], Lid(40_000)), None);
    }

    impl Routed {
        fn end_lmc(&self) -> Lmc {
            self.fabric.end_ports().map(|port| self.fabric.port(port).lmc).max().unwrap_or_default()
        }
    }
}
