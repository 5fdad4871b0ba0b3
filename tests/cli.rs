//! The command line as a user meets it: exit codes, what goes to which stream, and files that are whole or absent.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn reconfig(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_reconfig"));
    command.args(arguments).env_remove("RECONFIG_LOG").stdin(Stdio::null());
    command
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// Runs a command that must succeed and say nothing on standard error.
fn done(arguments: &[&str]) -> String {
    let output = reconfig(arguments);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""), "{arguments:?}");
    stdout(&output).to_string()
}

fn path_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn failures_say_what_is_wrong_on_standard_error_and_nothing_on_standard_output() {
    let cases: &[(&[&str], i32, &str)] = &[
        (&[], 2, "Usage: reconfig"),
        (&["fabrik"], 2, "unrecognized subcommand 'fabrik'"),
        (&["fabric", "show"], 2, "<FABRIC>"),
        (&["fabric", "show", "no-such-file"], 2, "cannot read no-such-file"),
        (&["fabric", "show", "-"], 2, "standard input"),
        (&["fabric", "diff", "no-such-file", "-"], 2, "cannot read no-such-file"),
        (&["fabric", "generate", "star:5"], 2, "`star` is no topology: choose one of fat-tree,"),
        (&["fabric", "generate", "fat-tree:4"], 2, "expected `fat-tree:K,N`"),
        (&["fabric", "generate", "ring:2"], 2, "2 switches close no ring"),
        (&["fabric", "generate", "mesh:1"], 2, "no fabric is a `mesh:1`: "),
        (&["fabric", "generate", "mesh:1,1"], 2, "no fabric is a `mesh:1,1`: "),
        (&["fabric", "generate", "fat-tree:4,2", "--radix", "4"], 2, "ask for a larger radix"),
        (&["fabric", "generate", "ring:4", "--speed", "WARP"], 2, "`WARP` is no link speed"),
        (&["fabric", "generate", "ring:4", "--json", "--to", "dot"], 2, "name two formats"),
        (&["fabric", "generate", "ring:4", "-o", "ring.xyz"], 2, "names no format"),
        (&["fabric", "generate", "waxman:50,0.001,0.01"], 3, "none of 200 draws"),
        (&["fabric", "generate", "ring:4", "-o", "/no/such/folder/a.json"], 3, "cannot write /no/such/folder/a.json"),
    ];
    for &(arguments, code, part) in cases {
        let output = reconfig(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(part), "{arguments:?}: {}", stderr(&output));
        assert_eq!(stdout(&output), "", "{arguments:?}");
        assert!(!stderr(&output).contains('\x1b'), "colours where no terminal is: {}", stderr(&output));
    }
}

/// A line of a file that a message quotes may be as long as the file.
#[test]
fn a_message_is_short_however_long_the_line_is_that_it_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long");
    std::fs::write(&file, "a".repeat(3_000_000)).unwrap();
    let (file, fabric) = (path_text(&file), "fixtures/topologies/ring-8.ibnetdiscover");
    let (trace, pairs) = (format!("trace:{file}"), format!("permutation:{file}"));
    let into = folder.path().join("into");
    let cases: [&[&str]; 6] = [
        &["simulate", "--remove-root", "--traffic", &trace, fabric],
        &["simulate", "--remove-root", "--traffic", &pairs, fabric],
        &["campaign", file, "--into", path_text(&into)],
        &["audit", fabric, "--fdbs", file],
        &["fabric", "show", file],
        &["check", file],
    ];
    for arguments in cases {
        let output = reconfig(arguments);
        assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{arguments:?}");
        let length = output.stderr.len();
        assert!((20..8_000).contains(&length), "{arguments:?}: {length} bytes on standard error");
    }
    assert!(!into.exists(), "a folder for a campaign that was refused");
}

#[test]
fn help_and_version_are_answers() {
    for arguments in [&["--help"][..], &["-V"], &["help", "fabric"], &["fabric", "generate", "--help"]] {
        assert!(!done(arguments).is_empty());
    }
    assert!(done(&["fabric", "generate", "--help"]).contains("dragonfly:P,A,H"));
    for command in ["show", "diff", "convert", "generate"] {
        assert!(done(&["fabric", command, "--help"]).contains("Examples:"), "{command} shows no example");
    }
}

