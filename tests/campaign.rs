//! Campaigns as a user meets them: the same rows whole, in shards, and after an interruption; refusals that name the
//! fault.

use crate::support::schema::assert_keeps;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

const SMALL: &str = "\
schema: reconfig.campaign/1
fabrics: [\"torus:3x3,1\", \"random-regular:8,3,1\"]
changes: [root, cable]
schemes: [auto, in-place]
loads: [0.1]
seeds: {from: 7, count: 2}
warm_up_us: 10
around_us: 30
";

struct Place {
    folder: TempDir,
}

impl Place {
    fn with(description: &str) -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("campaign.yaml"), description).expect("written");
        Place { folder }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, into: &str, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        command.arg("campaign").arg(self.file("campaign.yaml")).arg("--into").arg(self.file(into)).args(more);
        command.output().expect("it starts")
    }
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[test]
fn what_is_no_campaign_or_no_generator_is_said_to_be_none() {
    let capture = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/ring-8.ibnetdiscover"))
        .expect("a capture");
    let misspelled = SMALL.replace("torus:3x3,1", "torsu:3x3,1");
    for (description, said) in [
        (capture.as_str(), "expected YAML that begins with `schema: reconfig.campaign/1`"),
        (&misspelled, "as a generator: `torsu` is no topology: choose one of fat-tree, leaf-spine,"),
    ] {
        let output = Place::with(description).run("into", &[]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(said), "{told}");
    }
}

#[test]
fn shards_and_interruptions_change_no_row() {
    let place = Place::with(SMALL);
    let whole = place.run("whole", &[]);
    assert_eq!(whole.status.code(), Some(0), "{}", String::from_utf8_lossy(&whole.stderr));
    let rows = text(&place.file("whole/runs.csv"));
    assert_eq!(rows.lines().count(), 1 + 2 * 2 * 2 * 2);
    assert!(rows.lines().skip(1).all(|row| row.contains(",completed,")), "{rows}");

    for shard in ["1/3", "2/3", "3/3"] {
        assert_eq!(place.run("shards", &["--shard", shard, "--threads", "1"]).status.code(), Some(0));
    }
    let body = |text: &str| text.lines().skip(1).map(str::to_string).collect::<Vec<_>>();
    let mut shards: Vec<String> =
        (1..=3).flat_map(|shard| body(&text(&place.file(&format!("shards/runs-{shard}-of-3.csv"))))).collect();
    shards.sort_by_key(|row| row.split(',').next().unwrap().parse::<usize>().unwrap());
    assert_eq!(shards, body(&rows));
    // Another division of the same runs has nothing left to do, and leaves nothing.
    assert_eq!(place.run("shards", &["--shard", "1/2"]).status.code(), Some(0));
    assert!(!place.file("shards/runs-1-of-2.csv").exists());

    // Killed while it wrote the tenth row.
    fs::create_dir(place.file("killed")).unwrap();
    fs::write(place.file("killed/campaign.yaml"), SMALL).unwrap();
    let cut = rows.match_indices('\n').nth(9).unwrap().0 + 20;
    fs::write(place.file("killed/runs.csv"), &rows[..cut]).unwrap();
    let summary = place.run("killed", &["--summary"]);
    assert_eq!(summary.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&summary.stdout).contains("7 of 16 runs are still to be carried out"));
    let resumed = place.run("killed", &[]);
    assert!(String::from_utf8_lossy(&resumed.stderr).contains("7 runs to carry out"));
    assert_eq!(text(&place.file("killed/runs.csv")), rows);

    let [first, second, third] = ["whole", "shards", "killed"].map(|into| place.run(into, &["--summary"]));
    assert!(!first.stdout.is_empty() && first.stdout == second.stdout && first.stdout == third.stdout);
    assert_eq!(first.stdout, whole.stdout);
}

/// Every 300th of the 3,024 runs whose figures README and docs/CAMPAIGNS.md give: number, scheme, trace.
const PRINTED: [&str; 11] = [
    "0 in-place a0dfb33cedefd7e7",
    "300 in-place 22001c5d9d5b0f3d",
    "600 in-place 114de168b6316813",
    "900 in-place f05e04679c2890df",
    "1200 double 70cbbb74e811b598",
    "1500 double 3fc9667c08d0f9b9",
    "1800 double 55a1b9147b9a9865",
    "2100 double 51f9db95d8a3b253",
    "2400 auto 756954ecdcbbb010",
    "2700 auto 861de24c45d73036",
    "3000 auto 52ff18bce57f62fe",
];

/// Where this fails, the figures of README and docs/CAMPAIGNS.md are of other code: `reconfig campaign
/// examples/in-place.yaml --into FOLDER` prints those of today.
#[test]
fn the_figures_of_rewriting_in_place_are_of_this_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/in-place.yaml");
    let place = Place::with(&text(&file));
    let run = place.run("into", &["--shard", "1/300"]);
    assert_eq!(run.status.code(), Some(0), "{}", String::from_utf8_lossy(&run.stderr));
    let mut rows = csv::Reader::from_path(place.file("into/runs-1-of-300.csv")).expect("written");
    let names: Vec<String> = rows.headers().expect("names").iter().map(str::to_string).collect();
    let columns = ["run", "scheme", "trace"].map(|name| names.iter().position(|own| own == name).expect("a column"));
    let mut runs: Vec<[String; 3]> =
        rows.records().map(|row| row.expect("whole")).map(|row| columns.map(|at| row[at].to_string())).collect();
    runs.sort_by_key(|[number, ..]| number.parse::<usize>().expect("a number"));
    assert_eq!(runs.iter().map(|run| run.join(" ")).collect::<Vec<_>>(), PRINTED);
}

