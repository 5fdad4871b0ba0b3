//! Names of nodes beside a capture: a node-name-map as infiniband-diags and OpenSM read it, or a list of nodes.
//!
//! ```text
//! # names of the spines
//! 0x0002c90300a1b2c0  "spine-1"   # row 4
//! Switch  : 0x0002c90300a1b2d0 ports 36 "leaf-1" enhanced port 0 lid 5 lmc 0
//! ```
//!
//! The second form is a line of `ibswitches`, `ibhosts` or `ibnetdiscover -l`. Unlike the tools, which pass over what
//! they cannot read, this reader refuses it.

use super::cursor::Cursor;
use super::diagnostic::{ReadError, SourceLine, SourceText, Span};
use super::encoding;
use crate::fabric::Fabric;
use crate::ids::Guid;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;

/// Names of nodes by NodeGUID.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeNames(FxHashMap<Guid, String>);

impl NodeNames {
    /// The number of GUIDs that have a name.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing has a name.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of GUIDs that the fabric has.
    pub fn known(&self, fabric: &Fabric) -> usize {
        self.0.keys().filter(|&&guid| fabric.by_guid(guid).is_some()).count()
    }

    /// The fabric with these names as descriptions. A description that makes its node an aggregation node is kept,
    /// since it says more than a name.
    pub fn apply(&self, fabric: &Fabric) -> Fabric {
        fabric.with_descriptions(|node| self.0.get(&node.guid).map(String::as_str))
    }
}

/// Reads names of nodes; `file` is the name of the file in messages.
///
/// # Errors
/// Every line that states no name, or another name for a GUID that has one.
pub fn read_names(bytes: &[u8], file: &str) -> Result<NodeNames, ReadError> {
    let text = encoding::text(bytes, file)?;
    let source = SourceText { file, text: &text.text };
    encoding::check_lines(source)?;
    let mut names: FxHashMap<Guid, (&str, Span)> = FxHashMap::default();
    let mut faults: Option<ReadError> = None;
    for line in source.lines() {
        let fault = read_line(source, line, &mut names).err();
        match (&mut faults, fault) {
            (_, None) => {}
            (Some(all), Some(fault)) => all.join(fault),
            (none, fault) => *none = fault,
        }
    }
    match faults {
        Some(faults) => Err(faults),
        None => Ok(NodeNames(names.into_iter().map(|(guid, (name, _))| (guid, name.to_string())).collect())),
    }
}

fn read_line<'a>(
    source: SourceText<'a>,
    line: SourceLine<'a>,
    names: &mut FxHashMap<Guid, (&'a str, Span)>,
) -> Result<(), ReadError> {
    let mut cursor = Cursor::new(source, line);
    if cursor.blanks() || cursor.rest().starts_with('#') {
        return Ok(());
    }
    let is_list = ["Switch", "Ca", "Rt"].iter().any(|kind| cursor.eat(kind));
    if is_list {
        cursor.blanks();
        cursor.expect(":", "`:` and the node's GUID")?;
        cursor.blanks();
    }
    let before = cursor.clone();
    if !cursor.rest().starts_with("0x") {
        return Err(cursor.unexpected("`0x` and a node's GUID, then its name in double quotes"));
    }
    let stated = cursor.guid()?;
    let guid = stated.value.ok_or_else(|| before.unexpected("a GUID other than 0"))?;
    cursor.blanks();
    if is_list && cursor.eat("ports ") {
        cursor.port_number()?;
        cursor.blanks();
    }
    let before = cursor.clone();
    let name = cursor.quoted("the node's name in double quotes")?;
    if name.value.trim().is_empty() {
        return Err(before.unexpected("a name that is not empty"));
    }
    if !is_list && !cursor.blanks() && !cursor.rest().starts_with('#') {
        return Err(cursor.unexpected("the end of the line or a `#` comment"));
    }
    match names.entry(guid) {
        Entry::Vacant(slot) => _ = slot.insert((name.value, name.at)),
        Entry::Occupied(known) if known.get().0 == name.value => {}
        Entry::Occupied(known) => {
            let problem = format!("two names for node {guid}");
            let other = (known.get().1, "named here already");
            return Err(source.clash(name.at, problem, "expected each GUID once", other));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::format::read;

    #[test]
    fn maps_and_lists_name_nodes() {
        let map = "# spines\n\n 0x10 \"spine-1\" # row 4\n0x99\t\"gone\"\nSwitch\t: 0x0000000000000011 ports 36 \"leaf 1\" base port 0 lid 5 lmc 0\n";
        let names = read_names(map.as_bytes(), "map").unwrap_or_else(|error| panic!("{}", error.render(false)));
        let text = "Switch 4 \"S-0000000000000010\" # \"MF0;sx\"\nSwitch 4 \"S-0000000000000011\" # \"MF0;sx\"\nCa 1 \"H-0000000000000012\" # \"host\"\n";
        let fabric = read(text.as_bytes(), "test").expect("a fabric");
        assert_eq!((names.len(), names.known(&fabric)), (3, 2));
        let named: Vec<String> = names.apply(&fabric).nodes().map(|(_, node)| node.description.clone()).collect();
        assert_eq!(named, ["spine-1", "leaf 1", "host"]);
    }

    #[test]
    fn a_description_that_makes_an_aggregation_node_is_kept() {
        let text = "Ca 1 \"H-0000000000000012\" # \"Mellanox Technologies Aggregation Node\"\n";
        let fabric = read(text.as_bytes(), "test").expect("a fabric");
        let names = read_names(b"0x12 \"an-1\"\n", "map").expect("a map");
        assert!(names.apply(&fabric) == fabric);
    }

    #[test]
    fn what_states_no_name_is_refused_with_its_place() {
        for (map, line, column, expected) in [
            ("0x10 \"a\"\n0x10 \"b\"\n", 2, 6, "expected each GUID once"),
            ("# x\n0x10 spine-1\n", 2, 6, "expected the node's name in double quotes"),
            ("spine-1 \"a\"\n", 1, 1, "expected `0x` and a node's GUID, then its name in double quotes"),
            ("0x10 \"a\" b\n", 1, 10, "expected the end of the line or a `#` comment"),
            ("0x10 \"\"\n", 1, 6, "expected a name that is not empty"),
            ("0x0 \"a\"\n", 1, 1, "expected a GUID other than 0"),
        ] {
            let error = read_names(map.as_bytes(), "map").expect_err(map);
            assert_eq!((error.line(), error.column(), error.expected()), (line, column, expected), "{map}");
        }
        let both = read_names(b"x\ny\n", "map").expect_err("two faults");
        assert_eq!(both.count(), 2);
    }
}
