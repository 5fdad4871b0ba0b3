//! Reads the file: from lines and bytes to numbers and rows, each within its range.

use super::CertificateFault;
use super::moments::PlanMoments;
use super::net::CheckedNet;
use crate::plan::Plan;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::bufread::ZlibDecoder;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader};
use std::rc::Rc;

const FORMAT: &str = "reconfig.certificate/1";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    plan: String,
    fabric: String,
    scheme: String,
    assumptions: Vec<String>,
    vls: usize,
    groups: Vec<Vec<u8>>,
    moments: Vec<MomentHeader>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MomentHeader {
    name: String,
    lanes: Vec<u16>,
}

/// The lanes' numbers by moment; moments that have the same share them.
pub(super) type Numbers = Vec<Rc<[u32]>>;

/// A certificate whose digest is correct.
pub(super) struct File {
    header: Header,
    /// The evidence, packed: it is unpacked while it is read.
    packed: Vec<u8>,
}

fn form(what: impl Into<String>) -> CertificateFault {
    CertificateFault::Form(what.into())
}

fn damaged(what: impl Into<String>) -> CertificateFault {
    CertificateFault::Evidence(what.into())
}

impl File {
    /// Reads a file and compares its text with its digest.
    pub fn read(bytes: &[u8]) -> Result<File, CertificateFault> {
        let text = std::str::from_utf8(bytes).ok().filter(|text| text.is_ascii());
        let text = text.ok_or_else(|| form("it is not ASCII text"))?;
        let Some(body) = text.strip_prefix(FORMAT).and_then(|rest| rest.strip_prefix('\n')) else {
            let first: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
            return Err(form(format!("its first line is `{first}`, expected `{FORMAT}`")));
        };
        let whole = text.strip_suffix('\n').ok_or_else(|| form("it does not end with a line feed: it was cut off"))?;
        let (covered, last) = whole.rsplit_once('\n').ok_or_else(|| form("it has one line"))?;
        let stated = last.strip_prefix("sha256 ").ok_or_else(|| form("its last line does not begin with `sha256 `"))?;
        let found = hex(&Sha256::digest(&bytes[..covered.len() + 1]));
        if stated != found {
            return Err(CertificateFault::Altered { stated: stated.to_string(), found });
        }
        let body = &body[..body.len() - last.len() - 1];
        let (header, packed) = body.split_once('\n').ok_or_else(|| form("it has no second line"))?;
        let header = serde_json::from_str(header).map_err(|error| form(format!("line 2: {error}")))?;
        // Only line feeds end lines, so that every reader sees the same letters.
        let letters: String = packed.split('\n').collect();
        let packed = STANDARD.decode(letters).map_err(|error| damaged(format!("it is no base64: {error}")))?;
        Ok(File { header, packed })
    }

    /// Compares the header's statements about the plan with the plan, and the digest that it names with `name`.
    pub fn check_binding(&self, plan: &Plan, name: &str) -> Result<(), CertificateFault> {
        let Header { plan: stated, fabric, scheme, assumptions, .. } = &self.header;
        let digest = plan.digest().to_string();
        if *fabric != digest {
            return Err(CertificateFault::OtherFabric { certificate: fabric.clone(), plan: digest });
        }
        if stated != name {
            return Err(CertificateFault::OtherPlan { certificate: stated.clone(), plan: name.to_string() });
        }
        differs("their scheme", &[scheme.as_str()], &[plan.scheme().name()])?;
        let stated: Vec<&str> = assumptions.iter().map(String::as_str).collect();
        let assumed: Vec<&str> = plan.draft().assumptions.iter().map(|assumed| assumed.name()).collect();
        differs("what they take for granted", &stated, &assumed)
    }

    /// Compares the moments with those of the plan.
    pub fn check_moments(&self, moments: &PlanMoments<'_>) -> Result<(), CertificateFault> {
        let stated: Vec<&str> = self.header.moments.iter().map(|moment| moment.name.as_str()).collect();
        let wanted: Vec<&str> = moments.all.iter().map(|moment| moment.name.as_str()).collect();
        differs("their moments", &stated, &wanted)
    }

