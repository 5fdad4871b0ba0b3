//! `reconfig audit`: judges the routing of a running subnet, and the update from one routing to the next.

use super::choice::{self, CrossingArguments, engine_names};
use super::input::{Captured, check_options, only, read_captured, read_dump, read_lfts_of};
use super::outcome::{Answer, Failure};
use super::output::{Batch, Screen, check_places};
use super::page::Page;
use super::progress::Waiting;
use super::stderr::remark;
use super::{Common, FabricReading};
use crate::report;
use anyhow::anyhow;
use reconfig::audit::across::SubnetRouting;
use reconfig::audit::{self, AuditFindings, AuditReport, AuditRules, RoutedSubnets, RoutingSnapshot};
use reconfig::change::{self, LmcWish, RouteInput, Routed};
use reconfig::fabric::difference::{Union, union};
use reconfig::fabric::format::{Completeness, Tolerance};
use reconfig::fabric::subnets::{Subnet, Subnets};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Lid, Lmc};
use reconfig::routing::Parameters;
use reconfig::scenario::FabricMap;
use reconfig::tables::dump::{Lfts, PathSls, SlToVlDump, read_fdbs, read_path_sls, read_sl_to_vl};
use reconfig::verify::Scope;
use std::path::{Path, PathBuf};

/// Default data VLs of several subnets.
const DATA_VLS: u8 = 8;

/// What to do about a list if no engine is named.
const ROUTE_THEM: &str = ": name an engine to route them (--engine up-down)";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
OpenSM writes opensm-subnet.lst, opensm.fdbs, opensm-lfts.dump and, where SL-to-VL tables matter, opensm-sl2vl.dump with \
the log flags -D 0x43; dump_fts reads the switches themselves. Without --path-sl, every packet has service level 0; without \
--sl2vl, service level N uses lane N (modulo --vls).

With the tables of an update (--after-fdbs or --after-lfts), both routings are judged, and so is every mixture of their \
entries that an in-place update can pass through. Without --after-sl2vl and --after-path-sl, the earlier tables and paths stay in force.

With --engine, no tables are read: the fabric, or each subnet of a list, is routed as by `reconfig route`. The audit follows \
every path from host to host, through each eligible router and by each LID, and proves all subnets and routers together \
free of deadlock.

Examples:
  reconfig audit opensm-subnet.lst --fdbs opensm.fdbs
  reconfig audit fabric.ibnetdiscover --lfts dump_fts.out --sl2vl opensm-sl2vl.dump --path-sl paths --json
  reconfig audit before.lst --fdbs before.fdbs --after after.lst --after-fdbs after.fdbs --dot cycle.dot
  reconfig audit two.subnets.yaml --engine up-down --router-sl keep

Exit codes: 0 no fault was found; 1 a fault was found, or part of the fabric is unknown; 2 wrong usage or unreadable input; 3 the engine \
cannot route a subnet, or the drawing cannot be written.")]
pub(super) struct Arguments {
    /// The fabric: a file in any form of docs/READING.md, with LIDs, or a list of several subnets; `-` is standard
    /// input.
    fabric: PathBuf,
    /// Forwarding tables in the format of OpenSM's opensm.fdbs.
    #[arg(long, value_name = "FILE", alias = "from-fdbs", conflicts_with = "lfts")]
    fdbs: Option<PathBuf>,
    /// Forwarding tables in the format of OpenSM's opensm-lfts.dump, dump_fts, dump_lfts.sh or ibroute. FILE may be a
    /// folder; repeat the option if each switch has its own file.
    #[arg(long, value_name = "FILE", alias = "from-lfts")]
    lfts: Vec<PathBuf>,
    /// SL-to-VL tables in the format of OpenSM's opensm-sl2vl.dump, or of ibdmchk's -d.
    #[arg(long, value_name = "FILE")]
    sl2vl: Option<PathBuf>,
    /// Service levels of paths: rows of source GUID, DLID and SL, as for ibdmchk's -c, or a dump of path records.
    #[arg(long, value_name = "FILE")]
    path_sl: Option<PathBuf>,
    /// Data VLs in operation; packets on higher lanes are discarded. With --engine, the default is 8.
    #[arg(long, value_name = "VLS", value_parser = clap::value_parser!(u8).range(1..=15))]
    vls: Option<u8>,
    /// LID mask control of end ports, if the fabric's format lacks it (subnet.lst). For several subnets, the minimum
    /// [default: what the engine needs].
    #[arg(long, value_name = "LMC", value_parser = clap::value_parser!(u8).range(0..=7))]
    lmc: Option<u8>,
    /// Include switches among senders and receivers.
    #[arg(long)]
    switches: bool,
    /// Write the shortest credit loop to FILE in Graphviz format; for several subnets, the one through routers.
    #[arg(long, value_name = "FILE")]
    dot: Option<PathBuf>,
    /// Write the result to FILE as a self-contained HTML page.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    #[command(flatten)]
    routed: RoutedArguments,
    #[command(flatten)]
    after: After,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

/// How subnets are routed.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options for subnets routed by an engine")]
struct RoutedArguments {
    /// Engine that routes each subnet, instead of tables from files; `reconfig route --list` describes them.
    #[arg(
        long,
        value_name = "ENGINE",
        value_parser = engine_names(),
        conflicts_with_all = ["fdbs", "lfts", "sl2vl", "path_sl", "tables_after", "after", "after_sl2vl", "after_path_sl"]
    )]
    engine: Option<String>,
    /// Seed for engines that make random choices [default: 0]
    #[arg(long, value_name = "NUMBER", alias = "seed")]
    engine_seed: Option<u64>,
    #[command(flatten)]
    crossing: CrossingArguments,
}

