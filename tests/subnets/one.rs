//! A list of one subnet is that subnet: every command gives the same answer for the list as for the fabric that it
//! names.

use super::command::reconfig;
use std::path::Path;

const FABRIC: &str = "fixtures/topologies/fat-tree-4-2.ibnetdiscover";

/// Commands on `FABRIC`.
const COMMANDS: [&[&str]; 13] = [
    &["fabric", "show", FABRIC],
    &["fabric", "convert", FABRIC],
    &["fabric", "convert", FABRIC, "--to", "dot"],
    &["fabric", "diff", FABRIC, FABRIC],
    &["lids", FABRIC, "--json"],
    &["route", FABRIC, "--root", "spine-2", "--subnet", "-"],
    &["route", FABRIC, "--engine", "fat-tree", "--worst-permutation"],
    &["plan", FABRIC, FABRIC],
    &["simulate", FABRIC, "--steady"],
    &["audit", FABRIC],
    &["audit", FABRIC, "--engine", "up-down"],
    &["simulate", FABRIC, "--add-switch", "spine-4", "--after", "100", "--json"],
    &["simulate", FABRIC, "--remove-root", "--compare", "--planned", "--load", "0.01", "--after", "100"],
];

/// The exit code of a command, and the lines that it prints, on standard output and on standard error, without its
/// clock.
fn answer(arguments: &[&str]) -> Vec<String> {
    let output = reconfig(arguments);
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let lines = printed.iter().flat_map(|text| text.lines()).filter(|line| !times(line)).map(str::to_string);
    std::iter::once(format!("{:?}", output.status.code())).chain(lines).collect()
}

/// Whether a line gives wall-clock time.
fn times(line: &str) -> bool {
    ["_ns\":", "time  "].iter().any(|part| line.contains(part))
}

#[test]
fn a_list_of_one_answers_as_the_fabric_that_it_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = folder.path().join("one.subnets.yaml");
    let fabric = Path::new(env!("CARGO_MANIFEST_DIR")).join(FABRIC);
    let text = format!("subnets:\n- name: subnet\n  prefix: '0xfe80000000000000'\n  fabric: {}\n", fabric.display());
    std::fs::write(&list, text).expect("a file in a temporary folder");
    let list = list.to_str().expect("UTF-8");
    for arguments in COMMANDS {
        let of_list: Vec<&str> = arguments.iter().map(|&word| if word == FABRIC { list } else { word }).collect();
        let (of_list, of_fabric) = (answer(&of_list), answer(arguments));
        for (listed, alone) in of_list.iter().zip(&of_fabric) {
            assert_eq!(listed.replace(list, FABRIC), *alone, "{arguments:?}");
        }
        assert_eq!(of_list.len(), of_fabric.len(), "{arguments:?}: lines");
    }
}
