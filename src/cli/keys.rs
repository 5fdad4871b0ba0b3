//! Keys of the subnet, from sources that other users of the machine cannot see: a file that only its owner may read, or
//! the environment. The third source is the command line, which `ps` shows to everyone.

use super::outcome::Failure;
use anyhow::{Context as _, anyhow};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// The M_Key of the subnet's devices.
#[derive(Debug, clap::Args)]
pub(super) struct MKeyArguments {
    /// The M_Key of the subnet's devices, in hexadecimal; 0: none. Visible to other users in the process list: prefer
    /// --m-key-file, or the variable RECONFIG_M_KEY [default: 0].
    #[arg(long, value_name = "KEY", value_parser = hexadecimal)]
    m_key: Option<u64>,
    /// File whose first line is the M_Key, in hexadecimal; lines that begin with # are comments. Only its owner may
    /// have access.
    #[arg(long, value_name = "FILE", conflicts_with = "m_key")]
    m_key_file: Option<PathBuf>,
}

impl MKeyArguments {
    /// The key; 0 if none is given.
    pub(super) fn chosen(&self) -> Result<u64, Failure> {
        Ok(chosen("M_KEY", self.m_key, self.m_key_file.as_deref())?.unwrap_or(0))
    }
}

/// The key by which managers of a subnet trust each other.
#[derive(Debug, clap::Args)]
pub(super) struct SmKeyArguments {
    /// The SM_Key by which managers of this subnet trust each other, in hexadecimal; 0 trusts all. OpenSM's is 1.
    /// Visible to other users in the process list: prefer --sm-key-file, or the variable RECONFIG_SM_KEY [default: 1].
    #[arg(long, value_name = "KEY", value_parser = hexadecimal)]
    sm_key: Option<u64>,
    /// File whose first line is the SM_Key, as for --m-key-file.
    #[arg(long, value_name = "FILE", conflicts_with = "sm_key")]
    sm_key_file: Option<PathBuf>,
}

impl SmKeyArguments {
    pub(super) fn chosen(&self) -> Result<u64, Failure> {
        Ok(chosen("SM_KEY", self.sm_key, self.sm_key_file.as_deref())?.unwrap_or(1))
    }
}

pub(super) fn hexadecimal(text: &str) -> Result<u64, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    u64::from_str_radix(digits, 16).map_err(|_| "expected up to 16 hexadecimal digits".to_string())
}

/// The key of this name: from the command line, else from the file, else from the environment.
fn chosen(name: &str, given: Option<u64>, file: Option<&Path>) -> Result<Option<u64>, Failure> {
    let variable = format!("RECONFIG_{name}");
    match (given, file) {
        (Some(key), _) => Ok(Some(key)),
        (None, Some(file)) => of_file(file).map(Some).map_err(Failure::Input),
        (None, None) => match std::env::var(&variable) {
            Err(std::env::VarError::NotPresent) => Ok(None),
            // Its value is a secret, and is not printed.
            Err(_) => Err(Failure::Input(anyhow!("{variable} is not text: expected up to 16 hexadecimal digits"))),
            Ok(text) => hexadecimal(text.trim())
                .map(Some)
                .map_err(|expected| Failure::Input(anyhow!("{variable} is no key: {expected}"))),
        },
    }
}

/// Limit in bytes on a file of one key and some comments.
const MOST_BYTES: u64 = 64 << 10;

/// Reads a key from a file.
fn of_file(path: &Path) -> anyhow::Result<u64> {
    let reading = || format!("reading a key from {}", path.display());
    let rights = std::fs::metadata(path).with_context(reading)?.permissions().mode() & 0o077;
    if rights != 0 {
        let fault = format!("others than its owner have rights to it ({rights:03o}): chmod go= it");
        return Err(anyhow!(fault).context(reading()));
    }
    let mut text = String::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text));
    if read.with_context(reading)? as u64 == MOST_BYTES {
        return Err(anyhow!("it has {MOST_BYTES} bytes or more").context(reading()));
    }
    let mut lines = text.lines().map(str::trim).zip(1..).filter(|(line, _)| !line.is_empty() && !line.starts_with('#'));
    let (line, number) = lines.next().ok_or_else(|| anyhow!("it holds no key").context(reading()))?;
    if let Some((_, second)) = lines.next() {
        return Err(anyhow!("line {second}: a file holds one key").context(reading()));
    }
    // The message omits the line's content: people who cannot read the file may read the error.
    hexadecimal(line).map_err(|expected| anyhow!("line {number}: {expected}").context(reading()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, mode: u32) -> Result<u64, String> {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
        of_file(&path).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_file_holds_one_key_for_its_owner_alone() {
        assert_eq!(read("# of rack 7\n0xdeadbeef12345678\n", 0o600), Ok(0xdead_beef_1234_5678));
        assert_eq!(read("\n  1f \n", 0o400), Ok(0x1f));
        for (text, mode, fault) in [
            ("1f\n", 0o640, "others than its owner"),
            ("1f\n", 0o604, "others than its owner"),
            ("# none\n", 0o600, "no key"),
            ("secret\n", 0o600, "line 1: expected up to 16"),
            ("1f\n2f\n", 0o600, "line 2: a file holds one key"),
        ] {
            let error = read(text, mode).expect_err(text);
            assert!(error.contains(fault) && !error.contains("secret"), "{error}");
        }
    }
}
