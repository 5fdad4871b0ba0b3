//! The managers: OpenSM in three forms, `reconfig sm` in four.

use super::list::Case;
use super::server::{PATIENCE, Server};
use super::trial::Setting;
use reconfig_measuring::process::background::{Background, lossy};
use reconfig_measuring::process::under_ibsim::under_ibsim;
use reconfig_measuring::process::wait_for::wait_for;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A manager, with its options.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// OpenSM with Debian's defaults and `-R ENGINE`.
    OpenSm,
    /// The same with `root_guid_file`, as a foresighted administrator writes it.
    OpenSmRooted,
    /// OpenSM with the routing engine `reconfig` (opensm-plugin), all settings at their defaults.
    Plugin,
    /// `reconfig sm` with its defaults: entries alone where that is proved.
    Auto,
    /// The same, with hosts that never ask for their paths again, as those that keep connections open.
    AutoBase,
    /// `reconfig sm --scheme double --engine up-down --sources told --drain token`: adapters and switches that know the
    /// vendor attributes.
    Told,
    /// `reconfig sm --scheme double --engine up-down`: every change moves the hosts, with what every device has.
    Fence,
}

pub const SIDES: [Side; 7] =
    [Side::OpenSm, Side::OpenSmRooted, Side::Plugin, Side::Auto, Side::AutoBase, Side::Told, Side::Fence];

impl Side {
    /// Its name on the command line and in the table.
    pub fn name(self) -> &'static str {
        match self {
            Side::OpenSm => "opensm",
            Side::OpenSmRooted => "opensm-rooted",
            Side::Plugin => "opensm-plugin",
            Side::Auto => "auto",
            Side::AutoBase => "auto-base",
            Side::Told => "told",
            Side::Fence => "fence",
        }
    }

    pub fn is_opensm(self) -> bool {
        matches!(self, Side::OpenSm | Side::OpenSmRooted | Side::Plugin)
    }

    /// How end ports learn their paths. With the fence they must query again; so must they with those of OpenSM's
    /// engines that separate paths by SLs. Elsewhere packets use the base LID and SL 0, which needs no query.
    pub fn paths(self, engine: &str) -> &'static str {
        let asked = match self {
            Side::OpenSm | Side::OpenSmRooted => ["dfsssp", "lash", "nue", "torus-2QoS"].contains(&engine),
            Side::Plugin | Side::AutoBase | Side::Told => false,
            Side::Auto | Side::Fence => true,
        };
        if asked { "records" } else { "base" }
    }

    /// The lines of its log, any of which ends a reaction. After a wave that the plugin asked for OpenSM reports no
    /// subnet up again, only that the tables are written.
    pub fn last_words(self) -> &'static [&'static str] {
        match self {
            Side::OpenSm | Side::OpenSmRooted => &["SUBNET UP"],
            Side::Plugin => &["SUBNET UP", "tables configured on all switches"],
            Side::Auto | Side::AutoBase | Side::Told | Side::Fence => &["the change is over"],
        }
    }
}

/// A running manager; dropping the value ends it.
pub struct Manager {
    _process: Background,
    log: PathBuf,
}

impl Manager {
    /// Starts it on the case's host, and returns when it reports that the subnet is up.
    pub fn start(
        side: Side,
        setting: &Setting,
        case: &Case,
        server: &Server,
        folder: &Path,
    ) -> Result<Manager, String> {
        let program = if side.is_opensm() { Path::new("opensm") } else { &setting.program };
        let mut command = under_ibsim(&server.name, program, folder);
        let log = folder.join(if side.is_opensm() { "osm.log" } else { "sm.err" });
        if side.is_opensm() {
            opensm(&mut command, side, setting, case, folder)?;
        } else {
            command.arg("sm").arg("--socket").arg(folder.join("sm.sock"));
            match side {
                Side::Told => {
                    command.args(["--scheme", "double", "--engine", "up-down", "--sources", "told", "--drain", "token"])
                }
                Side::Fence => command.args(["--scheme", "double", "--engine", "up-down"]),
                Side::OpenSm | Side::OpenSmRooted | Side::Plugin | Side::Auto | Side::AutoBase => &mut command,
            };
            command.arg("-v");
        }
        command.env("SIM_HOST", &case.fabric.node(case.host).description);
        let told = |error: std::io::Error| format!("{}: {error}", side.name());
        let mut process =
            Background::start(&mut command, &folder.join("sm.out"), &folder.join("sm.err")).map_err(told)?;
        wait_for(&mut process, "SUBNET UP", &log, PATIENCE).map_err(|why| format!("{}: {why}", side.name()))?;
        Ok(Manager { _process: process, log })
    }