/// However the name of an input is spelled, no result replaces it.
#[test]
fn no_option_replaces_an_input() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let text =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/fat-tree-4-2.ibnetdiscover")).unwrap();
    std::fs::write(at("own.ib"), &text).unwrap();
    std::fs::write(at("after.ib"), &text).unwrap();
    std::os::unix::fs::symlink("own.ib", at("symbolic")).unwrap();
    std::fs::hard_link(at("own.ib"), at("hard")).unwrap();
    std::fs::create_dir(at("routed")).unwrap();
    std::fs::hard_link(at("own.ib"), at("routed/guid2lid")).unwrap();
    let removal = ["--remove-switch", "spine-1", "--planned"];
    let cases: [(&[&str], &[&str]); 12] = [
        (&["what-if", "own.ib"], &["--csv"]),
        (&["what-if", "own.ib"], &["--csv", "losses.csv", "--report"]),
        (&["what-if", "--names", "after.ib", "own.ib"], &["--csv"]),
        (&["simulate", "own.ib"], &["--report"]),
        (&["simulate", "own.ib"], &["--certificate", "c", "--plan"]),
        (&["plan", "own.ib"], &["-o"]),
        (&["plan", "after.ib", "own.ib"], &["-o"]),
        (&["plan", "own.ib"], &["-o", "plan", "--certificate"]),
        (&["route", "own.ib"], &["--report"]),
        (&["route", "own.ib"], &["--lfts"]),
        (&["fabric", "convert", "own.ib"], &["--to", "json", "-o"]),
        (&["lids", "own.ib"], &["--guid2lid"]),
    ];
    let run = |arguments: &[&str]| {
        let output = command(arguments).current_dir(&folder).output().unwrap();
        let said = stderr(&output);
        let shown: String = said.lines().next().unwrap_or_default().chars().take(300).collect();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {shown}");
        assert!(said.contains("is an input, and an option names it for a result"), "{arguments:?}: {shown}");
        assert_eq!(std::fs::read(at("own.ib")).unwrap(), text, "{arguments:?}");
        let mut names: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["after.ib", "hard", "own.ib", "routed", "symbolic"], "{arguments:?}");
    };
    for (asked, option) in cases {
        let change: &[&str] = match asked {
            ["simulate", ..] | ["plan", _] => &removal,
            _ => &[],
        };
        for name in ["own.ib", "./own.ib", "symbolic", "hard"] {
            run(&[asked, change, option, &[name]].concat());
        }
    }
    run(&["route", "own.ib", "-o", "routed"]);
    // A device may be both.
    let both =
        command(&["fabric", "convert", "own.ib", "--to", "dot", "-o", "/dev/null"]).current_dir(&folder).output();
    assert_eq!(both.unwrap().status.code(), Some(0));
}

/// Before anything is done: the fabric of these command lines is not even read where it need not be.
#[test]
fn what_cannot_be_written_together_or_there_is_refused_beforehand() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/fat-tree-4-2.ibnetdiscover")).unwrap();
    std::fs::write(folder.path().join("f.ib"), text).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let removal = ["simulate", "f.ib", "--remove-switch", "spine-1"];
    let cases: [(&[&str], &[&str], &str); 10] = [
        (&removal, &["--plan", "p", "--certificate", "folder/../p"], "--plan and --certificate both name folder/../p"),
        (&removal, &["--report", "x.html", "--dot", "x.html"], "--dot and --report both name x.html"),
        (&["plan", "none", "none"], &["-o", "p", "--certificate", "p"], "--output and --certificate both name p"),
        (&["what-if", "none"], &["--csv", "w", "--report", "w"], "--csv and --report both name w"),
        (&["reproduce", "seed-002"], &["--csv", "z", "--report", "z"], "--csv and --report both name z"),
        (&removal, &["--csv", "f.ib"], "f.ib is a file, and an input; --csv takes a folder"),
        (&removal, &["--csv", "file"], "file is a file; --csv takes a folder"),
        (&removal, &["--report", "folder"], "folder is a folder; --report takes a file"),
        (&["fabric", "convert", "f.ib", "--to", "json"], &["-o", "folder"], "folder is a folder"),
        (&["what-if", "f.ib"], &["--csv", "f.ib"], "error: f.ib is an input, and an option names it"),
    ];
    for (asked, options, said) in cases {
        let output = command(&[asked, options].concat()).current_dir(&folder).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(said), "{options:?}: {}", stderr(&output));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 3, "{options:?}");
    }
    // What is no file may be named twice.
    let both = command(&["what-if", "f.ib", "--worst", "0", "--csv", "/dev/null", "--report", "/dev/null"]);
    assert_eq!({ both }.current_dir(&folder).output().unwrap().status.code(), Some(0));
}

