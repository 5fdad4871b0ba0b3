//! Transitions told wave by wave, for the tests of the prover.

use crate::support::fabrics::fabric_of;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Sl, Vl, VlSet};
use reconfig::lid;
use reconfig::routing::{Demand, Engine, UpDown, stranded};
use reconfig::tables::{NodeSlToVl, SlToVl, SubnetTables};
use reconfig::verify::{ProofWave, Transition};
use std::sync::Arc;

/// Data VLs of the transitions here.
pub const VLS: u8 = 4;

/// A connected simple random regular fabric, by drawing pairings until one fits.
pub fn regular_fabric(seed: u64, switches: usize, degree: usize) -> Fabric {
    let mut rng = Pcg64::seed_from_u64(seed);
    loop {
        let mut stubs: Vec<usize> = (0..switches * degree).map(|stub| stub / degree).collect();
        stubs.shuffle(&mut rng);
        let mut links: Vec<(usize, usize)> =
            stubs.chunks(2).map(|pair| (pair[0].min(pair[1]), pair[0].max(pair[1]))).collect();
        links.sort_unstable();
        let simple = links.windows(2).all(|pair| pair[0] != pair[1]) && links.iter().all(|(a, b)| a != b);
        let mut reached = vec![0];
        let mut next = 0;
        while let Some(&at) = reached.get(next) {
            next += 1;
            for &(a, b) in links.iter().filter(|&&(a, b)| a == at || b == at) {
                let other = a + b - at;
                if !reached.contains(&other) {
                    reached.push(other);
                }
            }
        }
        if simple && reached.len() == switches {
            return fabric_of(switches, &links, 1);
        }
    }
}

/// Up*/down* tables with `root`, on both halves.
pub fn tables_with_root(fabric: &Fabric, root: Option<NodeId>) -> SubnetTables {
    let function = UpDown { root }.route(fabric, &Demand::all(fabric, 1)).unwrap();
    lid::bring_up(fabric, &function, VLS)
}

/// One wave, owning its tables.
pub struct Wave {
    pub name: &'static str,
    pub before: SubnetTables,
    pub after: SubnetTables,
    pub injected: [bool; 2],
    pub empty: VlSet,
    pub gone: [bool; 2],
}

/// A transition by its waves.
pub struct Waves {
    pub fabric: Fabric,
    pub surviving: Fabric,
    pub stranded: Vec<PortId>,
    pub waves: Vec<Wave>,
}

impl Transition for Waves {
    fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    fn surviving(&self) -> &Fabric {
        &self.surviving
    }

    fn waves(&self) -> Vec<ProofWave<'_>> {
        self.waves
            .iter()
            .map(|wave| ProofWave {
                name: wave.name.to_string(),
                before: &wave.before,
                after: &wave.after,
                injected: wave.injected,
                ways: Default::default(),
                empty: wave.empty,
                gone: wave.gone,
                aged: None,
            })
            .collect()
    }

    fn stranded(&self) -> &[PortId] {
        &self.stranded
    }
}

pub fn lanes(range: std::ops::Range<u8>) -> VlSet {
    range.map(Vl::masked).collect()
}

pub fn split_table(sl: Sl) -> Vl {
    let offset = match Half::of_sl(sl) {
        Half::Lower => 0,
        Half::Upper => VLS / 2,
    };
    Vl::masked(offset + sl.get() % (VLS / 2))
}

pub fn restored_table(sl: Sl) -> Vl {
    match Half::of_sl(sl) {
        Half::Lower => split_table(sl),
        Half::Upper => Vl::masked(sl.get() % VLS),
    }
}

pub fn with_sl_to_vl(tables: &SubnetTables, table: SlToVl) -> SubnetTables {
    let mut changed = tables.clone();
    changed.sl_to_vl.fill(Arc::new(NodeSlToVl::Uniform(table)));
    changed
}

/// A change of routing from `old` to what `new_tables` realises.
pub struct Change {
    pub fabric: Fabric,
    pub surviving: Fabric,
    pub after: Fabric,
    pub old: SubnetTables,
    pub stranded: Vec<PortId>,
}

impl Change {
    /// The root of `fabric` is removed; it dies first when `sudden`.
    pub fn root_removal(fabric: &Fabric, sudden: bool) -> Change {
        let root = reconfig::routing::choose_root(fabric).unwrap();
        let after = fabric.without_nodes(&[root]);
        let surviving = if sudden { after.clone() } else { fabric.clone() };
        let old = tables_with_root(fabric, Some(root));
        let stranded = stranded(fabric, &after, Change::sm(fabric, root));
        Change { fabric: fabric.clone(), surviving, after, old, stranded }
    }

    fn sm(fabric: &Fabric, root: NodeId) -> PortId {
        let largest = fabric.without_nodes(&[root]);
        let size = |sm: &PortId| stranded(fabric, &largest, *sm).len();
        fabric.end_ports().filter(|&port| fabric.neighbour(port) != Some(root)).take(20).min_by_key(size).unwrap()
    }

    /// The tables with the new routing function on `halves`.
    pub fn installed(&self, tables: &SubnetTables, halves: &[Half]) -> SubnetTables {
        let omitted = |port: &PortId| self.stranded.contains(port);
        let sm = self.fabric.end_ports().find(|port| !omitted(port)).unwrap();
        let demand = Demand::joined_with(&self.after, sm, 1);
        let function = UpDown::default().route(&self.after, &demand).unwrap();
        let mut changed = tables.clone();
        changed.lfts = lid::merge(&self.fabric, &tables.lfts, &function, halves);
        changed
    }

    /// The five phases; `flushed` is what the barrier of the first leaves empty.
    pub fn double(&self, flushed: VlSet) -> Waves {
        let split = with_sl_to_vl(&self.old, SlToVl::from_fn(split_table));
        let installed = self.installed(&split, &[Half::Upper]);
        let restored = with_sl_to_vl(&installed, SlToVl::from_fn(restored_table));
        let none = VlSet::EMPTY;
        let wave = |name, before: &SubnetTables, after: &SubnetTables, injected, empty, gone| {
            let (before, after) = (before.clone(), after.clone());
            Wave { name, before, after, injected, empty, gone }
        };
        let waves = vec![
            wave("split", &self.old, &split, [true, false], none, [false; 2]),
            wave("install", &split, &installed, [true, false], flushed, [false; 2]),
            wave("swap", &installed, &installed, [true, true], none, [false; 2]),
            wave("drain", &installed, &installed, [false, true], none, [false; 2]),
            wave("restore", &installed, &restored, [false, true], lanes(0..VLS / 2), [true, false]),
        ];
        self.waves(waves)
    }

    /// All tables rewritten in one wave under traffic.
    pub fn in_place(&self) -> Waves {
        let installed = self.installed(&self.old, &[Half::Lower, Half::Upper]);
        let (before, name) = (self.old.clone(), "rewrite");
        let (injected, empty) = ([true, false], VlSet::EMPTY);
        self.waves(vec![Wave { name, before, after: installed, injected, empty, gone: [false; 2] }])
    }

    fn waves(&self, waves: Vec<Wave>) -> Waves {
        let (fabric, surviving) = (self.fabric.clone(), self.surviving.clone());
        Waves { fabric, surviving, stranded: self.stranded.clone(), waves }
    }
}
