//! Counts the seeds of `irregular:16,4,14,23` by the hops of their drain tokens: sixteen four-port switches, fourteen
//! hosts and twenty-three switch links, as the Double Scheme's own example has them. A seed counts if its up*/down*
//! root bears no host, and if any one switch may go without cutting the rest in two. The first such seed is the bundled
//! fabric `seed-16`; `reconfig reproduce seed-001` takes the first with 7 channels once the root has died, as the paper
//! has hops, and 9 with it, which are 7 without those to and from hosts: `cargo run --release -p reconfig-measuring
//! --bin find_seed_16 [SEEDS]`.

use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::summary::Summary;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{DrainGraph, Lanes};
use reconfig::routing::{Demand, Engine, UpDown, choose_root};
use reconfig::verify::{ChannelGraph, ChannelGraphInput};
use std::collections::BTreeMap;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let topology: Topology = "irregular:16,4,14,23".parse()?;
    let seeds = std::env::args().nth(1).map_or(Ok(1_000), |text| text.parse())?;
    let mut counts: BTreeMap<[u32; 2], (u64, u64)> = BTreeMap::new();
    for seed in 0..seeds {
        let fabric = generate(&topology, &Options { seed, ..Options::default() })?;
        let Some(root) = choose_root(&fabric).filter(|&root| fits(&fabric, root)) else { continue };
        let depths = [depth(&fabric, &[])?, depth(&fabric, &[root])?];
        let (count, _) = counts.entry(depths).or_insert((0, seed));
        *count += 1;
    }
    for ([whole, left], (count, first)) in &counts {
        println!("{whole:2} channels with the root, {left:2} without: {count:5} seeds, the first is {first}");
    }
    Ok(())
}

/// Whether the root bears no host, and any one switch may go.
fn fits(fabric: &Fabric, root: NodeId) -> bool {
    let bare = fabric.ports_of(root).filter_map(|port| fabric.neighbour(port)).all(|id| fabric.node(id).is_switch());
    bare && fabric.switches().all(|lost| Summary::of(&fabric.without_nodes(&[lost])).parts == 1)
}

/// Channels on the longest path of the channel dependency graph that is drained, those from and to hosts included, when
/// some switches have died.
fn depth(fabric: &Fabric, dead: &[NodeId]) -> Result<u32, Failure> {
    let fabric = lid::assign(&fabric.with_data_vls(4), Lmc::masked(1))?;
    let function = UpDown::default().route(&fabric, &Demand::all(&fabric, 1))?;
    let tables = lid::bring_up(&fabric, &function, 4);
    let surviving = fabric.without_nodes(dead);
    let lanes = Lanes::of_fabric(&fabric, None).all;
    let (fabric, surviving, tables, half) = (&fabric, &surviving, &tables, Half::Lower);
    let input = ChannelGraphInput { fabric, surviving, tables, half, lanes, ways: None, stranded: &[] };
    let graph = ChannelGraph::new(&input)?;
    Ok(DrainGraph::new(surviving, graph.outputs().iter().cloned().collect(), graph.sources())?.depth())
}
