//! UFM's list of cables (`.ndt`), as its NDT plugin reads it: values separated by commas below a line of column names.
//!
//! ```text
//! #StartDevice,StartPort,EndDevice,EndPort,LinkType
//! host-1,host-1 mlx5_0,leaf-1,Port 1, Data
//! leaf-1,Port 33,spine-1,Port 1, Data
//! ```
//!
//! A device with a port `Port N` is a switch, with as many ports as the highest one named; any other port is an adapter
//! of its own, with one port, named as the list names it. The list has no GUIDs, no LIDs and no rates. A port of a
//! director (`Blade 2_Port 1/7`) is refused, since the list does not state how its boards are wired.

use super::assemble::ParsedFabric;
use super::by_name::{NamedEnd, NamedFabric};
use super::diagnostic::{ReadError, SourceLine, Span, Spanned};
use super::ledger::FaultLedger;
use crate::fabric::NodeKind;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// Whether a line is the one of column names.
pub(super) fn is_header(line: &str) -> bool {
    line.contains("StartDevice") && line.contains("EndDevice") && line.contains(',')
}

/// Reads a list of cables.
pub(super) fn read<'a>(ledger: &mut FaultLedger<'a>) -> ParsedFabric<'a> {
    let mut reader = Reader { fabric: NamedFabric::new(ledger.source), by_name: FxHashMap::default(), columns: None };
    let mut heading_is_told = false;
    for line in ledger.source.lines() {
        if ledger.is_full() {
            break;
        }
        if line.text.trim().is_empty() {
            continue;
        }
        if is_header(line.text) {
            reader.columns = columns(line.text);
            if reader.columns.is_none() {
                heading_is_told = true;
                ledger.fault(ledger.source.error(line.span(), "a column is missing", COLUMNS));
            }
        } else if line.text.starts_with('#') {
            continue;
        } else if let Some(columns) = reader.columns {
            if let Err(fault) = reader.row(ledger, line, columns) {
                ledger.fault(fault);
            }
        } else if !std::mem::replace(&mut heading_is_told, true) {
            ledger.fault(ledger.source.error(line.span(), "no names of columns above", COLUMNS));
        }
    }
    let text = "the list has no rates: every link is taken as 4xQDR, and each port of a host as an adapter of its own";
    ledger.assume(Span { start: 0, end: 0 }, text, "");
    reader.fabric.finish(ledger)
}

/// What the line of column names must name.
const COLUMNS: &str = "expected StartDevice, StartPort, EndDevice and EndPort, as the first line names them";

/// Where a line has both devices and both ports.
fn columns(header: &str) -> Option<[usize; 4]> {
    let names: Vec<&str> =
        header.trim_start_matches('#').trim_start_matches("Fields:").split(',').map(str::trim).collect();
    let find = |name: &str| names.iter().position(|column| *column == name);
    Some([find("StartDevice")?, find("StartPort")?, find("EndDevice")?, find("EndPort")?])
}

struct Reader<'a> {
    fabric: NamedFabric<'a>,
    /// Switches by device, adapters by device and port.
    by_name: FxHashMap<(&'a str, &'a str), usize>,
    columns: Option<[usize; 4]>,
}

impl<'a> Reader<'a> {
    fn row(&mut self, ledger: &FaultLedger<'a>, line: SourceLine<'a>, columns: [usize; 4]) -> Result<(), ReadError> {
        let source = ledger.source;
        let values: Vec<Spanned<&str>> = split(line);
        let mut ends = [None, None];
        for (end, pair) in ends.iter_mut().zip([[columns[0], columns[1]], [columns[2], columns[3]]]) {
            let value = |at: usize| {
                let value = values.get(at).copied().filter(|value| !value.value.is_empty());
                value.ok_or_else(|| source.error(line.span(), "the line names no device or no port", COLUMNS))
            };
            *end = Some(self.end(ledger, value(pair[0])?, value(pair[1])?)?);
        }
        let [Some(own), Some(remote)] = ends else { return Ok(()) };
        self.fabric.link(own, remote, (None, None));
        Ok(())
    }

    fn end(
        &mut self,
        ledger: &FaultLedger<'a>,
        device: Spanned<&'a str>,
        port: Spanned<&'a str>,
    ) -> Result<NamedEnd, ReadError> {
        let at = port.at;
        if port.value.starts_with("Blade ") && port.value.contains("_Port ") {
            let problem = format!("`{}` is a director, whose inner cables the list does not name", device.value);
            let mend = "expected what runs: `ibnetdiscover > FILE` captures its boards too";
            return Err(ledger.source.error(at, problem, mend));
        }
        let Some(number) = port.value.strip_prefix("Port ") else {
            let fabric = &mut self.fabric;
            let name = match port.value.starts_with(device.value) {
                true => Cow::Borrowed(port.value),
                false => Cow::Owned(format!("{} {}", device.value, port.value)),
            };
            let add = || fabric.add(at, NodeKind::Ca, 1, name, None);
            let node = *self.by_name.entry((device.value, port.value)).or_insert_with(add);
            return Ok(NamedEnd { at, node, num: 1 });
        };
        let num = number.trim().parse().ok().filter(|num| (1..=254).contains(num)).ok_or_else(|| {
            ledger.source.error(at, format!("unexpected `{}`", port.value), "expected `Port 1` to `Port 254`")
        })?;
        let fabric = &mut self.fabric;
        let add = || fabric.add(device.at, NodeKind::Switch, num, device.value, None);
        let node = *self.by_name.entry((device.value, "")).or_insert_with(add);
        self.fabric.widen(node, num);
        Ok(NamedEnd { at, node, num })
    }
}

fn split(line: SourceLine<'_>) -> Vec<Spanned<&str>> {
    line.text.split(',').map(|value| line.part(value.trim())).collect()
}
