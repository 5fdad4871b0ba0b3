//! The fabrics: ibsim's own example nets, read where the package has put them, and generated ones.

use crate::support::is_thorough;
use crate::support::tools::all_there;
use reconfig::fabric::format::{Format, write};
use reconfig::fabric::generate::{Options, Topology, generate};
use std::path::Path;

/// Where Debian's package ibsim-utils has its examples.
const EXAMPLES: &str = "/usr/share/doc/ibsim-utils/net-examples";

/// A name, and a text for ibsim.
pub struct Net {
    pub name: String,
    pub text: String,
}

/// ibsim's example nets; none, visibly, where they are not there.
pub fn examples() -> Vec<Net> {
    let Ok(entries) = std::fs::read_dir(Path::new(EXAMPLES)) else {
        all_there(&[EXAMPLES.to_string()], "ibsim-utils");
        return Vec::new();
    };
    let files = entries.filter_map(|entry| entry.ok().map(|entry| entry.path()));
    let mut nets: Vec<Net> = files
        .filter_map(|path| {
            let name = path.file_name()?.to_str().filter(|name| name.starts_with("net"))?;
            Some(Net { name: name.into(), text: std::fs::read_to_string(&path).ok()? })
        })
        .collect();
    assert!(!nets.is_empty(), "no example nets in {EXAMPLES}");
    nets.sort_by(|a, b| a.name.cmp(&b.name));
    nets
}

/// A generated fabric.
pub fn generated(topology: &str, seed: u64) -> Net {
    let parsed: Topology = topology.parse().unwrap_or_else(|error| panic!("{error}"));
    let fabric = generate(&parsed, &Options { seed, ..Options::default() }).unwrap_or_else(|error| panic!("{error}"));
    Net {
        name: format!("{topology} seed {seed}"),
        text: write(&fabric, Format::IbsimNet).expect("ibsim nets are written"),
    }
}

/// Small ones, of four families; the first cannot be rewritten in place without a deadlock.
pub const SMALL: [(&str, u64); 4] =
    [("random-regular:8,4,5", 112), ("leaf-spine:12,6,8", 0), ("torus:4x4x2,4", 0), ("dragonfly:2,4,2", 0)];
/// 320 switches and 1024 CAs in the long form, 96 and 216 in the brief one.
pub fn large() -> (&'static str, u64) {
    (if is_thorough() { "three-level:16,8,8,8,8" } else { "three-level:6,6,6,4,6" }, 0)
}

/// A fat tree of two levels: the larger one of [`SMALL`] in the long form, a quarter of its hosts in the brief one.
pub fn tree() -> (&'static str, u64) {
    if is_thorough() { SMALL[1] } else { ("leaf-spine:6,3,4", 0) }
}
