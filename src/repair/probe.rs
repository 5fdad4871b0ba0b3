//! What no wave can do, found before it is searched for.
//!
//! Dependencies are only ever added until packets have had time to leave. An entry that closes a cycle with what the
//! tables in force do by themselves is therefore refused whatever else is set before it, so rows that none but such
//! entries join with a way stay lost. That is soon seen, where a search that has to find it out tries everything.

use super::columns::Ways;
use super::trial::{Change, Trial, Within};

/// Whether some lost row of a target stays lost within what is asked. False says nothing: entries that are admitted one
/// by one may still exclude each other.
pub(super) fn is_out_of_reach(trial: &mut Trial<'_, '_>, target: usize, within: Within) -> bool {
    trial.restart();
    trial.turn_to(target);
    let net = &trial.subject.net;
    let mut ways = Ways::new(net);
    ways.follow(net, &trial.was, &net.kept);
    let home = trial.subject.targets[target].row as usize;
    // The row that delivers gets its entry without any dependency.
    let mut served: Vec<bool> = (0..net.rows.len()).map(|row| ways.arrives(row) || row == home).collect();
    let mut reached: Vec<u32> = (0..net.rows.len() as u32).filter(|&row| served[row as usize]).collect();
    while let Some(row) = reached.pop() {
        for entry in net.into(row as usize).filter(|&entry| net.kept[entry as usize]) {
            let from = net.channel(entry).from;
            let change = Change { row: from, entry };
            if !served[from as usize] && net.stays[from as usize] && trial.could_admit(change, within) {
                served[from as usize] = true;
                reached.push(from);
            }
        }
    }
    (0..net.rows.len()).any(|row| !served[row] && net.can_reach(row, home))
}

#[cfg(test)]
mod tests {
    use super::super::limits::LAST_CHANCE_WORK;
    use super::super::subject::RepairSubject;
    use super::super::{RepairInput, surveyed, tests::quiet_input};
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::fabric::{Fabric, PortId};
    use crate::ids::Lmc;
    use crate::lid;
    use crate::routing::{Demand, Engine, FatTree, UpDown, choose_root, switch_order};

    /// What is said to be out of reach is never reached by the searches that the word spares, over the loss of each
    /// cable between switches.
    #[test]
    fn what_is_out_of_reach_is_not_found_by_searching() {
        let (mut losses, mut in_vain, mut waiting) = (0, 0, 0);
        let engines: [(&str, &dyn Engine); 3] = [
            ("three-level:4,3,2,2,2", &FatTree),
            ("torus:4x4,1", &UpDown::default()),
            ("random-regular:12,4,1", &UpDown::default()),
        ];
        for (topology, engine) in engines {
            let plain = generate(&topology.parse().unwrap(), &Options::default()).unwrap();
            let fabric = lid::assign(&plain.with_capabilities(4, true), Lmc::masked(1)).unwrap();
            let function = engine.route(&fabric, &Demand::all(&fabric, 1)).unwrap();
            let tables = lid::bring_up(&fabric, &function, 4);
            let is_switch = |port: PortId| fabric.neighbour(port).is_some_and(|node| fabric.node(node).is_switch());
            for (cable, _) in fabric.links().filter(|&(a, b)| is_switch(a) && is_switch(b)) {
                let rest: Fabric = fabric.without_links(&[cable]);
                let order = choose_root(&fabric).and_then(|root| switch_order(engine.name(), &fabric, root));
                let owned = quiet_input(&fabric);
                let asked = RepairInput {
                    surviving: &rest,
                    remaining: &rest,
                    tables: &tables,
                    order: order.as_deref(),
                    ..owned.input()
                };
                for discards_turned_back in [false, true] {
                    let subject = RepairSubject::of(RepairInput { discards_turned_back, ..asked });
                    let mut repair = surveyed(&subject, None);
                    let mut trial = repair.at_loss().unwrap();
                    let broken = repair.broken().to_vec();
                    let mut beyond = |within| {
                        let out = |&target: &u32| is_out_of_reach(&mut trial, target as usize, within);
                        broken.iter().copied().filter(out).collect::<Vec<u32>>()
                    };
                    let (one_wave, no_wait) = (beyond(Within::OneWave), beyond(Within::NoWait));
                    assert!(no_wait.iter().all(|target| one_wave.contains(target)), "{topology}");
                    repair.reconnect(&mut trial, u64::MAX);
                    let left = repair.left_targets();
                    assert!(one_wave.iter().all(|target| left.contains(target)), "{topology}: {one_wave:?}, {left:?}");
                    if !repair.is_done() {
                        repair.search_inward(&mut trial, LAST_CHANCE_WORK);
                        assert!(no_wait.is_empty() || !repair.is_done(), "{topology}: {no_wait:?}");
                    }
                    losses += 1;
                    in_vain += usize::from(!one_wave.is_empty());
                    waiting += usize::from(!no_wait.is_empty());
                }
            }
        }
        assert!(in_vain > losses / 10 && in_vain < losses, "{in_vain} of {losses} seen to need several waves");
        assert!(waiting > 0, "of {losses} none was seen to have to wait");
    }
}
