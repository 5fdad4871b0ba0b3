//! `--report` of the commands that judge: the verdict first, the numbers of `--json`, and nothing from outside.

mod large;
mod looks;
mod reach;

use crate::support::browser::{self, Browser};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");

/// Runs a command in the folder of fixtures; its page, and what it printed with `--json`.
fn page(arguments: &[&str], folder: &Path) -> (String, Value) {
    let file = folder.join("page.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).arg("--json").arg("--report").arg(&file).current_dir(FIXTURES).stdin(Stdio::null());
    let output = command.output().expect("the binary runs");
    let value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    (fs::read_to_string(file).expect("the page was written"), value)
}

/// The page's verdict in a word.
fn word(page: &str) -> &str {
    let (_, rest) = page.split_once("<h1><span class=\"word ").expect("a verdict");
    rest.split(['>', '<']).nth(1).expect("a word")
}

fn assert_shows(page: &str, label: &str, value: &Value) {
    let (_, rest) = page.split_once(label).unwrap_or_else(|| panic!("no {label}"));
    let (_, rest) = rest.split_once('>').expect("an element follows");
    let shown: String = rest.split('<').next().expect("text").chars().filter(|c| !c.is_whitespace()).collect();
    assert_eq!(shown, value.to_string(), "{label}");
}

#[test]
fn each_page_gives_the_verdict_and_the_numbers_of_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |arguments: &[&str]| page(arguments, folder.path());
    let fat_tree = "topologies/fat-tree-4-2.ibnetdiscover";
    let mut pages = Vec::new();

    let (text, json) = of(&["plan", fat_tree, "--remove-switch", "spine-1"]);
    assert_eq!(word(&text), "proved");
    assert_shows(&text, "<dt>Sets</dt>", &json["plan"]["smps"]);
    assert_shows(&text, "<dt>dependencies proved</dt>", &json["proof"]["dependencies"]);
    assert!(text.contains("class=\"switch leaves\""), "the switch that leaves is drawn");
    pages.push(text);

    let ghost = "topologies/ghost-cycle.ibnetdiscover";
    let (text, json) = of(&["plan", ghost, "--remove-switch", "switch-1", "--sudden", "--scheme", "in-place"]);
    assert_eq!(word(&text), "refused");
    let lanes = json["refusal"]["witnesses"].as_array().expect("witnesses").len();
    assert_eq!(text.matches("class=\"head\"").count(), lanes, "the circle is drawn, an arrow a lane");
    assert!(text.contains("class=\"host cutoff\""), "hosts at the dead switch are drawn as cut off");
    pages.push(text);

    let (text, json) = of(&["what-if", fat_tree]);
    let losses = json["losses"].as_array().expect("losses");
    assert_eq!(word(&text), "every loss answered");
    assert_shows(&text, "<dt>losses looked at</dt>", &losses.len().into());
    let worst = losses[0]["dies"][0].as_str().expect("a name");
    let (_, table) = text.split_once("<tbody>").expect("a table");
    assert!(
        table.starts_with(&format!("<tr><th scope=\"row\" class=\"whole\">{worst}</th>")),
        "the worst loss is first"
    );
    pages.push(text);

    let torus = ["audit", "dumps/torus-minhop.ibnetdiscover", "--lfts", "dumps/torus-minhop.dump_fts"];
    let (text, json) = of(&torus);
    assert_eq!(word(&text), "unsafe");
    assert_shows(&text, "dependencies</th>", &json["subnets"][0]["tables"]["dependencies"]);
    let cycle = json["subnets"][0]["tables"]["credit_loops"]["cycle"].as_array().expect("a cycle").len();
    assert_eq!(text.matches("class=\"head\"").count(), cycle);
    pages.push(text);

    let (text, json) = of(&["route", fat_tree]);
    assert_eq!(word(&text), "proved");
    assert_shows(&text, "<dt>paths</dt>", &json["subnets"][0]["paths"]["count"]);
    pages.push(text);

    let (text, _) = of(&["route", "topologies/torus-4x4.ibnetdiscover", "--engine", "min-hop"]);
    assert_eq!(word(&text), "refused");
    assert!(
        text.replace('\u{a0}', " ").contains("The routing is refused: 4 lanes can wait for each other in a cycle.")
    );
    assert!(!text.contains("wave steady"), "nothing changes");
    pages.push(text);

    let (text, json) = of(&["reproduce", "seed-000", "--table", "4a", "--row", "16", "--fabrics", "1"]);
    let sentence = format!("{} of {} figures are inside their bands", json["inside"], json["banded"]);
    assert!(text.replace('\u{a0}', " ").contains(&sentence), "{sentence}");
    assert!(text.contains("1 fabric a row; the default is 100. With fewer, minima and maxima can miss their bands."));
    let band = &json["tables"][0]["rows"][0]["cells"][5]["band"]["between"];
    let band = format!("<small>{:.1}–{:.1}</small>", band[0].as_f64().expect("one"), band[1].as_f64().expect("two"));
    assert!(text.contains(&band), "{band}");
    pages.push(text);

    for text in &pages {
        for outside in ["http:", "https:", "src=", "url(", "@import"] {
            assert!(!text.contains(outside), "{outside}");
        }
        assert!(text.contains("<h2>Words</h2>"), "{}: its words are explained", word(text));
    }
    if browser::is_there() {
        let mut browser = Browser::start(folder.path());
        for text in &pages {
            let (document, complaints) = browser.load(text, 820, folder.path());
            assert_eq!(complaints, Vec::<String>::new(), "{}", word(text));
            assert!(document.contains("Run it again"), "the whole page is there");
        }
    }
}

