//! The layer `acm`: a host resolves an address to a path into another subnet, and what it keeps is worth nothing once a change
//! of routing has moved the paths: `cargo run --release --example resolve`.

use reconfig::acm::{Answer, Destination, Event, Hosts, Resolver, Timing};
use reconfig::ids::{Guid, Half, Lid};
use reconfig::wire::Gid;
use reconfig::wire::sa::PathRecord;

const HOSTS: &[u8] = b"# address  GID\n10.0.7.2   fec0::2:0:0:0:22\n";

/// What subnet administration would answer: the LID of a router on a half, two hops.
fn answer(sgid: Gid, dgid: Gid, half: Half) -> PathRecord {
    let dlid = Lid(48 + half.index() as u16);
    PathRecord { sgid, dgid, slid: Lid(8), dlid, sl: half.sl_of(0), hop_limit: 2, ..PathRecord::default() }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let own = Gid { prefix: 0xFEC0_0000_0000_0001, guid: Guid(0x11) };
    let mut resolver = Resolver::new(own, 8, Timing::default());
    resolver.preload(&Hosts::read(HOSTS, "hosts")?);
    let destination = Destination::Address("10.0.7.2".parse()?);
    for (now_ns, half) in [(0, Half::Lower), (1_000_000, Half::Upper)] {
        let Answer::Ask(query) = resolver.resolve(now_ns, &destination) else {
            return Err("the cache should have been empty".into());
        };
        println!("{now_ns:>9} ns: ask for paths from {} to {}", query.sgid, query.dgid);
        let record = answer(query.sgid, query.dgid, half);
        resolver.learn(now_ns + 20_000, query.number, Ok(vec![record]));
        if let Answer::Paths(paths) = resolver.resolve(now_ns + 30_000, &destination) {
            println!("           known: DLID {} SL {} hop limit {}", paths[0].dlid, paths[0].sl, paths[0].hop_limit);
        }
        resolver.event(now_ns + 500_000, Event::PathsMoved(half.other()));
        println!("           paths move to the {} half: forgotten", half.other());
    }
    Ok(())
}