/// Errors of the command line say what to give instead, in this program's own words.
#[test]
fn a_misspelt_option_is_answered_by_what_would_do() {
    const FABRIC: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/topologies/fat-tree-4-2.ibnetdiscover");
    let folder = tempfile::tempdir().unwrap();
    let other = path_text(&folder.path().join("ring.net")).to_string();
    done(&["fabric", "generate", "ring:4,1", "-o", &other]);
    let no_change = "error: say what changes: --remove-switch, --remove-link,";
    let cases: [(&[&str], &str); 20] = [
        (&["simulate", FABRIC, "--steady", "--warm-up", "5ms"], "a whole number of microseconds, such as 5000"),
        (&["simulate", FABRIC, "--steady", "--hoq-life", "1s"], "a whole number of nanoseconds, such as 5000"),
        (&["simulate", FABRIC, "--steady", "--seed", "abc"], "for '--seed <SEED>': expected a whole number"),
        (&["what-if", FABRIC, "--worst", "x"], "for '--worst <NUMBER>': expected a whole number"),
        (&["what-if", FABRIC, "--engine", "updn"], "tip: OpenSM's updn is up-down here"),
        (&["sm", "--engine", "ftree"], "tip: OpenSM's ftree is fat-tree here"),
        (&["sm", "--reserved-sl", "0"], "SL 0 cannot be reserved: it is the first of its half"),
        (&["sm", "--subnet-prefix", "ff00000000000000"], "expected a prefix of unicast GIDs, such as fec0000000000001"),
        (&["sm", "--vls", "2", "--reserved-sl", "7"], "three in all, and the links have 2: raise --vls"),
        (&["sm", "--subnet-prefix", "0"], "expected a prefix of unicast GIDs, such as fec0000000000001"),
        (&["sm", "--standby-poll", "0"], "expected 0.1 to 86400 seconds"),
        (
            &["simulate", FABRIC, "--remove-switch", "host-1"],
            "no node has the name `host-1`: give a description or a GUID\n",
        ),
        (&["simulate", FABRIC, "--remove-host", "host-1"], "there are host-1 HCA-1, "),
        (&["simulate", FABRIC, &other], "the two files have no node in common"),
        (&["plan", FABRIC, &other], "the two files have no node in common"),
        (&["simulate", FABRIC], no_change),
        (&["plan", FABRIC], no_change),
        (
            &["fabric", "generate", "ring:4", "--speed", "FAST"],
            "expected one of SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR",
        ),
        (&["verify", "p"], "tip: `reconfig check` judges a plan"),
        (&["certify"], "tip: `reconfig check` judges a plan"),
    ];
    for (arguments, said) in cases {
        let output = reconfig(arguments);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {told}");
        assert!(told.contains(said), "{arguments:?}: {told}");
        assert!(!told.contains('\x1b') && !told.contains("invalid digit") && !told.contains("<--"), "{told}");
    }
}

/// Where the terminal is wide, no line of a paragraph ends early.
#[test]
fn paragraphs_of_help_are_wrapped_by_the_terminal_alone() {
    for (asked, line) in [
        (&["--help"][..], "RECONFIG_MAX_INPUT is the size limit for input files, in MiB [default: 1024]."),
        (&["watch", "--help"], "m shows and hides the facts of the manager. If the manager ends,"),
    ] {
        let output = command(asked).env("COLUMNS", "1000").output().unwrap();
        assert!(stdout(&output).contains(line), "{asked:?}: {}", stdout(&output));
    }
}

#[test]
fn completions_are_there_for_every_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(done(&["completions", shell]).contains("reconfig"), "{shell}");
    }
}

/// Every command has a page, under its full name, with the options that it takes.
#[test]
fn a_page_of_the_manual_is_there_for_every_command() {
    assert!(done(&["man"]).contains(".TH reconfig 1"));
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    done(&["man", pages.to_str().unwrap()]);
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    let help = done(&["--help"]);
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = listed.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let commands: Vec<&str> = commands.into_iter().filter(|name| !["", "help"].contains(name)).collect();
    assert!(commands.contains(&"simulate") && commands.len() > 10, "{commands:?}");
    for name in commands {
        assert!(page(&format!("reconfig-{name}.1")).contains("SYNOPSIS"), "{name}");
    }
    // What an option takes stands in its entry, and the synopsis does not list options as if they took nothing.
    let plan = page("reconfig-plan.1").replace("\\-", "-");
    assert!(plan.contains("[OPTIONS]") && plan.contains("--remove-link <NODE:PORT>"), "{plan}");
    for (name, option) in [("simulate", r"remove\-root"), ("fabric-generate", "output"), ("journal-show", "json")] {
        assert!(page(&format!("reconfig-{name}.1")).contains(option), "{name}");
    }
}

