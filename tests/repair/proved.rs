//! Repairs before the prover of plans. It knows no rows that are lost already, so the owners of LIDs that have any are
//! named as omitted; of their rows it then judges lanes, loops and arrivals. Waves with no barrier between them are one
//! transition, and each `aged` begins another.

use super::subject::Subnet;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lid, VlSet};
use reconfig::repair::Repair;
use reconfig::tables::SubnetTables;
use reconfig::verify::{self, InjectionRules, ProofWave, Scope, Transition};
use reconfig_measuring::waves::Course;
use std::collections::BTreeSet;

struct Run<'a> {
    fabric: &'a Fabric,
    surviving: &'a Fabric,
    senders: &'a InjectionRules,
    /// Before the first wave, and after each.
    tables: Vec<SubnetTables>,
    stranded: Vec<PortId>,
    discards: bool,
}

impl Transition for Run<'_> {
    fn fabric(&self) -> &Fabric {
        self.fabric
    }

    fn surviving(&self) -> &Fabric {
        self.surviving
    }

    fn discards_turned_back(&self) -> bool {
        self.discards
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        let wave = |(before, after)| ProofWave {
            name: "repair".to_string(),
            before,
            after,
            injected: self.senders.injected,
            ways: self.senders.ways.clone(),
            empty: VlSet::EMPTY,
            gone: [false; 2],
            aged: None,
        };
        self.tables.iter().zip(&self.tables[1..]).map(wave).collect()
    }

    fn stranded(&self) -> &[PortId] {
        &self.stranded
    }
}

/// # Errors
/// What the prover says against it.
pub fn prove(subnet: &Subnet, repair: &Repair) -> Result<(), String> {
    let mut runs: Vec<Vec<SubnetTables>> = vec![vec![subnet.tables.clone()]];
    for wave in &repair.waves {
        let last = runs.last().and_then(|run| run.last()).cloned().expect("every run begins with tables");
        if wave.aged_before {
            runs.push(vec![last.clone()]);
        }
        let after = SubnetTables { lfts: wave.lfts.clone(), ..last };
        runs.last_mut().expect("a run").push(after);
    }
    for (at, tables) in runs.into_iter().enumerate().filter(|(_, tables)| tables.len() > 1) {
        let fabric = if at == 0 { &subnet.before } else { &subnet.surviving };
        let stranded = broken(subnet, &tables);
        let discards = repair.discards_turned_back;
        let run = Run { fabric, surviving: &subnet.surviving, senders: &subnet.senders, tables, stranded, discards };
        verify::prove(run).map_err(|(_, refusal)| format!("run {at}: {refusal}"))?;
    }
    Ok(())
}

/// Whether the tables that a repair leaves are a routing by themselves, of switches and their LIDs too. None where they
/// do not give every row a way, or those in force were no such routing.
///
/// # Errors
/// What the prover says against it.
pub fn prove_last(subnet: &Subnet, repair: &Repair) -> Option<Result<(), String>> {
    let halves = [Half::Lower, Half::Upper].into_iter().filter(|half| subnet.senders.injected[half.index()]);
    let scope = Scope::of(&halves.collect::<Vec<_>>()).by(subnet.ways.as_ref());
    verify::prove_tables(&subnet.before, &subnet.tables, &scope).ok()?;
    let lfts = repair.waves.last().map_or(&subnet.tables.lfts, |wave| &wave.lfts).clone();
    let last = SubnetTables { lfts, ..subnet.tables.clone() };
    let fabric = &subnet.remaining;
    let course = Course { surviving: fabric, ..subnet.course(Vec::new()) };
    let arrives = |owner: PortId| {
        let port = fabric.port(owner);
        let base = port.lid.expect("a LID").0;
        let mut lids = (base..base + port.lmc.lids()).map(Lid);
        lids.all(|lid| course.intact(&last.lfts, lid, owner).len() == fabric.switches().count())
    };
    if !fabric.lid_ports().all(arrives) {
        return None;
    }
    let proved = verify::prove_tables(fabric, &last, &scope);
    Some(proved.map(drop).map_err(|refusal| refusal.to_string()))
}

/// The owners of LIDs with a row that has no way by some of the tables.
fn broken(subnet: &Subnet, tables: &[SubnetTables]) -> Vec<PortId> {
    let fabric = &subnet.surviving;
    let mut owners = BTreeSet::new();
    for owner in subnet.before.end_ports() {
        let port = subnet.before.port(owner);
        let base = port.lid.expect("a LID").0;
        for lid in (base..base + port.lmc.lids()).map(Lid) {
            let all = fabric.switches().count();
            let course = subnet.course(Vec::new());
            if tables.iter().any(|tables| course.intact(&tables.lfts, lid, owner).len() < all) {
                owners.insert(owner);
            }
        }
    }
    owners.into_iter().collect()
}
