//! OpenSM alone against `reconfig sm`: the root of a fabric, or a host, dies under traffic, on `reconfig serve`.
//!
//! `cargo run --release -p reconfig-measuring --bin versus_opensm -- [--fabrics N|all] [--only TEXT] [--topology
//! TOPOLOGY] [--victim root|host] [--sides opensm,told,…] [--losses N] [--engine updn] [--load L] [--speed S] [--seed
//! S] [--limits-as-programmed] [--turn-back] [--csv FILE] [--program RECONFIG]` prints a line for each fabric and
//! manager, and sums. Without arguments: three small fabrics, four managers, under a minute. It judges nothing and
//! ends with exit code 0, unless a trial could not be made. docs/VERSUS.md has the method, the whole table and its
//! reading.
//!
//! A [`list::Case`] is a fabric with its roles, a [`side::Side`] a manager with its options; [`trial::run`] makes one
//! trial in a separate folder and reads the result from the simulator's counts; [`table`] prints. Nothing here judges.
//! Every program has its own socket name and folder, a time limit, and is reaped. See docs/VERSUS.md.

mod list;
mod server;
mod side;
mod table;
mod trial;

use list::{Case, SAMPLES, Sample};
use reconfig_measuring::process::programs::{missing, reconfig};
use reconfig_measuring::process::working_folder::working_folder;
use side::{SIDES, Side};
use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use table::Totals;
use trial::Setting;

/// Without arguments: this number of fabrics, and these managers.
const FEW: usize = 3;
const FEW_SIDES: [Side; 4] = [Side::OpenSm, Side::OpenSmRooted, Side::Auto, Side::Told];
/// The external programs that it needs.
const PROGRAMS: [&str; 2] = ["opensm", "ibsim-run"];
const USAGE: &str = "--fabrics N|all, --only TEXT, --topology TOPOLOGY, --victim root|host, --sides LIST, --losses N, \
                     --engine ENGINE, --load L, --speed S, --seed S, --limits-as-programmed, --turn-back, \
                     --program FILE, --csv FILE";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wish = Wish::read(&arguments)?;
    let missing = missing(&PROGRAMS);
    if !missing.is_empty() {
        println!("SKIPPED: {} not installed (Debian: opensm, ibsim-utils)", missing.join(", "));
        return Ok(ExitCode::SUCCESS);
    }
    let failed = compare(&wish)?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs every trial; returns how many could not be made.
fn compare(wish: &Wish) -> Result<usize, Box<dyn Error>> {
    let (mut totals, mut csv, mut failed) = (Totals::default(), table::csv_heading(), 0);
    println!("{}", table::heading());
    for case in wish.cases() {
        let case = case?;
        println!("{}", table::title(&case));
        for &side in &wish.sides {
            let folder = working_folder("reconfig-versus-");
            match trial::run(side, &case, &wish.setting, folder.path()) {
                Ok(outcome) => {
                    println!("{}", table::line(side, &outcome));
                    csv.push_str(&table::csv(&case, side, &outcome));
                    totals.add(side, &outcome);
                }
                Err(why) => {
                    println!("{:>13} FAILED: {why}", side.name());
                    failed += 1;
                }
            }
        }
    }
    println!("\n{}", totals.show());
    if let Some(file) = &wish.csv {
        std::fs::write(file, csv)?;
    }
    Ok(failed)
}

/// What was typed.
struct Wish {
    samples: Vec<Sample>,
    sides: Vec<Side>,
    setting: Setting,
    /// How many losses are drawn, the fabrics taking turns; none for the death of the root of each.
    losses: Option<usize>,
    /// Instead of the root a host dies.
    host_dies: bool,
    csv: Option<PathBuf>,
}

impl Wish {
    fn cases(&self) -> Box<dyn Iterator<Item = Result<Case, String>> + '_> {
        let (samples, seed) = (&self.samples, self.setting.seed.parse());
        match self.losses {
            None if self.host_dies => Box::new(samples.iter().copied().map(Case::host_dies)),
            None => Box::new(samples.iter().copied().map(Case::make)),
            Some(losses) => Box::new((0..losses).map(move |number| {
                let seed = seed.clone().map_err(|error| format!("--seed: {error}"))?;
                Case::drawn(samples[number % samples.len()], number, seed)
            })),
        }
    }

    fn read(arguments: &[String]) -> Result<Wish, String> {
        let (samples_of_few, sides) = (SAMPLES[..FEW].to_vec(), FEW_SIDES.to_vec());
        let setting = Setting::of(reconfig()?);
        let mut wish = Wish { samples: samples_of_few, sides, setting, losses: None, host_dies: false, csv: None };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().cloned().ok_or_else(|| format!("{argument} wants a value"));
            match argument.as_str() {
                "--fabrics" => (wish.samples, wish.sides) = (samples(&value()?)?, SIDES.to_vec()),
                "--only" => {
                    let text = value()?;
                    wish.samples.retain(|(topology, _)| topology.contains(&text));
                }
                // It is kept until the program ends.
                "--topology" => wish.samples = vec![(value()?.leak(), 0)],
                "--victim" => wish.host_dies = is_host(&value()?)?,
                "--sides" => wish.sides = value()?.split(',').map(side).collect::<Result<_, _>>()?,
                "--losses" => {
                    let text = value()?;
                    wish.losses = Some(text.parse().map_err(|error| format!("--losses {text}: {error}"))?);
                }
                "--engine" => wish.setting.engine = value()?,
                "--load" => wish.setting.load = value()?,
                "--speed" => wish.setting.speed = value()?,
                "--seed" => wish.setting.seed = value()?,
                "--limits-as-programmed" => wish.setting.limits = true,
                "--turn-back" => wish.setting.turn_back = true,
                "--program" => wish.setting.program = PathBuf::from(value()?),
                "--csv" => wish.csv = Some(PathBuf::from(value()?)),
                _ => return Err(format!("{argument} is unknown: {USAGE}")),
            }
        }
        if wish.samples.is_empty() {
            return Err("no fabric is called that".to_string());
        }
        Ok(wish)
    }
}

/// The first fabrics, this many.
fn samples(text: &str) -> Result<Vec<Sample>, String> {
    let count = if text == "all" { Ok(SAMPLES.len()) } else { text.parse::<usize>() };
    let count = count.map_err(|error| format!("--fabrics {text}: {error}; a number, or `all`"))?;
    Ok(SAMPLES[..count.min(SAMPLES.len())].to_vec())
}

/// Whether a host is to die, and not the root.
fn is_host(victim: &str) -> Result<bool, String> {
    let is_known = ["root", "host"].contains(&victim);
    if is_known { Ok(victim == "host") } else { Err(format!("--victim {victim}: expected root or host")) }
}

fn side(name: &str) -> Result<Side, String> {
    let names = SIDES.map(Side::name).join(", ");
    SIDES.into_iter().find(|side| side.name() == name).ok_or_else(|| format!("--sides {name}: expected {names}"))
}
