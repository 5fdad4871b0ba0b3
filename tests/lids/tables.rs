//! Realised path functions as tables: proved, and followed.

use super::net::random_net;
use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use reconfig::lid::{Heuristic, MOST_LIDS, realise_paths};

/// Following a function from any source by the path that is open to it leads over the switches of its path.
#[test]
fn every_source_follows_its_path() {
    for seed in 0..10 {
        let net = random_net(9, 4, &mut Pcg64Mcg::seed_from_u64(seed));
        for heuristic in Heuristic::ALL {
            let function = realise_paths(&net.fabric, &net.paths, heuristic).unwrap();
            assert!(function.paths() <= MOST_LIDS);
            let layers = function.path_layers().unwrap();
            for path in net.paths.iter() {
                let rank = function.destinations().iter().position(|&port| port == path.destination).unwrap();
                let ways: Vec<(usize, u8)> = layers.ways(path.source, path.destination).collect();
                let [(way, 0)] = ways[..] else { panic!("one way, by one layer: {ways:?}") };
                for hop in path.hops {
                    assert_eq!(function.output(hop.switch, rank, way), Some(hop.output), "{heuristic}, seed {seed}");
                }
            }
        }
    }
}