/// No verdict is green where something is left open or somebody is cut off.
#[test]
fn a_page_of_losses_says_how_many_were_planned_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let fat_tree = "topologies/fat-tree-4-2.ibnetdiscover";
    let (text, json) = page(&["what-if", fat_tree, "--worst", "3"], folder.path());
    let all = json["losses"].as_array().expect("losses").len();
    assert_eq!(word(&text), format!("3 of {all} losses planned, each answered"));
    assert!(text.contains("<span class=\"word part\">"), "it is not green");
    assert!(
        text.contains("<dt>without a proved change</dt><dd class=\"\">0 of 3 planned</dd>"),
        "it counts those alone"
    );
    let (planned, _) = text.split_once("not planned</td>").expect("most are not");
    assert_eq!(planned.matches("<td class=\"\">ordered</td>").count(), 3, "those that are planned come first");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(at("<h2>Who is cut off</h2>") < at("<h2>Losses that were not planned</h2>"));
    let (_, folded) = text.split_once("<h2>Losses that were not planned</h2><details class=\"bins\">").expect("folded");
    assert_eq!(folded.matches("<td class=\"\">not planned</td>").count(), all - 3, "the others");
    assert_eq!(text.matches("<td class=\"\">not planned</td>").count(), all - 3, "and nowhere else");
    let (text, _) = page(&["what-if", fat_tree], folder.path());
    assert!(text.contains("<span class=\"word part\">every loss answered"), "hosts are cut off");
    assert!(!text.contains("Losses that were not planned"), "none is left out");
}

/// Of many losses the worst hundred are open, and the others folded.
#[test]
fn a_page_of_many_losses_folds_all_but_the_worst() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, json) = page(&["what-if", "topologies/fat-tree-4-2.ibnetdiscover", "--pairs"], folder.path());
    let all = json["losses"].as_array().expect("losses").len();
    let (_, table) = text.split_once("<h2>Losses by harm</h2>").expect("a table");
    let (open, folded) = table.split_once("<details>").expect("some are folded");
    let rows = |part: &str| part.split("</section>").next().expect("its end").matches("<tr><th scope=\"row\"").count();
    assert_eq!((rows(open), rows(folded)), (100, all - 100));
}

/// Hosts that a refused plan would cut off are named where they are told of, not as the first of what stands before.
#[test]
fn a_refused_plan_names_whom_it_would_cut_off() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = ["plan", "topologies/ghost-cycle.ibnetdiscover", "--remove-switch", "switch-1", "--scheme", "in-place"];
    let (text, json) = page(&asked, folder.path());
    let lead = text.split("</header>").next().expect("a header").replace('\u{a0}', " ");
    let told = "Cut off would be host-1 HCA-1[1] (0x0200000a01000000) and 4 other end ports: connect them elsewhere";
    assert!(lead.contains(told), "{lead}");
    assert_eq!(json["plan"]["window"], 4, "the scheme's own, as PROTOCOL says");
}

