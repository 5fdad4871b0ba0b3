//! Plans within records: their files, packed.

use super::JournalError;
use crate::plan::Plan;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::io::{Read, Write};

/// The length of a plan's file, and the file packed.
pub(super) fn packed(plan: &Plan) -> (usize, String) {
    let text = plan.to_json();
    // Fast: a first write waits for this.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let packed = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    (text.len(), STANDARD.encode(packed.expect("a vector takes everything")))
}

/// A plan's file of this length.
pub(super) fn unpacked(packed: &str, len: usize) -> Result<String, JournalError> {
    let wrong = |why: String| JournalError::Plan(why);
    let packed = STANDARD.decode(packed).map_err(|error| wrong(format!("it is not base64: {error}")))?;
    let mut text = String::new();
    // Never more than was announced, whatever the packed bytes hold.
    let read = ZlibDecoder::new(&*packed).take(len as u64 + 1).read_to_string(&mut text);
    read.map_err(|error| wrong(format!("it cannot be unpacked: {error}")))?;
    match text.len() == len {
        true => Ok(text),
        false => Err(wrong(format!("{} bytes were unpacked, and {len} are announced", text.len()))),
    }
}
