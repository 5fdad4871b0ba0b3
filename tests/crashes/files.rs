//! Journals as files: what a crash, a bit, another writer, a full disk or another version does to them, and what
//! `reconfig journal show` says.

use super::world::{Death, Held, Life, Setting, World};
use super::{AUTO, DOUBLE, Going};
use crate::support::schema::assert_keeps;
use reconfig::journal::{Journal, JournalEntry, JournalError, JournalFile, JournalRecord, decode, read};
use std::cell::{Cell, RefCell};
use std::io::{self, Error, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::process::{Command, Output};
use std::rc::Rc;

/// The journal of a change that was made.
fn written() -> (tempfile::TempDir, Vec<u8>) {
    let world = World::new(AUTO);
    world.manage(world.sm, Some(world.journal()), &Going::Sudden.events(&world), Death::Never);
    let bytes = std::fs::read(world.journal_path()).expect("it was written");
    (world.into_folder(), bytes)
}

#[test]
fn a_tail_torn_at_any_byte_costs_the_last_record_and_nothing_else() {
    let (folder, bytes) = written();
    let (whole, torn) = decode(&bytes).expect("it is whole");
    assert!(torn.is_none() && whole.len() >= 4, "{whole:?}");
    let ends: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').map(|at| at + 1).collect();
    assert_eq!(ends.len(), whole.len(), "a record a line");
    let path = folder.path().join("sm.journal");
    // The record of the plan is long: of its bytes some will do.
    let cuts = (0..=bytes.len()).filter(|&cut| cut % 97 == 0 || ends.iter().any(|&end| end.abs_diff(cut) < 12));
    for cut in cuts {
        let records = ends.iter().filter(|&&end| end <= cut).count();
        let (entries, torn) = decode(&bytes[..cut]).expect("only its tail is torn");
        assert_eq!(entries, whole[..records], "cut at byte {cut}");
        assert_eq!(torn.is_some(), !ends.contains(&cut) && cut > 0, "cut at byte {cut}: {torn:?}");
        std::fs::write(&path, &bytes[..cut]).expect("room");
        let (mut journal, told) = Journal::open(&path, 0).expect("it is repaired");
        // Of an empty journal nobody knows what it has held.
        assert_eq!(told.len(), usize::from(torn.is_some()) + usize::from(records == 0), "{told:?}");
        journal.record_aside(1, vec![format!("0x{cut:x}")]).expect("room");
        drop(journal);
        let (entries, torn) = read(&path).expect("it is whole again");
        assert_eq!((torn, entries.len()), (None, records.max(1) + 1), "cut at byte {cut}");
    }
}

#[test]
fn a_bit_that_flips_is_found_wherever_it_is() {
    let (folder, bytes) = written();
    let last = bytes[..bytes.len() - 1].iter().rposition(|&byte| byte == b'\n').expect("several records") + 1;
    let (whole, _) = decode(&bytes).expect("it is whole");
    for at in (0..bytes.len()).filter(|at| at % 61 == 0 || *at + 20 > last) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 1 << (at % 8);
        match decode(&damaged) {
            // In the last record, or where it begins, it cannot be told from a record that was not finished. What
            // devices hold has precedence, so a change is not taken up where it no longer stands.
            Ok((entries, torn)) => {
                assert!(at + 1 >= last && torn.is_some() && entries.len() < whole.len(), "byte {at}")
            }
            Err(fault) => assert!(fault.line >= 1, "byte {at}: {fault}"),
        }
    }
    let path = folder.path().join("sm.journal");
    let mut damaged = bytes.clone();
    damaged[20] ^= 1;
    std::fs::write(&path, &damaged).expect("room");
    let (journal, told) = Journal::open(&path, 0).expect("it begins anew");
    assert!(journal.standing().is_none() && told[0].contains("line 1: its checksum is"), "{told:?}");
    let kept = std::fs::read(path.with_added_extension("damaged")).expect("it is kept");
    assert_eq!(kept, damaged);
}

#[test]
fn another_version_is_kept_and_not_read_on() {
    let (folder, bytes) = written();
    let text = String::from_utf8(bytes).expect("text").replacen("reconfig.journal/1", "reconfig.journal/9", 1);
    let (first, rest) = text.split_once('\n').expect("lines");
    let sum = format!("{:08x}", crc32(&first.as_bytes()[9..]));
    let path = folder.path().join("sm.journal");
    std::fs::write(&path, format!("{sum}{}\n{rest}", &first[8..])).expect("room");
    let (_, told) = Journal::open(&path, 0).expect("it begins anew");
    assert!(told[0].contains("its schema is `reconfig.journal/9`, expected `reconfig.journal/1`"), "{told:?}");
}