/// What runs after an update.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options for an update")]
struct After {
    /// Forwarding tables after the update, in the format of opensm.fdbs.
    #[arg(long, value_name = "FILE", conflicts_with = "after_lfts", group = "tables_after")]
    after_fdbs: Option<PathBuf>,
    /// Forwarding tables after the update, in the formats of --lfts; FILE may be a folder, and the option may be
    /// repeated.
    #[arg(long, value_name = "FILE", group = "tables_after")]
    after_lfts: Vec<PathBuf>,
    /// SL-to-VL tables after the update.
    #[arg(long, value_name = "FILE", requires = "tables_after")]
    after_sl2vl: Option<PathBuf>,
    /// Service levels of paths after the update.
    #[arg(long, value_name = "FILE", requires = "tables_after")]
    after_path_sl: Option<PathBuf>,
    /// The fabric after the update, if elements were removed or added; nodes are matched by GUID.
    #[arg(long, value_name = "FABRIC", requires = "tables_after")]
    after: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let files = [("--dot", arguments.dot.as_ref()), ("--report", arguments.report.as_ref())];
    let screen = Screen::beside(common, files)?;
    check_places(files)?;
    let (subnets, known) = read_captured(&arguments.fabric, common)?;
    let fabrics = subnets.subnets().map(|(_, subnet)| &subnet.fabric);
    let page = arguments.report.as_deref().map(|file| Page::of(file, fabrics)).transpose()?;
    check_options(&subnets, &arguments.routed.crossing.given(), &[])?;
    if arguments.routed.engine.is_none() && arguments.routed.engine_seed.is_some() {
        return Err(Failure::input(anyhow!("--engine-seed is the seed of an engine: name one (--engine ENGINE)")));
    }
    let waiting = Waiting::at("reading the tables and judging them");
    let Audited { subnets, found, captured } = match &arguments.routed.engine {
        None => arguments.audit_tables(only(subnets, &arguments.fabric, ROUTE_THEM)?, known, common)?,
        Some(engine) => arguments.audit_routed(engine, &subnets, known)?,
    };
    let report = AuditReport::new(&subnets, found).captured(captured, common.tolerance() == Tolerance::Partial);
    drop(waiting);
    let mut batch = Batch::default();
    arguments.draw(report::audit_drawing(&report), &mut batch)?;
    if let Some(page) = page {
        let maps: Vec<_> = subnets.subnets().map(|(_, own)| FabricMap::standing(&own.fabric)).collect();
        page.stage(report::audit_page(&report, &maps, &page.origin), &mut batch)?;
    }
    batch.finish()?;
    screen.show(&report, || report::audit(&report))?;
    Ok(report.is_safe().into())
}

/// Subnets, and what was found in them.
struct Audited {
    subnets: Subnets,
    found: AuditFindings,
    captured: Option<Completeness>,
}

/// The tables of one moment, as read.
struct Tables {
    lfts: Lfts,
    sl_to_vl: Option<SlToVlDump>,
    path_sls: Option<PathSls>,
}

