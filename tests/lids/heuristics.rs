//! Seed 002: the split test, figure 6, and what every heuristic promises.

use super::net::{Net, random_net};
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reconfig::lid::configure::{
    Colour, ColourReduced, Configurations, Configure, Greedy, Heuristic, HeuristicOrder, optimum,
};
use reconfig::lid::{PathLidError, Splits, number_paths, realise_paths};

/// Figure 6: destination m0 on s0; p1 to p4 in their order.
fn figure_6() -> Net {
    // Hosts are attached to switches of their own here: 6 to 9 are m1 to m4.
    let cables = [(6, 4), (7, 4), (8, 5), (9, 5), (4, 1), (1, 0), (4, 3), (3, 2), (2, 0), (5, 2), (5, 3), (3, 1)];
    let mut net = Net::new(10, &cables);
    net.path(&[6, 4, 1, 0], 0);
    net.path(&[7, 4, 3, 2, 0], 0);
    net.path(&[9, 5, 2, 0], 0);
    net.path(&[8, 5, 3, 1, 0], 0);
    net
}

#[test]
fn the_split_graph_of_figure_6_is_figure_8() {
    let splits = figure_6().splits(0);
    let partners = |at: usize| splits.apart(at).ones().collect::<Vec<_>>();
    assert_eq!([0, 1, 2, 3].map(partners), [vec![1], vec![0, 3], vec![3], vec![1, 2]]);
    assert_eq!([0, 1, 2, 3].map(|class| splits.degree(class)), [1, 2, 1, 2]);
}

#[test]
fn greedy_takes_three_lids_for_figure_6_and_colouring_two() {
    let splits = figure_6().splits(0);
    assert_eq!(Greedy.configure(&splits).of_class(), [0, 1, 0, 2], "{{p1, p3}}, {{p2}}, {{p4}}");
    assert_eq!(Colour(HeuristicOrder::Largest).configure(&splits).of_class(), [1, 0, 0, 1], "{{p2, p3}}, {{p1, p4}}");
    assert_eq!(optimum(&splits, 100).configurations.count(), 2);
    let net = figure_6();
    assert_eq!(number_paths(&net.fabric, &net.paths, &Greedy).lids(), 4, "three take a block of four");
}

#[test]
fn sharing_is_not_transitive() {
    // Section 2: p1 can share with p2 and with p3, which split at s0.
    let mut net = Net::new(5, &[(0, 1), (1, 2), (0, 2), (3, 1), (4, 0)]);
    net.path(&[3, 1, 2], 0);
    net.path(&[4, 0, 1, 2], 0);
    net.path(&[0, 2], 0);
    let splits = net.splits(2);
    let split = |a: usize, b: usize| splits.apart(a).contains(b);
    assert_eq!([split(0, 1), split(0, 2), split(1, 2), split(2, 1)], [false, false, true, true]);
}

/// By the definition, hop by hop.
fn split(net: &Net, a: usize, b: usize) -> bool {
    let (a, b) = (net.paths.get(a).hops, net.paths.get(b).hops);
    a.iter().any(|x| b.iter().any(|y| x.switch == y.switch && x.output != y.output))
}

#[test]
fn the_split_graph_is_definition_1() {
    for seed in 0..20 {
        let net = random_net(8, 4, &mut Pcg64Mcg::seed_from_u64(seed));
        for (at, ranks) in net.paths.by_destination(&net.fabric).iter().enumerate() {
            let splits = net.splits(at);
            for (i, &a) in ranks.iter().enumerate() {
                let others = ranks.iter().filter(|&&b| split(&net, a as usize, b as usize));
                assert_eq!(splits.degree(splits.class_of()[i]), others.count());
                for (j, &b) in ranks.iter().enumerate() {
                    let (x, y) = (splits.class_of()[i], splits.class_of()[j]);
                    assert_eq!(splits.apart(x).contains(y), split(&net, a as usize, b as usize), "seed {seed}");
                }
            }
        }
    }
}

