//! `--report`: a page that needs nothing beside itself, loads in a browser without an error, and tells what `--json`
//! does.

use super::command::{FABRIC, QUICK, simulate};
use crate::support::browser::{self, Browser};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What a script of ours adds to a copy of the page: it sorts the losses and measures the layout, and leaves both in
/// the document.
const PROBE: &str = "<script>
for (const own of document.querySelectorAll('details')) own.open = true;
const table = document.querySelector('table.sortable');
table.querySelectorAll('th button')[1].click();
document.body.dataset.sorted = [...table.tBodies[0].rows].map((row) => row.cells[1].dataset.rank).join(' ');
document.body.dataset.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
</script>";

/// The page of a run, and what the run printed with `--json`.
fn page(arguments: &[&str], folder: &Path) -> (String, Value) {
    let file = folder.join("page.html");
    let report = ["--json", "--report", file.to_str().expect("a folder in UTF-8"), FABRIC];
    let output = simulate(&[arguments, &QUICK, &report].concat());
    let value = serde_json::from_slice(&output.stdout).expect("JSON");
    (fs::read_to_string(file).expect("the page was written"), value)
}

/// What stands right after a label, without groups of digits.
fn value_of(page: &str, label: &str) -> String {
    let (_, rest) = page.split_once(label).unwrap_or_else(|| panic!("no {label}"));
    let (_, rest) = rest.split_once('>').expect("an element follows");
    // As a browser writes it, too.
    rest.split('<').next().expect("text").replace("&nbsp;", "").chars().filter(|c| !c.is_whitespace()).collect()
}

fn assert_tells_the_same(page: &str, json: &Value) {
    let packets = &json["packets"];
    for (label, value) in [
        ("<dt>lost to the change</dt>", &packets["lost_to_change"]),
        ("<dt>lost in all</dt>", &json["lost_in_all"]),
        ("<dt>SMPs</dt>", &json["changes"][0]["smps"]["total"]),
        ("injected</th>", &packets["injected"]),
        ("delivered</th>", &packets["delivered"]),
        ("stranded</th>", &packets["stranded"]),
        ("lost to the failure</th>", &packets["lost_to_failure"]),
        ("seed</th>", &json["seed"]),
    ] {
        assert_eq!(value_of(page, label), value.to_string(), "{label}");
    }
    let hash = json["trace_hash"].as_str().map_or_else(|| json["trace_hash"].to_string(), str::to_string);
    assert_eq!(value_of(page, "trace hash</th>"), hash);
}

#[test]
fn a_page_needs_nothing_beside_itself_and_tells_what_json_does() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, json) = page(&["--remove-root", "--seed", "7"], folder.path());
    assert_tells_the_same(&text, &json);
    for outside in ["http:", "https:", "src=", "url(", "@import"] {
        assert!(!text.contains(outside), "{outside}");
    }
    assert!(text.contains("--remove-root --seed 7 --load 0.05"), "it tells how to run it again");
    let [file] = <[_; 1]>::try_from(fs::read_dir(&folder).expect("a folder").collect::<Vec<_>>()).expect("one file");
    assert_eq!(file.expect("an entry").file_name(), "page.html");
}

#[test]
fn rows_of_phases_add_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, json) = page(&["--remove-root"], folder.path());
    let (_, table) = text.split_once("<span>Phases of the change</span>").expect("a table");
    let table = table.split("</table>").next().expect("its end");
    let smps = table.split("</tr>").filter_map(|row| row.rsplit("<td class=\"number\">").next()?.split('<').next());
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>();
    let smps: Vec<u64> = smps.filter_map(|text| digits(text).ok()).collect();
    let (all, parts) = smps.split_last().expect("rows");
    assert_eq!(json["changes"][0]["smps"]["total"], *all);
    assert_eq!(parts.iter().sum::<u64>(), *all, "{smps:?}");
}

