//! `reconfig fabric`: describes, compares, converts and generates topologies.

use super::input::{look_at_both, read_subnets, read_to_look_at};
use super::outcome::{Answer, Failure};
use super::output::Batch;
use super::{Common, FabricReading, Global, output};
use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use reconfig::fabric::difference::Difference;
use reconfig::fabric::format::{self, Format};
use reconfig::fabric::generate::{
    FAMILIES, GenerateError, JoinShape, JoinedTopology, Options, Topology, generate, joined,
};
use reconfig::fabric::subnets::summary::SubnetsSummary;
use reconfig::fabric::subnets::{Subnets, dot, list};
use reconfig::fabric::{Fabric, LinkSpeed, LinkWidth};
use reconfig::ids::SubnetId;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// `reconfig fabric …`.
#[derive(Debug, Subcommand)]
pub(super) enum FabricCommand {
    /// Describe a fabric in numbers.
    Show(Show),
    /// List the changes between two captures of a fabric; exit code 1 if there are any.
    Diff(Diff),
    /// Write a fabric in another format.
    Convert(Convert),
    /// Generate a fabric.
    Generate(Generate),
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  reconfig fabric show fabric.ibnetdiscover
  ibnetdiscover | reconfig fabric show - --json
  reconfig fabric show all.subnets.yaml")]
pub(super) struct Show {
    /// The fabric: a file in any form of docs/READING.md, or a list of subnets; `-` is standard input.
    fabric: PathBuf,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Nodes and ports are matched by GUID and port number.

Examples:
  reconfig fabric diff before.ibnetdiscover after.ibnetdiscover
  ibnetdiscover | reconfig fabric diff yesterday.ibnetdiscover - --json")]
pub(super) struct Diff {
    /// The fabric before.
    before: PathBuf,
    /// The fabric after.
    after: PathBuf,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  reconfig fabric convert fabric.ibnetdiscover -o fabric.net
  reconfig fabric convert opensm-subnet.lst --to dot | neato -Tsvg > fabric.svg
  reconfig fabric convert all.subnets.yaml --to dot | fdp -Tsvg > subnets.svg
  reconfig fabric convert all.subnets.yaml --to json -o copy.subnets.yaml")]
pub(super) struct Convert {
    /// The fabric: a file in any form of docs/READING.md, or a list of subnets; `-` is standard input.
    fabric: PathBuf,
    #[command(flatten)]
    target: Target,
    #[command(flatten)]
    pub(super) reading: FabricReading,
}

/// A topology, and how it was written.
#[derive(Clone, Debug)]
struct AskedTopology {
    topology: Topology,
    asked: String,
}

impl FromStr for AskedTopology {
    type Err = GenerateError;