/// CRC-32 as in IEEE 802.3, bit by bit: no code of the journal's.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), |crc, _| step(crc)))
}

#[test]
fn two_managers_do_not_write_one_journal() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("made/by/it/sm.journal");
    let (first, _) = Journal::open(&path, 0).expect("it makes the folder");
    let second = Journal::open(&path, 0).err().expect("it is locked");
    assert!(matches!(second, JournalError::Locked { .. }), "{second}");
    drop(first);
    assert!(Journal::open(&path, 0).is_ok(), "the lock goes with its holder");
}

/// A disk that is full from one record to another; of what it refuses it keeps the first bytes.
struct Disk {
    content: Rc<RefCell<Vec<u8>>>,
    records: Rc<Cell<usize>>,
    full: Range<usize>,
}

impl JournalFile for Disk {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let nth = self.records.replace(self.records.get() + 1);
        let mut content = self.content.borrow_mut();
        if self.full.contains(&nth) {
            content.extend_from_slice(&bytes[..bytes.len().min(11)]);
            return Err(Error::from(ErrorKind::StorageFull));
        }
        content.extend_from_slice(bytes);
        Ok(())
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.content.borrow_mut().truncate(usize::try_from(len).expect("in memory"));
        Ok(())
    }

    fn renew(&mut self, _: &Path, _: &Path, _: &[u8]) -> Result<(), JournalError> {
        unreachable!("the journal is small")
    }
}

/// A change while the disk is full for some records; the world afterwards, and what the disk holds.
fn with_full_disk(full: Range<usize>) -> (World, Life, Vec<JournalEntry>) {
    let world = World::new(DOUBLE);
    let content = Rc::new(RefCell::new(Vec::new()));
    let disk = Disk { content: content.clone(), records: Rc::default(), full };
    let journal = Journal::begin(Box::new(disk), Path::new("full"), 0).expect("the first record is taken");
    let life = world.manage(world.sm, Some(journal), &Going::Planned.events(&world), Death::Never);
    let (entries, _) = decode(&content.borrow()).expect("only its tail is torn");
    (world, life, entries)
}

#[test]
fn a_full_disk_stops_a_change_before_its_next_write() {
    let (_, _, whole) = with_full_disk(0..0);
    assert!(whole.len() > 9, "{}", whole.len());
    // Nothing is begun that is not recorded.
    let (world, life, entries) = with_full_disk(1..usize::MAX);
    assert_eq!((entries.len(), &life.changes[..]), (1, &[][..]), "{life:?}");
    assert!(life.answers[0].contains("writing the journal full"), "{life:?}");
    assert!(world.held(world.sm) == World::new(DOUBLE).held(world.sm), "{life:?}");
    // From any record on: what was recorded is all that was done, so that the change stands where the journal says.
    let made = whole.iter().position(|entry| entry.record == JournalRecord::Completed).expect("it was made");
    for first in 2..made {
        let (world, life, entries) = with_full_disk(first..usize::MAX);
        assert_eq!(entries, whole[..first], "{life:?}");
        assert!(
            life.changes.iter().all(|outcome| outcome.contains("nothing is done that is not recorded")),
            "{life:?}"
        );
        let (mut asked, mut plan) = (None, None);
        for entry in entries {
            match entry.record {
                JournalRecord::Begun(begun) => plan = Some(begun.plan().expect("a plan")),
                JournalRecord::Asked { position, .. } => asked = Some(position.wave),
                _ => {}
            }
        }
        let plan = plan.expect("it was begun");
        let wanted = Held::of(&plan.draft().before, plan.tables_at(asked.map_or(0, |wave| wave + 1)));
        let differences = world.held(world.sm).differences(&wanted);
        assert_eq!(differences, Vec::<String>::new(), "record {first} was refused: {life:?}");
    }
}