#[test]
fn the_page_of_a_deadlock_begins_with_its_circle() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/ghost-cycle.ibnetdiscover");
    let page = ["--report", file.to_str().expect("a folder in UTF-8"), fabric];
    let aimed = ["--remove-switch", "switch-1", "--sudden", "--scheme", "in-place", "--adversary", "--load", "0.9"];
    let output = simulate(&[&aimed[..], &page].concat());
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&file).expect("the page was written");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(at("<h2>The deadlock</h2>") < at("<h2>What changed</h2>"), "what it ended with comes first");
    assert!(at("<h2>Phases</h2>") < at("Traffic over time"), "an unfinished phase is drawn");
    for moment in ["first write", "deadlock"] {
        assert!(text.contains(&format!(">{moment}</text>")), "{moment} is marked");
    }
    let (_, row) = text.split_once("<th scope=\"row\">after</th>").expect("a row");
    let row = row.split("</tr>").next().expect("a row");
    assert!(!row.contains('%') && row.matches('–').count() == 4, "there was no time after: {row}");
}

#[test]
fn a_run_in_which_nothing_changes_proves_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, _) = page(&["--steady"], folder.path());
    for part in ["What changed", "<dt>proof</dt>", "proof before the first write", "<dt>change took</dt>"] {
        assert!(!text.contains(part), "{part}");
    }
}

/// What a reader of the lead alone is to know.
#[test]
fn the_lead_tells_of_a_cheaper_way_of_a_low_load_and_of_no_traffic() {
    let folder = tempfile::tempdir().expect("a folder");
    let lead = |arguments: &[&str]| {
        let (text, json) = page(arguments, folder.path());
        (text.split("</header>").next().expect("a header").replace('\u{a0}', " "), json)
    };
    let (told, json) = lead(&["--remove-root"]);
    let writes = json["auto_instead"]["writes"].as_u64().expect("a number");
    let instead = format!("Auto: {writes} writes in 1 wave would do, proved, and no host moves; see --compare.");
    assert!(told.contains(&instead) && told.contains(" packets at a load of 5.0 %."), "{told}");
    let file = folder.path().join("idle.html");
    let report = ["--report", file.to_str().expect("UTF-8"), FABRIC];
    let output = simulate(&[&["--remove-root", "--load", "0"][..], &report].concat());
    let idle = fs::read_to_string(&file).expect("the page was written");
    assert!(idle.contains("No traffic was simulated, so nothing could be lost."), "{idle:.2000}");
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(shown.contains(": no traffic was simulated, so nothing could be lost; "), "{shown}");
}

/// A load so low that no packet comes to be sent shows nothing, and is no success.
#[test]
fn a_run_without_a_packet_is_not_said_to_lose_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("silent.html");
    let report = ["--report", file.to_str().expect("UTF-8"), FABRIC];
    let output = simulate(&[&["--remove-root", "--load", "0.0000001"][..], &report].concat());
    assert_eq!(output.status.code(), Some(0));
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    for told in [
        "\nlost     nothing: no packet was sent\n",
        "\nnote: no packet was sent before the run ended, so that nothing could be lost: raise --load, ",
        ": no packet was sent, so nothing could be lost; ",
    ] {
        assert!(shown.contains(told), "{told}: {shown}");
    }
    let page = fs::read_to_string(&file).expect("the page was written");
    assert!(page.contains("<span class=\"word part\">nothing sent</span>"), "{page:.2000}");
    assert!(page.contains("No packet was sent, so nothing could be lost."), "{page:.2000}");
    let output = simulate(&["--remove-root", "--load", "0.0000001", "--compare", FABRIC]);
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(shown.ends_with("\nno packet was sent, so no scheme could lose any\n"), "{shown}");
}

/// Names break, so that every scheme has its column on the screen.
#[test]
fn a_comparison_shows_every_scheme_beside_a_long_name() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let fabric = folder.path().join("named.ibnetdiscover");
    let long = "0x0002c90000000602 MT47396 Infiniscale-III";
    let text = fs::read_to_string(FABRIC).expect("the fabric");
    let text = text.replace("spine-1", &format!("spine-1 {long}")).replace("spine-2", &format!("spine-2 {long}"));
    fs::write(&fabric, text).expect("a file");
    let file = folder.path().join("page.html");
    let [fabric, file] = [&fabric, &file].map(|path| path.to_str().expect("a folder in UTF-8"));
    simulate(&[&["--remove-root", "--compare"], &QUICK[..], &["--report", file, fabric]].concat());
    let page = fs::read_to_string(file).expect("the page was written");
    let mut browser = Browser::start(folder.path());
    for width in [800, 1400] {
        browser.load(&page, width, folder.path());
        let beyond = browser.value(
            "[...document.querySelector('main table').querySelectorAll('th, td, caption')].filter(cell =>
               cell.getBoundingClientRect().right > cell.closest('.scroll').getBoundingClientRect().right + 1
             ).map(cell => cell.innerText)",
        );
        assert_eq!(beyond, Value::Array(Vec::new()), "at {width}");
    }
}

