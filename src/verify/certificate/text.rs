//! A certificate as a file, format `reconfig.certificate/1` (docs/CERTIFICATE.md).

use super::recorder::varint;
use super::{Certificate, CertifiedMoment};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io::Write;

/// The first line.
const FORMAT: &str = "reconfig.certificate/1";
/// Characters of packed evidence on one line.
const WIDTH: usize = 100;

/// The statements of a certificate about its plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Binding {
    /// SHA-256 of the plan's file, 64 hexadecimal digits.
    pub plan: String,
    /// Digest of the fabric, as plans have it.
    pub fabric: String,
    /// The scheme.
    pub scheme: String,
    /// The assumptions of the plan, by name.
    pub assumptions: Vec<String>,
}

impl Binding {
    /// SHA-256 of a file, as certificates name it.
    pub fn digest(file: &[u8]) -> String {
        hex(&Sha256::digest(file))
    }
}

/// The second line.
#[derive(Serialize)]
struct Header<'a> {
    #[serde(flatten)]
    binding: &'a Binding,
    vls: usize,
    groups: Vec<Vec<u8>>,
    moments: Vec<MomentHeader<'a>>,
}

#[derive(Serialize)]
struct MomentHeader<'a> {
    name: &'a str,
    lanes: &'a [u16],
}

impl Certificate {
    /// The file: the format's name, a line of JSON, the packed evidence, and a digest of all that.
    pub fn to_text(&self, binding: &Binding) -> String {
        let header = Header {
            binding,
            vls: self.vls,
            groups: self.groups.iter().map(|sls| sls.iter().map(|sl| sl.get()).collect()).collect(),
            moments: self.moments.iter().map(|m| MomentHeader { name: &m.name, lanes: &m.lanes }).collect(),
        };
        let header = serde_json::to_string(&header).expect("names and numbers are JSON");
        let packed = STANDARD.encode(packed(&self.evidence()));
        let mut text = format!("{FORMAT}\n{header}\n");
        for start in (0..packed.len()).step_by(WIDTH) {
            text.push_str(&packed[start..packed.len().min(start + WIDTH)]);
            text.push('\n');
        }
        let digest = hex(&Sha256::digest(text.as_bytes()));
        text.push_str(&format!("sha256 {digest}\n"));
        text
    }

    /// Numbers, then rows.
    fn evidence(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut before: &[u32] = &[];
        for CertifiedMoment { numbers, .. } in &self.moments {
            if numbers == before {
                bytes.push(0);
            } else {
                bytes.push(1);
                numbers.iter().for_each(|&number| varint(&mut bytes, number));
            }
            before = numbers;
        }
        bytes.extend(&self.rows);
        bytes
    }
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.expect("writing to memory does not fail")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
