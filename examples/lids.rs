//! The layer `lid`: from paths to LIDs. A small fabric, routed by paths that depend on the source, is realised with as
//! few LIDs as each heuristic finds, numbered, and turned into tables: `cargo run --example lids`.

use reconfig::fabric::generate::{Options, generate};
use reconfig::ids::Half;
use reconfig::lid::configure::optimum;
use reconfig::lid::{self, Heuristic, Needs, Splits};
use reconfig::routing::{Demand, PathEngine, ShortestWidest};

fn main() -> Result<(), Box<dyn std::error::Error>> {
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
