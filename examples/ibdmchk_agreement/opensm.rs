//! Real OpenSM over ibsim: routes a fabric, and leaves the files in which it says how.

use super::ibsim::{Client, Ibsim};
use super::path_sl;
use super::process::{Background, lossy};
use reconfig::fabric::Fabric;
use reconfig::fabric::format::read;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Log flags: errors, information (which names the engine that ran) and routing (which dumps the tables).
const LOG_FLAGS: &str = "0x43";
/// Engines that have a say in a path's SL.
const WITH_PATH_SL: [&str; 4] = ["dfsssp", "lash", "nue", "torus-2QoS"];

/// What OpenSM is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routing {
    /// What it is called here.
    pub label: &'static str,
    /// What OpenSM calls the engine.
    pub engine: &'static str,
    /// Whether the first switch is named as the root.
    pub rooted: bool,
    /// Lines for its configuration. `qos TRUE` makes it write SL-to-VL tables, and dump them.
    pub options: &'static str,
}

const QOS: &str = "qos TRUE\n";
/// Eight SLs on two lanes: the layers that an engine keeps apart meet again.
const FOLDED: &str = "qos TRUE\nqos_sl2vl 0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1\n";
const NUE_4: &str = "qos TRUE\nnue_max_num_vls 4\n";
const NUE_FOLDED: &str = "qos TRUE\nnue_max_num_vls 8\nqos_sl2vl 0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1\n";

/// Every routing that is compared.
pub const ROUTINGS: [Routing; 13] = [
    Routing { label: "minhop", engine: "minhop", rooted: false, options: "" },
    Routing { label: "updn", engine: "updn", rooted: false, options: "" },
    Routing { label: "updn, root named", engine: "updn", rooted: true, options: QOS },
    Routing { label: "dnup", engine: "dnup", rooted: false, options: "" },
    Routing { label: "dnup, root named", engine: "dnup", rooted: true, options: "" },
    Routing { label: "ftree", engine: "ftree", rooted: false, options: "" },
    Routing { label: "dfsssp", engine: "dfsssp", rooted: false, options: QOS },
    Routing { label: "dfsssp, two lanes", engine: "dfsssp", rooted: false, options: FOLDED },
    Routing { label: "nue, one lane", engine: "nue", rooted: false, options: QOS },
    Routing { label: "nue, four lanes", engine: "nue", rooted: false, options: NUE_4 },
    Routing { label: "nue, eight on two", engine: "nue", rooted: false, options: NUE_FOLDED },
    Routing { label: "lash", engine: "lash", rooted: false, options: QOS },
    Routing { label: "lash, two lanes", engine: "lash", rooted: false, options: FOLDED },
];

/// A routed subnet, as OpenSM wrote it down.
pub struct Routed {
    pub subnet: PathBuf,
    pub fdbs: PathBuf,
    /// Where it wrote SL-to-VL tables.
    pub sl2vl: Option<PathBuf>,
    /// Where the engine that ran has a say in SLs.
    pub path_sl: Option<PathBuf>,
    /// The engine that ran: `minhop` where the one asked for failed.
    pub engine: String,
    /// The fabric as OpenSM found it.
    pub fabric: Fabric,
    /// Until the tables stood, on the wall.
    pub seconds: f64,
}

/// Routes the fabric that ibsim serves; `root` is the GUID of the root where one is named.
pub fn route(ibsim: &Ibsim, routing: Routing, root: u64, folder: &Path, limit: Duration) -> Result<Routed, String> {
    let start = Instant::now();
    let _opensm = run(ibsim, routing, root, folder, limit).map_err(|why| format!("OpenSM: {why}"))?;
    let seconds = start.elapsed().as_secs_f64();
    let subnet = folder.join("opensm-subnet.lst");
    let bytes = std::fs::read(&subnet).map_err(|error| format!("{}: {error}", subnet.display()))?;
    let fabric = read(&bytes, "opensm-subnet.lst").map_err(|error| error.render(false))?;
    let engine = engine_that_ran(&folder.join("osm.log"))?;
    let sl2vl = Some(folder.join("opensm-sl2vl.dump")).filter(|file| file.is_file());
    let path_sl =
        if WITH_PATH_SL.contains(&engine.as_str()) { Some(ask_path_sl(ibsim, &fabric, folder)?) } else { None };
    Ok(Routed { subnet, fdbs: folder.join("opensm.fdbs"), sl2vl, path_sl, engine, fabric, seconds })
}

/// OpenSM, running, after its first sweep: every dump is complete before it says that the subnet is up.
fn run(ibsim: &Ibsim, routing: Routing, root: u64, folder: &Path, limit: Duration) -> Result<Background, String> {
    let told = |error: std::io::Error| error.to_string();
    let (configuration, roots, log) = (folder.join("opensm.conf"), folder.join("roots"), folder.join("osm.log"));
    let mut options = format!("force_log_flush TRUE\n{}", routing.options);
    if routing.rooted {
        std::fs::write(&roots, format!("0x{root:016x}\n")).map_err(told)?;
        let _ = writeln!(options, "root_guid_file {}", roots.display());
    }
    std::fs::write(&configuration, options).map_err(told)?;
    let mut command = Command::new("ibsim-run");
    command.args(["opensm", "-R", routing.engine, "-D", LOG_FLAGS, "-f"]).arg(&log).arg("-F").arg(&configuration);
    command.env("IBSIM_SOCKNAME", &ibsim.socket).env("OSM_TMP_DIR", folder).env("OSM_CACHE_DIR", folder);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    let (printed, said) = (folder.join("opensm.out"), folder.join("opensm.err"));
    let mut opensm = Background::start(&mut command, &printed, &said).map_err(told)?;
    opensm.wait_for("SUBNET UP", &log, limit)?;
    Ok(opensm)
}

/// What the log says of the engine whose tables were written last.
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
