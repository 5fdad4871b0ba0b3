//! Seed 002, section 3: a graph becomes paths that split where it has edges, so that its chromatic number is the number
//! of LIDs. Graphs whose chromatic number is known try the exact solver.

use super::net::reduction;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use reconfig::lid::configure::{Heuristic, optimum};

type Graph = (usize, Vec<(usize, usize)>);

const STEPS: u64 = 2_000_000;

fn cycle(length: usize) -> Graph {
    (length, (0..length).map(|at| (at, (at + 1) % length)).collect())
}

fn complete(vertices: usize) -> Graph {
    (vertices, (0..vertices).flat_map(|a| (0..a).map(move |b| (b, a))).collect())
}

fn petersen() -> Graph {
    (10, (0..5).flat_map(|at| [(at, (at + 1) % 5), (at, at + 5), (at + 5, (at + 2) % 5 + 5)]).collect())
}

/// Mycielski's construction: no triangle more, one colour more.
fn mycielski((vertices, edges): &Graph) -> Graph {
    let top = 2 * vertices;
    let shadows = edges.iter().flat_map(|&(a, b)| [(a, b), (a, b + vertices), (b, a + vertices)]);
    (top + 1, shadows.chain((0..*vertices).map(|at| (at + vertices, top))).collect())
}

/// Queens that threaten each other on a board of this side.
fn queens(side: usize) -> Graph {
    let threatens =
        |a: (usize, usize), b: (usize, usize)| a.0 == b.0 || a.1 == b.1 || a.0.abs_diff(b.0) == a.1.abs_diff(b.1);
    let at = |i: usize| (i / side, i % side);
    let squares = side * side;
    (
        squares,
        (0..squares).flat_map(|a| (0..a).filter(move |&b| threatens(at(a), at(b))).map(move |b| (b, a))).collect(),
    )
}

fn assert_colours(name: &str, (vertices, edges): &Graph, colours: usize) {
    let (net, destination) = reduction(*vertices, edges);
    let splits = net.splits(destination);
    for vertex in 0..*vertices {
        let near = |other: &usize| edges.contains(&(vertex, *other)) || edges.contains(&(*other, vertex));
        assert_eq!(splits.apart(vertex).ones().collect::<Vec<_>>(), (0..*vertices).filter(near).collect::<Vec<_>>());
    }
    let found = optimum(&splits, STEPS);
    assert_eq!((found.configurations.count(), found.least), (colours, colours), "{name}");
    assert!(found.configurations.is_proper(&splits), "{name}");
    for heuristic in Heuristic::ALL {
        let found = heuristic.solver().configure(&splits);
        assert!(found.is_proper(&splits) && found.count() >= colours, "{name}: {heuristic}");
    }
}

#[test]
fn chromatic_numbers_come_out_as_lids() {
    (3..12).for_each(|length| assert_colours("cycle", &cycle(length), 2 + length % 2));
    (1..12).for_each(|vertices| assert_colours("complete", &complete(vertices), vertices));
    assert_colours("Petersen", &petersen(), 3);
    let groetzsch = mycielski(&cycle(5));
    assert_eq!((groetzsch.0, groetzsch.1.len()), (11, 20));
    assert_colours("Grötzsch", &groetzsch, 4);
    assert_colours("Mycielski, 23 vertices", &mycielski(&groetzsch), 5);
    assert_colours("Mycielski of Petersen", &mycielski(&petersen()), 4);
    assert_colours("queens, 5", &queens(5), 5);
    assert_colours("queens, 6", &queens(6), 7);
    assert_colours("figure 4", &(4, vec![(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]), 3);
}

/// Every colouring of so few vertices.
fn brute_force((vertices, edges): &Graph) -> usize {
    let colourable = |colours: usize| {
        (0..colours.pow(*vertices as u32)).any(|code| {
            let of = |vertex: usize| code / colours.pow(vertex as u32) % colours;
            edges.iter().all(|&(a, b)| of(a) != of(b))
        })
    };
    (1..).find(|&colours| colourable(colours)).unwrap()
}

#[test]
fn the_optimum_is_what_trying_all_colourings_gives() {
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    for case in 0..60 {
        let vertices = rng.random_range(1..8usize);
        let all = complete(vertices).1;
        let graph = (vertices, all.into_iter().filter(|_| rng.random_bool(0.5)).collect::<Vec<_>>());
        assert_colours(&format!("case {case}"), &graph, brute_force(&graph));
    }
}

#[test]
fn too_few_steps_are_told_as_bounds() {
    let (net, destination) = reduction(23, &mycielski(&mycielski(&cycle(5))).1);
    let found = optimum(&net.splits(destination), 3);
    assert!(!found.is_proved() && found.least < 5 && found.configurations.count() >= 5, "{found:?}");
}
