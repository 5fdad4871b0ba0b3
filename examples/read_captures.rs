//! What is read of a folder of files, and what is not: one row a file, with the memory that reading takes, as a
//! multiple of the file's size. Topologies of ibdm find their system files in the folder that `--systems` names, else
//! in FOLDER; with them the memory and size of all those count too, since a topology alone is a list of names.
//! With `--mutilated N` the files that are read are damaged N times, and one line says what became of them.
//!
//! `cargo run --release --example read_captures -- FOLDER [--systems FOLDER] [--mutilated N]`

#[path = "../tests/support/mutilated.rs"]
mod mutilated;

use rand::SeedableRng;
use rand_pcg::Pcg32;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::{Format, ReadError, Reading, SystemFiles, Tolerance, needs_systems, read_with};
use reconfig::tables::dump::{read_fdbs, read_lfts};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Counts the bytes that are allocated.
mod counted {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    pub struct Counted;

    static NOW: AtomicUsize = AtomicUsize::new(0);
    static MOST: AtomicUsize = AtomicUsize::new(0);

    // SAFETY: every call is the system allocator's, with what it was called with.
    #[expect(unsafe_code, reason = "an allocator is unsafe to implement")]
    unsafe impl GlobalAlloc for Counted {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
            MOST.fetch_max(now, Relaxed);
            unsafe { System.alloc(layout) }
        }

        unsafe fn dealloc(&self, held: *mut u8, layout: Layout) {
            NOW.fetch_sub(layout.size(), Relaxed);
            unsafe { System.dealloc(held, layout) }
        }
    }

    /// What `work` yields, and the most bytes that it held at once beside what was held before.
    pub fn most<T>(work: impl FnOnce() -> T) -> (T, usize) {
        let before = NOW.load(Relaxed);
        MOST.store(before, Relaxed);
        let result = work();
        (result, MOST.load(Relaxed).saturating_sub(before))
    }
}

#[global_allocator]
static ALLOCATOR: counted::Counted = counted::Counted;

/// System files of ibdm.
struct Systems {
    files: SystemFiles,
    bytes: usize,
    /// The memory that they take.
    held: usize,
}

impl Systems {
    /// A fabric, and the most memory that reading takes, as a multiple of what is read. Of a file of a few lines the
    /// reader's own constants are most of the memory, so that it counts as `least` bytes.
    fn read(
        &self,
        (bytes, name): (&[u8], &str),
        tolerance: Tolerance,
        least: usize,
    ) -> (Result<Reading, ReadError>, f64) {
        let (reading, held) = counted::most(|| read_with(bytes, name, tolerance, &self.files));
        let (more, taken) = if needs_systems(bytes) { (self.bytes, self.held) } else { (0, 0) };
        (reading, (held + taken) as f64 / (bytes.len() + more).max(least) as f64)
    }
}

/// A file that is read.
struct Read {
    name: String,
    bytes: Vec<u8>,
    fabric: Fabric,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (mut folder, mut systems_in, mut cases) = (None, None, None);
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let taken = match argument.as_str() {
            "--systems" => systems_in.replace(rest.next().ok_or("--systems: expected a folder")?),
            "--mutilated" => cases.replace(rest.next().ok_or("--mutilated: expected a number")?),
            option if option.starts_with("--") => {
                return Err(format!("{option}: expected --systems or --mutilated").into());
            }
            _ => folder.replace(argument),
        };
        if taken.is_some() {
            return Err(format!("{argument}: expected one folder, and each option once").into());
        }
    }
    let folder = folder.map_or("fixtures/topologies", String::as_str);
    let systems = systems(Path::new(systems_in.map_or(folder, String::as_str)), systems_in.is_some())?;
    let files = files_below(Path::new(folder))?;
    let mut read = Vec::new();
    println!("| file | bytes | read as | switches / others / links | memory, times the file | said |");
    println!("|---|---|---|---|---|---|");
    for file in &files {
        let name = file.strip_prefix(folder)?.display().to_string();
        let bytes = std::fs::read(file)?;
        let (size, (reading, times)) = (bytes.len(), systems.read((&bytes, &name), Tolerance::Repair, 1));
        let times = format!("{times:.1}");
        match reading {
            Err(error) => {
                let beside = beside(file, &bytes, &name, &files, &systems);
                let beside = beside.unwrap_or_else(|| format!("{}: {}", error.problem(), error.expected()));
                let read_as = if beside.starts_with("tables") { "tables" } else { "refused" };
                println!("| {name} | {size} | {read_as} | | {times} | {beside} |");
            }
            Ok(reading) => {
                let (fabric, switches) = (&reading.fabric, reading.fabric.switches().count());
                let mut said: Vec<String> = reading.notices.iter().map(ToString::to_string).collect();
                said.extend(reading.incomplete.map(|missing| format!("INCOMPLETE: {missing}")));
                let (others, links) = (fabric.node_count() - switches, fabric.links().count());
                let format = Format::detect(&String::from_utf8_lossy(&bytes));
                let said = said.join("; ").replace('\n', " ");
                println!("| {name} | {size} | {format} | {switches} / {others} / {links} | {times} | {said} |");
                read.push(Read { name, bytes, fabric: reading.fabric });
            }
        }
    }
    match cases {
        Some(cases) => mutilate(&read, cases.parse()?, &systems),
        None => Ok(()),
    }
}