    fn from_str(asked: &str) -> Result<AskedTopology, GenerateError> {
        Ok(AskedTopology { topology: asked.parse()?, asked: asked.to_string() })
    }
}

#[derive(Debug, Args)]
#[command(after_help = generate_help())]
pub(super) struct Generate {
    /// The topology: FAMILY:PARAMETERS, listed below.
    topology: AskedTopology,
    /// Seed for the random families.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Ports of every switch [default: as many as the busiest one needs, and at least 8; `irregular` gives its own].
    #[arg(long, value_name = "PORTS", value_parser = clap::value_parser!(u8).range(1..=254))]
    radix: Option<u8>,
    /// Width of every link: 1x, 2x, 4x, 8x or 12x.
    #[arg(long, default_value_t = LinkWidth::X4)]
    width: LinkWidth,
    /// Speed of every link: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR or XDR.
    #[arg(long, default_value_t = LinkSpeed::Hdr)]
    speed: LinkSpeed,
    /// Generate this many such subnets, each with its own GUIDs, joined by routers (random families use successive
    /// seeds).
    #[arg(long, value_name = "COUNT")]
    subnets: Option<u16>,
    /// Pairs of subnets that routers join: line, ring, star (subnet 0 with every other), full (every pair), hub (each
    /// router in every subnet).
    #[arg(long, value_name = "SHAPE", default_value_t = JoinShape::Line, requires = "subnets")]
    join: JoinShape,
    /// Routers between each pair of joined subnets; for a hub, all routers.
    #[arg(long, value_name = "COUNT", default_value_t = 1, requires = "subnets")]
    routers: u16,
    #[command(flatten)]
    target: Target,
}

/// The destination and format of a fabric to write.
#[derive(Debug, Args)]
struct Target {
    /// File to write, completely or not at all [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Output format [default: from the file's extension, else ibnetdiscover].
    #[arg(long, value_name = "FORMAT")]
    to: Option<Written>,
}

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Written {
    /// The output of ibnetdiscover (.ibnetdiscover).
    Ibnetdiscover,
    /// The input of ibsim (.net).
    Ibsim,
    /// Graphviz (.dot, .gv).
    Dot,
    /// All known facts of the fabric (.json).
    Json,
}

pub(super) fn run(command: FabricCommand, global: Global) -> Result<Answer, Failure> {
    match command {
        FabricCommand::Show(arguments) => show(&arguments, global.with(arguments.reading)),
        FabricCommand::Diff(arguments) => diff(&arguments, global.with(arguments.reading)),
        FabricCommand::Convert(arguments) => convert(&arguments, global.with(arguments.reading)),
        FabricCommand::Generate(arguments) => make(&arguments, global.alone()),
    }
}

fn show(arguments: &Show, common: Common) -> Result<Answer, Failure> {
    let (subnets, captured) = read_to_look_at(&arguments.fabric, common)?;
    let summary = SubnetsSummary::of(&subnets).captured(captured.completeness);
    if common.json {
        output::print_json(&summary)?
    } else {
        output::print(&summary.to_string())?
    }
    Ok(Answer::Yes)
}

/// The JSON form of a difference.
#[derive(Serialize, schemars::JsonSchema)]
pub(super) struct DifferenceReport {
    schema: &'static str,
    same: bool,
    #[serde(flatten)]
    difference: Difference,
}

fn diff(arguments: &Diff, common: Common) -> Result<Answer, Failure> {
    let (before, after) = look_at_both(&arguments.before, &arguments.after, common)?;
    let difference = Difference::between(&before, &after);
    let same = difference.is_empty();
    if common.json {
        output::print_json(&DifferenceReport { schema: "reconfig.fabric-difference/1", same, difference })?;
    } else {
        output::print(&difference.to_string())?;
    }
    Ok(same.into())
}

fn convert(arguments: &Convert, common: Common) -> Result<Answer, Failure> {
    let target = &arguments.target;
    let subnets = read_subnets(&arguments.fabric, common)?;
    match subnets.len() {
        1 if target.list().is_none() => write_fabric(subnets.fabric(SubnetId(0)), target.format(common)?, target),
        _ => write_subnets(&subnets, target, common),
    }
}

fn make(arguments: &Generate, common: Common) -> Result<Answer, Failure> {
    let &Generate { seed, radix, width, speed, .. } = arguments;
    let options = Options { radix, width, speed, seed };
    let AskedTopology { topology, asked } = &arguments.topology;
    let unmade = |error: GenerateError| match error {
        GenerateError::Luckless { .. } | GenerateError::Build { .. } => Failure::undone(error.as_asked(asked)),
        _ => Failure::input(error.as_asked(asked)),
    };
    let target = &arguments.target;
    let Some(subnets) = arguments.subnets else {
        let format = target.format(common)?;
        return write_fabric(&generate(topology, &options).map_err(unmade)?, format, target);
    };
    target.subnets_format(common)?;
    let topology = topology.clone();
    let joining = JoinedTopology { topology, subnets, shape: arguments.join, routers: arguments.routers };
    write_subnets(&joined(&joining, &options).map_err(unmade)?, target, common)
}

/// Writes a list and its captures, all or none; or a drawing.
fn write_subnets(subnets: &Subnets, target: &Target, common: Common) -> Result<Answer, Failure> {
    let (format, Some((folder, stem))) = (target.subnets_format(common)?, target.list()) else {
        output::deliver(&dot::write(subnets), target.file())?;
        return Ok(Answer::Yes);
    };
    let mut batch = Batch::default();
    for (name, text) in list::write(subnets, stem, format).map_err(Failure::input)? {
        batch.stage(&folder.join(name), std::iter::once(Ok(text)))?;
    }
    batch.finish()?;
    Ok(Answer::Yes)
}

fn write_fabric(fabric: &Fabric, format: Format, target: &Target) -> Result<Answer, Failure> {
    let text = format::write(fabric, format).map_err(Failure::input)?;
    output::deliver(&text, target.file())?;
    Ok(Answer::Yes)
}

impl Target {
    /// The file to write; none for standard output, also named `-`.
    fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|file| !output::is_stdout(file))
    }

