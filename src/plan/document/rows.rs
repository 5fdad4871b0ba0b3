//! The rows of the file.

use crate::ids::{Guid, Half, Lid, PortNum, Sl, VlSet};
use crate::plan::{Assumption, Barrier, FabricDigest, Lanes, Phase, Policy, Scheme, Sending};
use crate::tables::PortState;
use serde::{Deserialize, Serialize};

/// The file; `F` is the fabric before the change, as a value to write or as the text that was read.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document<F> {
    pub schema: String,
    pub scheme: Scheme,
    pub digest: FabricDigest,
    pub old: Half,
    pub new: Half,
    /// Omitted where sources send on the half in use only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub both_halves: bool,
    /// Omitted where the tables in force lead every row somewhere.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins_with_losses: bool,
    /// Omitted where all pairs of hosts have ways at the end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves_losses: bool,
    pub lanes: Lanes,
    pub policy: Policy,
    pub sm: EndRow,
    pub stranded: Vec<EndRow>,
    pub assumptions: Vec<Assumption>,
    pub notes: Vec<String>,
    pub waves: Vec<WaveRow>,
    /// Layer by layer; none if the scheme drains nothing.
    pub drain: Vec<DrainRow>,
    /// The paths of each source under the old routing; omitted if every source may use every path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_ways: Option<WaysRow>,
    /// The paths of each source under the new routing; omitted if every source may use every path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_ways: Option<WaysRow>,
    pub initial: TablesRow,
    pub routed: Missing,
    pub surviving: Missing,
    pub after: Missing,
    pub fabric: F,
}

/// A port.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EndRow {
    pub node: Guid,
    pub port: PortNum,
}

/// The elements that the plan's fabric has and another lacks.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Missing {
    pub nodes: Vec<Guid>,
    /// One end of each link that is missing although both its nodes are present.
    pub links: Vec<EndRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaveRow {
    pub name: String,
    pub phase: Phase,
    pub sending: Sending,
    pub barriers: Vec<Barrier>,
    pub writes: Vec<WriteRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum WriteRow {
    LftBlock { switch: Guid, block: u16, entries: String },
    SlToVl { node: Guid, scope: ScopeRow, table: String },
    PortState { at: EndRow, state: PortState },
    ActiveHalf { at: EndRow, half: Half },
    SaHalf { half: Half },
    MasterSm { at: EndRow, lid: Lid, sl: Sl },
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum ScopeRow {
    All,
    Pair { input: PortNum, output: PortNum },
    EndPort { port: PortNum },
}

/// A layer of channels to drain.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DrainRow {
    /// The lanes of the layer.
    pub lanes: VlSet,
    /// Channels without predecessors.
    pub sources: Vec<EndRow>,
    pub arcs: Vec<ArcsRow>,
}

/// The paths that each source may use, with their virtual layers.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaysRow {
    /// Paths to each destination: path k is the k-th LID of its half.
    pub paths: usize,
    pub destinations: Vec<EndRow>,
    pub groups: Vec<WaysGroupRow>,
}

/// Sources with the same paths.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WaysGroupRow {
    pub sources: Vec<EndRow>,
    /// By destination, then path: the layer as a hexadecimal digit, f for paths closed to these sources.
    pub layers: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ArcsRow {
    pub switch: Guid,
    /// By input port, 0 first: a mask of outputs.
    pub outputs: Vec<String>,
}

/// The tables in force when the plan begins.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TablesRow {
    pub sa_half: Half,
    /// By port index of the fabric.
    pub sending: Vec<Half>,
    /// By port index of the fabric.
    pub port_states: Vec<PortState>,
    pub lfts: Vec<LftRow>,
    pub sl_to_vl: Vec<SlToVlRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LftRow {
    pub switch: Guid,
    pub entries: String,
}

/// One table for all pairs, or (ports + 1)² tables, input major.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SlToVlRow {
    pub node: Guid,
    pub tables: Vec<String>,
}