/// A planned removal that cuts hosts off is refused first, by name, and with the option that allows it.
#[test]
fn a_page_refuses_what_is_cut_off_and_names_the_way_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let torus = "topologies/torus-4x4.ibnetdiscover";
    let asked = ["simulate", torus, "--remove-root", "--planned", "--load", "0.05", "--before", "50", "--after", "50"];
    for asked in [&asked[..], &["plan", torus, "--remove-switch", "switch-0-0"]] {
        let (text, _) = page(asked, folder.path());
        assert_eq!(word(&text), "cuts hosts off");
        let lead = text.split("</header>").next().expect("a header").replace('\u{a0}', " ");
        assert!(lead.contains("</span> No: ") && lead.contains("would be cut off. "), "{lead}");
        assert!(
            lead.contains("Cut off would be ") && lead.contains("--allow-cut-off</span> if this is intended"),
            "{lead}"
        );
    }
}

#[test]
fn an_audit_says_in_a_sentence_what_is_unsafe() {
    let folder = tempfile::tempdir().expect("a folder");
    let dumps = ["--fdbs", "dumps/ghost-cycle-root-1.fdbs", "--after-fdbs", "dumps/ghost-cycle-root-2.fdbs"];
    let update = [&["audit", "topologies/ghost-cycle.ibnetdiscover"][..], &dumps].concat();
    let forgotten = ["audit", "subnets/forgotten-router.subnets.yaml", "--engine", "up-down"];
    let between = "Each routing is safe; the update in place between them is not: 4 lanes can wait for each other.";
    let lost = "392 of 2 576 pairs of hosts lose paths at routers; no deadlock is possible.";
    for (asked, told) in [(&update[..], between), (&forgotten, lost)] {
        let (text, _) = page(asked, folder.path());
        let lead = text.split("</h1>").next().expect("a headline").replace('\u{a0}', " ");
        assert!(lead.ends_with(told), "{lead}");
    }
}

/// Where the numbers of a table begin, at every width: names of any length break.
#[test]
fn numbers_beside_long_names_are_in_sight() {
    if !browser::is_there() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let text = fs::read_to_string(Path::new(FIXTURES).join("topologies/fat-tree-4-2.ibnetdiscover")).expect("a fabric");
    let named = folder.path().join("named.ibnetdiscover");
    let long = |name: &str| format!("{name}_MT47396_Infiniscale-III_0x0002c90000000602");
    let text = text.replace("\"spine-1\"", &format!("\"{}\"", long("spine-1")));
    fs::write(&named, text.replace("\"leaf-1\"", &format!("\"{}\"", long("leaf-1")))).expect("written");
    let named = named.to_str().expect("UTF-8");
    let (losses, json) = page(&["what-if", named], folder.path());
    assert!(json.to_string().contains("Infiniscale-III_0x0002c90000000602"), "the names are long");
    let (hosts, _) = page(&["simulate", named, "--remove-root"], folder.path());
    let mut browser = Browser::start(folder.path());
    for (name, text) in [("what-if", &losses), ("simulate", &hosts)] {
        for width in [500, 900, 1400] {
            browser.load(text, width, folder.path());
            let beyond = browser.value(
                "[...document.querySelectorAll('table.sortable')].flatMap(table => {
                   const number = table.querySelector('tbody td.number');
                   return number && number.offsetParent && number.getBoundingClientRect().right > innerWidth
                     ? [table.caption.innerText] : [];
                 })",
            );
            assert_eq!(beyond, Value::Array(Vec::new()), "{name} at {width}");
        }
    }
}

/// A change that no scheme can make has a page too, which says why, a line for each scheme, and what would help.
#[test]
fn what_cannot_be_planned_has_a_page() {
    let folder = tempfile::tempdir().expect("a folder");
    let mesh = "topologies/mesh-4x4.ibnetdiscover";
    let asked = ["plan", mesh, "--remove-switch", "switch-1-1", "--lmc", "0", "--engine", "lash"];
    let (text, json) = page(&asked, folder.path());
    assert_eq!((word(&text), &json["outcome"]), ("not planned", &"not-planned".into()));
    let why = json["unplanned"].as_str().expect("a reason");
    let begins: Vec<&str> = why.lines().map(|line| line.split(':').next().unwrap_or_default()).collect();
    assert_eq!(begins, ["no scheme makes this change", "scheme ordered", "scheme double", "What would help"], "{why}");
    assert!(text.contains("<p>What would help: LMC 1 or more"), "{text}");
    assert_eq!(text.matches("o scheme makes this change").count(), 1, "the headline is not told again: {text}");
    let output =
        Command::new(env!("CARGO_BIN_EXE_reconfig")).args(asked).current_dir(FIXTURES).output().expect("it runs");
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(3), &b""[..]));
    assert!(String::from_utf8_lossy(&output.stderr).contains(why), "the screen says the same");
}

