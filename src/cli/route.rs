//! `reconfig route`: a fabric routed by an engine, proved, and written in the field's formats.

use super::choice::{self, FromArguments};
use super::element::find_node;
use super::evidence::draw;
use super::input::{check_options, read_subnets};
use super::outcome::{Answer, Failure};
use super::output::{self, Batch, NamedFile, Screen, check_folder, check_places};
use super::page::Page;
use super::stderr::remark;
use super::{Common, FabricReading};
use crate::report::{self, RouteFacts, RouteReport, SubnetRoute, WorstFacts};
use anyhow::anyhow;
use reconfig::change::{self, LmcWish, Realised, RouteInput, Routed};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{self, Format};
use reconfig::fabric::subnets::Subnet;
use reconfig::ids::Lmc;
use reconfig::lid::{self, Guid2Lid, Heuristic};
use reconfig::routing::{self, DEFAULT_ENGINE, ENGINES, Engine, EngineKind, Parameters};
use reconfig::scenario::FabricMap;
use reconfig::tables::Selection;
use reconfig::tables::dump::{write_fdbs, write_lfts, write_path_sls, write_random, write_sl_to_vl, write_subnet};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A routing that cannot be proved is reported with its cycle, and is written only with --allow-unproved. Files are written \
completely and all together, or not at all. OpenSM reads --lfts with `-R file -U FILE`, and --guid2lid as guid2lid in its cache folder with \
`honor_guid2lid_file TRUE`; ibdmchk reads --subnet with -s, --fdbs with -f, --path-sl with -c, --sl2vl with -d. See docs/ROUTING.md.

Examples:
  reconfig route fabric.ibnetdiscover --engine up-down
  reconfig route fabric.ibnetdiscover --lmc 2 --lfts ours.lfts --guid2lid guid2lid
  reconfig route fabric.ibnetdiscover -o routed/ --json | jq '.subnets[].load'
  reconfig route fabric.ibnetdiscover --from-fdbs opensm.fdbs
  reconfig route fabric.ibnetdiscover --engine fat-tree --lmc 3 --worst-permutation worst.pairs
  reconfig route --list

Exit codes: 0 proved; 1 refused; 2 wrong usage or unreadable input; 3 the engine cannot route this fabric, or a file cannot \
be written.")]
pub(super) struct Arguments {
    /// The fabric: a file in any form of docs/READING.md, or a list of several subnets; `-` is standard input.
    #[arg(required_unless_present = "list")]
    fabric: Option<PathBuf>,
    /// List the engines and exit.
    #[arg(
        long,
        conflicts_with_all = [
            "fabric", "EngineChoice", "FromArguments", "WorstArguments", "Exports", "lmc", "allow_unproved", "dot"
        ]
    )]
    list: bool,
    #[command(flatten)]
    choice: EngineChoice,
    /// LID mask control of end ports: a minimum from 0 to 7 (0: one half, of one LID); `auto`: the smallest that
    /// suffices for all ports; `each`: the smallest for each port, which OpenSM cannot use.
    #[arg(long, value_name = "LMC", default_value = "auto")]
    lmc: LmcChoice,
    #[command(flatten)]
    from: FromArguments,
    #[command(flatten)]
    worst: WorstArguments,
    #[command(flatten)]
    exports: Exports,
    /// Write the tables even if they were refused.
    #[arg(long)]
    allow_unproved: bool,
    /// If the routing is refused, write the cycle, loop or hole to FILE as a Graphviz digraph.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write the result to FILE as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

/// The engine and its options.
#[derive(Debug, clap::Args)]
pub(super) struct EngineChoice {
    /// Engine that computes the routing function; `reconfig route --list` describes them [default: up-down].
    #[arg(long, value_name = "ENGINE", value_parser = choice::engine_names())]
    engine: Option<String>,
    /// Root of the spanning tree, for engines that have one [default: chosen by the engine].
    #[arg(long, value_name = "NODE")]
    root: Option<String>,
    /// Seed for engines that make random choices.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Data VLs in operation: 1, 2, 4, 8 or 15; fewer if a port has fewer. Each layer of an engine needs one.
    #[arg(long, default_value_t = 8)]
    pub(super) vls: u8,
    /// Heuristic that assigns LIDs to the paths of path-based engines: greedy, split-merge/S, split-merge/L, color/S,
    /// color/L, dsatur, best or exact.
    #[arg(long, value_name = "HEURISTIC", default_value_t = Heuristic::default())]
    pub(super) heuristic: Heuristic,
}

