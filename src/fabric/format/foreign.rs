//! Files that hold no topology that is read: what they look like, and which command makes a readable one.

use super::Format;
use super::diagnostic::{ReadError, SourceText, Span};

/// Kinds of text that people take for a capture.
struct Kind {
    looks: &'static str,
    mend: &'static str,
    /// Whether a line is one of its first few typical ones.
    line: fn(&str) -> bool,
}

/// Forwarding tables go beside a capture.
const TABLES: &str = "expected a topology: capture one with `ibnetdiscover > FILE`, and give the tables beside it (`reconfig audit FILE --lfts TABLES`)";
const FDBS: &str = "expected a topology: capture one with `ibnetdiscover > FILE`, and give the tables beside it (`reconfig audit FILE --fdbs TABLES`)";
const NAMES: &str =
    "expected a topology: capture one with `ibnetdiscover > FILE`, and give the names beside it (`--names NAMES`)";
const CAPTURE: &str = "expected a topology: `ibnetdiscover > FILE` on any host of the subnet captures one";

const KINDS: [Kind; 15] = [
    Kind {
        looks: "a list of nodes without cables, as ibnetdiscover -l, ibswitches or ibhosts prints it",
        mend: "expected cables too: `ibnetdiscover > FILE` captures the whole fabric",
        line: |line| {
            ["Ca", "Switch", "Rt", "Router"]
                .iter()
                .any(|kind| line.strip_prefix(kind).is_some_and(|rest| rest.trim_start().starts_with(": 0x")))
        },
    },
    Kind {
        looks: "forwarding tables, as ibroute, dump_fts or OpenSM print them (opensm-lfts.dump)",
        mend: TABLES,
        line: |line| line.starts_with("Unicast lids ["),
    },
    Kind {
        looks: "multicast tables, as ibroute -M or dump_fts -M print them",
        mend: CAPTURE,
        line: |line| line.starts_with("Multicast mlids ["),
    },
    Kind {
        looks: "forwarding tables, as OpenSM or ibdiagnet write them (opensm.fdbs)",
        mend: FDBS,
        line: |line| line.contains("dump_ucast_routes: Switch"),
    },
    Kind {
        looks: "multicast tables, as OpenSM writes them (opensm.mcfdbs)",
        mend: CAPTURE,
        line: |line| line.starts_with("Switch 0x") && line.trim_end().split(' ').count() == 2,
    },
    Kind {
        looks: "ibdiagnet2's net_dump_ext, which names no neighbours",
        mend: "expected a topology: read the ibdiagnet2.lst, ibdiagnet2.db_csv or ibdiagnet2.net_dump beside it",
        line: |line| line.starts_with("Ty") && line.contains(": #IB") && line.contains(": LWA"),
    },
    Kind {
        looks: "a system file of ibdm (IBNL)",
        mend: "expected a topology: name the folder of system files beside one (`--systems FOLDER`)",
        line: |line| line.starts_with("TOPSYSTEM ") || line.starts_with("NODE SW ") || line.starts_with("NODE CA "),
    },
    Kind {
        looks: "a map from GUIDs to names (node-name-map)",
        mend: NAMES,
        line: |line| line.starts_with("0x") && line.split_whitespace().nth(1).is_some_and(|word| word.starts_with('"')),
    },
    Kind { looks: "Slurm's topology.conf", mend: CAPTURE, line: |line| line.starts_with("SwitchName=") },
    Kind {
        looks: "the state of one host's ports (ibstat, ibv_devinfo, ibstatus)",
        mend: CAPTURE,
        line: |line| line.starts_with("CA '") || line.starts_with("hca_id:") || line.starts_with("Infiniband device '"),
    },
    Kind {
        looks: "a report of errors (ibqueryerrors)",
        mend: "expected a topology: `ibnetdiscover > FILE` or `iblinkinfo > FILE` captures one",
        line: |line| line.starts_with("Errors for "),
    },
    Kind {
        looks: "a route of one packet (ibtracert)",
        mend: CAPTURE,
        line: |line| line.starts_with("From ca {") || line.starts_with("From switch {"),
    },
    Kind {
        looks: "records of subnet administration (saquery)",
        mend: CAPTURE,
        line: |line| line.trim_end().ends_with("Record dump:"),
    },
    Kind {
        looks: "a log of OpenSM",
        mend: "expected a topology: `opensm -D 0x43` writes opensm-subnet.lst, which is one",
        line: |line| line.contains("] 0x0") && line.contains(" -> ") && line.contains(": "),
    },
    Kind {
        looks: "XML, as hwloc or a fabric manager of another technology writes it",
        mend: CAPTURE,
        line: |line| line.starts_with("<?xml") || line.starts_with("<html") || line.starts_with("<!DOCTYPE"),
    },
];

