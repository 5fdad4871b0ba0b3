//! Compares `reconfig audit` with ibdmchk, a checker that we did not write, on fabrics that real OpenSM routed.
//!
//! `cargo run --release -p reconfig-measuring --bin ibdmchk_agreement -- [--fabrics N|all] [--only TEXT] [--keep
//! FOLDER] [--list]` routes N fabrics of the list (spread over it; a few small ones without arguments, in under a
//! minute), each by every engine, and prints a line for each verdict and the sums. Exit code 1: a verdict differs, and
//! not for a named cause. docs/ORACLE.md has the method, the whole table and the causes.

use reconfig_measuring::agreement::Examination;
use reconfig_measuring::agreement::compare::Totals;
use reconfig_measuring::agreement::list::{routings, samples};
use reconfig_measuring::agreement::subject::judges::Auditor;
use reconfig_measuring::agreement::subject::programs_missing;
use reconfig_measuring::agreement::subject::sample::{Sample, build};
use reconfig_measuring::process::programs::reconfig;
use reconfig_measuring::process::working_folder::working_folder;
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

/// Without arguments: the number of fabrics, and the number of the list's first ones, the small ones, to take them
/// from.
const FEW: usize = 7;
const SMALL: usize = 48;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wish = Wish::read(&arguments)?;
    let missing = programs_missing();
    if !missing.is_empty() && !wish.list {
        println!("SKIPPED: {} not installed (Debian: opensm, ibsim-utils, ibutils)", missing.join(", "));
        return Ok(ExitCode::SUCCESS);
    }
    let totals = compare(&wish)?;
    if wish.list {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\n{}", totals.show());
    Ok(if totals.all_agree() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn compare(wish: &Wish) -> Result<Totals, Box<dyn Error>> {
    let auditor = Auditor(reconfig()?);
    let mut totals = Totals::default();
    for (number, sample) in wish.samples() {
        for (row, routing) in routings(number, &sample) {
            let title = format!("{sample} {}", routing.label);
            if !title.contains(&wish.only) {
                continue;
            }
            if wish.list {
                println!("{title} ({} switches)", build(&sample)?.switches().count());
                continue;
            }
            let folder = Folder::make(wish.keep.as_deref(), &format!("{number}-{row}"))?;
            let result = Examination::make(&sample, routing, &auditor, folder.path());
            totals.add(&sample, (row, routing), &result).iter().for_each(|line| println!("{line}"));
        }
    }
    Ok(totals)
}

/// What was typed.
struct Wish {
    /// Numbers in the full list.
    numbers: Vec<usize>,
    only: String,
    keep: Option<PathBuf>,
    list: bool,
}

impl Wish {
    fn read(arguments: &[String]) -> Result<Wish, String> {
        let total = samples().len();
        let mut wish = Wish { numbers: spread(FEW, SMALL), only: String::new(), keep: None, list: false };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--fabrics" => {
                    let text = value()?;
                    let count = if text == "all" { Ok(total) } else { text.parse() };
                    let count: usize =
                        count.map_err(|error| format!("--fabrics {text}: {error}; a number, or `all`"))?;
                    wish.numbers = spread(count.min(total), total);
                }
                "--only" => wish.only = value()?.clone(),
                "--keep" => wish.keep = Some(std::path::absolute(value()?).map_err(|error| error.to_string())?),
                "--list" => wish.list = true,
                _ => return Err(format!("{argument} is unknown: --fabrics N|all, --only TEXT, --keep FOLDER, --list")),
            }
        }
        Ok(wish)
    }

    fn samples(&self) -> Vec<(usize, Sample)> {
        let all = samples();
        self.numbers.iter().map(|&number| (number, all[number].clone())).collect()
    }
}

/// `count` numbers below `total`, evenly spread; the families, which take turns in the list, take turns here too.
fn spread(count: usize, total: usize) -> Vec<usize> {
    let all = count == total;
    (0..count)
        .map(|part| part * total / count)
        .map(|first| if all { first } else { first / 4 * 4 })
        .zip(0..)
        .map(|(first, part)| if all { first } else { (first + part % 4).min(total - 1) })
        .collect()
}

/// The folder for the files of one run: temporary, or kept.
enum Folder {
    Passing(tempfile::TempDir),
    Kept(PathBuf),
}

impl Folder {
    fn make(keep: Option<&std::path::Path>, name: &str) -> std::io::Result<Folder> {
        match keep {
            None => Ok(Folder::Passing(working_folder("reconfig-agreement-"))),
            Some(parent) => {
                let folder = parent.join(name);
                std::fs::create_dir_all(&folder)?;
                Ok(Folder::Kept(folder))
            }
        }
    }

    fn path(&self) -> &std::path::Path {
        match self {
            Folder::Passing(folder) => folder.path(),
            Folder::Kept(folder) => folder,
        }
    }
}
