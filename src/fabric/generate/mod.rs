//! Generated fabrics: the regular topologies of the field and seeded random ones.
//!
//! On entry: a [`Topology`] (usually parsed from text such as `fat-tree:4,2`; [`FAMILIES`] lists the forms) and
//! [`Options`]. On return: a connected fabric that looks like a captured one. Switches come first in index order, then
//! hosts; GUIDs are `0x020000` (a locally administered company), family, kind, index and port, so that no two families
//! share one; descriptions are those that switches and hosts report; LIDs count from 1 in index order, with LMC 0. The
//! same topology, options and seed give the same fabric, byte for byte. Deliberately omitted: defaults in place of
//! impossible parameters (an error names the parameter and the reason), and multigraphs other than fat trees, whose
//! trunks are the parallel links of real installations.

mod bundled;
mod dragonfly;
mod grid;
mod hypercube;
mod irregular;
mod joined;
mod random;
mod regular;
mod sketch;
mod text;
mod tree;
mod waxman;

pub use bundled::{BUNDLED, BUNDLED_SUBNETS, Bundled, BundledSubnets};
pub use dragonfly::Dragonfly;
pub use grid::Grid;
pub use hypercube::Hypercube;
pub use irregular::Irregular;
pub use joined::{JoinShape, JoinShapeError, JoinedTopology, RouterAttachment, joined, place_routers};
pub use regular::RandomRegular;
pub use text::{FAMILIES, Family};
pub use tree::GeneralTree;
pub use waxman::{HostPlacement, Waxman};

use super::subnets::JoinError;
use super::{BuildError, Fabric, LinkSpeed, LinkWidth};
use sketch::DrawError;

/// The topology to generate. `to_string` gives the text that parses back to it.
#[derive(Clone, Debug, PartialEq)]
pub enum Topology {
    /// A k-ary n-tree (Petrini and Vanneschi): k^n hosts, n levels of k^(n−1) switches.
    KaryTree {
        /// k: hosts of a leaf, and links up or down of a switch.
        arity: u32,
        /// n: levels of switches.
        levels: u32,
    },
    /// A two-level fat tree: every leaf joined to every spine.
    LeafSpine {
        /// Leaf switches.
        leaves: u32,
        /// Spine switches.
        spines: u32,
        /// Hosts of a leaf.
        hosts: u32,
        /// Parallel links between a leaf and a spine.
        trunk: u32,
    },
    /// A three-level fat tree: pods of leaves and spines, and cores that join spine j of every pod.
    ThreeLevel {
        /// Pods.
        pods: u32,
        /// Leaf switches of a pod.
        leaves: u32,
        /// Spine switches of a pod.
        spines: u32,
        /// Core switches above each spine: there are `spines` × `cores` of them.
        cores: u32,
        /// Hosts of a leaf.
        hosts: u32,
        /// Parallel links between a leaf and a spine.
        trunk: u32,
    },
    /// Any parallel-ports generalised fat tree.
    GeneralTree(GeneralTree),
    /// A grid without wrap-around links.
    Mesh(Grid),
    /// A grid with wrap-around links; along a side of two switches the two links would be parallel, so there is one.
    Torus(Grid),
    /// A cycle of switches.
    Ring {
        /// How many switches, three at least.
        switches: u32,
        /// Hosts of a switch.
        hosts: u32,
    },
    /// A binary cube.
    Hypercube(Hypercube),
    /// The canonical dragonfly.
    Dragonfly(Dragonfly),
    /// A random simple connected graph in which every switch has the same degree.
    RandomRegular(RandomRegular),
    /// Waxman's random graph, connected.
    Waxman(Waxman),
    /// A random connected graph with given counts of links and hosts, and few ports to spare.
    Irregular(Irregular),
}

/// Properties of switches and cables of a generated fabric, and its seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// External ports of every switch; `None` gives what the busiest switch needs, and eight at least.
    pub radix: Option<u8>,
    /// Width of every link.
    pub width: LinkWidth,
    /// Speed of every link.
    pub speed: LinkSpeed,
    /// Seed of the random families; the others ignore it.
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { radix: None, width: LinkWidth::X4, speed: LinkSpeed::Hdr, seed: 0 }
    }
}