#[test]
fn names_are_escaped() {
    let folder = tempfile::tempdir().expect("a folder");
    let fabric = folder.path().join("named.ibnetdiscover");
    let text = fs::read_to_string(FABRIC).expect("the fabric").replace("spine-1", "<b>&amp;");
    fs::write(&fabric, text).expect("a file");
    let file = folder.path().join("page.html");
    let [fabric, file] = [&fabric, &file].map(|path| path.to_str().expect("a folder in UTF-8"));
    simulate(&[&["--remove-root"], &QUICK[..], &["--report", file, fabric]].concat());
    let page = fs::read_to_string(file).expect("the page was written");
    assert!(
        page.contains("&lt;b&gt;&amp;amp;") && !page.contains("<b>&amp;"),
        "the name stands as it is in the capture"
    );
}

#[test]
fn several_runs_share_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, json) = page(&["--remove-root", "--compare"], folder.path());
    let runs = json["reports"].as_array().expect("a run for each scheme");
    assert!(runs.len() >= 4, "{} runs", runs.len());
    assert_eq!(text.matches("<details class=\"run\"").count(), runs.len());
    for (run, part) in runs.iter().zip(text.split("<details class=\"run\"").skip(1)) {
        assert_eq!(value_of(part, "<dt>lost in all</dt>"), run["lost_in_all"].to_string(), "{}", run["scheme"]);
        assert_eq!(
            value_of(part, "<dt>SMPs</dt>"),
            run["changes"][0]["smps"]["total"].to_string(),
            "{}",
            run["scheme"]
        );
        assert!(text.contains(run["trace_hash"].as_str().expect("a hash")), "every run can be told by its trace");
    }
    // The headline is of all of them.
    let (_, headline) = text.split_once("<h1>").expect("a headline");
    let least = runs.iter().map(|run| run["lost_in_all"].as_u64().expect("a number")).min().expect("runs");
    let headline = headline.split("</h1>").next().expect("its end").replace(['\u{a0}', ' '], "");
    assert!(headline.contains(&format!("Autolosesleast({least}packetsataloadof5.0%,as")), "{headline}");
    assert!(text.contains("By auto: ordered: The change completed in"), "and then of the one chosen by itself");
    let mut ids: Vec<&str> = text.split(" id=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "an id stands for one element");
}

#[test]
fn a_browser_loads_it_without_an_error_at_every_width() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut browser = Browser::start(folder.path());
    for arguments in [&["--remove-root"][..], &["--remove-root", "--compare"]] {
        let (text, json) = page(arguments, folder.path());
        let probed = text.replace("</body>", &format!("{PROBE}</body>"));
        for width in [500, 820, 1400] {
            let (document, complaints) = browser.load(&probed, width, folder.path());
            assert_eq!(complaints, Vec::<String>::new(), "{arguments:?} at {width}");
            assert!(
                document.contains("data-wide=\"0\""),
                "{arguments:?} at {width}: the page itself never scrolls sideways"
            );
            let sorted = document.split("data-sorted=\"").nth(1).and_then(|rest| rest.split('"').next());
            let sorted: Vec<u64> =
                sorted.expect("losses are sorted").split(' ').map(|own| own.parse().expect("a number")).collect();
            assert!(sorted.len() > 2 && sorted.is_sorted_by(|a, b| a >= b), "{sorted:?}");
        }
        if json["packets"].is_object() {
            assert_tells_the_same(&browser.load(&text, 820, folder.path()).0, &json);
        }
    }
    let (_, complaints) = browser.load("<body><script>none()</script></body>", 820, folder.path());
    assert_eq!(complaints.len(), 1, "a script that fails is noticed: {complaints:?}");
}
