//! The journal of a manager: its decisions, on disk before it acts.
//!
//! On entry: a change that is about to begin, with its whole plan; then every command, before the driver carries it
//! out; its end; the note that the retired half follows; and the elements that are set aside. On return from
//! [`Journal::open`]: the change that was not ended ([`Standing`]) and the elements set aside. Append-only: each record
//! is a line of its own with a checksum, on disk before the call returns. A tail that a crash or a full disk left torn
//! is cut off; a file that is damaged elsewhere is moved aside, and only what was set aside is taken from it. Where
//! records of that may have been lost, [`Journal::gap`] says so. A record that cannot be written is
//! an error, and its caller does not act, or gives the journal up: it then removes every record that might
//! mislead a later manager, until there is room for records again. Deliberately omitted: the tables of
//! devices, which are read from them and have precedence.

mod error;
mod file;
mod line;
mod plan_text;
mod record;

pub use error::JournalError;
pub use file::JournalFile;
pub use line::LineFault;
pub use record::{ChangeBegun, JournalEntry, JournalRecord};

use crate::files::read_at_most;
use crate::machine::{ChangePosition, Command, Outcome};
use crate::plan::Plan;
use record::SCHEMA;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

/// The size above which a journal begins anew when the next change begins; the old file is kept under a second name.
const LARGE: u64 = 64 << 20;
/// The greatest number of bytes read from a journal. It begins anew long before that.
const MOST_BYTES: u64 = 1 << 30;
/// The least room for which a journal that was given up is taken up again; more if a larger record was refused.
const ROOM: usize = 64 << 10;

/// A change that was not ended.
#[derive(Clone, PartialEq, Debug)]
pub struct Standing {
    /// The change.
    pub begun: ChangeBegun,
    /// Its position; none if the subnet was not asked for anything yet.
    pub position: Option<ChangePosition>,
    /// Whether the change is complete except that the half it retired does not follow yet.
    pub is_made: bool,
}

/// A journal that is being written.
pub struct Journal {
    /// None only while it is given up, if it could not be opened.
    file: Option<Box<dyn JournalFile>>,
    /// The path of the journal.
    place: PathBuf,
    /// Bytes of whole records.
    len: u64,
    /// Whether bytes of a failed write may follow them.
    is_torn: bool,
    /// Unix time at which the clock of the transport was 0, in nanoseconds; 0 in a simulation.
    epoch_ns: u64,
    standing: Option<Standing>,
    aside: Vec<String>,
    /// Whether the file says so.
    aside_is_recorded: bool,
    /// Bytes of the longest record that was refused, and why the last one was.
    refused: (usize, String),
    is_given_up: bool,
    /// What it has lost of what earlier managers have set aside.
    gap: Option<String>,
}

impl Journal {
    /// Opens the journal at `path` and makes its folder, reads what it holds, and cuts off a torn tail. A damaged
    /// journal, or one of another version, is moved to `path` with `.damaged` added. `epoch_ns` is the Unix time, in
    /// nanoseconds, at which the clock of the transport was 0.
    ///
    /// # Errors
    /// Another process has it open, or the disk refuses.
    pub fn open(path: &Path, epoch_ns: u64) -> Result<(Journal, Vec<String>), JournalError> {
        let was_there = path.exists();
        let mut file = file::open(path)?;
        let (mut warnings, mut gap) = (Vec::new(), None);
        let bytes = file.content(path)?;
        let read = match line::read(&bytes) {
            Ok(read) => read,
            Err(fault) => {
                let kept = path.with_added_extension("damaged");
                let (saved, is_latest) = line::last_aside(&bytes).unzip();
                gap = (is_latest != Some(true)).then(|| forgotten(&fault, saved.as_ref()));
                let opened = JournalEntry { at_ns: epoch_ns, record: opened() };
                let entries: Vec<JournalEntry> = [opened].into_iter().chain(saved).collect();
                let anew: String = entries.iter().map(line::written).collect();
                file.renew(path, &kept, anew.as_bytes())?;
                warnings.push(format!("{}: {fault}: kept as {}, and begun anew", path.display(), kept.display()));
                line::Read { entries, len: anew.len() as u64, ..line::Read::default() }
            }
        };
        let mut journal = Journal::over(Box::new(file), path, epoch_ns);
        if let Some(torn) = read.torn {
            warnings.push(format!("{}: {torn}: cut off", path.display()));
            journal.is_torn = true;
            gap = Some(forgotten(&torn, read.entries.last())).filter(|_| !torn.is_unfinished);
        }
        let unknown = match read.entries.last().map(|entry| &entry.record) {
            None if was_there => {
                gap.get_or_insert_with(|| forgotten(&"it is empty", None));
                Some("it is empty: what an earlier manager has set aside, and".to_string())
            }
            Some(JournalRecord::GivenUp { why }) => Some(format!("it was given up ({why}): beyond what is set aside,")),
            _ => None,
        };
        warnings.extend(unknown.map(|why| format!("{}: {why} what it has not ended, is not known", path.display())));
        journal.gap = gap;
        journal.len = read.len;
        read.entries.iter().for_each(|entry| journal.follow(&entry.record));
        if journal.len == 0
            && let Err(error) = journal.append(0, opened())
        {
            // An empty file would be taken for a journal that was lost.
            if !was_there {
                let _ = std::fs::remove_file(path);
            }
            return Err(error);
        }
        Ok((journal, warnings))
    }