/// Why a fabric cannot be generated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GenerateError {
    /// The name before the colon is not a family.
    #[error("`{name}` is no topology: choose one of {}", text::family_names())]
    UnknownFamily {
        /// The name given.
        name: String,
    },
    /// The parameters after the colon cannot be read.
    #[error("cannot read topology `{text}`: {why}; expected `{form}`")]
    Syntax {
        /// The text given.
        text: String,
        /// What is wrong with it.
        why: String,
        /// The form of this family.
        form: &'static str,
    },
    /// No fabric can have these parameters.
    #[error("no fabric is a `{topology}`: {why}")]
    Impossible {
        /// The topology asked for.
        topology: String,
        /// The parameter and the limit that it breaks.
        why: String,
    },
    /// A switch with more cables than ports.
    #[error(
        "`{topology}` cables {needed} ports of switch {switch}, but its switches have {radix}: ask for a larger radix (254 at most) or fewer links"
    )]
    Radix {
        /// The topology asked for.
        topology: String,
        /// The busiest switch.
        switch: String,
        /// The ports that it needs.
        needed: u32,
        /// The ports that it would have.
        radix: u8,
    },
    /// No draw of the random family was connected and complete.
    #[error(
        "none of {attempts} draws of `{topology}` from seed {seed} gave a connected fabric: \
         ask for more links, or try another seed"
    )]
    Luckless {
        /// The topology asked for.
        topology: String,
        /// The seed.
        seed: u64,
        /// How often it was drawn.
        attempts: u32,
    },
    /// Routers cannot be added between subnets.
    #[error("cannot join subnets by routers: {why}")]
    Joining {
        /// The parameter and the limit that it breaks.
        why: String,
    },
    /// Routers may not join these subnets.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// A bug of the generator: its fabric breaks a rule of the model.
    #[error("the generated `{topology}` is no valid fabric (a fault of the generator, please report it): {source}")]
    Build {
        /// The topology asked for.
        topology: String,
        /// The rule.
        source: BuildError,
    },
}

impl GenerateError {
    /// With the topology as the user wrote it: omitted parameters are not added.
    #[must_use]
    pub fn as_asked(mut self, asked: &str) -> GenerateError {
        match &mut self {
            GenerateError::Impossible { topology, .. }
            | GenerateError::Radix { topology, .. }
            | GenerateError::Luckless { topology, .. }
            | GenerateError::Build { topology, .. } => *topology = asked.to_string(),
            _ => {}
        }
        self
    }
}

/// Generates the fabric of `topology`.
///
/// # Errors
/// Impossible parameters, a radix that is too small, or a random family that gave no connected fabric.
pub fn generate(topology: &Topology, options: &Options) -> Result<Fabric, GenerateError> {
    let sketch = draw(topology, options.seed).map_err(|why| match why {
        DrawError::Impossible(why) => GenerateError::Impossible { topology: topology.to_string(), why },
        DrawError::Luckless { attempts } => {
            GenerateError::Luckless { topology: topology.to_string(), seed: options.seed, attempts }
        }
    })?;
    sketch.build(topology, options)
}

fn draw(topology: &Topology, seed: u64) -> Result<sketch::Sketch, DrawError> {
    match *topology {
        Topology::KaryTree { arity, levels } => GeneralTree::k_ary(arity, levels)?.draw(),
        Topology::LeafSpine { leaves, spines, hosts, trunk } => {
            GeneralTree { children: vec![hosts, leaves], parents: vec![1, spines], trunks: vec![1, trunk] }.draw()
        }
        Topology::ThreeLevel { pods, leaves, spines, cores, hosts, trunk } => GeneralTree {
            children: vec![hosts, leaves, pods],
            parents: vec![1, spines, cores],
            trunks: vec![1, trunk, 1],
        }
        .draw(),
        Topology::GeneralTree(ref tree) => tree.draw(),
        Topology::Mesh(ref grid) => grid.draw(false),
        Topology::Torus(ref grid) => grid.draw(true),
        Topology::Ring { switches, hosts } => grid::ring(switches, hosts),
        Topology::Hypercube(ref cube) => cube.draw(),
        Topology::Dragonfly(ref dragonfly) => dragonfly.draw(),
        Topology::RandomRegular(ref regular) => regular.draw(seed),
        Topology::Waxman(ref waxman) => waxman.draw(seed),
        Topology::Irregular(ref irregular) => irregular.draw(seed),
    }
}