/// What refuses each way is drawn under the name of its scheme, with who waits where and why.
#[test]
fn what_no_scheme_makes_has_its_circles_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let without = |fabric: &str, switch: &str| {
        let asked = ["plan", fabric, "--remove-switch", switch, "--lmc", "0", "--allow-cut-off"];
        let (text, json) = page(&asked, folder.path());
        assert_eq!(word(&text), "not planned");
        let attempt = json["attempts"][0].clone();
        assert_eq!(attempt["what"], "scheme ordered, the full re-route in one wave");
        let (_, drawn) =
            text.split_once("<h3>Refused: scheme ordered, the full re-route in one wave</h3>").expect("it");
        (drawn.to_string(), attempt["evidence"].clone())
    };
    let (drawn, cycle) = without("topologies/torus-4x4.ibnetdiscover", "switch-0-0");
    let dependencies = cycle["dependencies"].as_array().expect("a cycle");
    assert!(dependencies.len() >= 3);
    for own in dependencies {
        let lane = |lane: &Value| format!("port {} VL {}", lane["port"], lane["vl"]);
        let name = own["switch"]["name"].as_str().expect("a name");
        let (input, output) = (lane(&own["input"]), lane(&own["output"]));
        let told = format!("{name} {input} → {output}, to LID {}, SL {}", own["lid"], own["sl"]);
        assert!(drawn.contains(&told), "{told}: {drawn}");
    }
    let (drawn, ring) = without("topologies/seed-16.ibnetdiscover", "switch-3");
    let hops = ring["hops"].as_array().expect("a loop");
    let name = format!("Packets to LID {} can go round in wave rewrite</b>", ring["lid"]);
    assert!(drawn.contains(&name), "{name}: {drawn}");
    assert_eq!(drawn.matches("<rect").count(), hops.len());
}

/// What speaks against a plan is read before what it would do, and once.
#[test]
fn a_refusal_comes_before_the_plan() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = ["plan", "topologies/ghost-cycle.ibnetdiscover", "--remove-switch", "switch-1", "--sudden"];
    let (text, _) = page(&[&asked[..], &["--scheme", "in-place"]].concat(), folder.path());
    let at = |heading: &str| text.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    assert!(at("<h2>The refusal</h2>") < at("<h2>Waves</h2>"));
    assert!(!text.contains("<h3>Refused: "), "it is said once");
}

/// Pages of several subnets show figures as tables, not as the screen's lines.
#[test]
fn pages_of_several_subnets_have_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let forgotten = ["audit", "subnets/forgotten-router.subnets.yaml", "--engine", "up-down"];
    let (text, json) = page(&forgotten, folder.path());
    assert_shows(&text, "<dt>pairs that lose paths</dt>", &json["whole"]["paths"]["faulty_pairs"]);
    let fault = json["whole"]["paths"]["faults"][0]["source"].as_str().expect("a name");
    assert!(text.contains(&format!("<th scope=\"row\">{fault} → ")), "{fault}");
    assert!(!text.contains("<details open"), "the screen's lines are folded");

    let (text, json) = page(&["route", "subnets/two-subnets.subnets.yaml"], folder.path());
    let (_, table) = text.split_once("Each subnet, judged by itself").expect("a table");
    let row = "<th scope=\"row\" class=\"whole\">subnet-1</th><td class=\"\">proved</td><td class=\"\">1</td>";
    let (_, row) = table.split_once(row).expect("a row");
    assert_shows(row, "data-rank=\"16\">16</td><td", &json["subnets"][1]["fabric"]["cas"]);

    let keep = ["simulate", "subnets/router-cycle.subnets.yaml", "--steady", "--router-sl", "keep", "--load", "0.02"];
    let (text, json) = page(&keep, folder.path());
    assert_eq!(word(&text), "not proved");
    assert!(text.contains("a deadlock is not excluded") && !text.contains("nothing changes, scheme"), "{text}");
    let within = json["relations"][0]["packets"]["delivered"].clone();
    assert_shows(
        &text,
        "<th scope=\"row\" class=\"whole\">within subnet-0</th><td class=\"number\">0</td><td",
        &within,
    );
    assert!(text.contains("<h2>The subnets</h2>") && text.contains("2 routers: what their links carried"));
}

