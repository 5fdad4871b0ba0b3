//! How many losses are repaired by forwarding entries alone, in how many waves, and at what cost beside a full
//! re-route.
//!
//! `cargo run --release -p reconfig-measuring --bin repair_losses` measures every cell with 20 losses; `-- 200` with
//! 200 (50 at 256 switches and more); `-- 200 TOPOLOGY ENGINE LOSS` one cell. Kinds of loss: `link` (a cable), `switch`
//! (any but the root), `inner` (without hosts), `root`. Losses that split the fabric are drawn again. Random fabrics
//! change their seed with every eighth of the losses; a root to be lost is drawn too. Engines route on one lane. Of
//! every cell the first losses on fabrics of at most 30 switches are judged by `waves`, which shares nothing with the
//! repair.
//!
//! `-- orders` compares the orders of up*/down* while nothing is lost; `-- sequence RUNS` runs 50 losses and returns in
//! a row, `resets` being those that only a change of all routing would have repaired.
//!
//! Columns: losses; of these, per cent repaired in no, one and two waves, and in more (the most); in any number without
//! a wait, and of these only because switches discard what turns back; not at all; per cent with hosts cut off for want
//! of a repair; entries and blocks written until all is reconnected, each beside those of a full re-route; mean hops
//! and the busiest channel's load relative to the full re-route, when all is reconnected and after renewal; processor
//! time of a repair with its renewal, mean and most; losses judged.

mod orders;
mod sequence;

use comfy_table::{CellAlignment, Table, presets};
use reconfig::fabric::generate::{Options, Topology, generate};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::Half;
use reconfig::lid::{bring_up, merge};
use reconfig::repair::{Repair, RepairInput, WavePurpose, quality, repair};
use reconfig::routing::{Demand, Engine, EngineKind, Parameters, choose_root, engine_named, switch_order};
use reconfig::tables::{Lft, SubnetTables};
use reconfig::verify::InjectionRules;
use reconfig_measuring::waves::Course;
use std::error::Error;
use std::sync::Arc;

/// Fabric, engine, loss.
const CELLS: [(&str, &str, &str); 36] = [
    ("torus:4x4,1", "up-down", "link"),
    ("torus:4x4,1", "up-down", "switch"),
    ("torus:4x4,1", "up-down", "root"),
    ("torus:4x4,1", "up-down-robust", "root"),
    ("torus:4x4,1", "nue", "link"),
    ("torus:8x8,1", "up-down", "link"),
    ("torus:8x8,1", "up-down", "switch"),
    ("torus:8x8,1", "up-down-robust", "root"),
    ("torus:8x8,1", "nue", "link"),
    ("torus:4x4x4,1", "up-down", "link"),
    ("torus:4x4x4,1", "up-down", "root"),
    ("torus:4x4x4,1", "up-down-robust", "root"),
    ("mesh:4x4,1", "up-down", "link"),
    ("ring:8,1", "up-down", "link"),
    ("hypercube:4,1", "up-down", "link"),
    ("dragonfly:2,4,2", "up-down", "link"),
    ("dragonfly:2,4,2", "up-down", "switch"),
    ("dragonfly:2,4,2", "up-down-robust", "link"),
    ("dragonfly:2,4,2", "up-down-robust", "root"),
    ("random-regular:16,4,2", "up-down", "link"),
    ("random-regular:16,4,2", "up-down-robust", "root"),
    ("random-regular:16,4,2", "nue", "link"),
    ("random-regular:64,8,4", "up-down", "link"),
    ("random-regular:64,8,4", "up-down", "switch"),
    ("random-regular:64,8,4", "up-down", "root"),
    ("random-regular:64,8,4", "up-down-robust", "link"),
    ("random-regular:64,8,4", "up-down-robust", "root"),
    ("random-regular:64,8,4", "nue", "link"),
    ("random-regular:256,16,2", "up-down", "link"),
    ("leaf-spine:48,16,8", "fat-tree", "link"),
    ("leaf-spine:48,16,8", "fat-tree", "inner"),
    ("three-level:8,4,4,4,4", "fat-tree", "link"),
    ("three-level:8,4,4,4,4", "fat-tree", "inner"),
    ("fat-tree:4,3", "fat-tree", "link"),
    ("fat-tree:4,3", "fat-tree", "inner"),
    ("fat-tree:18,3", "fat-tree", "link"),
];

