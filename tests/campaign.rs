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
    // The host of a switch that leaves is cut off, whatever was lost.
    assert_eq!((&auto["cutting"]["count"], &auto["lossy"]["count"]), (&4.into(), &0.into()), "{auto}");
    let shown = place.run("into", &["--summary"]).stdout;
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("torus:3x3,1, planned removal of a root, "), "{shown}");
    assert!(shown.contains("\n4 of 4 runs cut end ports off (column end_ports_cut_off), "), "{shown}");
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
    // It stands under the table that it is about.
    let [table, note] = [" auto ", "saturated before the loss: "].map(|part| shown.find(part).expect(part));
    assert!(table < note && shown[note..].contains(" runs by engine up-down at load 0.9; "), "{shown}");
    assert!(!shown[table..note].contains("\n\n"), "{shown}");
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
        ("count: 2", "count: 99999999999", "campaign.yaml:6:18"),
        ("count: 2", "count: 99999999999", "each combination of the lists make 799999999992 runs, more than 1000000"),
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

/// Two that write one file give it two headings, and no later start reads it.
#[test]
fn a_second_campaign_in_a_folder_ends_at_once() {
    let place = Place::with(SMALL);
    fs::create_dir(place.file("into")).unwrap();
    let rows = place.file("into/runs.csv");
    let first = fs::File::create(&rows).unwrap();
    first.lock().unwrap();
    let second = place.run("into", &[]);
    let told = String::from_utf8_lossy(&second.stderr);
    assert_eq!(second.status.code(), Some(2), "{told}");
    assert!(told.contains("another campaign is writing ") && told.contains("into/runs.csv, "), "{told}");
    assert_eq!(text(&rows), "");
    // Shards write files of their own, and a lock does not outlive its process.
    assert_eq!(place.run("into", &["--shard", "1/16"]).status.code(), Some(0));
    drop(first);
    assert_eq!(place.run("into", &[]).status.code(), Some(0));
    assert_eq!(text(&rows).matches("run,fabric,").count(), 1);
}

/// The columns that an earlier version wrote are not those of today.
#[test]
fn rows_of_an_earlier_version_get_the_columns_of_today() {
    let place = Place::with(&SMALL.replace("[root, cable]", "[root]"));
    assert_eq!(place.run("into", &[]).status.code(), Some(0));
    let file = place.file("into/runs.csv");
    let whole = text(&file);
    let mut rows = csv::Reader::from_reader(whole.as_bytes());
    let at = rows.headers().unwrap().iter().position(|name| name == "end_ports_cut_off").expect("a column");
    let mut old = csv::Writer::from_writer(Vec::new());
    let without = |row: &csv::StringRecord| {
        let fields = row.iter().enumerate().filter(|&(column, _)| column != at);
        fields.map(|(_, field)| field.to_string()).collect::<Vec<_>>()
    };
    old.write_record(without(rows.headers().unwrap())).unwrap();
    rows.records().skip(1).for_each(|row| old.write_record(without(&row.unwrap())).unwrap());
    fs::write(&file, old.into_inner().unwrap()).unwrap();
    assert_eq!(place.run("into", &[]).status.code(), Some(0));
    assert_eq!(text(&file).lines().next(), whole.lines().next());
    assert_eq!(text(&file).lines().nth(1), whole.lines().nth(1), "the run without a row is carried out");
}

/// A mean of the pairs that happened to be seen again says nothing of the others, and a run without a packet nothing at
/// all.
#[test]
fn a_summary_says_of_what_its_figures_are() {
    let at = |load: &str| {
        let place = Place::with(&SMALL.replace("loads: [0.1]", &format!("loads: [{load}]")));
        let shown = place.run("into", &[]).stdout;
        let summed = place.run("into", &["--summary", "--json"]);
        let told: serde_json::Value = serde_json::from_slice(&summed.stdout).expect("JSON");
        (String::from_utf8(shown).expect("UTF-8"), told)
    };
    let (shown, told) = at("0.01");
    let number = |name: &str| told["pooled"][0][name].as_u64().expect("a number");
    let (out, not_back) = (number("pairs_out"), number("pairs_not_back"));
    assert!(20 * not_back > out && out > not_back, "{not_back} of {out}");
    let all = shown.split("all of these together").nth(1).expect("all");
    let of = format!("{:.1} % of {out} pairs by auto", 100.0 * not_back as f64 / out as f64);
    assert!(all.contains("mean outage is of the pairs that were seen to be back, ") && all.contains(&of), "{shown}");
    let (shown, told) = at("0.0000001");
    assert!(shown.contains("no packet was sent in 4 of 4 runs, "), "{shown}");
    let of = &told["summaries"][0];
    assert_eq!((&of["silent"]["count"], &of["outage_ns"]["count"]), (&2.into(), &0.into()), "{of}");
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