#[test]
fn no_line_breaks_within_a_number_of_writes() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked =
        ["plan", "topologies/fat-tree-three-level.ibnetdiscover", "--remove-switch", "spine-1", "--scheme", "double"];
    let (text, _) = page(&asked, folder.path());
    assert!(text.contains("<td class=\"\">1\u{a0}416\u{a0}SLtoVLMappingTable</td>"), "{text}");
}

/// What a page says of files: their names, and what sha256sum prints of them.
fn digests(page: &str) -> Vec<(String, String)> {
    let rows = page.split("<th scope=\"row\">SHA-256 of ").skip(1);
    let row = |row: &str| {
        let (name, rest) = row.split_once("</th>").expect("a name");
        let value = rest.split(['>', '<']).nth(2).expect("a value");
        (name.to_string(), value.to_string())
    };
    rows.map(row).collect()
}

#[test]
fn a_page_has_the_digest_of_every_file_that_decides() {
    let folder = tempfile::tempdir().expect("a folder");
    let before = "topologies/fat-tree-4-2.ibnetdiscover";
    let text = fs::read_to_string(Path::new(FIXTURES).join(before)).expect("a fabric");
    let after = folder.path().join("after.ibnetdiscover");
    let name = after.to_str().expect("a name in UTF-8");
    let mut seen = Vec::new();
    for capture in ["one", "another"] {
        fs::write(&after, format!("# {capture}\n{text}")).expect("a file");
        let (text, _) = page(&["plan", before, name], folder.path());
        let own = digests(&text);
        assert_eq!(own.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), [before, name]);
        seen.push(own);
    }
    assert_eq!(seen[0][0], seen[1][0], "the same BEFORE");
    assert_ne!(seen[0][1], seen[1][1], "another AFTER");
    let dump = "dumps/torus-minhop.dump_fts";
    let (text, _) = page(&["audit", "dumps/torus-minhop.ibnetdiscover", "--lfts", dump], folder.path());
    let own = digests(&text);
    let sum = Command::new("sha256sum").arg(dump).current_dir(FIXTURES).output().expect("coreutils");
    let sum = String::from_utf8(sum.stdout).expect("text").split(' ').next().expect("a digest").to_string();
    assert_eq!(own.last(), Some(&(dump.to_string(), sum)));
}

#[test]
fn a_page_names_who_is_cut_off_by_a_loss_and_which_takes_the_manager() {
    let folder = tempfile::tempdir().expect("a folder");
    let (text, json) = page(&["what-if", "topologies/fat-tree-4-2.ibnetdiscover"], folder.path());
    assert_shows(&text, "<dt>losses that cut end ports off</dt>", &4.into());
    assert_shows(&text, "<dt>end ports that a loss cuts off</dt>", &16.into());
    for loss in json["losses"].as_array().expect("losses") {
        for port in loss["cut_off"].as_array().expect("names") {
            assert!(text.contains(&format!("<li>{}</li>", port.as_str().expect("a name"))), "{port}");
        }
    }
    let (_, standby) = text.split_once("and need a standby").expect("a loss takes the manager");
    assert!(standby.starts_with(" (1)</h3><ul class=\"names\"><li>switch leaf-1</li>"), "{standby:.80}");
}

#[test]
fn a_page_that_cannot_be_written_stops_the_command_before_it_begins() {
    let fat_tree = "topologies/fat-tree-4-2.ibnetdiscover";
    for command in [&["plan", fat_tree, "--remove-switch", "spine-1"][..], &["what-if", fat_tree], &["route", fat_tree]]
    {
        let mut run = Command::new(env!("CARGO_BIN_EXE_reconfig"));
        run.args(command).args(["--report", "no-such-folder/page.html"]).current_dir(FIXTURES).stdin(Stdio::null());
        let output = run.output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(3), "{command:?}");
        assert!(output.stdout.is_empty(), "{command:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("no-such-folder"), "{command:?}");
    }
}