    /// The journal at `path` while there is no room to open it: given up, until there is.
    pub fn unopened(path: &Path, epoch_ns: u64, why: String) -> Journal {
        let refused = (0, why);
        Journal { file: None, refused, is_given_up: true, ..Journal::at(path, epoch_ns) }
    }

    /// Begins the journal at `path` anew, in simulated time, and makes its folder.
    ///
    /// # Errors
    /// Another process has it open, or the disk refuses.
    pub fn create(path: &Path) -> Result<Journal, JournalError> {
        let mut file = file::open(path)?;
        file.cut(0).map_err(|source| JournalError::Write { path: path.into(), source })?;
        Journal::begin(Box::new(file), path, 0)
    }

    /// Begins a journal in something like an empty file.
    ///
    /// # Errors
    /// It refuses.
    pub fn begin(file: Box<dyn JournalFile>, place: &Path, epoch_ns: u64) -> Result<Journal, JournalError> {
        let mut journal = Journal::over(file, place, epoch_ns);
        journal.append(0, opened())?;
        Ok(journal)
    }

    fn over(file: Box<dyn JournalFile>, place: &Path, epoch_ns: u64) -> Journal {
        Journal { file: Some(file), ..Journal::at(place, epoch_ns) }
    }

    fn at(place: &Path, epoch_ns: u64) -> Journal {
        Journal {
            file: None,
            place: place.to_path_buf(),
            len: 0,
            is_torn: false,
            epoch_ns,
            standing: None,
            aside: Vec::new(),
            aside_is_recorded: true,
            refused: (0, String::new()),
            is_given_up: false,
            gap: None,
        }
    }

    /// The change that was not ended.
    pub fn standing(&self) -> Option<&Standing> {
        self.standing.as_ref()
    }

    /// The elements set aside, by names that stay theirs.
    pub fn aside(&self) -> &[String] {
        &self.aside
    }

    /// What it has lost of what earlier managers have set aside, if it has lost anything when it was opened.
    pub fn gap(&self) -> Option<&str> {
        self.gap.as_deref()
    }

    /// Records a change that is about to begin. `now_ns` is the time of the transport's clock, here and below.
    ///
    /// # Errors
    /// The disk refuses: do not begin.
    pub fn begun(&mut self, now_ns: u64, begun: ChangeBegun) -> Result<(), JournalError> {
        if self.len > LARGE && !self.is_given_up {
            self.begin_anew(now_ns)?;
        }
        self.append(now_ns, JournalRecord::Begun(Box::new(begun)))
    }

    /// Records a command that is about to be carried out, and the position of the change at that command.
    ///
    /// # Errors
    /// The disk refuses: do not carry it out.
    pub fn asked(
        &mut self,
        now_ns: u64,
        command: &Command,
        position: ChangePosition,
        plan: &Plan,
    ) -> Result<(), JournalError> {
        let command = command.name().to_string();
        let wave = plan.waves()[position.wave].name.clone();
        self.append(now_ns, JournalRecord::Asked { command, name: wave, position })
    }

