//! Losses and returns of cables, one after the other, each repaired from the tables that the last repair left.

use super::{Random, engine, is_joined, is_switch};
use comfy_table::{Table, presets};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::Half;
use reconfig::lid::{bring_up, merge};
use reconfig::repair::{Budget, RepairInput, quality, repair};
use reconfig::routing::{Demand, switch_order};
use reconfig::tables::SubnetTables;
use reconfig::verify::InjectionRules;
use std::error::Error;

const CASES: [(&str, &str); 6] = [
    ("torus:4x4,1", "up-down"),
    ("torus:8x8,1", "up-down"),
    ("random-regular:16,4,2", "up-down"),
    ("random-regular:64,8,4", "up-down"),
    ("dragonfly:2,4,2", "up-down"),
    ("fat-tree:4,3", "fat-tree"),
];

/// A subnet on its way through a sequence.
struct Sequence {
    whole: Fabric,
    engine: &'static str,
    tables: SubnetTables,
    dead: Vec<PortId>,
    random: Random,
    repaired: usize,
    resets: usize,
    hops: f64,
    load: f64,
}

/// Runs all cases, `runs` times each with `events` events.
pub fn run(events: usize, runs: usize) -> Result<(), Box<dyn Error>> {
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    table.set_header(["fabric", "engine", "events", "resets", "hops at the end", "load at the end"]);
    for (topology, name) in CASES {
        let (mut repaired, mut resets, mut hops, mut load) = (0, 0, 0.0, 0.0);
        for seed in 0..runs as u64 {
            let mut sequence = Sequence::new(topology, name, seed)?;
            for _ in 0..events {
                sequence.step()?;
            }
            repaired += sequence.repaired;
            resets += sequence.resets;
            hops += sequence.hops / runs as f64;
            load += sequence.load / runs as f64;
        }
        let figures = [(repaired + resets).to_string(), resets.to_string(), format!("{hops:.3}"), format!("{load:.3}")];
        table.add_row([topology, name].map(String::from).into_iter().chain(figures));
    }
    println!("{table}");
    Ok(())
}

impl Sequence {
    fn new(topology: &str, name: &'static str, seed: u64) -> Result<Sequence, Box<dyn Error>> {
        let whole = generate(&topology.parse()?, &Options { seed, ..Options::default() })?;
        let function = engine(name, None)?.route(&whole, &Demand::all(&whole, 1).within(1))?;
        let tables = bring_up(&whole, &function, 1);
        let (dead, random) = (Vec::new(), Random(0x1357_9BDF_2468_ACE1 ^ seed << 9));
        let (hops, load) = (1.0, 1.0);
        Ok(Sequence { whole, engine: name, tables, dead, random, repaired: 0, resets: 0, hops, load })
    }

    /// A cable dies, or one returns; the subnet is repaired.
    fn step(&mut self) -> Result<(), Box<dyn Error>> {
        let now = self.whole.without_links(&self.dead);
        let returns = !self.dead.is_empty() && self.random.below(2) == 0;
        let (before, after) = if returns {
            self.dead.swap_remove(self.random.below(self.dead.len()));
            let after = self.whole.without_links(&self.dead);
            (after.clone(), after)
        } else {
            let ends = |&(a, b): &(PortId, PortId)| is_switch(&now, a) && is_switch(&now, b);
            let links: Vec<PortId> = now.links().filter(ends).map(|link| link.0).collect();
            let end = links[self.random.below(links.len())];
            let after = now.without_links(&[end]);
            if !is_joined(&after) {
                return Ok(());
            }
            self.dead.push(end);
            (now, after)
        };
        let sm = after.end_ports().next().ok_or("no end port is left")?;
        let function = engine(self.engine, None)?.route(&after, &Demand::joined_with(&after, sm, 1).within(1))?;
        let target = merge(&self.whole, &self.tables.lfts, &function, &[Half::Lower]);
        let order = function.root().and_then(|root| switch_order(self.engine, &after, root));
        let senders = InjectionRules { injected: [true, false], ..InjectionRules::default() };
        let input = RepairInput {
            before: &before,
            surviving: &after,
            remaining: &after,
            tables: &self.tables,
            target: Some(&target),
            senders: &senders,
            answerer: None,
            switches: true,
            order: order.as_deref(),
            discards_turned_back: true,
            budget: Budget::default(),
        };
        let done = repair(&input)?;
        let lfts = if done.unsolved.is_empty() { done.lfts(&input).to_vec() } else { target.clone() };
        let [own, best] = [&lfts, &target].map(|lfts| quality(&input, lfts));
        let (own, best) = (own?, best?);
        (self.hops, self.load) = (own.hops / best.hops, own.load as f64 / best.load as f64);
        self.repaired += usize::from(done.unsolved.is_empty());
        self.resets += usize::from(!done.unsolved.is_empty());
        self.tables.lfts = lfts;
        Ok(())
    }
}