/// The lines that are looked at.
const LOOKED_AT: usize = 2000;

/// The format of a text that holds a topology.
///
/// # Errors
/// It looks like something else.
pub(super) fn recognise(source: SourceText<'_>) -> Result<Format, ReadError> {
    if let Some(format) = Format::known(source.text) {
        return Ok(format);
    }
    if let Some((problem, mend)) = every_line_marked(source) {
        return Err(source.error(Span { start: 0, end: 0 }, problem, mend));
    }
    let lines = || source.lines().take(LOOKED_AT);
    let found = lines().find_map(|line| KINDS.iter().find(|kind| (kind.line)(line.text)).map(|kind| (line, kind)));
    if let Some((line, kind)) = found {
        return Err(source.error(
            line.span(),
            format!("the file is no topology: it looks like {}", kind.looks),
            kind.mend,
        ));
    }
    // Comments alone, or a part of a capture, are reported by the reader of captures.
    let is_capture = |text: &str| {
        let text = text.trim_start();
        text.is_empty()
            || text.starts_with('#')
            || text.starts_with("[1]")
            || text.contains("guid=")
            || text.contains("id=0x")
    };
    match lines().find(|line| !is_capture(line.text)) {
        Some(line) if !lines().any(|line| line.text.contains("id=0x")) => {
            let problem = "the file is no topology, and looks like nothing that is known";
            let mend = "expected a topology in any form of docs/READING.md: `ibnetdiscover > FILE` captures one";
            Err(source.error(Span { start: line.start, end: line.start }, problem, mend))
        }
        _ => Ok(Format::Ibnetdiscover),
    }
}

/// What stands before every line of a topology, as mail and `cat -n` put it, and how to remove it.
fn every_line_marked(source: SourceText<'_>) -> Option<(&'static str, &'static str)> {
    let quoted = |line: &'_ str| line.strip_prefix('>').map(|rest| rest.trim_start().to_string());
    let numbered = |line: &'_ str| {
        let rest = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.len() < line.trim_start().len()).then(|| rest.trim_start().to_string())
    };
    let is_topology = |plain: &dyn Fn(&str) -> Option<String>| {
        let mut lines = source.lines().map(|line| line.text).filter(|line| !line.trim().is_empty()).take(LOOKED_AT);
        let plain: Option<Vec<String>> = lines.by_ref().map(plain).collect();
        plain.is_some_and(|lines| Format::known(&lines.join("\n")).is_some())
    };
    if is_topology(&quoted) {
        return Some((
            "every line is quoted with `>`, as mail does it",
            "expected a topology as the tool printed it: `sed 's/^> *//' FILE` removes the marks",
        ));
    }
    is_topology(&numbered).then_some((
        "every line begins with its number, as `cat -n` prints it",
        "expected a topology as the tool printed it: `sed 's/^ *[0-9]*[: \\t]*//' FILE` removes the numbers",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_before_every_line_are_told_with_the_way_to_remove_them() {
        for (text, expected) in [
            ("> vendid=0x2c9\n> switchguid=0x10(10)\n>\n> Switch\t4 \"S-0000000000000010\" # x\n", "quoted"),
            ("     1\tvendid=0x2c9\n     2\tSwitch\t4 \"S-0000000000000010\" # x\n", "number"),
        ] {
            let error = recognise(SourceText { file: "test", text }).expect_err("no topology as it is");
            assert!(error.problem().contains(expected) && error.expected().contains("sed"), "{error}");
        }
    }
}