/// Hosts behind a fence, and rows that lead into what died, do not wait for a disk for ever.
#[test]
fn a_disk_that_stays_full_is_given_up_after_half_a_minute() {
    for (pause_s, made) in [(20, false), (31, true)] {
        // Nobody sends: half a minute of packets costs more than all else here together.
        let world = World::new(Setting { load: 0.0, ..DOUBLE });
        let content = Rc::new(RefCell::new(Vec::new()));
        let disk = Disk { content: content.clone(), records: Rc::default(), full: 1..usize::MAX };
        let journal = Journal::begin(Box::new(disk), Path::new("full"), 0).expect("the first record is taken");
        let [first] = Going::Planned.events(&world);
        let again = (pause_s * 1_000_000_000, first.1);

        let life = world.manage(world.sm, Some(journal), &[first, again], Death::Never);
        assert!(life.answers[0].contains("writing the journal full"), "{life:?}");
        assert_eq!(life.changes.last().is_some_and(|change| change == "Completed"), made, "{pause_s} s: {life:?}");
        let (entries, _) = decode(&content.borrow()).expect("only its tail is torn");
        assert_eq!(entries.len(), usize::from(!made), "nothing more was written, and what was is not left: {life:?}");
    }
}

/// Nobody is behind a fence, and no later manager needs the record of it: rows that lead into what died do not wait.
#[test]
fn a_repair_by_entries_alone_does_not_wait_for_a_disk() {
    let reference = super::undisturbed(AUTO, Going::Sudden);
    // Nothing of it is taken, or only what it is to do.
    for first in [1, 2] {
        let world = World::new(AUTO);
        let content = Rc::new(RefCell::new(Vec::new()));
        let disk = Disk { content: content.clone(), records: Rc::default(), full: first..usize::MAX };
        let journal = Journal::begin(Box::new(disk), Path::new("full"), 0).expect("the first record is taken");
        let life = world.manage(world.sm, Some(journal), &Going::Sudden.events(&world), Death::Never);
        assert_eq!(life.changes, ["Completed"], "{life:?}");
        assert!(world.held(world.sm) == reference.after, "{life:?}");
        let (entries, _) = decode(&content.borrow()).expect("only its tail is torn");
        assert_eq!(entries, [], "no later manager goes by it: {life:?}");
    }
    // What is ordered away is to stay so, whoever manages next.
    let world = World::new(AUTO);
    let disk = Disk { content: Rc::default(), records: Rc::default(), full: 1..usize::MAX };
    let journal = Journal::begin(Box::new(disk), Path::new("full"), 0).expect("the first record is taken");
    let life = world.manage(world.sm, Some(journal), &Going::Planned.events(&world), Death::Never);
    assert!(life.changes.is_empty() && life.answers[0].contains("writing the journal full"), "{life:?}");
}