impl Tables {
    fn snapshot<'a>(&'a self, fabric: &'a Fabric) -> RoutingSnapshot<'a> {
        let Tables { lfts, sl_to_vl, path_sls } = self;
        RoutingSnapshot {
            fabric,
            lfts: &lfts.tables,
            unknown: &lfts.missing,
            sl_to_vl: sl_to_vl.as_ref(),
            path_sls: path_sls.as_ref(),
        }
    }
}

impl Arguments {
    /// Writes a drawing if a file for it is named; reports if there is nothing to draw.
    fn draw(&self, drawing: Option<String>, batch: &mut Batch) -> Result<(), Failure> {
        match (&self.dot, drawing) {
            (None, _) => {}
            (Some(file), Some(drawing)) => batch.stage_text(file, drawing)?,
            (Some(_), None) => remark("no credit loop was found: there is nothing to draw"),
        }
        Ok(())
    }

    fn rules(&self) -> AuditRules {
        AuditRules { switches: self.switches, data_vls: self.vls }
    }

    /// The fabric with the LIDs that end ports have by `--lmc`.
    fn masked(&self, fabric: Fabric, file: &Path) -> Result<Fabric, Failure> {
        match self.lmc.and_then(Lmc::new) {
            Some(lmc) => with_lmc(&fabric, lmc, file),
            None => Ok(fabric),
        }
    }

    /// Audits the tables in force, and the update to the new tables if these are named.
    fn audit_tables(&self, subnet: Subnet, known: Captured, common: Common) -> Result<Audited, Failure> {
        let before = self.masked(subnet.fabric.clone(), &self.fabric)?;
        let named = |fabric| Subnets::of_one(Subnet { fabric, ..subnet.clone() });
        if !self.after.has_tables() {
            let tables = self.tables(&before, common)?;
            let found = audit::audit(&tables.snapshot(&before), self.rules()).map_err(Failure::input)?;
            let found = AuditFindings::Tables(found.into());
            return Ok(Audited { subnets: named(before), found, captured: known.completeness });
        }
        let ([before, after], captured) = match &self.after.after {
            None => ([before.clone(), before], known.completeness),
            Some(file) => {
                let (subnets, later) = read_captured(file, common)?;
                let after = self.masked(only(subnets, file, ROUTE_THEM)?.fabric, file)?;
                let captured = known.completeness.into_iter().chain(later.completeness).reduce(Completeness::and);
                (both(&before, &after)?, captured)
            }
        };
        let old = self.tables(&before, common)?;
        let new = self.after.tables(&after, &old, common)?;
        let (was, is) = (old.snapshot(&before), new.snapshot(&after));
        let found = audit::audit_update(&was, &is, self.rules()).map_err(Failure::input)?;
        Ok(Audited { subnets: named(after), found: AuditFindings::Update(found.into()), captured })
    }

    /// Subnets as an engine routes them, with their routers.
    fn audit_routed(&self, engine: &str, subnets: &Subnets, known: Captured) -> Result<Audited, Failure> {
        if subnets.len() > 1 && subnets.routers().is_empty() {
            let file = self.fabric.display();
            return Err(Failure::input(anyhow!("{file}: no router joins its subnets: audit each by itself")));
        }
        let routed = subnets.subnets().map(|(_, subnet)| self.route(engine, subnet));
        let routed = routed.collect::<Result<Vec<Routed>, Failure>>()?;
        let subnets = subnets.with_fabrics(routed.iter().map(|routed| routed.fabric.clone()).collect());
        let found = audit::audit_whole(&RoutedSubnets {
            subnets: &subnets,
            routings: routed.iter().map(|routed| self.routing(routed)).collect(),
            engine,
            data_vls: routed.iter().map(|routed| routed.data_vls).min().unwrap_or(DATA_VLS),
            router_sl: self.routed.crossing.rule(),
            hop_limit: self.routed.crossing.hop_limit(),
            part_enforce: self.routed.crossing.part_enforce,
        });
        let found = AuditFindings::Whole(found.map_err(Failure::input)?.into());
        Ok(Audited { subnets, found, captured: known.completeness })
    }