/// The names, or what else stands, in each row of a table.
fn cells(table: &str) -> Vec<Vec<String>> {
    let text =
        |cell: &str| cell.split_once('>').map_or("", |(_, text)| text.split("</").next().unwrap_or("")).to_string();
    let body = table.split("<tbody>").nth(1).and_then(|body| body.split("</tbody>").next()).expect("rows");
    let rows = body.split("<tr>").skip(1).map(|row| row.replace("<th", "<td"));
    rows.map(|row| row.split("<td").skip(1).map(text).collect()).collect()
}

/// Who wants to know what a plan rewrites finds each row, with both its ports.
#[test]
fn a_page_of_a_plan_lists_the_rows_that_lead_elsewhere_afterwards() {
    let folder = tempfile::tempdir().expect("a folder");
    let asked = ["plan", "topologies/fat-tree-4-2.ibnetdiscover", "--remove-switch", "spine-1"];
    let (text, json) = page(&asked, folder.path());
    let (_, folded) = text.split_once("<details class=\"bins\"><summary>").expect("a folded part");
    let all: usize = folded.split(' ').next().and_then(|own| own.parse().ok()).expect("a number");
    assert!(folded.contains(" rows (switch and LID) with another output port afterwards</summary>"), "{folded:.200}");
    let rows = cells(folded);
    assert_eq!(rows.len(), all);
    let mut switches = std::collections::BTreeSet::new();
    for row in &rows {
        let [switch, lid, owner, old, new] = <&[String; 5]>::try_from(&row[..]).expect("five columns");
        // Port 5 of each leaf leads to the spine that leaves, and 6 to 8 to the others.
        assert!(old == "5" && ["6", "7", "8"].contains(&new.as_str()), "{row:?}");
        assert!(lid.parse::<u16>().is_ok() && (owner.contains("HCA-1[1]") || owner.contains("[0]")), "{row:?}");
        switches.insert(switch);
    }
    assert_eq!(json["plan"]["smps"], switches.len(), "one block at each leaf");
}

/// Where a routing stands is seen on its page, and which channels of it wait for each other.
#[test]
fn pages_of_a_routing_draw_the_fabric_and_mark_the_cycle() {
    let folder = tempfile::tempdir().expect("a folder");
    let figure = |text: &str| {
        let (_, map) = text.split_once("<figure class=\"map\">").expect("a map");
        map.split("</figure>").next().expect("its end").to_string()
    };
    let waits = |map: &str| map.matches("<g class=\"wait\">").count();
    let names = |dependencies: &Value| {
        let own = dependencies.as_array().expect("a cycle").iter();
        own.map(|own| own["switch"]["name"].as_str().expect("a name").to_string()).collect::<Vec<_>>()
    };
    let torus = ["audit", "dumps/torus-minhop.ibnetdiscover", "--lfts", "dumps/torus-minhop.dump_fts"];
    let (text, json) = page(&torus, folder.path());
    let audited = (figure(&text), names(&json["subnets"][0]["tables"]["credit_loops"]["cycle"]));
    let (text, json) = page(&["route", "topologies/torus-4x4.ibnetdiscover", "--engine", "min-hop"], folder.path());
    let routed = (figure(&text), names(&json["subnets"][0]["refusal"]["dependencies"]));
    for (map, circle) in [audited, routed] {
        assert_eq!(waits(&map), circle.len(), "{circle:?}");
        for (rank, from) in circle.iter().enumerate() {
            let to = &circle[(rank + 1) % circle.len()];
            assert!(
                map.contains(&format!("<title>a lane from {from} to {to} is in the cycle</title>")),
                "{from}, {to}"
            );
        }
        assert!(map.contains("a lane here waits for one of the next") && map.contains(&circle.join(" → ")));
    }
    let safe = ["audit", "dumps/ring-3.ibnetdiscover", "--lfts", "dumps/ring-3.dump_fts"];
    for command in [&safe[..], &["route", "topologies/fat-tree-4-2.ibnetdiscover"]] {
        let map = figure(&page(command, folder.path()).0);
        assert_eq!((waits(&map), map.contains("wait")), (0, false), "{command:?}");
        assert!(map.matches("<rect class=\"switch stays\"").count() > 2, "{command:?}");
    }
}