    /// Records the end of a change, or that it halted.
    ///
    /// # Errors
    /// The disk refuses. The change has ended all the same; the next manager that opens the journal finds nothing left
    /// to do.
    pub fn record_end(&mut self, now_ns: u64, outcome: &Outcome) -> Result<(), JournalError> {
        self.append(now_ns, JournalRecord::of_outcome(outcome))
    }

    /// Records that the half that a change has left leads where the one in use leads.
    ///
    /// # Errors
    /// The disk refuses. The next reader of the journal has the half follow again.
    pub fn followed(&mut self, now_ns: u64) -> Result<(), JournalError> {
        match self.standing {
            Some(_) => self.append(now_ns, JournalRecord::Followed),
            None => Ok(()),
        }
    }

    /// Records that a change is not resumed, unless that is recorded.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn abandoned(&mut self, now_ns: u64, why: &str) -> Result<(), JournalError> {
        match self.standing {
            Some(_) => self.append(now_ns, JournalRecord::Abandoned { why: why.to_string() }),
            None => Ok(()),
        }
    }

    /// Records all elements that are set aside, by names that stay theirs.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn record_aside(&mut self, now_ns: u64, elements: Vec<String>) -> Result<(), JournalError> {
        if self.has_aside(&elements) {
            return Ok(());
        }
        (self.aside, self.aside_is_recorded) = (elements, false);
        match self.is_given_up {
            true => self.write_anew(now_ns),
            false => self.append(now_ns, JournalRecord::Aside { elements: self.aside.clone() }),
        }
    }

    /// Whether the file says that these elements are set aside.
    pub fn has_aside(&self, elements: &[String]) -> bool {
        self.aside_is_recorded && self.aside == elements
    }

    /// Records nothing more until [`Journal::take_up_again`]: the caller goes on without. The file is emptied, which
    /// takes no room, so that no later manager believes it; then it gets what is set aside, if there is room for that.
    ///
    /// # Errors
    /// It cannot be emptied.
    pub fn give_up(&mut self, now_ns: u64) -> Result<(), JournalError> {
        (self.is_given_up, self.standing) = (true, None);
        self.write_anew(now_ns)
    }

    /// Whether there is room for a record as long as the longest that was refused. What is written to find out looks
    /// like a record that was not finished, and is cut off again. For use between changes.
    pub fn has_room(&mut self) -> bool {
        let Some(file) = self.file.as_mut().filter(|_| !self.is_given_up) else { return false };
        let mut room = b"00000000 {".to_vec();
        room.resize(self.refused.0.max(room.len()), b' ');
        let is_written = file.append(&room).is_ok();
        self.is_torn = file.cut(self.len).is_err();
        is_written && !self.is_torn
    }

    /// Why the last record that was refused was.
    pub fn refusal(&self) -> &str {
        &self.refused.1
    }

    /// Why nothing is recorded, while that is so.
    pub fn given_up(&self) -> Option<&str> {
        self.is_given_up.then_some(self.refused.1.as_str())
    }

    /// Writes a file in place of one that was removed, with what is set aside. Whether it did. Where it cannot, the
    /// journal is given up. For use between changes.
    ///
    /// # Errors
    /// None can be written.
    pub fn replace_removed(&mut self, now_ns: u64) -> Result<bool, JournalError> {
        if !self.file.as_ref().is_some_and(|file| file.is_removed()) {
            return Ok(false);
        }
        self.file = None;
        let standing = self.standing.take();
        let written = self.write_anew(now_ns);
        if written.is_err() || !self.aside_is_recorded {
            let why = written.as_ref().err().map_or_else(|| "there is no room".to_string(), JournalError::to_string);
            (self.is_given_up, self.refused.1) = (true, why);
            return written.map(|()| false);
        }
        // A change that is made, and whose retired half is still to follow.
        if let Some(standing) = standing.filter(|standing| standing.is_made) {
            self.append(now_ns, JournalRecord::Begun(Box::new(standing.begun)))?;
            self.append(now_ns, JournalRecord::Completed)?;
        }
        Ok(true)
    }

    /// Takes a journal up again that was given up, with what is set aside, if there is room for records to come. For
    /// use between changes.
    ///
    /// # Errors
    /// There is none; it stays given up.
    pub fn take_up_again(&mut self, now_ns: u64) -> Result<(), JournalError> {
        self.empty()?;
        let room = vec![b' '; self.refused.0.max(ROOM)];
        let file = self.file.as_mut().expect("it is open once it was emptied");
        if let Err(source) = file.append(&room) {
            self.write_anew(now_ns)?;
            return Err(JournalError::Write { path: self.place.clone(), source });
        }
        self.is_given_up = false;
        let written = self.write_anew(now_ns);
        self.is_given_up = written.is_err() || !self.aside_is_recorded;
        written
    }

    /// Has nothing in the file.
    fn empty(&mut self) -> Result<(), JournalError> {
        self.aside_is_recorded = false;
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Box::new(file::open(&self.place)?)),
        };
        file.cut(0).map_err(|source| JournalError::Write { path: self.place.clone(), source })?;
        (self.len, self.is_torn) = (0, false);
        Ok(())
    }

    /// Has nothing in the file but what is set aside, and whether it is given up; not even that without room for it.
    fn write_anew(&mut self, now_ns: u64) -> Result<(), JournalError> {
        self.empty()?;
        let content = self.beginning(now_ns);
        let file = self.file.as_mut().expect("it is open once it was emptied");
        match file.append(content.as_bytes()) {
            Ok(()) => (self.len, self.aside_is_recorded) = (content.len() as u64, true),
            Err(_) => self.empty()?,
        }
        Ok(())
    }

    /// The first records, which hold all that is still needed.
    fn beginning(&self, now_ns: u64) -> String {
        let at_ns = self.epoch_ns.saturating_add(now_ns);
        let given_up = self.given_up().map(|why| JournalRecord::GivenUp { why: why.to_string() });
        let records = [opened(), JournalRecord::Aside { elements: self.aside.clone() }].into_iter().chain(given_up);
        records.map(|record| line::written(&JournalEntry { at_ns, record })).collect()
    }

    fn append(&mut self, now_ns: u64, record: JournalRecord) -> Result<(), JournalError> {
        if self.is_given_up {
            return Ok(());
        }
        let entry = JournalEntry { at_ns: self.epoch_ns.saturating_add(now_ns), record };
        let line = line::written(&entry);
        let failed = |source| JournalError::Write { path: self.place.clone(), source };
        let file = self.file.as_mut().expect("it is open unless it is given up");
        if self.is_torn {
            file.cut(self.len).map_err(failed)?;
            self.is_torn = false;
        }
        if let Err(source) = file.append(line.as_bytes()) {
            self.is_torn = true;
            self.refused = (self.refused.0.max(line.len()), format!("{}: {source}", self.place.display()));
            return Err(failed(source));
        }
        self.len += line.len() as u64;
        self.follow(&entry.record);
        Ok(())
    }

    fn follow(&mut self, record: &JournalRecord) {
        match record {
            JournalRecord::Opened { .. } | JournalRecord::Halted { .. } | JournalRecord::GivenUp { .. } => {}
            JournalRecord::Aside { elements } => {
                self.aside.clone_from(elements);
                self.aside_is_recorded = true;
            }
            JournalRecord::Begun(begun) => {
                self.standing = Some(Standing { begun: (**begun).clone(), position: None, is_made: false });
            }
            JournalRecord::Asked { position, .. } => {
                if let Some(standing) = &mut self.standing {
                    standing.position = Some(position.clone());
                }
            }
            JournalRecord::Completed => {
                self.standing = self.standing.take().filter(|standing| standing.begun.retires);
                self.standing.iter_mut().for_each(|standing| standing.is_made = true);
            }
            JournalRecord::Followed | JournalRecord::CalledOff { .. } | JournalRecord::Abandoned { .. } => {
                self.standing = None;
            }
        }
    }

    /// Keeps the old file under a second name, and begins a new one with the records that are still needed.
    fn begin_anew(&mut self, now_ns: u64) -> Result<(), JournalError> {
        let content = self.beginning(now_ns);
        let file = self.file.as_mut().expect("it is open unless it is given up");
        file.renew(&self.place, &self.place.with_added_extension("old"), content.as_bytes())?;
        (self.len, self.is_torn, self.aside_is_recorded) = (content.len() as u64, false, true);
        Ok(())
    }
}

