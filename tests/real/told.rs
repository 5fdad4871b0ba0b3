//! What the tools print, read: as much as the checks need, and nothing skipped in silence.

use reconfig::ids::{Guid, Lid, PortNum, Sl, Vl};
use reconfig::tables::SlToVl;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Fields as infiniband-diags print them: `Name:......value` or `name......value`, one a line.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fields(BTreeMap<String, String>);

impl Fields {
    /// Of one record.
    pub fn read(text: &str) -> Fields {
        let field = |line: &str| {
            let (name, value) = line.trim().split_once("..")?;
            Some((name.trim_end_matches(':').to_string(), value.trim_start_matches('.').to_string()))
        };
        Fields(text.lines().filter_map(field).collect())
    }

    /// A field's text.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).unwrap_or_else(|| panic!("no field {name} among {:?}", self.0.keys()))
    }

    /// A field's number, decimal or `0x` and hexadecimal.
    pub fn number(&self, name: &str) -> u64 {
        let text = self.text(name);
        let number = match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => text.parse(),
        };
        number.unwrap_or_else(|error| panic!("field {name} is {text:?}: {error}"))
    }

    /// A field that is a LID.
    pub fn lid(&self, name: &str) -> Lid {
        Lid(self.number(name) as u16)
    }

    /// A field that is a GUID.
    pub fn guid(&self, name: &str) -> Guid {
        Guid(self.number(name))
    }
}

/// The records of a saquery, by their headline, for example `NodeRecord dump:`.
pub fn records<'a>(text: &'a str, headline: &str) -> Vec<&'a str> {
    text.split(headline).skip(1).collect()
}

/// Numbers, separated by bars, behind the first of them.
fn barred<T: FromStr>(text: &str) -> Vec<T> {
    text.split('|').filter_map(|part| part.trim().parse().ok()).collect()
}

/// An SL-to-VL table of sixteen numbers.
fn lanes(text: &str) -> SlToVl {
    let lanes: Vec<u8> = barred(text);
    assert_eq!(lanes.len(), 16, "no sixteen lanes: {text}");
    SlToVl::from_fn(|sl| Vl::masked(lanes[sl.index()]))
}

/// What `smpquery sl2vl` prints: the table of each input of an output.
pub fn sl_to_vl(text: &str) -> BTreeMap<(PortNum, PortNum), SlToVl> {
    let row = |line: &str| {
        let (ports, table) = line.strip_prefix("ports: in")?.split_once(':')?;
        let (input, output) = ports.split_once(", out")?;
        let port = |text: &str| PortNum(text.trim().parse().unwrap_or_else(|error| panic!("{line}: {error}")));
        Some(((port(input), port(output)), lanes(table)))
    };
    text.lines().filter_map(row).collect()
}

/// What `saquery SL2VL` prints: its tables by LID, input and output.
pub fn sl_to_vl_records(text: &str) -> BTreeMap<(Lid, PortNum, PortNum), SlToVl> {
    let record = |text: &&str| {
        let fields = Fields::read(text);
        let port = |name| PortNum(fields.number(name) as u8);
        let table = text.lines().find_map(|line| line.trim().strip_prefix("VL:")).expect("a row of lanes");
        ((fields.lid("LID"), port("InPort"), port("OutPort")), lanes(table))
    };
    records(text, "SL2VLTableRecord dump:").iter().map(record).collect()
}

/// What `saquery LFTR` prints of one block: (LID, port), 255 for no route.
pub fn lft_block(text: &str) -> Vec<(Lid, PortNum)> {
    let entry = |line: &str| {
        let (lid, port) = line.trim().split_once('\t')?;
        Some((Lid(lid.parse().ok()?), PortNum(port.parse().ok()?)))
    };
    text.lines().filter_map(entry).collect()
}

