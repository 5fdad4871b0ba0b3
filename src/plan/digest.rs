//! A fabric's digest: shows whether a plan was made for the fabric at hand.

use crate::fabric::{Fabric, NodeKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// FNV-1a over GUIDs, port counts, links, LIDs and LMCs, in order of GUID: fabrics that agree in all of these have the
/// same digest, in whatever order they were read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct FabricDigest(pub u64);

impl fmt::Display for FabricDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<FabricDigest> for String {
    fn from(digest: FabricDigest) -> String {
        digest.to_string()
    }
}

impl TryFrom<String> for FabricDigest {
    type Error = String;

    fn try_from(text: String) -> Result<FabricDigest, String> {
        let whole = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let value = whole.then(|| u64::from_str_radix(&text, 16).ok()).flatten();
        value.map(FabricDigest).ok_or_else(|| format!("`{text}` is not a digest: expected 16 hexadecimal digits"))
    }
}

impl FabricDigest {
    /// The digest of the present part of `fabric`.
    pub fn of(fabric: &Fabric) -> FabricDigest {
        let mut nodes: Vec<_> = fabric.nodes().filter(|(_, node)| node.present).collect();
        nodes.sort_unstable_by_key(|(_, node)| node.guid);
        let mut hash = Fnv::default();
        for (id, node) in nodes {
            let kind = match node.kind {
                NodeKind::Switch => 0,
                NodeKind::Ca => 1,
                NodeKind::Router => 2,
            };
            hash.word(node.guid.0);
            hash.word(kind << 8 | u64::from(node.num_ports));
            for port in fabric.ports_of(id).map(|id| fabric.port(id)) {
                let lid = port.lid.map_or(0, |lid| u64::from(lid.0));
                hash.word(lid << 8 | u64::from(port.lmc.get()));
                let peer = port.peer.map(|peer| fabric.port(peer));
                hash.word(peer.map_or(0, |peer| fabric.node(peer.node).guid.0));
                hash.word(peer.map_or(0, |peer| u64::from(peer.num.0)));
            }
        }
        FabricDigest(hash.0)
    }
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn word(&mut self, word: u64) {
        for byte in word.to_be_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