#[test]
fn colours_are_there_when_asked_for() {
    let output = reconfig(&["--color", "always", "fabric", "show", "no-such-file"]);
    assert!(stderr(&output).contains("\x1b["), "{}", stderr(&output));
}

#[test]
fn what_is_generated_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tree.ibnetdiscover");
    assert_eq!(done(&["fabric", "generate", "fat-tree:4,2", "-o", path_text(&file)]), "");
    let text = done(&["fabric", "show", path_text(&file)]);
    assert!(text.contains("switches     8 (8 × 8 ports)"), "{text}");
    let summary: Value = serde_json::from_str(&done(&["fabric", "show", path_text(&file), "--json"])).unwrap();
    assert_eq!(summary["schema"], "reconfig.fabric-summary/1");
    let summary = &summary["subnets"][0]["fabric"];
    assert_eq!((&summary["switches"], &summary["cas"], &summary["diameter"]), (&8.into(), &16.into(), &2.into()));
    assert_eq!(summary["links_by_rate"]["4xHDR"], 32);
}

#[test]
fn formats_follow_the_extension_the_option_or_the_default() {
    let folder = tempfile::tempdir().unwrap();
    let generated = done(&["fabric", "generate", "ring:4"]);
    for name in ["ring.ibnetdiscover", "ring.net", "ring.json"] {
        let file = folder.path().join(name);
        done(&["fabric", "generate", "ring:4", "-o", path_text(&file)]);
        let back = done(&["fabric", "convert", path_text(&file), "--to", "ibnetdiscover"]);
        if name != "ring.net" {
            assert_eq!(back, generated, "{name} read back is the ring");
        }
        let summary = done(&["fabric", "show", path_text(&file), "--json"]);
        let summary: Value = serde_json::from_str(&summary).unwrap();
        let summary = &summary["subnets"][0]["fabric"];
        assert_eq!((&summary["switches"], &summary["switch_links"]), (&4.into(), &4.into()), "{name}");
    }
    assert!(done(&["fabric", "generate", "ring:4", "--to", "dot"]).contains("--"));
    let json: Value = serde_json::from_str(&done(&["fabric", "generate", "ring:4", "--json"])).unwrap();
    assert!(json.is_object());
}

#[test]
fn diff_answers_no_where_something_changed() {
    let folder = tempfile::tempdir().unwrap();
    let (ring, wide) = (folder.path().join("ring.json"), folder.path().join("wide.json"));
    done(&["fabric", "generate", "ring:4", "-o", path_text(&ring)]);
    done(&["fabric", "generate", "ring:4", "--width", "12x", "-o", path_text(&wide)]);
    assert_eq!(done(&["fabric", "diff", path_text(&ring), path_text(&ring)]), "no difference\n");
    let output = reconfig(&["fabric", "diff", path_text(&ring), path_text(&wide)]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), ""));
    assert!(stdout(&output).contains("link rates changed: 8"), "{}", stdout(&output));
    let output = reconfig(&["fabric", "diff", path_text(&ring), path_text(&wide), "--json"]);
    let difference: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!((&difference["same"], output.status.code()), (&false.into(), Some(1)));
    assert_eq!(difference["rates"].as_array().unwrap().len(), 8);
}

#[test]
fn a_fabric_is_read_from_standard_input() {
    let generated = done(&["fabric", "generate", "ring:4"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ring");
    std::fs::write(&file, generated).unwrap();
    let input = std::fs::File::open(&file).unwrap();
    let output = command(&["fabric", "show", "-"]).stdin(input).output().unwrap();
    assert!(stdout(&output).contains("switches     4"), "{}", stderr(&output));
}

#[test]
fn a_file_is_replaced_whole_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.json");
    std::fs::write(&file, "what was there").unwrap();
    let failed = reconfig(&["fabric", "generate", "ring:2", "-o", path_text(&file)]);
    assert_eq!(failed.status.code(), Some(2));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "what was there");
    done(&["fabric", "generate", "ring:3", "-o", path_text(&file)]);
    assert!(std::fs::read_to_string(&file).unwrap().starts_with('{'));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    assert_eq!(done(&["fabric", "generate", "ring:3", "--to", "json", "-o", "/dev/null"]), "");
}