/// What `ibtracert` prints: the port out of each node on the way, and the node's GUID at the other end of the link.
pub fn trace(text: &str) -> Vec<(PortNum, Guid, PortNum)> {
    let hop = |line: &str| {
        let (out, rest) = line.strip_prefix('[')?.split_once(']')?;
        let (guid, rest) = rest.split_once('{')?.1.split_once('}')?;
        let input = rest.strip_prefix('[')?.split_once(']')?.0;
        Some((PortNum(out.parse().ok()?), guid.parse().ok()?, PortNum(input.parse().ok()?)))
    };
    let lines = text.lines().filter(|line| line.starts_with('['));
    lines.map(|line| hop(line).unwrap_or_else(|| panic!("no hop: {line}"))).collect()
}

/// A path, as `saquery PR` tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Path {
    pub slid: Lid,
    pub dlid: Lid,
    pub sl: Sl,
}

/// Every path that `saquery PR` tells.
pub fn paths(text: &str) -> Vec<Path> {
    let path = |text: &&str| {
        let fields = Fields::read(text);
        let sl = Sl::new(fields.number("sl") as u8).expect("a service level below 16");
        Path { slid: fields.lid("slid"), dlid: fields.lid("dlid"), sl }
    };
    records(text, "PathRecord dump:").iter().map(path).collect()
}

/// What `sminfo` prints of the master: its LID, port GUID, priority and state.
pub fn sminfo(text: &str) -> (Lid, Guid, u8, String) {
    let after = |word: &str| {
        let rest = text.split_once(word).unwrap_or_else(|| panic!("no {word:?} in {text}")).1;
        rest.trim_start().split([' ', ',', '\n']).next().unwrap_or_default().to_string()
    };
    let fault = |what: &str| panic!("no {what} in {text}");
    let lid = after("sm lid").parse().unwrap_or_else(|_| fault("LID"));
    let guid = after("sm guid").parse().unwrap_or_else(|_| panic!("no GUID in {text}"));
    let priority = after("priority").parse().unwrap_or_else(|_| panic!("no priority in {text}"));
    let state = text.split_whitespace().last().unwrap_or_default().to_string();
    (Lid(lid), guid, priority, state)
}

#[test]
fn what_tools_print_is_read() {
    let fields =
        Fields::read("# Port info: Lid 8 port 1\nMkey:.....<not displayed>\nLid:.............8\nGuid:...0x0a\n");
    assert_eq!((fields.lid("Lid"), fields.guid("Guid"), fields.text("Mkey")), (Lid(8), Guid(10), "<not displayed>"));
    let told = "# SL2VL table: Lid 1\n#                 SL: | 0| 1|\n\
        ports: in  3, out  2: | 0| 1| 2| 3| 4| 5| 6| 7| 0| 1| 2| 3| 4| 5| 6| 7|\n";
    let table = SlToVl::from_fn(|sl| Vl::masked(sl.get() % 8));
    assert_eq!(sl_to_vl(told), [((PortNum(3), PortNum(2)), table)].into());
    let told = "From ca {0x10} portnum 1 lid 2-3 \"a\"\n[1] -> switch port {0x20}[4] lid 1-1 \"b\"\nTo switch {0x20}\n";
    assert_eq!(trace(told), [(PortNum(1), Guid(0x20), PortNum(4))]);
    let told = "sminfo: sm lid 1 sm guid 0x20, activity count 116 priority 5 state 3 SMINFO_MASTER\n";
    assert_eq!(sminfo(told), (Lid(1), Guid(0x20), 5, "SMINFO_MASTER".into()));
    let told = "PathRecord dump:\n\t\tdlid....................4\n\t\tslid....................2\n\t\tsl......................0x8\n";
    assert_eq!(paths(told), [Path { slid: Lid(2), dlid: Lid(4), sl: Sl::masked(8) }]);
    assert_eq!(lft_block("LFT Record dump:\n\t\tLID\tPort Number\n\t\t7\t255\n"), [(Lid(7), PortNum(255))]);
}