/// Worst-case permutations.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Worst-case traffic")]
struct WorstArguments {
    /// Find the permutation of end ports that puts the highest load on a channel, for each way of using the paths of a
    /// pair. Write one of them to FILE, for `simulate --traffic permutation:FILE`.
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    worst_permutation: Option<Option<PathBuf>>,
    /// The permutation to write: for pairs that use the first path (`base`), one path each (`single`), or this many
    /// paths evenly.
    #[arg(long, value_name = "PATHS", default_value = "single", requires = "worst_permutation", value_parser = selection)]
    worst_for: Selection,
}

fn selection(text: &str) -> Result<Selection, String> {
    match text {
        "base" => Ok(Selection::Base),
        "single" => Ok(Selection::Single),
        _ => match text.parse() {
            Ok(paths @ 1..=128) => Ok(Selection::Spread(paths)),
            _ => Err("expected base, single, or a number of paths from 1 to 128".to_string()),
        },
    }
}

/// The value of `--lmc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LmcChoice(LmcWish);

impl std::str::FromStr for LmcChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<LmcChoice, String> {
        match text {
            "auto" => Ok(LmcChoice(LmcWish::Common)),
            "each" => Ok(LmcChoice(LmcWish::Each)),
            _ => {
                let lmc = text.parse().ok().and_then(Lmc::new);
                lmc.map(|lmc| LmcChoice(LmcWish::Least(lmc))).ok_or_else(|| "expected 0 to 7, auto or each".to_string())
            }
        }
    }
}

/// What is written.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Files to write")]
struct Exports {
    /// Write all of the following files to FOLDER under their usual names; several subnets get a subfolder each.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
    /// Forwarding tables for OpenSM's engine `file`, in the format of opensm-lfts.dump.
    #[arg(long, value_name = "FILE")]
    lfts: Option<PathBuf>,
    /// Forwarding tables in the format of opensm.fdbs.
    #[arg(long, value_name = "FILE")]
    fdbs: Option<PathBuf>,
    /// LIDs by port GUID, in the format of OpenSM's guid2lid.
    #[arg(long, value_name = "FILE")]
    guid2lid: Option<PathBuf>,
    /// Service levels of paths, in the format of ibdmchk.
    #[arg(long, value_name = "FILE")]
    path_sl: Option<PathBuf>,
    /// SL-to-VL tables, in the format of ibdmchk.
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,
    /// The subnet with its LIDs, in the format of opensm-subnet.lst, for ibdmchk.
    #[arg(long, value_name = "FILE")]
    subnet: Option<PathBuf>,
    /// The fabric with its LIDs as JSON, for `reconfig` itself.
    #[arg(long, value_name = "FILE")]
    fabric_json: Option<PathBuf>,
    /// Random forwarding tables, for switches that look up DLIDs by content.
    #[arg(long, value_name = "FILE")]
    random: Option<PathBuf>,
    /// LIDs, forwarding tables and service levels as JSON.
    #[arg(long, value_name = "FILE")]
    tables: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let Some(file) = arguments.fabric.as_ref().filter(|_| !arguments.list) else { return list(common) };
    let subnets = read_subnets(file, common)?;
    check_options(&subnets, &[], &arguments.of_one_fabric())?;
    let screen = Screen::beside(common, arguments.files())?;
    // A file inside the folder for all files may have to wait until that folder exists.
    let folder = arguments.exports.output.as_deref().filter(|folder| !folder.exists());
    let is_ready = |file: &PathBuf| folder.is_none_or(|folder| !file.starts_with(folder));
    check_places(arguments.files().filter(|(_, file)| file.is_none_or(is_ready)))?;
    arguments.exports.output.iter().try_for_each(|folder| check_folder("--output", folder))?;
    let fabrics = subnets.subnets().map(|(_, subnet)| &subnet.fabric);
    let page = arguments.report.as_deref().map(|file| Page::of(file, fabrics)).transpose()?;
    let several = subnets.len() > 1;
    let routed = subnets.subnets().map(|(_, subnet)| match several {
        true => arguments.route(subnet).map_err(|failure| failure.within(&subnet.name)),
        false => arguments.route(subnet),
    });
    let (routed, routes): (Vec<Routed>, Vec<SubnetRoute>) =
        routed.collect::<Result<Vec<_>, Failure>>()?.into_iter().unzip();
    let mut report = RouteReport::of(routes);
    let keep = report.safe || arguments.allow_unproved;
    let mut batch = Batch::default();
    for (routed, own) in routed.iter().zip(&mut report.subnets) {
        let worst = arguments.worst.file(&own.facts)?;
        if keep {
            let folder = arguments.exports.folder(several.then_some(&own.name), &mut batch)?;
            own.facts.files = arguments.exports.stage(routed, folder.as_deref(), worst, &mut batch)?;
        }
        draw(arguments.dot.as_deref(), own.facts.refusal.as_ref(), &mut batch)?;
    }
    if let Some(page) = page {
        let maps: Vec<_> = routed.iter().map(|own| FabricMap::standing(&own.fabric)).collect();
        page.stage(report::route_page(&report, &maps, &page.origin), &mut batch)?;
    }
    batch.finish()?;
    screen.show(&report, || report::route(&report))?;
    Ok(report.safe.into())
}