    fn routing<'a>(&self, routed: &'a Routed) -> SubnetRouting<'a> {
        let scope = Scope::of(&routed.halves()).by(routed.function.path_layers());
        SubnetRouting { tables: &routed.tables, scope: Scope { switches: self.switches, ..scope } }
    }

    fn route(&self, engine: &str, subnet: &Subnet) -> Result<Routed, Failure> {
        let parameters = Parameters { seed: self.routed.engine_seed.unwrap_or_default(), ..Parameters::default() };
        let engine = change::engine_named(engine, &parameters).map_err(Failure::input)?;
        let lmc = self.lmc.and_then(Lmc::new).map_or(LmcWish::Common, LmcWish::Least);
        let data_vls = choice::data_vls(self.vls.unwrap_or(DATA_VLS))?;
        let routed = change::route(RouteInput { fabric: &subnet.fabric, engine: &*engine, data_vls, lmc });
        routed.map_err(|error| choice::unrouted(error).within(&subnet.name))
    }

    fn tables(&self, fabric: &Fabric, common: Common) -> Result<Tables, Failure> {
        let lfts = forwarding(self.fdbs.as_deref(), &self.lfts, fabric, common)?;
        let read_sl2vl = |file: &PathBuf| read_dump(file, fabric, read_sl_to_vl);
        let read_paths = |file: &PathBuf| read_dump(file, fabric, read_path_sls);
        let sl_to_vl = self.sl2vl.as_ref().map(read_sl2vl).transpose()?;
        let path_sls = self.path_sl.as_ref().map(read_paths).transpose()?;
        Ok(Tables { lfts, sl_to_vl, path_sls })
    }
}

impl After {
    fn has_tables(&self) -> bool {
        self.after_fdbs.is_some() || !self.after_lfts.is_empty()
    }

    fn tables(&self, fabric: &Fabric, old: &Tables, common: Common) -> Result<Tables, Failure> {
        let lfts = forwarding(self.after_fdbs.as_deref(), &self.after_lfts, fabric, common)?;
        let sl_to_vl = match &self.after_sl2vl {
            Some(file) => Some(read_dump(file, fabric, read_sl_to_vl)?),
            None => old.sl_to_vl.clone(),
        };
        let path_sls = match &self.after_path_sl {
            Some(file) => Some(read_dump(file, fabric, read_path_sls)?),
            None => old.path_sls.clone(),
        };
        Ok(Tables { lfts, sl_to_vl, path_sls })
    }
}

/// The forwarding tables, of every switch unless incomplete ones are accepted.
fn forwarding(fdbs: Option<&Path>, lfts: &[PathBuf], fabric: &Fabric, common: Common) -> Result<Lfts, Failure> {
    let tables = match (fdbs, lfts) {
        (Some(file), _) => read_dump(file, fabric, read_fdbs)?,
        (None, [_, ..]) => read_lfts_of(lfts, fabric)?,
        (None, []) => return Err(Failure::input(anyhow!("no forwarding tables: name a file with --fdbs or --lfts"))),
    };
    let Some(missing) = tables.describe_missing(fabric) else { return Ok(tables) };
    if common.tolerance() != Tolerance::Partial {
        let mend = "name the tables of every switch, or accept that what passes those is not known (--partial)";
        return Err(Failure::input(anyhow!("{missing}: {mend}")));
    }
    tracing::warn!("taken partially: {missing}");
    Ok(tables)
}

/// Both fabrics in one index space. LIDs must be kept: an audit cannot know which sources send to a LID that changes
/// its owner.
fn both(before: &Fabric, after: &Fabric) -> Result<[Fabric; 2], Failure> {
    let union: Union = union(before, after).map_err(Failure::input)?;
    match union.lid_conflicts.first() {
        None => Ok([union.before(), union.after()]),
        Some(conflict) => {
            let (port, (wanted, _)) = (union.fabric.describe_port(conflict.port), conflict.wanted);
            let others = union.lid_conflicts.len() - 1;
            let what =
                format!("{port} has LID {wanted} after the update, and another before it (so have {others} more)");
            Err(Failure::input(anyhow!("{what}: an update can be audited where LIDs are kept")))
        }
    }
}

/// The fabric with 2^`lmc` LIDs for each CA and router port, from the LID in the capture.
fn with_lmc(fabric: &Fabric, lmc: Lmc, file: &Path) -> Result<Fabric, Failure> {
    let owned = |(id, port): (PortId, &reconfig::fabric::Port)| -> Option<(PortId, Lid, Lmc)> {
        let is_switch = fabric.node(port.node).is_switch();
        port.lid.map(|lid| (id, lid, if is_switch { port.lmc } else { lmc }))
    };
    fabric.with_lids(fabric.ports().filter_map(owned)).map_err(|error| {
        Failure::input(
            anyhow::Error::new(error).context(format!("LMC {lmc} does not fit the LIDs of {}", file.display())),
        )
    })
}
