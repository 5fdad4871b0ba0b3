//! Numbers in readable form.

pub use reconfig::fabric::summary::grouped as count;

/// A time with three figures and its unit: `18.6 µs`.
pub fn duration(ns: u64) -> String {
    let value = ns as f64;
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => figures(value / 1e3, "µs"),
        1_000_000..1_000_000_000 => figures(value / 1e6, "ms"),
        _ => figures(value / 1e9, "s"),
    }
}

fn figures(value: f64, unit: &str) -> String {
    let decimals = match value {
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$} {unit}")
}

/// So many things, by the name of one: `1 wave`, `1 200 switches`, `0 dependencies`.
pub fn counted(number: u64, name: &str) -> String {
    let number_of = count(number);
    match name.strip_suffix('y') {
        _ if number == 1 => format!("{number_of} {name}"),
        Some(stem) => format!("{number_of} {stem}ies"),
        None if name.ends_with("ch") || name.ends_with("ss") => format!("{number_of} {name}es"),
        None => format!("{number_of} {name}s"),
    }
}

/// The size of a fabric: switches, end nodes by their name, links.
pub(super) fn size_of(switches: usize, (ends, name): (usize, &str), links: usize) -> String {
    let [switches, ends, links] = [switches, ends, links].map(|number| number as u64);
    format!("{}, {}, {}", counted(switches, "switch"), counted(ends, name), counted(links, "link"))
}

/// A latency; a dash where nothing was delivered, since whatever is delivered took some time.
pub(super) fn latency(ns: u64) -> String {
    if ns == 0 { "–".to_string() } else { duration(ns) }
}

/// A fraction as a percentage with one decimal; a small one with two figures, since it is not nothing.
pub fn percent(fraction: f64) -> String {
    let value = fraction * 100.0;
    let decimals = match value.abs() {
        size if size > 0.0 && size < 0.1 => (1.0 - size.log10().floor()) as usize,
        _ => 1,
    };
    format!("{value:.decimals$} %")
}

/// The engine of a change, or both where they differ.
pub(super) fn engine_pair(before: &str, after: Option<&str>) -> String {
    after.map_or_else(|| before.to_string(), |after| format!("{before} → {after}"))
}

/// The roots of both routings, or the one of both; nothing where neither has one.
pub(super) fn root_pair(before: Option<&str>, after: Option<&str>) -> String {
    let name = |root: Option<&str>| root.unwrap_or("none").to_string();
    match (before, after) {
        (None, None) => String::new(),
        (Some(stays), Some(same)) if stays == same => format!(", root {stays}"),
        // Tables in force name no root.
        (None, Some(root)) => format!(", root {root}"),
        _ => format!(", root {} → {}", name(before), name(after)),
    }
}

/// That what runs after a change is not what an engine makes.
pub(super) fn repaired(repairs: bool) -> &'static str {
    if repairs { ", repaired" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let times =
            [(0, "0 ns"), (999, "999 ns"), (18_600, "18.6 µs"), (9_996_000, "10.0 ms"), (2_500_000_000, "2.50 s")];
        for (ns, text) in times {
            assert_eq!(duration(ns), text);
        }
        for (number, text) in [(7, "7"), (999, "999"), (1_000, "1 000"), (12_345_678, "12 345 678")] {
            assert_eq!(count(number), text);
        }
        let shares =
            [(0.2996, "30.0 %"), (0.0, "0.0 %"), (0.001, "0.1 %"), (0.000_1, "0.010 %"), (1.23e-5, "0.0012 %")];
        for (share, text) in shares {
            assert_eq!(percent(share), text);
        }
        assert_eq!([latency(0), latency(380)], ["–", "380 ns"]);
    }

    #[test]
    fn things_are_one_or_many() {
        let cases = [
            (1, "wave", "1 wave"),
            (0, "wave", "0 waves"),
            (1_088, "LID", "1 088 LIDs"),
            (2, "switch", "2 switches"),
            (2, "loss", "2 losses"),
            (1, "dependency", "1 dependency"),
            (3, "dependency", "3 dependencies"),
        ];
        for (number, name, text) in cases {
            assert_eq!(counted(number, name), text);
        }
    }

    #[test]
    fn a_root_that_stays_is_no_change() {
        let cases = [
            (None, None, ""),
            (Some("a"), Some("a"), ", root a"),
            (Some("a"), Some("b"), ", root a → b"),
            (Some("a"), None, ", root a → none"),
        ];
        for (before, after, text) in cases {
            assert_eq!(root_pair(before, after), text);
        }
    }
}
