//! The engine's own settings: a small YAML file.
//!
//! On entry: a path, or none for the default one. On return: settings that were checked, or an error that names file,
//! place and what was expected. Without a file at the default path every setting has its default; a file that was named
//! and is not there is an error.

use reconfig::change::engine_listed;
use reconfig::ids::Guid;
use reconfig::routing::{MANAGER_ENGINES, MOST_LAYERS, Parameters};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Where settings are read from unless `event_plugin_options` names a file.
pub const DEFAULT_FILE: &str = "/etc/opensm/reconfig.yaml";
/// How `event_plugin_options` of OpenSM's configuration names one.
const OPTION: &str = "reconfig_config=";
/// What stands for the GUID of OpenSM's port in a path.
const PORT: &str = "%g";

/// What is done where no change in place is proved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnRefusal {
    /// The tables in force stay: intact ways stay intact, lost ones lost.
    #[default]
    Keep,
    /// All tables are written at once, as OpenSM does, with a warning that names the cycle.
    Rewrite,
}

/// Who builds multicast trees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Multicast {
    /// OpenSM, as it always does; rings that its trees close are reported.
    #[default]
    Opensm,
    /// This engine, such that they close no ring with unicast.
    Ordered,
}

/// Where plans and certificates are left.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceConfig {
    /// The folder; it is made where it is not there.
    pub folder: PathBuf,
    /// The most that may be in it, in MiB: the oldest goes first.
    #[serde(default = "default_mib")]
    pub mib: u64,
}

fn default_mib() -> u64 {
    256
}

/// Whether engines of several virtual layers may be used, which needs service levels by source and destination.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayersConfig {
    /// The most data lanes that are used, 2 to 8.
    #[serde(default = "most_layers")]
    pub most: u8,
    /// Keeps the levels that were given out.
    pub file: PathBuf,
}

fn most_layers() -> u8 {
    MOST_LAYERS
}

/// A name, or several, the first of which that can route the fabric is taken.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(untagged)]
enum Names {
    One(String),
    Several(Vec<String>),
}

/// The file as it is written.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
struct Document {
    #[serde(default)]
    engine: Option<Names>,
    #[serde(default)]
    on_refusal: OnRefusal,
    #[serde(default = "yes")]
    renew: bool,
    #[serde(default)]
    multicast: Multicast,
    #[serde(default)]
    evidence: Option<EvidenceConfig>,
    #[serde(default)]
    metrics: Option<PathBuf>,
    #[serde(default)]
    layers: Option<LayersConfig>,
}

fn yes() -> bool {
    true
}

/// Settings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PluginConfig {
    /// The base engines in the order in which they are tried.
    pub engines: Vec<String>,
    /// What is done where nothing in place is proved.
    pub on_refusal: OnRefusal,
    /// Whether ways are shortened and loads spread after a change, wave by wave.
    pub renew: bool,
    /// Who builds multicast trees.
    pub multicast: Multicast,
    /// Where plans and certificates go; nowhere by default.
    pub evidence: Option<EvidenceConfig>,
    /// The file of metrics; none by default.
    pub metrics: Option<PathBuf>,
    /// Whether service levels are given out; not by default.
    pub layers: Option<LayersConfig>,
}

impl Default for PluginConfig {
    fn default() -> PluginConfig {
        let engines = MANAGER_ENGINES.map(str::to_string).to_vec();
        let (on_refusal, multicast) = (OnRefusal::default(), Multicast::default());
        PluginConfig { engines, on_refusal, renew: true, multicast, evidence: None, metrics: None, layers: None }
    }
}

/// Why there are no settings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the settings {file}: {why}; name another file by `event_plugin_options {OPTION}FILE`")]
    Unreadable {
        /// The file.
        file: String,
        /// Why not.
        why: String,
    },
    /// It does not say what it must.
    #[error("{file}: {why}")]
    Malformed {
        /// The file.
        file: String,
        /// What is wrong, with its place.
        why: String,
    },
}

impl PluginConfig {
    /// The settings of `event_plugin_options`, which several plugins may share, or of the default file.
    ///
    /// # Errors
    /// A file that was named is not there, or a file does not say what it must.
    pub fn load(options: Option<&str>) -> Result<PluginConfig, ConfigError> {
        let named = options.into_iter().flat_map(str::split_whitespace).find_map(|word| word.strip_prefix(OPTION));
        match named {
            Some(file) => PluginConfig::read(Path::new(file)),
            None if Path::new(DEFAULT_FILE).exists() => PluginConfig::read(Path::new(DEFAULT_FILE)),
            None => Ok(PluginConfig::default()),
        }
    }

    /// The same for the OpenSM of one port: `%g` in a path is the port's GUID, so that several can share a file of
    /// settings.
    #[must_use]
    pub fn of_port(self, port: Guid) -> PluginConfig {
        let own = |path: PathBuf| PathBuf::from(path.to_string_lossy().replace(PORT, &port.to_string()));
        let evidence = self.evidence.map(|own_of| EvidenceConfig { folder: own(own_of.folder), ..own_of });
        let layers = self.layers.map(|own_of| LayersConfig { file: own(own_of.file), ..own_of });
        PluginConfig { evidence, layers, metrics: self.metrics.map(own), ..self }
    }

    fn read(file: &Path) -> Result<PluginConfig, ConfigError> {
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|error| ConfigError::Unreadable { file: name.clone(), why: error.to_string() })?;
        PluginConfig::parse(&text, &name)
    }

    /// The settings of a text; `file` is for messages.
    ///
    /// # Errors
    /// The text does not say what it must.
    pub fn parse(text: &str, file: &str) -> Result<PluginConfig, ConfigError> {
        let malformed = |why: String| ConfigError::Malformed { file: file.to_string(), why };
        if text.lines().all(|line| line.trim().is_empty() || line.trim().starts_with('#')) {
            return Ok(PluginConfig::default());
        }
        let document: Document = serde_saphyr::from_str(text).map_err(|error| malformed(error.to_string()))?;
        let engines = match document.engine {
            None => PluginConfig::default().engines,
            Some(Names::One(name)) => vec![name],
            Some(Names::Several(names)) if names.is_empty() => {
                return Err(malformed("`engine` is an empty list: name at least one, or leave it out".to_string()));
            }
            Some(Names::Several(names)) => names,
        };
        engine_listed(&engines, &Parameters::default()).map_err(|error| malformed(format!("`engine`: {error}")))?;
        if document.evidence.as_ref().is_some_and(|evidence| evidence.mib == 0) {
            return Err(malformed("`evidence.mib` is 0: leave `evidence` out to keep none".to_string()));
        }
        if document.metrics.as_ref().is_some_and(|file| !file.is_absolute()) {
            return Err(malformed(
                "`metrics` must be a whole path: a daemon has a working folder of its own".to_string(),
            ));
        }
        if document.layers.as_ref().is_some_and(|layers| !layers.file.is_absolute()) {
            return Err(malformed("`layers.file` must be a whole path, as `metrics` must".to_string()));
        }
        if let Some(most) =
            document.layers.as_ref().map(|own| own.most).filter(|most| !(2..=MOST_LAYERS).contains(most))
        {
            return Err(malformed(format!("`layers.most` is {most}: 2 to {MOST_LAYERS} lanes can be used")));
        }
        let Document { on_refusal, renew, multicast, evidence, metrics, layers, .. } = document;
        Ok(PluginConfig { engines, on_refusal, renew, multicast, evidence, metrics, layers })
    }
}