/// Damages files in turn: no damage may make up a switch, or take more than twenty times the file.
fn mutilate(read: &[Read], cases: u64, systems: &Systems) -> Result<(), Box<dyn std::error::Error>> {
    let (mut whole, mut incomplete, mut refused, mut worst) = (0, 0, 0, (0.0_f64, String::new()));
    for seed in (0..cases).filter(|_| !read.is_empty()) {
        let Read { name, bytes, fabric } = &read[seed as usize % read.len()];
        let damaged = mutilated::mutilated(bytes, &mut Pcg32::seed_from_u64(seed));
        for tolerance in [Tolerance::Repair, Tolerance::Partial] {
            let (reading, times) = systems.read((&damaged, name), tolerance, 4096);
            if times > worst.0 {
                worst = (times, format!("{name}, seed {seed}"));
            }
            if tolerance == Tolerance::Partial {
                continue;
            }
            match reading {
                Err(_) => refused += 1,
                Ok(reading) if reading.incomplete.is_some() => incomplete += 1,
                Ok(reading) => {
                    whole += 1;
                    // Where a file states no GUIDs, those behind a lost section are others.
                    let made_up = &switches(&reading.fabric) - &switches(fabric);
                    let more = reading.fabric.switches().count() > fabric.switches().count();
                    if more || (!reading.numbered && !made_up.is_empty()) {
                        return Err(format!("{name}, seed {seed}: switches were made up: {made_up:x?}").into());
                    }
                }
            }
        }
    }
    println!(
        "\n{cases} damaged files: {whole} read and taken for whole, {incomplete} told to be incomplete, {refused} refused; no \
         switch made up; at most {:.1} times the file in memory ({})",
        worst.0, worst.1
    );
    if worst.0 > 20.0 { Err("more than 20 times the file in memory".into()) } else { Ok(()) }
}

fn switches(fabric: &Fabric) -> BTreeSet<u64> {
    fabric.switches().map(|id| fabric.node(id).guid.0).collect()
}

/// What a file of tables says of a topology in its folder.
fn beside(file: &Path, bytes: &[u8], name: &str, files: &[PathBuf], systems: &Systems) -> Option<String> {
    files.iter().filter(|other| other.parent() == file.parent() && *other != file).find_map(|other| {
        let text = std::fs::read(other).ok()?;
        let fabric = read_with(&text, name, Tolerance::Repair, &systems.files).ok()?.fabric;
        let tables = read_lfts(bytes, name, &fabric).or_else(|_| read_fdbs(bytes, name, &fabric)).ok()?;
        let known = fabric.switches().count() - tables.missing.len();
        let switches = if known == 1 { "switch" } else { "switches" };
        Some(format!("tables of {known} {switches} of {}", other.file_name()?.display()))
    })
}

/// The system files in a folder. One that cannot be read is an error where the folder is there for them, else it is
/// left out.
fn systems(folder: &Path, for_them: bool) -> Result<Systems, Box<dyn std::error::Error>> {
    let mut systems = Systems { files: SystemFiles::default(), bytes: 0, held: 0 };
    for file in files_below(folder)? {
        if file.extension().is_none_or(|extension| extension != "ibnl") {
            continue;
        }
        let bytes = std::fs::read(&file)?;
        systems.bytes += bytes.len();
        let (added, held) = counted::most(|| systems.files.add(&bytes, &file.display().to_string()));
        systems.held += held;
        match added {
            Err(error) if for_them => return Err(error.into()),
            Err(error) => eprintln!("left out: {error}"),
            Ok(()) => {}
        }
    }
    Ok(systems)
}

/// Every file in a folder and in those below it, by name.
fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { files.extend(files_below(&path)?) } else { files.push(path) }
    }
    files.sort();
    Ok(files)
}
