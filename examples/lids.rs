//! The layer `lid`: from paths to LIDs. First figure 6 of Nienaber, Yuan and Duan (ANCS 2007), where greedy needs one
//! LID more than need be; then a small fabric, routed by paths that depend on the source, is realised with as
//! few LIDs as each heuristic finds, numbered, and turned into tables: `cargo run --example lids`.

use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, FabricBuilder, NodeId, NodeKind};
use reconfig::ids::{Guid, Half, PortNum};
use reconfig::lid::configure::optimum;
use reconfig::lid::{self, Heuristic, Needs, Splits};
use reconfig::routing::{Demand, PathEngine, ShortestWidest};
use reconfig::tables::{Hop, Path, PathSet};

/// Figure 6: the paths p1 to p4 from m1 to m4 over the switches s0 to s5 to m0.
fn figure_6() -> Result<(Fabric, PathSet), Box<dyn std::error::Error>> {
    let mut builder = FabricBuilder::new();
    let mut node = |kind, guid, ports, name: String| builder.node(kind, Guid(guid), ports, name);
    let switches: Vec<NodeId> = (0..6).map(|at| node(NodeKind::Switch, 1 + at, 8, format!("s{at}"))).collect();
    let machines: Vec<NodeId> = (0..5).map(|at| node(NodeKind::Ca, 0x100 + at, 1, format!("m{at}"))).collect();
    // By switch, its neighbours: the place in the list is the port.
    let mut cabled = vec![vec![]; 6];
    for (a, b) in [(4, 1), (1, 0), (4, 3), (3, 2), (2, 0), (5, 2), (5, 3), (3, 1)] {
        cabled[a].push(switches[b]);
        cabled[b].push(switches[a]);
        let port = |at: usize| (switches[at], PortNum(cabled[at].len() as u8));
        builder.link(port(a), port(b), Default::default(), Default::default())?;
    }
    for (machine, at) in machines.iter().zip([0, 4, 4, 5, 5]) {
        cabled[at].push(*machine);
        let port = (switches[at], PortNum(cabled[at].len() as u8));
        builder.link(port, (*machine, PortNum(1)), Default::default(), Default::default())?;
    }
    let fabric = builder.build()?;
    let end = |machine: NodeId| fabric.port_at(machine, PortNum(1)).ok_or("a machine has a port");
    let destination = end(machines[0])?;
    let mut paths = PathSet::new("figure 6", vec![destination]);
    for (from, through) in [(1, &[4, 1, 0][..]), (2, &[4, 3, 2, 0]), (4, &[5, 2, 0]), (3, &[5, 3, 1, 0])] {
        let onward = through[1..].iter().map(|&at| switches[at]).chain([machines[0]]);
        let port = |(&at, next): (&usize, NodeId)| {
            let place = cabled[at].iter().position(|&other| other == next).ok_or("a cable")?;
            Ok::<_, &str>(Hop { switch: switches[at], output: PortNum(place as u8 + 1) })
        };
        let hops: Vec<Hop> = through.iter().zip(onward).map(port).collect::<Result<_, _>>()?;
        paths.push(Path { source: end(machines[from])?, destination, layer: 0, hops: &hops });
    }
    Ok((fabric, paths))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (fabric, paths) = figure_6()?;
    let splits = Splits::of(&paths, &paths.by_destination(&fabric)[0]);
    println!("figure 6: four paths to m0, and the LID of each");
    for heuristic in Heuristic::ALL {
        let found = heuristic.solver().configure(&splits);
        println!("  {heuristic:<14} {:?}, {} LIDs", found.of_paths(&splits).collect::<Vec<_>>(), found.count());
    }

    let fabric = generate(&"random-regular:16,4,4".parse()?, &Options::default())?;
    let paths = ShortestWidest::default().paths(&fabric, &Demand::all(&fabric, 1))?;
    println!("{} paths by {}", paths.len(), paths.engine());

    for heuristic in Heuristic::ALL {
        let lids = lid::number_paths(&fabric, &paths, &*heuristic.solver());
        println!("  {heuristic:<14} {} LIDs in blocks of powers of two", lids.lids());
    }
    let least = paths.by_destination(&fabric).into_iter().map(|ranks| optimum(&Splits::of(&paths, &ranks), 100_000));
    println!(
        "  proved optimal for {} of {} destinations",
        least.filter(|one| one.is_proved()).count(),
        paths.destinations().len()
    );

    let function = lid::realise_paths(&fabric, &paths, Heuristic::default())?;
    let numbered = lid::assign_each(&fabric, &Needs::of(&fabric, &function)?)?;
    for (rank, &port) in
        function.destinations().iter().enumerate().filter(|&(rank, _)| function.needed(rank) > 2).take(3)
    {
        let halves = [Half::Lower, Half::Upper].map(|half| numbered.half_lids(port, half).count());
        let lmc = numbered.port(port).lmc;
        println!("{} needs {}: LMC {lmc}, halves of {halves:?}", fabric.describe_port(port), function.needed(rank));
    }
    let tables = lid::realise(&numbered, &function, &[Half::Lower, Half::Upper]);
    let entries: usize = tables.iter().map(|table| lid::RandomTable::of(table).len()).sum();
    println!("{entries} forwarding entries up to {:?}", numbered.max_lid());
    Ok(())
}
