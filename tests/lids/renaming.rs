//! Seed 000: its worked example, first fit, tables, and what happens when ids run out.

use super::net::{Net, random_net};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reconfig::ids::{Half, Lid, Lmc, PortNum};
use reconfig::lid::configure::{Configure, Greedy};
use reconfig::lid::{Name, RandomTable, number_paths, realise, realise_numbered, rename};

/// The channels of the paper's figure 1, from its text and its tables 1 and 3: c1 joins n0 and n1, c2 n0 and n2, c4 n1
/// and n4, c5 n5 and n2, c6 n2 and n8, c9 n4 and n5, c10 n7 and n8, c11 n6 and n7, c12 n5 and n6. n3 (with c3, c7 and
/// c8) takes no part in the example; it joins n0 with n6 and n7, which makes the directions come out as the text has
/// them.
const CHANNELS: [(usize, usize); 12] =
    [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (2, 8), (3, 6), (3, 7), (4, 5), (7, 8), (6, 7), (5, 6)];

fn figure_1() -> Net {
    let mut net = Net::new(9, &CHANNELS);
    // Table 1: n4 to n2, n5 to n8 and n4 to n8.
    net.path(&[4, 1, 0, 2], 0);
    net.path(&[5, 2, 8], 0);
    net.path(&[4, 5, 6, 7, 8], 0);
    net
}

#[test]
fn the_paths_of_figure_1_never_turn_up_after_down() {
    let level = [0, 1, 1, 1, 2, 2, 2, 2, 2];
    let up = |from: usize, to: usize| (level[to], to) < (level[from], from);
    for (a, b) in CHANNELS {
        assert!(usize::abs_diff(level[a], level[b]) <= 1, "levels are those of a breadth-first tree");
    }
    let rises = |through: &[usize]| through.windows(2).map(|pair| up(pair[0], pair[1])).collect::<Vec<_>>();
    assert_eq!(rises(&[4, 1, 0, 2]), [true, true, false], "c4(up) c1(up) c2(down)");
    assert_eq!(rises(&[4, 5, 6, 7, 8]), [false; 4], "c9 c12 c11 c10, all down");
    assert_eq!(rises(&[5, 2, 8]), [true, false], "c5(up) c6(down)");
    assert_eq!(rises(&[4, 5, 2, 8]), [false, true, false], "the way that is not valid");
}

#[test]
fn the_worked_example_gives_table_3() {
    let net = figure_1();
    let renaming = rename(&net.fabric, &net.paths, |_| 8).unwrap();
    assert_eq!(renaming.ids(), [0, 0, 1], "H: n4 sends to n8.1, n5 to n8, and n4 to n2 as ever");
    let local = PortNum(1);
    let name = |at: usize, id| Name { destination: net.host(at), id };
    let table = |at: usize| renaming.table(net.switch(at)).collect::<Vec<_>>();
    assert_eq!(table(0), [(name(2, 0), net.port(0, 2))]);
    assert_eq!(table(1), [(name(2, 0), net.port(1, 0))]);
    assert_eq!(table(2), [(name(2, 0), local), (name(8, 0), net.port(2, 8))]);
    assert_eq!(table(4), [(name(2, 0), net.port(4, 1)), (name(8, 1), net.port(4, 5))]);
    assert_eq!(table(5), [(name(8, 0), net.port(5, 2)), (name(8, 1), net.port(5, 6))]);
    assert_eq!(table(6), [(name(8, 1), net.port(6, 7))]);
    assert_eq!(table(7), [(name(8, 1), net.port(7, 8))]);
    assert_eq!(table(8), [(name(8, 0), local), (name(8, 1), local)]);
    assert_eq!(renaming.entries(), (7, 5));
    assert_eq!((renaming.lmc(8), renaming.lmc(2), renaming.lmc(3)), (Lmc::masked(1), Lmc::default(), Lmc::default()));
}