    /// How often its log has any of these lines.
    pub fn said(&self, words: &[&str]) -> usize {
        lossy(&self.log).map_or(0, |text| words.iter().map(|words| text.matches(words).count()).sum())
    }

    /// Whether the plugin waits, or has a wave left.
    pub fn goes_on(&self) -> bool {
        let text = lossy(&self.log).unwrap_or_default();
        let mut said = text.lines().rev().filter_map(|line| line.split_once("-> reconfig: ").map(|(_, said)| said));
        let last = said.find(|said| !said.starts_with("multicast")).unwrap_or_default();
        last.contains(" wait") || last.contains(" left") && !last.contains("; 0 are left")
    }

    /// The engines whose tables OpenSM wrote, in order: `minhop` if the requested one gave up.
    pub fn engines(&self) -> Vec<String> {
        let text = lossy(&self.log).unwrap_or_default();
        let ran = text.lines().filter_map(|line| line.split_once(" tables configured on all switches"));
        ran.filter_map(|(before, _)| before.rsplit(' ').next().map(str::to_string)).collect()
    }

    /// How the last change ended, if `reconfig sm` reports it.
    pub fn outcome(&self) -> Option<String> {
        let text = lossy(&self.log).unwrap_or_default();
        let line = text.lines().rev().find(|line| line.contains("the change is over"))?;
        line.split("outcome=").nth(1)?.split(' ').next().map(str::to_string)
    }
}

fn opensm(command: &mut Command, side: Side, setting: &Setting, case: &Case, folder: &Path) -> Result<(), String> {
    command.args(["-D", "0x43", "-f"]).arg(folder.join("osm.log"));
    let mut options = "force_log_flush TRUE\n".to_string();
    match side {
        Side::OpenSmRooted => {
            let file = folder.join("roots");
            let guids: Vec<String> =
                case.roots.iter().map(|&root| format!("{}\n", case.fabric.node(root).guid)).collect();
            write(&file, &guids.concat())?;
            options.push_str(&format!("root_guid_file {}\n", file.display()));
        }
        Side::Plugin => {
            let settings = folder.join("reconfig.yaml");
            write(&settings, "")?;
            load_plugin(&setting.program, folder)?;
            command.env("LD_LIBRARY_PATH", folder);
            let settings = settings.display();
            options.push_str(&format!("event_plugin_name reconfig\nevent_plugin_options reconfig_config={settings}\n"));
        }
        Side::OpenSm | Side::Auto | Side::AutoBase | Side::Told | Side::Fence => {}
    }
    let engine = if side == Side::Plugin { "reconfig no_fallback" } else { &setting.engine };
    options.push_str(&format!("routing_engine {engine}\n"));
    let file = folder.join("opensm.conf");
    write(&file, &options)?;
    command.arg("-F").arg(file);
    Ok(())
}

/// Has OpenSM find the plugin of the same build as the program.
fn load_plugin(program: &Path, folder: &Path) -> Result<(), String> {
    let built = program.with_file_name("libreconfig_opensm.so");
    if !built.is_file() {
        return Err(format!("{} is not there; `cargo build --release -p reconfig-opensm` makes it", built.display()));
    }
    let link = folder.join("libreconfig.so");
    std::os::unix::fs::symlink(&built, &link).map_err(|error| format!("{}: {error}", link.display()))
}

fn write(file: &Path, text: &str) -> Result<(), String> {
    std::fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))
}