#[test]
fn an_engine_that_does_not_suit_is_a_row_with_the_reason() {
    let place = Place::with(&SMALL.replace("schemes:", "engines: [fat-tree]\nschemes:"));
    let ran = place.run("into", &["--json"]);
    assert_eq!(ran.status.code(), Some(0));
    assert_keeps("campaign", &serde_json::from_slice(&ran.stdout).expect("JSON"));
    let rows = text(&place.file("into/runs.csv"));
    let refused = rows.lines().filter(|row| row.contains(",refused,") && row.contains("not a fat tree")).count();
    assert_eq!(refused, 16, "{rows}");
}

/// Means are of the runs that completed, and in a planned change no pair is out.
#[test]
fn a_run_without_an_outage_counts_as_none() {
    let place = Place::with(&SMALL.replace("schemes:", "planned: true\nschemes:"));
    let ran = place.run("into", &["--json"]);
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));
    let told: serde_json::Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    let auto = told["pooled"].as_array().expect("schemes").iter().find(|own| own["scheme"] == "auto").expect("auto");
    assert_eq!(
        (&auto["outage_ns"]["count"], &auto["outage_ns"]["mean"], &auto["smps"]["count"]),
        (&8.into(), &0.0.into(), &8.into()),
        "{auto}"
    );
}

/// Two names of one fabric give one run twice, and a load that the subnet does not take is said.
#[test]
fn a_run_under_two_names_counts_once_and_saturation_is_said() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/torus-4x4.ibnetdiscover");
    let description = SMALL.replace("torus:3x3,1", "torus:4x4,2").replace("random-regular:8,3,1", file);
    let description = description.replace("[root, cable]", "[root]").replace("loads: [0.1]", "loads: [0.9]");
    let place = Place::with(&description);
    let shown = place.run("into", &[]);
    let shown = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.contains("saturated before the loss: "), "{shown}");
    let summed = place.run("into", &["--summary", "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&summed.stdout).expect("JSON");
    let pooled = told["pooled"].as_array().expect("schemes").iter();
    assert_eq!(pooled.map(|one| one["runs"].as_u64()).collect::<Vec<_>>(), [Some(2), Some(2)], "{told}");
    assert!(shown.contains("4 runs repeated another event for event, and did not count again"), "{shown}");
}

#[test]
fn a_faulty_description_is_refused_by_its_fault() {
    for (from, to, told) in [
        ("schemes:", "scheme:", "campaign.yaml:4:1"),
        ("schemes:", "scheme:", "there is no key `scheme`"),
        ("auto, in-place", "auto, in_place", "campaign.yaml:4:17"),
        ("auto, in-place", "auto, in_place", "expected one of auto, "),
        ("[0.1]", "[0.1, 30]", "campaign.yaml:5:14"),
        ("[0.1]", "\n  - 0.2 # 0\n  - 0.0", "campaign.yaml:7:5"),
        ("[0.1]", "[0]", "loads: 0 is no load"),
        ("[0.1]", "[high]", "loads[0]: `high` is no number"),
        ("[0.1]", "0.1", "loads: `0.1` is no list"),
        ("[0.1]", "[]", "campaign.yaml:5:1"),
        ("loads: [0.1]", "loads: [0.1]\nloads: [0.2]", "campaign.yaml:6:1"),
        ("loads: [0.1]", "loads: [0.1]\nengines: [updn]", "OpenSM's updn is up-down here"),
        ("loads: [0.1]", "vls: 3", "campaign.yaml:5:6"),
        ("count: 2", "count: 0", "campaign.yaml:6:18"),
        ("campaign/1", "campaign/9", "expected reconfig.campaign/1"),
        ("\"torus:3x3,1\"", "missing.ibnetdiscover", "campaign.yaml:2:11"),
        ("\"torus:3x3,1\"", "\"mesh:1\"", "campaign.yaml:2:11"),
        ("\"torus:3x3,1\"", "\"mesh:1\"", "no fabric is a `mesh:1`: "),
        ("[root, cable]", "[root, spine]", "changes[1]: `spine` is not known here"),
        ("auto, in-place]", "auto, in-place", "this is no YAML"),
        ("[root, cable]", "[root, cable, root]", "changes: root is listed twice"),
        ("auto, in-place", "auto, in-place, auto", "schemes: auto is listed twice"),
        ("[0.1]", "[0.25, 0.1, 0.25]", "loads: 0.25 is listed twice"),
        ("random-regular:8,3,1", "torus:3x3,1", "fabrics: torus:3x3,1 is listed twice"),
        ("schemes:", "engines: [up-down, up-down]\nschemes:", "engines: up-down is listed twice"),
    ] {
        let place = Place::with(&SMALL.replace(from, to));
        let output = place.run("into", &[]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{to}: {error}");
        assert!(error.contains(told), "{to}: {error}");
        assert!(!place.file("into").exists(), "{to}: nothing is left behind");
    }
}

#[test]
fn rows_of_another_campaign_are_not_mixed_in() {
    let place = Place::with(SMALL);
    fs::create_dir(place.file("into")).unwrap();
    fs::write(place.file("into/campaign.yaml"), SMALL.replace("count: 2", "count: 3")).unwrap();
    let output = place.run("into", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("the rows of another campaign"));
}
