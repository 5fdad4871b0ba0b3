//! One seed, one run: nothing depends on anything but its input.

use super::claim;
use super::play::{End, Play, Setting, settings};
use super::proved::prepared;
use super::world::{World, worlds};
use reconfig::plan::Scheme;
use reconfig::sim::PacketCounts;

/// How a change ends, what becomes of the packets, and the digest of every event.
fn run(world: &World, setting: &Setting) -> Option<(String, PacketCounts, u64)> {
    let built = world.build()?;
    prepared(world, setting, &built).ok()?;
    let mut play = Play::begin(world, setting, built);
    let end = match play.change(world, Vec::new()) {
        End::Report(report) => format!("{:?} {:?}", report.outcome, report.phases),
        other => format!("{other:?}"),
    };
    let packets = play.finish(world.departs());
    Some((end, packets, play.transport.with(|sim| sim.trace_hash())))
}

#[test]
fn the_same_case_twice_is_the_same_run() {
    let (tally, cases) = claim("runs repeated", 12, (worlds(), settings(Scheme::ALL)), |tally, (world, setting)| {
        let first = run(&world, &setting);
        proptest::prop_assert_eq!(&first, &run(&world, &setting));
        tally.count(if first.is_some() { "repeated" } else { "nothing to run" });
        Ok(())
    });
    tally.demand("repeated", cases, 2);
}