/// A loss of power leaves zeros where records were that somebody acted on.
#[test]
fn records_that_became_zeros_are_missed() {
    let folder = tempfile::tempdir().expect("room");
    let path = folder.path().join("sm.journal");
    let hour_ns = 3_600_000_000_000;
    let (mut journal, _) = Journal::open(&path, 500_000 * hour_ns).expect("room");
    for (hour, element) in [(1, "0xa"), (2, "0xb"), (3, "0xc")] {
        journal.record_aside(hour * hour_ns, vec![element.to_string()]).expect("room");
    }
    drop(journal);
    let whole = std::fs::read(&path).expect("it was written");
    let ends: Vec<usize> = (1..=whole.len()).filter(|&end| whole[end - 1] == b'\n').collect();
    // From a record on, and from within one.
    for (from, known, records) in [(ends[2], "0xb", 3), (ends[2] + 20, "0xb", 3), (ends[1] - 1, "", 1)] {
        let mut damaged = whole.clone();
        damaged[from..].fill(0);
        std::fs::write(&path, &damaged).expect("room");
        let (journal, told) = Journal::open(&path, 0).expect("it is cut");
        assert_eq!(journal.aside(), if known.is_empty() { vec![] } else { vec![known.to_string()] });
        let (cut, hour) = (ends[records - 1], records - 1);
        let offset = format!("the {} bytes from offset {cut} on are no unfinished record", whole.len() - cut);
        assert!(told.len() == 1 && told[0].contains(&offset), "{told:?}");
        let gap = journal.gap().expect("it says so");
        assert!(gap.contains(&format!("after 2027-01-15T{:02}:00:00Z is unknown", 8 + hour)), "{gap}");
        assert_eq!(std::fs::metadata(&path).expect("it is there").len() as usize, damaged.len(), "until it is written");
    }
    // A record that was not finished is nothing that anybody acted on.
    std::fs::write(&path, &whole[..ends[2] + 20]).expect("room");
    let (journal, told) = Journal::open(&path, 0).expect("it is cut");
    assert!(told.len() == 1 && told[0].contains("was not finished"), "{told:?}");
    assert_eq!(journal.gap(), None);
    drop(journal);
    // What is damaged elsewhere is not read on, but what was set aside is taken from it.
    let mut damaged = whole.clone();
    damaged[ends[1]..ends[1] + 30].fill(0);
    std::fs::write(&path, &damaged).expect("room");
    let (journal, told) = Journal::open(&path, 0).expect("it begins anew");
    assert_eq!((journal.aside(), told.len()), (&["0xc".to_string()][..], 1), "{told:?}");
    assert_eq!(journal.gap(), None, "the last record says all");
    drop(journal);
    // Unless the last that says it is before the damage.
    let mut damaged = [&whole[..], &whole[..ends[0]]].concat();
    damaged[ends[2]..ends[2] + 30].fill(0);
    std::fs::write(&path, &damaged).expect("room");
    let (journal, told) = Journal::open(&path, 0).expect("it begins anew");
    assert_eq!((journal.aside(), told.len()), (&["0xb".to_string()][..], 1), "{told:?}");
    assert!(journal.gap().is_some());
    drop(journal);
    let (journal, _) = Journal::open(&path, 0).expect("it is whole");
    assert_eq!((journal.aside(), journal.gap()), (&["0xb".to_string()][..], None));
    drop(journal);
    std::fs::write(&path, "").expect("room");
    assert!(Journal::open(&path, 0).expect("it begins anew").0.gap().is_some());
}

/// A disk with so much room for a journal.
struct Room {
    content: Rc<RefCell<Vec<u8>>>,
    most: Rc<Cell<usize>>,
}

impl JournalFile for Room {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut content = self.content.borrow_mut();
        let room = self.most.get().saturating_sub(content.len()).min(bytes.len());
        content.extend_from_slice(&bytes[..room]);
        if room < bytes.len() { Err(Error::from(ErrorKind::StorageFull)) } else { Ok(()) }
    }

    fn cut(&mut self, len: u64) -> io::Result<()> {
        self.content.borrow_mut().truncate(usize::try_from(len).expect("in memory"));
        Ok(())
    }

    fn renew(&mut self, _: &Path, _: &Path, _: &[u8]) -> Result<(), JournalError> {
        unreachable!("the journal is small")
    }
}

#[test]
fn a_journal_that_is_given_up_leaves_nothing_that_is_no_longer_so() {
    let names = |name: &str| vec![name.to_string()];
    // Without any room, and with some where the journal was.
    for (most, known) in [(10, &[][..]), (1_000, &["0xb".to_string()][..])] {
        let (content, room) = (Rc::new(RefCell::new(Vec::new())), Rc::new(Cell::new(usize::MAX)));
        let file = Room { content: content.clone(), most: room.clone() };
        let mut journal = Journal::begin(Box::new(file), Path::new("full"), 0).expect("there is room");
        journal.record_aside(1, names("0xa")).expect("there is room");
        room.set(content.borrow().len() + 5);
        journal.record_aside(2, names("0xb")).expect_err("there is none");
        room.set(most);
        journal.give_up(3).expect("emptying it takes none");
        assert_eq!((journal.aside(), journal.given_up().is_some()), (&names("0xb")[..], true));
        journal.record_end(4, &reconfig::machine::Outcome::Completed).expect("nothing is recorded");
        // What a manager makes of it that starts now.
        let folder = tempfile::tempdir().expect("room");
        let path = folder.path().join("sm.journal");
        std::fs::write(&path, &*content.borrow()).expect("room");
        let (next, told) = Journal::open(&path, 0).expect("it can be read");
        assert_eq!((next.aside(), told.len()), (known, 1), "{told:?}");
        assert!(told[0].contains("not known"), "{told:?}");
        // A record that was refused has to have room.
        journal.take_up_again(5).expect_err("there is none");
        assert!(journal.given_up().is_some());
        room.set(1 << 20);
        journal.take_up_again(6).expect("there is room");
        journal.record_aside(7, names("0xc")).expect("there is room");
        let (entries, torn) = decode(&content.borrow()).expect("it is whole");
        let aside = |entry: &JournalEntry| match &entry.record {
            JournalRecord::Aside { elements } => Some(elements[0].clone()),
            _ => None,
        };
        let asides: Vec<String> = entries.iter().filter_map(aside).collect();
        assert_eq!((entries.len(), torn, &asides[..]), (3, None, &["0xb", "0xc"].map(String::from)[..]), "{entries:?}");
    }
}