/// No two configurations could be one (definition 4).
fn is_minimal(splits: &Splits, found: &Configurations) -> bool {
    let members = |of| (0..splits.len()).filter(move |&class| found.of_class()[class] == of);
    let part = |a, b| members(a).any(|x| members(b).any(|y| splits.apart(x).contains(y)));
    (0..found.count()).all(|a| (a + 1..found.count()).all(|b| part(a, b)))
}

#[test]
fn every_heuristic_gives_a_minimal_configuration_set_and_none_beats_the_optimum() {
    let mut gaps = 0;
    for seed in 0..40 {
        let net = random_net(6 + seed as usize % 10, 4, &mut Pcg64Mcg::seed_from_u64(seed));
        for at in 0..6 {
            let splits = net.splits(at);
            let best = optimum(&splits, 1_000_000);
            assert!(best.is_proved() && best.configurations.is_proper(&splits), "seed {seed}");
            assert!(best.least >= splits.crossing().len());
            for heuristic in Heuristic::ALL {
                let found = heuristic.solver().configure(&splits);
                assert!(found.is_proper(&splits), "{heuristic}, seed {seed}");
                assert!(heuristic == Heuristic::Exact || is_minimal(&splits, &found), "{heuristic}, seed {seed}");
                assert!(found.count() >= best.least, "{heuristic}, seed {seed}");
                gaps += found.count() - best.least;
            }
            for order in [HeuristicOrder::Largest, HeuristicOrder::Smallest] {
                for each_path in [false, true] {
                    let found = ColourReduced { order, each_path }.configure(&splits);
                    assert!(found.is_proper(&splits) && is_minimal(&splits, &found), "{order:?}, {each_path}, {seed}");
                    assert!(found.count() >= best.least, "{order:?}, {each_path}, {seed}");
                }
            }
            let fewest = Heuristic::ALL.map(|heuristic| heuristic.solver().configure(&splits).count());
            assert_eq!(fewest[6], *fewest[..6].iter().min().unwrap(), "best is the best of the others");
        }
    }
    assert!(gaps > 0, "random walks are hard enough that some heuristic misses the optimum");
}

#[test]
fn names_read_back() {
    for heuristic in Heuristic::ALL {
        assert_eq!(heuristic.to_string().parse(), Ok(heuristic));
        assert_eq!(heuristic.solver().name(), heuristic.name());
    }
    let error = "colour".parse::<Heuristic>().unwrap_err();
    assert!(error.to_string().contains("color/L"), "{error}");
}

#[test]
fn identical_paths_on_two_layers_share_a_lid_unless_one_source_has_both() {
    let cables = [(0, 1), (1, 2)];
    let mut net = Net::new(3, &cables);
    net.path(&[0, 1, 2], 0);
    net.path(&[1, 2], 1);
    assert_eq!(Greedy.configure(&net.splits(2)).count(), 1);
    net.path(&[0, 1, 2], 1);
    let found = Greedy.configure(&net.splits(2));
    assert_eq!(found.count(), 2, "the source tells its two layers apart by DLID alone");
    let function = realise_paths(&net.fabric, &net.paths, Heuristic::Greedy).unwrap();
    let layers = function.path_layers().unwrap();
    assert_eq!(layers.ways(net.host(0), net.host(2)).collect::<Vec<_>>(), [(0, 0), (1, 1)]);
    assert_eq!(layers.ways(net.host(1), net.host(2)).collect::<Vec<_>>(), [(0, 1)]);
}

#[test]
fn what_an_lmc_cannot_give_is_refused_by_name() {
    // 66 ways from one switch to another.
    let between = 66;
    let cables: Vec<(usize, usize)> = (1..=between).flat_map(|at| [(0, at), (at, between + 1)]).collect();
    let mut net = Net::new(between + 2, &cables);
    (1..=between).for_each(|at| net.path(&[0, at, between + 1], 0));
    let error = realise_paths(&net.fabric, &net.paths, Heuristic::Best).unwrap_err();
    assert_eq!(error, PathLidError::TooMany { port: "h67[1]".into(), needed: 66 });
}
