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

/// What stands over the sections, without what keeps numbers and options whole.
fn lead_of(page: &str) -> String {
    let lead = page.split("</header>").next().expect("a header").replace('\u{a0}', " ");
    let parts = lead.split("<span class=\"whole\">").enumerate();
    parts.map(|(rank, part)| if rank > 0 { part.replacen("</span>", "", 1) } else { part.to_string() }).collect()
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
    let command = text.replace("<span class=\"whole\">", "").replace("</span>", "");
    assert!(command.contains("--remove-root --seed 7 --load 0.05"), "it tells how to run it again");
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

/// Of a run with later events a reader sees each: in the lead, in the lists, and on every axis.
#[test]
fn the_page_tells_of_every_event_and_when_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = [
        &["--remove-switch", "spine-1", "--at", "400", "--remove-switch", "spine-3"][..],
        &["--at", "900", "--add-link", "spine-2:8=spine-4:8"],
    ];
    let (text, json) = page(&asked.concat(), folder.path());
    let text = text.replace('\u{a0}', " ");
    let lead = lead_of(&text);
    let told = "<p class=\"beside\">3 events: remove switch spine-1; remove switch spine-3 400 µs later; \
                add link spine-2[8] 900 µs later.</p>";
    assert!(lead.contains(told), "{lead}");
    assert!(lead.contains("the 3 events cost ") && lead.contains(" and 2 later events, scheme double"), "{lead}");
    let events = json["events"].as_array().expect("events");
    assert_eq!(events.len(), 2);
    for element in ["switch spine-1", "switch spine-3", "link spine-2[8]"] {
        assert!(text.contains(&format!("<li>{element}, at ")), "{element}");
    }
    assert!(text.contains("Removed (2)</h3>") && text.contains("Comes (1)</h3>"), "each list has all of its kind");
    for event in events {
        let during = event["during"].as_str().expect("it happened");
        let what = event["what"].as_str().expect("in words");
        let (_, row) = text.split_once(&format!("\">{what}</td>")).expect("a row");
        let row = row.split("</tr>").next().expect("its end");
        assert!(row.contains(if during == "steady" { "before the manager acts" } else { during }), "{row}");
    }
    let charts = text.split("<figure class=\"chart\">").skip(1).filter_map(|own| own.split("</figure>").next());
    let phases = text.split("<svg class=\"phases\"").skip(1).filter_map(|own| own.split("</svg>").next());
    let drawn: Vec<&str> = charts.chain(phases).collect();
    assert!(drawn.len() >= 6, "{} charts", drawn.len());
    for own in drawn {
        for mark in ["event 1", "event 2", "event 3"] {
            assert!(own.contains(&format!(">{mark}</")), "{mark}: {own}");
        }
    }
}

/// What the adversary did is no ordinary traffic: the verdict says so, and the page has what the screen tells of it.
#[test]
fn the_page_says_what_the_adversary_did() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    let fabric = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/ghost-cycle.ibnetdiscover");
    let report = ["--report", file.to_str().expect("a folder in UTF-8"), fabric];
    let asked = ["--remove-root", "--scheme", "in-place", "--adversary"];
    let output = simulate(&[&asked[..], &report].concat());
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let text = fs::read_to_string(&file).expect("the page was written").replace('\u{a0}', " ");
    let lead = lead_of(&text);
    assert!(lead.contains("</span> Traffic and writes steered by the adversary deadlocked the subnet: "), "{lead}");
    assert!(lead.contains("Who sends what when, and which write lands when, were chosen so as to close"), "{lead}");
    let (_, told) = shown.split_once("\nadversary: ").expect("the screen tells of it");
    let (told, _) = told.split_once("\n injected ").expect("a table follows");
    let (_, section) = text.split_once("<h2>The adversary</h2>").expect("a section");
    let section = section.split("</section>").next().expect("its end").replace("&gt;", ">");
    let lines: Vec<&str> = told.lines().map(str::trim).filter(|own| !own.is_empty()).collect();
    assert!(lines.len() > 18, "{told}");
    for own in lines.iter().filter(|own| !own.ends_with("and their ways:")) {
        // Steps have their times in a column of their own, and sentences begin with a capital.
        let own = own.split_once("  ").map_or(*own, |(_, step)| step);
        assert!(section.contains(&own[1..]), "{own}: {section}");
    }
    assert!(text.contains("<p>The cycle that the proof named beforehand, lane by lane.</p>"), "{text}");
}

/// Whom a removal cuts off stands in a sentence that needs none before it.
#[test]
fn the_lead_names_who_is_cut_off_wherever_it_stands() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, json) = page(&["--remove-switch", "leaf-2", "--planned"], folder.path());
    let lead = lead_of(&text);
    let ports = json["changes"][0]["cut_off"].as_array().expect("ports");
    let name = format!("{}[{}] (", ports[0]["node"].as_str().expect("a name"), ports[0]["port"]);
    assert!(lead.contains(&format!(">Cut off would be {name}")), "{lead}");
    assert!(lead.contains(&format!(" and {} other end ports: connect them elsewhere", ports.len() - 1)), "{lead}");
    let at = |part: &str| lead.find(part).unwrap_or_else(|| panic!("no {part}: {lead}"));
    assert!(at("Cut off would be ") < at("Auto: "), "what is refused comes before what else would do");
}

/// Short names and options are not parted, where a table scrolls or a command is long.
#[test]
fn no_line_ends_within_a_short_name_or_an_option() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let (text, _) = page(&["--remove-root"], folder.path());
    assert!(!text.contains('`'), "what programs print stands in letters of its own");
    let mut browser = Browser::start(folder.path());
    browser.load(&text, 360, folder.path());
    let parted = browser.value(
        "[...document.querySelectorAll('.sortable tbody th, pre .whole')].filter(own => {
           const range = document.createRange();
           range.selectNodeContents(own);
           return new Set([...range.getClientRects()].map(own => Math.round(own.top))).size > 1;
         }).map(own => own.innerText)",
    );
    assert_eq!(parted, Value::Array(Vec::new()));
    let all = browser.value("document.querySelectorAll('.sortable tbody th, pre .whole').length");
    assert!(all.as_u64().is_some_and(|all| all > 20), "{all}");
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
        (lead_of(&text), json)
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
