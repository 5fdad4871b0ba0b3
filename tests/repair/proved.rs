//! Repairs before the prover of plans. It knows no rows that are lost already, so the owners of LIDs that have any are
//! named as omitted; of their rows it then judges lanes, loops and arrivals. Waves with no barrier between them are one
//! transition, and each `aged` begins another.

use super::subject::Subnet;
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Lid, VlSet};
use reconfig::repair::Repair;
use reconfig::tables::SubnetTables;
use reconfig::verify::{self, InjectionRules, ProofWave, Transition};
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