#[test]
fn a_disk_with_room_again_lets_a_change_go_on() {
    let reference = super::undisturbed(DOUBLE, Going::Planned);
    let (_, _, whole) = with_full_disk(0..0);
    let made = whole.iter().position(|entry| entry.record == JournalRecord::Completed).expect("it was made");
    // From the swap on the same question is asked again (C.2).
    let (world, life, _) = with_full_disk(made - 2..made - 1);
    assert_eq!(life.changes, ["Completed"], "{life:?}");
    assert!(world.held(world.sm) == reference.after, "{life:?}");
    // Before it the change is called off, and that is recorded again.
    let (world, life, entries) = with_full_disk(3..4);
    assert!(life.changes[0].starts_with("CalledOff"), "{life:?}");
    assert!(matches!(entries.last().expect("some").record, JournalRecord::CalledOff { .. }), "{entries:?}");
    assert!(world.held(world.sm) == reference.before, "{life:?}");
}

fn reconfig(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_reconfig")).args(arguments).env_remove("RECONFIG_LOG").output().expect("it runs")
}

#[test]
fn simulate_writes_a_journal_and_journal_show_reads_it() {
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/fat-tree-4-2.ibnetdiscover");
    let folder = tempfile::tempdir().expect("room");
    let at = folder.path().to_str().expect("Unicode");
    let quick = ["--load", "0.05", "--warm-up", "20", "--before", "50", "--after", "50"];
    let run = reconfig(&[&["simulate", "--remove-root", "--journal", at], &quick[..], &[fabric]].concat());
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let plan = folder.path().join("plan.json");
    let plan = plan.to_str().expect("Unicode");
    let shown = reconfig(&["journal", "show", at, "--plan", plan]);
    let text = String::from_utf8(shown.stdout).expect("Unicode");
    assert_eq!(shown.status.code(), Some(0), "{text}");
    for words in [
        "begun           spine-1 and its 4 cables go; double: ",
        "apply           in wave 0 (split)",
        "drain",
        "completed",
        "No change stands.",
    ] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let checked = reconfig(&["check", plan]);
    assert_eq!(checked.status.code(), Some(0), "{}", String::from_utf8_lossy(&checked.stderr));
    // As if it had been killed during the drain.
    let path = folder.path().join("simulate.journal");
    let journal = std::fs::read_to_string(&path).expect("it is there");
    let lines: Vec<&str> = journal.lines().collect();
    let drain = lines.iter().position(|line| line.contains("\"drain\"")).expect("a drain");
    std::fs::write(&path, format!("{}\n{}", lines[..=drain].join("\n"), &lines[drain + 1][..30])).expect("room");
    let shown = reconfig(&["journal", "show", at]);
    let text = String::from_utf8(shown.stdout).expect("Unicode");
    assert_eq!(shown.status.code(), Some(1), "{text}");
    for words in ["The tail is torn (line ", "A change by `double` stands in wave ", "goes on with it"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let shown = reconfig(&["journal", "show", at, "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&shown.stdout).expect("JSON");
    assert_eq!((shown.status.code(), &json["standing"]["record"]), (Some(1), &"asked".into()));
    assert_keeps("journal-show", &json);
    // What is no journal.
    for (name, content, said) in [
        ("empty", "", None),
        ("other", "hello\nyou\n", Some("line 1: it is shorter than a checksum")),
        ("long", "zzzzzzzz {}\n00000000 {}\n", Some("line 1: it does not begin with a checksum")),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, content).expect("room");
        let shown = reconfig(&["journal", "show", path.to_str().expect("Unicode")]);
        let errors = String::from_utf8(shown.stderr).expect("Unicode");
        let code = if said.is_some() { 2 } else { 0 };
        assert_eq!(shown.status.code(), Some(code), "{name}: {errors}");
        assert!(said.is_none_or(|said| errors.contains(said)), "{name}: {errors}");
    }
}