/// Switches beyond which a cell has 50 losses at most.
const LARGE: usize = 255;
/// Switches up to which losses are judged, and how many of a cell.
const JUDGED: (usize, usize) = (30, 5);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("orders") => return orders::run(),
        Some("sequence") => return sequence::run(50, arguments.get(1).map_or(Ok(2), |text| text.parse())?),
        _ => {}
    }
    let losses: usize = arguments.first().map_or(Ok(20), |text| text.parse())?;
    let mut table = Table::new();
    table.load_style(presets::ASCII_MARKDOWN);
    let head = [
        "fabric",
        "engine",
        "loss",
        "n",
        "0",
        "1",
        "2",
        "3+ (most)",
        "at once",
        "of these resting",
        "not",
        "cut",
        "entries",
        "blocks",
        "hops",
        "renewed",
    ];
    table.set_header(head.iter().chain(&["load", "renewed", "CPU ms", "most", "judged"]));
    for at in 3..21 {
        if let Some(column) = table.column_mut(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let chosen = |cell: &(&str, &str, &str)| {
        let named = [cell.0, cell.1, cell.2];
        arguments.iter().skip(1).zip(named).all(|(wanted, own)| wanted == own || wanted == "-")
    };
    for (topology, engine, kind) in CELLS.into_iter().filter(chosen) {
        let mut cell = Cell::new(topology, engine, kind)?;
        cell.run(losses)?;
        table.add_row(cell.row());
        eprintln!("{}", cell.row().join(" | "));
    }
    println!("{table}");
    Ok(())
}

/// A subnet as it runs.
struct Running {
    fabric: Fabric,
    tables: SubnetTables,
    root: Option<NodeId>,
}

/// Losses of one kind on one fabric.
struct Cell {
    topology: Topology,
    text: [String; 3],
    random: Random,
    solved_in: [usize; 4],
    most_waves: usize,
    at_once: usize,
    resting: usize,
    unsolved: usize,
    cut: usize,
    sums: Sums,
    judged: usize,
}

/// Sums over the losses that were repaired.
#[derive(Default)]
struct Sums {
    count: usize,
    entries: [usize; 2],
    blocks: [usize; 2],
    hops: [f64; 2],
    load: [f64; 2],
    time: Vec<f64>,
}

impl Cell {
    fn new(topology: &str, engine: &str, kind: &str) -> Result<Cell, Box<dyn Error>> {
        Ok(Cell {
            topology: topology.parse()?,
            text: [topology, engine, kind].map(String::from),
            random: Random(0x9E37_79B9_7F4A_7C15 ^ (topology.len() as u64) << 7 ^ kind.len() as u64),
            solved_in: [0; 4],
            most_waves: 0,
            at_once: 0,
            resting: 0,
            unsolved: 0,
            cut: 0,
            sums: Sums::default(),
            judged: 0,
        })
    }

    fn run(&mut self, losses: usize) -> Result<(), Box<dyn Error>> {
        let first = self.bring_up(0)?;
        let switches = first.fabric.switches().count();
        let losses = if switches > LARGE { losses.min(50) } else { losses };
        let irregular = self.text[0].starts_with("random");
        let mut running = first;
        let (mut done, mut drawn) = (0, 0);
        while done < losses && drawn < 20 * losses {
            drawn += 1;
            if let Some(surviving) = self.lose(&running) {
                self.measure(&running, &surviving)?;
                done += 1;
                let again = self.text[2] == "root" || irregular && done % losses.div_ceil(8) == 0;
                if again && done < losses {
                    running =
                        self.bring_up(if irregular { (done * 8 / losses.max(8)) as u64 + done as u64 } else { 0 })?;
                }
            } else if self.text[2] == "root" {
                running = self.bring_up(if irregular { drawn as u64 } else { 0 })?;
            }
        }
        Ok(())
    }

    fn bring_up(&mut self, seed: u64) -> Result<Running, Box<dyn Error>> {
        let fabric = generate(&self.topology, &Options { seed, ..Options::default() })?;
        let rooted = self.text[1].starts_with("up-down");
        let drawn = self.text[2] == "root" && rooted && !self.text[0].starts_with("random");
        let root = drawn.then(|| {
            let all: Vec<NodeId> = fabric.switches().collect();
            let bare: Vec<NodeId> = all.iter().copied().filter(|&switch| !has_hosts(&fabric, switch)).collect();
            let from = if bare.is_empty() { all } else { bare };
            from[self.random.below(from.len())]
        });
        let function = engine(&self.text[1], root)?.route(&fabric, &Demand::all(&fabric, 1).within(1))?;
        let root = if rooted { function.root() } else { choose_root(&fabric) };
        let tables = bring_up(&fabric, &function, 1);
        Ok(Running { fabric, tables, root })
    }

    /// What survives; none where the loss splits the fabric, or there is nothing of the kind.
    fn lose(&mut self, running: &Running) -> Option<Fabric> {
        let fabric = &running.fabric;
        let surviving = match self.text[2].as_str() {
            "link" => {
                let between = |&(a, b): &(PortId, PortId)| [a, b].iter().all(|&end| is_switch(fabric, end));
                let links: Vec<PortId> = fabric.links().filter(between).map(|link| link.0).collect();
                fabric.without_links(&[links[self.random.below(links.len())]])
            }
            "root" => fabric.without_nodes(&[running.root?]),
            kind => {
                let fits =
                    |&switch: &NodeId| Some(switch) != running.root && (kind == "switch" || !has_hosts(fabric, switch));
                let switches: Vec<NodeId> = fabric.switches().filter(fits).collect();
                fabric.without_nodes(&[*switches.get(self.random.below(switches.len().max(1)))?])
            }
        };
        is_joined(&surviving).then_some(surviving)
    }

    fn measure(&mut self, running: &Running, surviving: &Fabric) -> Result<(), Box<dyn Error>> {
        let sm = surviving.end_ports().next().ok_or("no end port is left")?;
        let full = engine(&self.text[1], running.root.filter(|&root| surviving.node(root).present))?;
        let full = full.route(surviving, &Demand::joined_with(surviving, sm, 1).within(1));
        let full = full.ok().map(|function| merge(&running.fabric, &running.tables.lfts, &function, &[Half::Lower]));
        let order = running.root.and_then(|root| switch_order(&self.text[1], &running.fabric, root));
        let senders = InjectionRules { injected: [true, false], ..InjectionRules::default() };
        let input = RepairInput {
            surviving,
            remaining: surviving,
            target: full.as_deref(),
            order: order.as_deref(),
            discards_turned_back: true,
            ..RepairInput::quiet(&running.fabric, &running.tables, &senders)
        };
        let start = cpu_s();
        let done = repair(&input)?;
        self.sums.time.push(cpu_s() - start);
        self.judge(running, surviving, &done)?;
        self.count(running, surviving, &input, &done, full.as_deref());
        Ok(())
    }

    fn judge(&mut self, running: &Running, surviving: &Fabric, done: &Repair) -> Result<(), Box<dyn Error>> {
        if running.fabric.switches().count() > JUDGED.0 || self.judged >= JUDGED.1 {
            return Ok(());
        }
        let course = Course {
            before: &running.fabric,
            surviving,
            tables: &running.tables,
            half: Half::Lower,
            ways: None,
            switches: true,
            discards_turned_back: done.discards_turned_back,
            waves: done.waves.iter().map(|wave| (wave.aged_before, wave.lfts.as_slice())).collect(),
        };
        course.judge().map_err(|what| format!("{:?}: {what}", self.text))?;
        let lost = course.lost_at_the_end();
        let named: std::collections::BTreeSet<_> = done.unsolved.iter().map(|row| (row.lid, row.switch)).collect();
        if lost != named {
            return Err(format!("{:?}: lost at the end {lost:?}, named {named:?}", self.text).into());
        }
        self.judged += 1;
        Ok(())
    }

    fn count(
        &mut self,
        running: &Running,
        surviving: &Fabric,
        input: &RepairInput<'_>,
        done: &Repair,
        full: Option<&[Arc<Lft>]>,
    ) {
        if !done.unsolved.is_empty() {
            self.unsolved += 1;
            let cut = done.unsolved.iter().any(|row| {
                let owner = running.fabric.lid_owner(row.lid);
                has_hosts(surviving, row.switch) && owner.is_some_and(|owner| !is_switch(&running.fabric, owner))
            });
            self.cut += usize::from(cut);
            return;
        }
        let to_reconnect = done.waves.iter().filter(|wave| wave.purpose != WavePurpose::Renew);
        let waves = to_reconnect.clone().count();
        self.solved_in[waves.min(3)] += 1;
        self.most_waves = self.most_waves.max(waves);
        let waits =
            done.waves.iter().take_while(|wave| wave.purpose != WavePurpose::Renew).any(|wave| wave.aged_before);
        self.at_once += usize::from(!waits);
        self.resting += usize::from(!waits && done.discards_turned_back);
        let Some(full) = full else { return };
        let repaired = done.waves.iter().rfind(|wave| wave.purpose != WavePurpose::Renew);
        let repaired = repaired.map_or(&*running.tables.lfts, |wave| &wave.lfts);
        let measured = [repaired, done.lfts(input), full].map(|lfts| quality(input, lfts));
        let [Ok(own), Ok(renewed), Ok(best)] = measured else { return };
        let Some(written) = done.full else { return };
        let sums = &mut self.sums;
        sums.count += 1;
        sums.entries[0] += to_reconnect.clone().map(|wave| wave.changes.entries).sum::<usize>();
        sums.blocks[0] += to_reconnect.map(|wave| wave.changes.blocks).sum::<usize>();
        sums.entries[1] += written.entries;
        sums.blocks[1] += written.blocks;
        for (at, quality) in [own, renewed].into_iter().enumerate() {
            sums.hops[at] += quality.hops / best.hops;
            sums.load[at] += quality.load as f64 / best.load as f64;
        }
    }

    fn row(&self) -> Vec<String> {
        let n = self.sums.time.len().max(1);
        let share = |count: usize| match count {
            0 => "0".to_string(),
            count => format!("{:.1}", 100.0 * count as f64 / n as f64),
        };
        let (sums, repaired) = (&self.sums, self.sums.count.max(1));
        let beside = |pair: [usize; 2]| format!("{}/{}", pair[0] / repaired, pair[1] / repaired);
        let mean = |sum: f64| format!("{:.3}", sum / repaired as f64);
        let more = match self.solved_in[3] {
            0 => "0".to_string(),
            count => format!("{} ({})", share(count), self.most_waves),
        };
        let time = sums.time.iter().sum::<f64>() / n as f64;
        let longest = sums.time.iter().copied().fold(0.0, f64::max);
        let mut row = self.text.to_vec();
        row.push(sums.time.len().to_string());
        row.extend(self.solved_in[..3].iter().map(|&count| share(count)));
        row.extend([
            more,
            share(self.at_once),
            share(self.resting),
            share(self.unsolved),
            share(self.cut),
            beside(sums.entries),
            beside(sums.blocks),
        ]);
        row.extend(sums.hops.iter().chain(&sums.load).map(|&sum| mean(sum)));
        row.extend([format!("{:.1}", 1e3 * time), format!("{:.1}", 1e3 * longest)]);
        row.push(self.judged.to_string());
        row
    }
}

/// An engine by destination.
fn engine(name: &str, root: Option<NodeId>) -> Result<Box<dyn Engine>, Box<dyn Error>> {
    match engine_named(name, &Parameters { root, seed: 0 })? {
        EngineKind::ByDestination(engine) => Ok(engine),
        EngineKind::ByPath(_) => Err(format!("{name} is an engine by path: choose one by destination").into()),
    }
}

fn is_switch(fabric: &Fabric, port: PortId) -> bool {
    fabric.node(fabric.port(port).node).is_switch()
}

fn has_hosts(fabric: &Fabric, switch: NodeId) -> bool {
    fabric.ports_of(switch).filter_map(|port| fabric.peer(port)).any(|peer| !is_switch(fabric, peer))
}

/// Whether every switch reaches every other.
fn is_joined(fabric: &Fabric) -> bool {
    let mut seen = vec![false; fabric.node_count()];
    let mut stack: Vec<NodeId> = fabric.switches().take(1).collect();
    while let Some(switch) = stack.pop() {
        if !std::mem::replace(&mut seen[switch.index()], true) {
            let next = fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
            stack.extend(next.filter(|&next| fabric.node(next).is_switch()));
        }
    }
    fabric.switches().all(|switch| seen[switch.index()])
}

/// Processor time of this thread, in seconds: the machine may be shared.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e9
}

/// Numbers that look random, the same for the same seed (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % count.max(1)
    }
}