#[test]
fn a_file_called_dash_is_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = command(arguments).current_dir(folder.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "{arguments:?} made a file");
        output
    };
    let file = folder.path().join("ring.ibnetdiscover");
    done(&["fabric", "generate", "ring:4,1", "-o", path_text(&file)]);
    let fabric = path_text(&file);
    for arguments in [&["fabric", "generate", "ring:4,1", "-o", "-"][..], &["fabric", "convert", fabric, "-o", "-"]] {
        assert_eq!(stdout(&run(arguments)), std::fs::read_to_string(&file).unwrap());
    }
    // What a command has to say besides goes to standard error.
    let output = run(&["route", fabric, "--fdbs", "-"]);
    assert!(
        stdout(&output).starts_with("osm_ucast_mgr_dump") || stdout(&output).contains("Switch"),
        "{}",
        stdout(&output)
    );
    assert!(stderr(&output).contains("proved") && !stdout(&output).contains("proved"), "{}", stderr(&output));
    let output = run(&["lids", fabric, "--guid2lid", "-", "--json"]);
    assert!(stdout(&output).starts_with("0x"), "{}", stdout(&output));
    let report: Value = serde_json::from_str(stderr(&output)).unwrap();
    assert_eq!(report["files"][0], "standard output");
    let output = reconfig(&["route", fabric, "--fdbs", "-", "--lfts", "-"]);
    assert_eq!((output.status.code(), stdout(&output)), (Some(2), ""), "{}", stderr(&output));
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let mut child = command(&["fabric", "generate", "three-level:18,18,18,18,18"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
}

#[test]
fn a_log_filter_that_cannot_be_read_is_wrong_usage() {
    let run = |filter: &str| command(&["fabric", "generate", "ring:4"]).env("RECONFIG_LOG", filter).output().unwrap();
    for filter in ["a=b=c", "]][[", "debgu", "info,reconfig::sim:trace debug", "=debug", "reconfig=loud", "info,,warn "]
    {
        let output = run(filter);
        assert_eq!(output.status.code(), Some(2), "{filter}");
        let said = stderr(&output);
        assert!(said.contains(&format!("cannot read RECONFIG_LOG=`{filter}`")), "{said}");
        assert!(said.contains("expected levels such as `debug,reconfig::sim=trace`"), "{said}");
    }
    for filter in ["warn", "error,reconfig::sim=trace", "reconfig::sim", "tokio=off", "off", "0"] {
        assert_eq!(run(filter).status.code(), Some(0), "{filter}");
    }
}

/// A topology beside which lies a system file that cannot be read, for a type that it has or does not have.
#[test]
fn a_system_file_that_cannot_be_read_stops_who_needs_it() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("leaf.ibnl", "TOPSYSTEM LEAF\nNODE SW 4 Chip U1\n  1 -> P1\n  2 -> P2\n");
    write("broken.ibnl", "TOPSYSTEM HOST\nNODE\n");
    write("two.topo", "LEAF a\n  P1 -> LEAF b P1\n");
    write("host.topo", "LEAF a\n  P1 -> HOST b P1\n");
    let show = |topology: &str, named: bool| {
        let (file, systems) = (folder.path().join(topology), path_text(folder.path()));
        let options = if named { vec!["--systems", systems] } else { vec![] };
        let output = reconfig(&[&["fabric", "show", path_text(&file)], &options[..]].concat());
        (output.status.code(), stderr(&output).to_string())
    };
    let (code, told) = show("two.topo", false);
    assert!(code == Some(0) && told.contains("broken.ibnl:2") && told.contains("left out"), "{code:?} {told}");
    let (code, told) = show("host.topo", false);
    assert!(
        code == Some(2) && told.contains("broken.ibnl:2") && told.contains("describes type HOST"),
        "{code:?} {told}"
    );
    let (code, told) = show("two.topo", true);
    assert!(code == Some(2) && told.contains("broken.ibnl:2") && !told.contains("left out"), "{code:?} {told}");
}