    pub fn vls(&self) -> usize {
        self.header.vls
    }

    /// Service levels by group.
    pub fn groups(&self) -> &[Vec<u8>] {
        &self.header.groups
    }

    /// By group: the usual lanes of a moment.
    pub fn usual(&self, moment: usize) -> &[u16] {
        &self.header.moments[moment].lanes
    }

    /// The numbers, by moment, then lane of a cabled channel of a switch; and the rows after them.
    pub fn evidence(&self, net: &CheckedNet, moments: usize) -> Result<(Numbers, Rows<'_>), CertificateFault> {
        let mut rows = Rows { bytes: BufReader::new(ZlibDecoder::new(&self.packed)), returned: Vec::new() };
        let mut numbers = Numbers::new();
        for moment in 0..moments {
            let listed = match (rows.byte()?, numbers.last()) {
                (0, Some(before)) => before.clone(),
                (1, _) => (0..net.sent.len() * self.vls()).map(|_| rows.varint()).collect::<Result<_, _>>()?,
                (tag, _) => return Err(damaged(format!("the numbers of moment {moment} begin with {tag}"))),
            };
            numbers.push(listed);
        }
        Ok((numbers, rows))
    }
}

/// The digest by which a certificate names a plan file.
pub(super) fn digest_of(plan_file: &[u8]) -> String {
    hex(&Sha256::digest(plan_file))
}

fn differs(what: &'static str, certificate: &[&str], plan: &[&str]) -> Result<(), CertificateFault> {
    if certificate == plan {
        return Ok(());
    }
    Err(CertificateFault::Differs { what, certificate: certificate.join(", "), plan: plan.join(", ") })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The rows, unpacked and read one after the other. Memory is that of one row, however much a few packed bytes stand
/// for: a thousand times as many zeros end at the first row that cannot be.
pub(super) struct Rows<'a> {
    bytes: BufReader<ZlibDecoder<&'a [u8]>>,
    /// Bytes that were unpacked and put back, the last byte first.
    returned: Vec<u8>,
}

impl Rows<'_> {
    /// Reads these bytes if they come next, and nothing otherwise.
    pub fn begin_with(&mut self, wanted: &[u8]) -> Result<bool, CertificateFault> {
        let mut read = Vec::with_capacity(wanted.len());
        for &wanted in wanted {
            if self.returned.is_empty() && self.unpacked()?.is_empty() {
                break;
            }
            let byte = self.byte()?;
            read.push(byte);
            if byte != wanted {
                break;
            }
        }
        let same = read == wanted;
        if !same {
            self.returned.extend(read.into_iter().rev());
        }
        Ok(same)
    }

    pub fn byte(&mut self) -> Result<u8, CertificateFault> {
        if let Some(byte) = self.returned.pop() {
            return Ok(byte);
        }
        let byte = self.unpacked()?.first().copied();
        self.bytes.consume(1);
        byte.ok_or_else(|| damaged("it ends too early"))
    }

    /// The bytes unpacked and not read yet; empty at the end only.
    fn unpacked(&mut self) -> Result<&[u8], CertificateFault> {
        self.bytes.fill_buf().map_err(|error| damaged(format!("it cannot be unpacked: {error}")))
    }

    pub fn slice(&mut self, length: usize) -> Result<Vec<u8>, CertificateFault> {
        (0..length).map(|_| self.byte()).collect()
    }

    pub fn varint(&mut self) -> Result<u32, CertificateFault> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7F) << shift;
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| damaged("a number exceeds 32 bits"));
            }
        }
        Err(damaged("a number exceeds 32 bits"))
    }

    /// Nothing must follow, packed or unpacked.
    pub fn finish(mut self) -> Result<(), CertificateFault> {
        // The checksum of the unpacked bytes is compared only at the end.
        let whole =
            self.returned.is_empty() && self.unpacked()?.is_empty() && self.bytes.get_ref().get_ref().is_empty();
        if whole { Ok(()) } else { Err(damaged("bytes follow the last row")) }
    }
}