/// An engine, as `--list --json` prints it.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct ListedEngine {
    name: &'static str,
    about: &'static str,
    safe: bool,
}

fn list(common: Common) -> Result<Answer, Failure> {
    if common.json {
        let engines =
            ENGINES.iter().map(|entry| ListedEngine { name: entry.name, about: entry.about, safe: entry.safe });
        output::print_json(&engines.collect::<Vec<_>>())?;
    } else {
        output::print(&report::engines(ENGINES))?;
    }
    Ok(Answer::Yes)
}

impl Arguments {
    /// The files to write, by name.
    fn files(&self) -> impl Iterator<Item = NamedFile<'_>> {
        let worst = self.worst.worst_permutation.as_ref().and_then(Option::as_ref);
        let others = [("--worst-permutation", worst), ("--dot", self.dot.as_ref()), ("--report", self.report.as_ref())];
        self.exports.forms().map(|(option, asked, ..)| (option, asked.as_ref())).into_iter().chain(others)
    }

    fn engine(&self, fabric: &Fabric) -> Result<Box<dyn Engine>, Failure> {
        match self.from.read(fabric)? {
            Some(_) if self.choice.engine.is_some() => {
                Err(Failure::input(anyhow!("--engine and tables of others: leave out one of them")))
            }
            Some((imported, absent)) => {
                absent.iter().for_each(|absent| remark(&absent.to_string()));
                Ok(Box::new(imported))
            }
            None => self.choice.engine(fabric),
        }
    }

    /// What is not implemented for several subnets.
    fn of_one_fabric(&self) -> [(bool, &'static str); 5] {
        let named = self.exports.forms().iter().any(|(_, asked, ..)| asked.is_some());
        [
            (self.choice.root.is_some(), "--root"),
            (self.from.is_given(), "tables that run already"),
            (self.worst.worst_permutation.is_some(), "--worst-permutation"),
            (self.dot.is_some(), "--dot"),
            (named, "a file by its name (--output names a folder for all)"),
        ]
    }

    /// Routes a subnet, and proves it by itself.
    fn route(&self, Subnet { name, fabric, .. }: &Subnet) -> Result<(Routed, SubnetRoute), Failure> {
        let engine = self.engine(fabric)?;
        let start = Instant::now();
        let data_vls = choice::data_vls(self.choice.vls)?;
        let routed = change::route(RouteInput { fabric, engine: &*engine, data_vls, lmc: self.lmc.0 });
        let routed = routed.map_err(choice::unrouted)?;
        if let Some(moved) = lid::describe_moved(&routed.fabric, &lid::moved(fabric, &routed.fabric)) {
            remark(&format!("{moved}; --output FOLDER writes all LIDs (guid2lid)"));
        }
        let routing_ns = start.elapsed().as_nanos() as u64;
        let start = Instant::now();
        let judged = routed.prove();
        let proof_ns = start.elapsed().as_nanos() as u64;
        let facts = RouteFacts { routing_ns, proof_ns, ..RouteFacts::of(&routed, judged.as_ref()) };
        let facts = self.worst.asked(&routed, facts)?;
        Ok((routed, SubnetRoute { name: name.clone(), safe: judged.is_ok(), facts }))
    }
}

impl WorstArguments {
    /// The facts with the parts requested.
    fn asked(&self, routed: &Routed, facts: RouteFacts) -> Result<RouteFacts, Failure> {
        if self.worst_permutation.is_none() {
            return Ok(facts);
        }
        let offered = facts.dispersal.as_ref().map_or(1, |facts| facts.paths);
        match self.worst_for {
            Selection::Spread(paths) if paths > offered => Err(Failure::input(anyhow!(
                "--worst-for {paths}: this routing offers {offered} paths to a pair; name {offered} at most, or raise --lmc"
            ))),
            chosen => Ok(facts.with_worst(routed, chosen)),
        }
    }

    /// The file requested, and its contents.
    fn file<'a>(&'a self, facts: &'a RouteFacts) -> Result<Option<(&'a Path, &'a WorstFacts)>, Failure> {
        let asked = self.worst_permutation.as_ref().and_then(|file| file.as_deref()).zip(facts.worst.as_ref());
        if let Some((file, _)) = asked.filter(|(_, facts)| facts.permutation.is_empty()) {
            let file = file.display();
            return Err(Failure::undone(anyhow!(
                "cannot write a worst permutation to {file}: no pair of end ports sends over a channel between \
                 switches; omit the file"
            )));
        }
        Ok(asked)
    }
}