#[test]
fn a_topology_in_utf_16_or_in_a_list_finds_its_system_files() {
    let (folder, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let topology = "LEAF a\r\n  P1 -> LEAF b P1\r\n";
    write("two.topo", topology.as_bytes());
    let wide: Vec<u8> = std::iter::once(0xfeff).chain(topology.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    write("wide.topo", &wide);
    write("all.subnets.yaml", b"subnets:\n  - name: only\n    fabric: wide.topo\n");
    let systems = "TOPSYSTEM LEAF\nNODE SW 4 Chip U1\n  1 -> P1\n";
    let show = |file: &str, named: bool| {
        let (file, options) = (folder.path().join(file), [&["--systems", path_text(others.path())][..], &[]]);
        let output = reconfig(&[&["fabric", "show", path_text(&file)], options[usize::from(!named)]].concat());
        (output.status.code(), stderr(&output).to_string())
    };
    for file in ["wide.topo", "all.subnets.yaml"] {
        let (code, told) = show(file, false);
        assert!(code == Some(2) && told.contains("describes type LEAF"), "{file}: {code:?} {told}");
        let (code, told) = show(file, true);
        assert!(code == Some(2) && told.contains("no system file (*.ibnl) in it"), "{file}: {code:?} {told}");
    }
    std::fs::write(others.path().join("leaf.ibnl"), systems).unwrap();
    for file in ["wide.topo", "all.subnets.yaml"] {
        assert_eq!(show(file, true).0, Some(0), "{file}: {}", show(file, true).1);
    }
    write("leaf.ibnl", systems.as_bytes());
    for file in ["two.topo", "wide.topo", "all.subnets.yaml"] {
        assert_eq!(show(file, false).0, Some(0), "{file}: {}", show(file, false).1);
    }
}

#[test]
fn the_installer_removes_what_it_installed_without_the_program() {
    let (tree, prefix) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let packaging = tree.path().join("packaging");
    std::fs::create_dir(&packaging).unwrap();
    for file in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging")).unwrap() {
        let file = file.unwrap();
        std::fs::copy(file.path(), packaging.join(file.file_name())).unwrap();
    }
    let below = |destination: Option<&str>, arguments: &[&str]| {
        let mut command = Command::new("bash");
        command.arg(packaging.join("install")).args(arguments).env_remove("DESTDIR").env_remove("CARGO_TARGET_DIR");
        let output = command.envs(destination.map(|folder| ("DESTDIR", folder))).output().unwrap();
        (output.status.code(), stderr(&output).to_string())
    };
    let run = |arguments: &[&str]| below(None, arguments);
    let found = |folder: &Path| {
        let output = Command::new("find").args([path_text(folder), "-type", "f"]).output().unwrap();
        stdout(&output).trim().to_string()
    };
    let into = path_text(prefix.path());
    let (code, told) = run(&[into]);
    assert!(code == Some(2) && told.contains("there is no target/release/reconfig"), "{told}");
    let release = tree.path().join("target/release");
    std::fs::create_dir_all(&release).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_reconfig"), release.join("reconfig")).unwrap();
    assert_eq!(run(&[into]), (Some(0), String::new()));
    let another = prefix.path().join("share/man/man1/other.1");
    std::fs::write(&another, "").unwrap();
    // A package's own root, whose paths the files must not name; options that are there already stay as they are.
    let image = tempfile::tempdir().unwrap();
    let options = image.path().join("etc/default/reconfig-sm");
    std::fs::create_dir_all(options.parent().unwrap()).unwrap();
    std::fs::write(&options, "RECONFIG_OPTIONS=").unwrap();
    let destination = Some(path_text(image.path()));
    assert_eq!(below(destination, &["--service", "/usr"]), (Some(0), String::new()));
    let unit = std::fs::read_to_string(image.path().join("usr/lib/systemd/system/reconfig-sm.service")).unwrap();
    assert!(unit.contains("\nExecStart=/usr/bin/reconfig sm "), "{unit}");
    assert_eq!(std::fs::read_to_string(&options).unwrap(), "RECONFIG_OPTIONS=");

    std::fs::remove_dir_all(tree.path().join("target")).unwrap();
    assert_eq!(run(&["--uninstall", into]), (Some(0), String::new()));
    assert_eq!(found(prefix.path()), path_text(&another), "another program's page stays");
    assert_eq!(below(destination, &["--uninstall", "/usr"]), (Some(0), String::new()));
    assert_eq!(found(image.path()), path_text(&options));
}