    /// The folder and stem of the list that `-o` names, if it names one.
    fn list(&self) -> Option<(&Path, &str)> {
        let file = self.file()?;
        let stem = file.file_name()?.to_str()?.strip_suffix(list::EXTENSION).filter(|stem| !stem.is_empty())?;
        Some((file.parent().unwrap_or(Path::new("")), stem))
    }

    /// The format of a list's captures; Graphviz if no list is named.
    fn subnets_format(&self, common: Common) -> Result<Format, Failure> {
        let drawn = || self.file().map(by_extension);
        let format = match (self.list(), self.to) {
            (Some(_), None) if !common.json => Format::Ibnetdiscover,
            (Some(_), _) => self.format(common)?,
            (None, None) if !common.json && matches!(drawn(), Some(Ok(Written::Dot))) => Format::Dot,
            (None, Some(Written::Dot)) if !common.json => Format::Dot,
            (None, _) => {
                return Err(Failure::input(anyhow!(
                    "several subnets need several files: write a list of them (-o NAME.subnets.yaml), or draw them (--to dot)"
                )));
            }
        };
        match (self.list(), format) {
            (Some(_), Format::Dot) => Err(Failure::input(anyhow!(
                "a list names files to be read, and a drawing cannot be read: name a .dot file"
            ))),
            _ => Ok(format),
        }
    }

    /// The format that follows from `--to`, `--json` and the file's extension.
    fn format(&self, common: Common) -> Result<Format, Failure> {
        let written = match (self.to, common.json) {
            (Some(Written::Json) | None, true) => Written::Json,
            (Some(other), true) => {
                let name = other.to_possible_value().map(|value| value.get_name().to_string()).unwrap_or_default();
                return Err(Failure::input(anyhow!("--json and --to {name} name two formats: omit one of them")));
            }
            (Some(written), false) => written,
            (None, false) => self.file().map_or(Ok(Written::Ibnetdiscover), by_extension)?,
        };
        Ok(match written {
            Written::Ibnetdiscover => Format::Ibnetdiscover,
            Written::Ibsim => Format::IbsimNet,
            Written::Dot => Format::Dot,
            Written::Json => Format::Json,
        })
    }
}

fn by_extension(file: &Path) -> Result<Written, Failure> {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("ibnetdiscover") => Ok(Written::Ibnetdiscover),
        Some("net") => Ok(Written::Ibsim),
        Some("dot" | "gv") => Ok(Written::Dot),
        Some("json") => Ok(Written::Json),
        _ => Err(Failure::input(anyhow!(
            "the extension of {} names no format: use .ibnetdiscover, .net, .dot or .json, or pass --to",
            file.display()
        ))),
    }
}

fn generate_help() -> String {
    let mut help = "Families (a parameter in brackets may be omitted and is then 1):\n".to_string();
    for family in FAMILIES {
        help += &format!("  {}\n      {}\n", family.form, family.about);
    }
    help + "
Hosts are numbered from 1, and so are LIDs, switches first; every GUID begins with 020000, which is no company's OUI.

Examples:
  reconfig fabric generate fat-tree:4,2 -o fat-tree-4-2.ibnetdiscover
  reconfig fabric generate random-regular:64,4,4 --seed 7 --radix 36 --speed NDR
  reconfig fabric generate dragonfly:2,4,2 --to dot | neato -Tsvg > dragonfly.svg
  reconfig fabric generate random-regular:16,4,2 --subnets 4 --join ring --routers 2 -o four.subnets.yaml"
}