impl EngineChoice {
    pub(super) fn kind(&self, fabric: &Fabric) -> Result<EngineKind, Failure> {
        let name = self.engine.as_deref().unwrap_or(DEFAULT_ENGINE);
        let root = self.root.as_ref().map(|root| find_node(fabric, root)).transpose()?;
        if let Some(root) = root {
            if !ENGINES.iter().any(|entry| entry.name == name && entry.rooted) {
                return Err(Failure::input(anyhow!("engine {name} has no root: leave out --root")));
            }
            if !fabric.node(root).is_switch() {
                let root = fabric.describe_node(root);
                return Err(Failure::input(anyhow!("--root: {root} is not a present switch")));
            }
        }
        routing::engine_named(name, &Parameters { root, seed: self.seed }).map_err(Failure::input)
    }

    fn engine(&self, fabric: &Fabric) -> Result<Box<dyn Engine>, Failure> {
        Ok(match self.kind(fabric)? {
            EngineKind::ByDestination(engine) => engine,
            EngineKind::ByPath(paths) => Box::new(Realised { paths, heuristic: self.heuristic }),
        })
    }
}

impl Exports {
    /// The folder for the usual files of a fabric, or of a subnet of a list; `None` if none is requested.
    fn folder(&self, subnet: Option<&String>, batch: &mut Batch) -> Result<Option<PathBuf>, Failure> {
        let Some(folder) = &self.output else { return Ok(None) };
        let own = subnet.map_or_else(|| folder.clone(), |name| folder.join(name));
        batch.folder(folder)?;
        batch.folder(&own)?;
        Ok(Some(own))
    }

    /// Stores the files requested, the usual ones in this folder. Returns their names.
    fn stage(
        &self,
        routed: &Routed,
        folder: Option<&Path>,
        worst: Option<(&Path, &WorstFacts)>,
        batch: &mut Batch,
    ) -> Result<Vec<String>, Failure> {
        let mut names = Vec::new();
        for (_, asked, usual, parts) in self.forms() {
            let usual = folder.map(|folder| folder.join(usual));
            for file in asked.iter().chain(&usual) {
                batch.stage(file, parts(routed))?;
                names.push(output::name_of(file));
            }
        }
        if let Some((file, worst)) = worst {
            batch.stage(file, whole(worst.file()))?;
            names.push(output::name_of(file));
        }
        Ok(names)
    }

    /// For each form: its option, where it goes, its usual name, and how it is written.
    fn forms(&self) -> [(&'static str, &Option<PathBuf>, &'static str, Form); 9] {
        [
            ("--lfts", &self.lfts, "opensm-lfts.dump", |routed| whole(write_lfts(&routed.fabric, &routed.tables.lfts))),
            ("--fdbs", &self.fdbs, "opensm.fdbs", |routed| whole(write_fdbs(&routed.fabric, &routed.tables.lfts))),
            ("--guid2lid", &self.guid2lid, "guid2lid", |routed| {
                whole(std::iter::once(Guid2Lid::new().learn(&routed.fabric).write()))
            }),
            ("--path-sl", &self.path_sl, "path-sl", |routed| {
                whole(write_path_sls(&routed.fabric, |source, lid| routed.level(source, lid)))
            }),
            ("--sl2vl", &self.sl2vl, "sl2vl", |routed| whole(write_sl_to_vl(&routed.fabric, &routed.tables.sl_to_vl))),
            ("--subnet", &self.subnet, "opensm-subnet.lst", |routed| whole(write_subnet(&routed.fabric))),
            ("--fabric-json", &self.fabric_json, "fabric.json", |routed| {
                let text = format::write(&routed.fabric, Format::Json);
                Box::new(std::iter::once(text.map_err(anyhow::Error::new)))
            }),
            ("--random", &self.random, "random-tables", |routed| {
                whole(write_random(&routed.fabric, &routed.tables.lfts))
            }),
            ("--tables", &self.tables, "tables.json", |routed| whole(report::tables_json(routed))),
        ]
    }
}

/// The parts of a file.
type Parts<'a> = Box<dyn Iterator<Item = Result<String, anyhow::Error>> + 'a>;
type Form = for<'a> fn(&'a Routed) -> Parts<'a>;

/// Parts that always exist.
fn whole<'a>(parts: impl Iterator<Item = String> + 'a) -> Parts<'a> {
    Box::new(parts.map(Ok))
}
