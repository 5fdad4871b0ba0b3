//! Real OpenSM over ibsim: routes a fabric, and leaves the files that describe the routing.

use super::ibsim::{Client, Ibsim};
use super::path_sl;
use super::torus;
use crate::process::background::{Background, lossy};
use crate::process::under_ibsim::under_ibsim;
use crate::process::wait_for::wait_for;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Log flags: errors, information (which names the engine that ran) and routing (which dumps the tables).
const LOG_FLAGS: &str = "0x43";
/// Engines that determine a path's SL.
const WITH_PATH_SL: [&str; 4] = ["dfsssp", "lash", "nue", "torus-2QoS"];

/// The routing that OpenSM is to compute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routing {
    /// Its name here.
    pub label: &'static str,
    /// OpenSM's name of the engine.
    pub engine: &'static str,
    /// What it must be given about the fabric.
    pub wants: Wants,
    /// How its files are altered.
    pub alteration: Alteration,
    /// The LMC that judges are given; without it they look at base LIDs.
    pub told_lmc: u8,
    /// Lines for its configuration. `qos TRUE` makes it write SL-to-VL tables, and dump them.
    pub options: &'static str,
}

/// What an engine is given about the fabric.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wants {
    Nothing,
    /// The root: the first switch.
    Root,
    /// The switches that are a torus's origin and its neighbours.
    Torus,
}

/// What of its files is altered: `alter` does it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Alteration {
    Nothing,
    /// One forwarding entry in a thousand, and one at least, names some port of its switch, cabled or not.
    Entries,
    /// Every path has an SL of 0 to 3, and every (input, output, SL) of a switch a lane of 0 to 3, both drawn at
    /// random.
    Lanes,
}

/// Without a root OpenSM's updn gives up on most fabrics; with one it counts as a separate engine.
pub const UPDN_ROOTED: &str = "updn, root named";
/// Its log is read while it runs.
const LOG_AT_ONCE: &str = "force_log_flush TRUE\n";
const QOS: &str = "qos TRUE\n";
/// Eight SLs on two lanes: the layers that an engine keeps apart meet again.
const FOLDED: &str = "qos TRUE\nqos_sl2vl 0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1\n";
const NUE_4: &str = "qos TRUE\nnue_max_num_vls 4\n";
const NUE_FOLDED: &str = "qos TRUE\nnue_max_num_vls 8\nqos_sl2vl 0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1\n";

/// Every routing that is compared: OpenSM's defaults, then its variants, then its files altered.
pub const ROUTINGS: [Routing; 20] = [
    plain("minhop", "minhop", ""),
    plain("updn", "updn", ""),
    Routing { wants: Wants::Root, ..plain(UPDN_ROOTED, "updn", QOS) },
    plain("dnup", "dnup", ""),
    plain("ftree", "ftree", ""),
    plain("dfsssp", "dfsssp", QOS),
    plain("lash", "lash", QOS),
    Routing { wants: Wants::Torus, ..plain("torus-2QoS", "torus-2QoS", QOS) },
    plain("nue, one lane", "nue", QOS),
    plain("nue, four lanes", "nue", NUE_4),
    plain("nue, eight on two lanes", "nue", NUE_FOLDED),
    plain("dfsssp, eight on two lanes", "dfsssp", FOLDED),
    plain("lash, eight on two lanes", "lash", FOLDED),
    plain("minhop, LMC 1", "minhop", "lmc 1\n"),
    plain("dfsssp, LMC 2", "dfsssp", "qos TRUE\nlmc 2\n"),
    Routing { alteration: Alteration::Entries, ..plain("minhop, entries by lot", "minhop", "") },
    Routing { alteration: Alteration::Lanes, ..plain("minhop, lanes by lot", "minhop", QOS) },
    Routing { alteration: Alteration::Lanes, wants: Wants::Root, ..plain("updn, lanes by lot", "updn", QOS) },
    Routing { told_lmc: 1, ..plain("minhop, LMC 1 and told so", "minhop", "lmc 1\n") },
    Routing { told_lmc: 2, ..plain("updn, LMC 2 and told so", "updn", "lmc 2\n") },
];

/// An engine without options, whose files stay unaltered.
const fn plain(label: &'static str, engine: &'static str, options: &'static str) -> Routing {
    Routing { label, engine, wants: Wants::Nothing, alteration: Alteration::Nothing, told_lmc: 0, options }
}