#[test]
fn one_id_for_n8_does_not_suffice_and_the_error_names_it() {
    let net = figure_1();
    let error = rename(&net.fabric, &net.paths, |port| if port == net.host(8) { 1 } else { 128 }).unwrap_err();
    assert_eq!((error.to.as_str(), error.from.as_str(), error.ids), ("h8[1]", "h4[1]", 1));
    assert!(error.to_string().contains("the path from h4[1] to h8[1]"), "{error}");
}

/// First fit, path after path, is the greedy heuristic: the test that comes for nothing.
#[test]
fn renaming_in_path_order_is_the_greedy_heuristic() {
    for seed in 0..60 {
        let mut rng = Pcg64Mcg::seed_from_u64(seed);
        let net = random_net(4 + seed as usize % 12, 3 + seed as usize % 4, &mut rng);
        let renaming = rename(&net.fabric, &net.paths, |_| 128).unwrap();
        let greedy = number_paths(&net.fabric, &net.paths, &Greedy);
        assert_eq!(renaming.path_lids(), greedy, "seed {seed}");
        assert!(seed % 12 < 4 || greedy.lids() > net.paths.destinations().len(), "random walks conflict: seed {seed}");
    }
}

/// Random and linear tables say the same, and following either is following the path.
#[test]
fn tables_of_both_forms_follow_the_paths() {
    for seed in 0..20 {
        let net = random_net(9, 4, &mut Pcg64Mcg::seed_from_u64(seed));
        let renaming = rename(&net.fabric, &net.paths, |_| 128).unwrap();
        let needs = reconfig::lid::Needs::of_paths(&net.fabric, &net.paths, &renaming.path_lids()).unwrap();
        let fabric = reconfig::lid::assign_each(&net.fabric, &needs).unwrap();
        let function = realise_numbered(&net.fabric, &net.paths, &renaming.path_lids()).unwrap();
        for half in [Half::Lower, Half::Upper] {
            let linear = realise(&fabric, &function, &[half]);
            let random = renaming.random_tables(&fabric, half, |_| 9 * 128).unwrap();
            for (path, &id) in net.paths.iter().zip(renaming.ids()) {
                let lid: Lid = fabric.half_lids(path.destination, half).nth(id as usize).unwrap();
                for hop in path.hops {
                    assert_eq!(linear[hop.switch.index()].get(lid), Some(hop.output), "seed {seed}");
                    assert_eq!(random[hop.switch.index()].get(lid), Some(hop.output), "seed {seed}");
                }
            }
            let entries: usize = random.iter().map(RandomTable::len).sum();
            let (original, added) = renaming.entries();
            assert_eq!(entries, original + added, "seed {seed}: entries are a set");
            for (linear, random) in linear.iter().zip(&random) {
                assert!(random.iter().all(|(lid, output)| linear.get(lid) == Some(output)), "seed {seed}");
                assert_eq!(RandomTable::of(&random.linear()), *random);
            }
        }
        assert_eq!(Greedy.name(), "greedy");
    }
}

/// RandomFDBCap bounds a table: as many entries as it has fit, one less is an error that says where and how many.
#[test]
fn a_random_table_that_a_switch_has_no_room_for_is_an_error() {
    let net = random_net(9, 4, &mut Pcg64Mcg::seed_from_u64(1));
    let renaming = rename(&net.fabric, &net.paths, |_| 128).unwrap();
    let needs = reconfig::lid::Needs::of_paths(&net.fabric, &net.paths, &renaming.path_lids()).unwrap();
    let fabric = reconfig::lid::assign_each(&net.fabric, &needs).unwrap();
    let entries = |switch| renaming.table(switch).count() as u16;
    let (fullest, most) = fabric.switches().map(|switch| (switch, entries(switch))).max_by_key(|one| one.1).unwrap();
    assert!(renaming.random_tables(&fabric, Half::Lower, entries).is_ok());
    let refused =
        renaming.random_tables(&fabric, Half::Lower, |switch| most - u16::from(switch == fullest)).unwrap_err();
    assert_eq!((refused.capacity, refused.needed), (most - 1, usize::from(most)));
    let told = refused.to_string();
    assert!(told.contains(&fabric.describe_node(fullest)) && told.contains("RandomFDBCap"), "{told}");
}