/// What is not known any more for this reason; known is what stood in the last record that is whole.
fn forgotten(why: &dyn fmt::Display, last: Option<&JournalEntry>) -> String {
    let time = |at_ns: u64| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(at_ns));
    let since = last.map_or_else(String::new, |last| format!(" after {}", time(last.at_ns)));
    format!("what was ordered to be set aside or used again{since} is unknown: order it again ({why})")
}

fn opened() -> JournalRecord {
    JournalRecord::Opened { schema: SCHEMA.to_string(), version: env!("CARGO_PKG_VERSION").to_string() }
}

/// Reads a journal, which its manager may be writing meanwhile: its whole records, and the fault of its tail, if there
/// is one.
///
/// # Errors
/// It cannot be read, or is damaged before its tail.
pub fn read(path: &Path) -> Result<(Vec<JournalEntry>, Option<String>), JournalError> {
    let bytes = read_at_most(path, MOST_BYTES).map_err(|source| JournalError::Read { path: path.into(), source })?;
    decode(&bytes).map_err(|fault| JournalError::Damaged { path: path.into(), fault })
}

/// Reads the content of a journal: as [`read`].
///
/// # Errors
/// It is damaged before its tail.
pub fn decode(bytes: &[u8]) -> Result<(Vec<JournalEntry>, Option<String>), LineFault> {
    let read = line::read(bytes)?;
    Ok((read.entries, read.torn.map(|fault| fault.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_large_journal_begins_anew_and_keeps_what_is_needed() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("sm.journal");
        let (mut journal, warnings) = Journal::open(&path, 7).expect("it can be made");
        assert_eq!(warnings, Vec::<String>::new());
        journal.record_aside(1, vec!["0x10".to_string()]).expect("room");
        journal.begin_anew(5).expect("room");
        journal.record_end(6, &Outcome::Completed).expect("room");
        drop(journal);
        let kinds = |path: &Path| -> Vec<String> {
            let (entries, torn) = read(path).expect("whole");
            assert_eq!(torn, None);
            entries.iter().map(|entry| serde_json::to_value(entry).expect("JSON")["record"].to_string()).collect()
        };
        assert_eq!(kinds(&path.with_added_extension("old")), ["\"opened\"", "\"aside\""]);
        assert_eq!(kinds(&path), ["\"opened\"", "\"aside\"", "\"completed\""]);
        let (journal, _) = Journal::open(&path, 7).expect("it can be read");
        assert_eq!(journal.aside(), ["0x10"]);
    }

    #[test]
    fn a_journal_that_cannot_begin_anew_goes_on_as_it_is() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("sm.journal");
        let (mut journal, _) = Journal::open(&path, 7).expect("it can be made");
        journal.record_aside(1, vec!["0x10".to_string()]).expect("room");
        // A folder is where the new file would be written.
        std::fs::create_dir(path.with_added_extension("new")).expect("room");
        journal.begin_anew(5).expect_err("there is no room");
        journal.record_end(6, &Outcome::Completed).expect("room");
        drop(journal);
        let (entries, torn) = read(&path).expect("whole");
        assert_eq!((entries.len(), torn), (3, None), "{entries:?}");
        let (journal, warnings) = Journal::open(&path, 7).expect("it can be read");
        assert_eq!((journal.aside(), warnings), (&["0x10".to_string()][..], vec![]));
    }

    #[test]
    fn a_file_that_was_removed_takes_no_record_and_is_replaced() {
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("a/sm.journal");
        fs::create_dir(folder.path().join("a")).expect("room");
        let (mut journal, _) = Journal::open(&path, 0).expect("it opens");
        journal.record_aside(0, vec!["0x10".to_string()]).expect("there is room");
        assert!(!journal.replace_removed(0).expect("nothing to do"));
        fs::remove_file(&path).expect("it is there");
        assert!(journal.record_aside(0, vec!["0x20".to_string()]).is_err(), "what is written there is lost");
        assert!(journal.replace_removed(0).expect("there is room"));
        drop(journal);
        let (mut journal, _) = Journal::open(&path, 0).expect("it opens");
        assert_eq!(journal.aside(), ["0x20"]);
        // The folder, too, and a file is in its place: nothing can be written until that is gone.
        fs::remove_dir_all(folder.path().join("a")).expect("it is there");
        fs::write(folder.path().join("a"), "").expect("room");
        assert!(journal.replace_removed(0).is_err() && journal.given_up().is_some());
        fs::remove_file(folder.path().join("a")).expect("it is there");
        journal.take_up_again(0).expect("there is room");
        assert_eq!((journal.given_up(), path.exists()), (None, true));
    }
}