/// A routed subnet, as OpenSM recorded it.
#[derive(Clone, PartialEq, Debug)]
pub struct Routed {
    pub subnet: PathBuf,
    pub fdbs: PathBuf,
    /// Present if it wrote SL-to-VL tables.
    pub sl2vl: Option<PathBuf>,
    /// Present if the engine that ran determines SLs.
    pub path_sl: Option<PathBuf>,
    /// The LMC that judges are given.
    pub told_lmc: u8,
    /// The engine that ran: `minhop` if the requested one failed.
    pub engine: String,
    /// The fabric as OpenSM found it.
    pub fabric: Fabric,
}

/// Routes the fabric, which ibsim serves.
pub fn route(
    ibsim: &Ibsim,
    fabric: &Fabric,
    routing: Routing,
    folder: &Path,
    limit: Duration,
) -> Result<Routed, String> {
    let options = configure(fabric, routing, folder)?;
    let _opensm = run(ibsim, routing.engine, &options, folder, limit).map_err(|why| format!("OpenSM: {why}"))?;
    let subnet = folder.join("opensm-subnet.lst");
    let bytes = std::fs::read(&subnet).map_err(|error| format!("{}: {error}", subnet.display()))?;
    let fabric = read(&bytes, "opensm-subnet.lst").map_err(|error| error.render(false))?;
    let engine = engine_that_ran(&folder.join("osm.log"))?;
    let sl2vl = Some(folder.join("opensm-sl2vl.dump")).filter(|file| file.is_file());
    let path_sl =
        if WITH_PATH_SL.contains(&engine.as_str()) { Some(ask_path_sl(ibsim, &fabric, folder)?) } else { None };
    Ok(Routed { subnet, told_lmc: routing.told_lmc, fdbs: folder.join("opensm.fdbs"), sl2vl, path_sl, engine, fabric })
}

/// Its configuration; the files that it names are in the same folder.
fn configure(fabric: &Fabric, routing: Routing, folder: &Path) -> Result<String, String> {
    let (name, text) = match routing.wants {
        Wants::Nothing => return Ok(format!("{LOG_AT_ONCE}{}", routing.options)),
        Wants::Root => {
            let first = fabric.switches().next().ok_or("a fabric without switches")?;
            ("root_guid_file", format!("{}\n", fabric.node(first).guid))
        }
        Wants::Torus => ("torus_config", torus::seed(fabric)?),
    };
    let file = folder.join(name);
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(format!("{LOG_AT_ONCE}{}{name} {}\n", routing.options, file.display()))
}

/// OpenSM, running, after its first sweep: every dump is complete before it reports that the subnet is up.
fn run(ibsim: &Ibsim, engine: &str, options: &str, folder: &Path, limit: Duration) -> Result<Background, String> {
    let told = |error: std::io::Error| error.to_string();
    let (configuration, log) = (folder.join("opensm.conf"), folder.join("osm.log"));
    std::fs::write(&configuration, options).map_err(told)?;
    let mut command = under_ibsim(&ibsim.socket, "opensm", folder);
    command.args(["-R", engine, "-D", LOG_FLAGS, "-f"]).arg(&log).arg("-F").arg(&configuration);
    let (printed, said) = (folder.join("opensm.out"), folder.join("opensm.err"));
    let mut opensm = Background::start(&mut command, &printed, &said).map_err(told)?;
    wait_for(&mut opensm, "SUBNET UP", &log, limit)?;
    Ok(opensm)
}

/// The engine whose tables were written last, according to the log.
fn engine_that_ran(log: &Path) -> Result<String, String> {
    let text = lossy(log).map_err(|error| format!("{}: {error}", log.display()))?;
    let line = text.lines().rev().find_map(|line| line.split_once(" tables configured on all switches"));
    let engine = line.and_then(|(before, _)| before.rsplit(' ').next());
    engine.map(str::to_string).ok_or_else(|| format!("OpenSM routed nothing: see {}", log.display()))
}

fn ask_path_sl(ibsim: &Ibsim, fabric: &Fabric, folder: &Path) -> Result<PathBuf, String> {
    let client = Client::attach(ibsim).map_err(|error| format!("ibsim takes no client: {error}"))?;
    let file = folder.join("path-sl");
    let text = path_sl::ask(&client, fabric)?;
    std::fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file)
}
