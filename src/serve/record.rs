//! A record of what changes the subnet: writes of forwarding tables as they land, and commands.
//!
//! A line each, in the order in which they took effect: simulated nanoseconds, the switch's GUID, the block, its 64
//! output ports as hexadecimal digits; or simulated nanoseconds, `!` and the command. Tools that judge every moment
//! read it.

use super::error::ServeError;
use super::switchboard::Switchboard;
use crate::fabric::NodeId;
use crate::ids::Guid;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// An open record.
pub struct LandingRecord {
    file: BufWriter<File>,
}

impl LandingRecord {
    /// Begins one; what the file held is lost.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(path: &Path) -> Result<LandingRecord, ServeError> {
        let failed = |source| ServeError::Record { path: path.to_path_buf(), source };
        Ok(LandingRecord { file: BufWriter::new(File::create(path).map_err(failed)?) })
    }

    /// Records the writes that landed since the last time.
    pub fn writes(&mut self, board: &mut Switchboard) {
        let writes = board.sim_mut().take_table_writes();
        if writes.is_empty() {
            return;
        }
        let guid = |switch: NodeId| board.fabric().node(switch).guid;
        for write in &writes {
            self.line(write.at_ns, guid(write.switch), write.block, &write.entries);
        }
        self.flush();
    }

    /// Records a command that was carried out.
    pub fn command(&mut self, board: &Switchboard, line: &str) {
        self.put(&format!("{} ! {}\n", board.sim().now_ns(), line.trim()));
        self.flush();
    }

    fn line(&mut self, at_ns: u64, switch: Guid, block: u16, entries: &[u8]) {
        let ports: String = entries.iter().map(|port| format!("{port:02x}")).collect();
        self.put(&format!("{at_ns} {switch} {block} {ports}\n"));
    }

    fn put(&mut self, text: &str) {
        if let Err(error) = self.file.write_all(text.as_bytes()) {
            tracing::error!("recording: {error}");
        }
    }

    fn flush(&mut self) {
        if let Err(error) = self.file.flush() {
            tracing::error!("recording: {error}");
        }
    }
}
