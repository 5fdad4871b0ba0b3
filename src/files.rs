//! Files read up to a length, so that a device without end or a file that is none of ours costs no memory.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes by which a device of zeroes is known.
const HEAD: u64 = 4096;

/// The content of a file of at most so many bytes.
///
/// # Errors
/// It cannot be read, is longer, or begins with nothing but zero bytes.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == HEAD && bytes.iter().all(|&byte| byte == 0) {
        return refused(format!("it begins with {HEAD} zero bytes"));
    }
    file.take(most.saturating_sub(bytes.len() as u64) + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => refused(format!("it has more than {most} bytes")),
        false => Ok(bytes),
    }
}
