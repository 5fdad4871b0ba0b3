//! Numbers as people read them.

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

/// A count with thin groups of three: `1 234 567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A fraction as a percentage with one decimal.
pub fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// The engine of a change, or both where they differ.
pub(super) fn engine_pair(before: &str, after: Option<&str>) -> String {
    after.map_or_else(|| before.to_string(), |after| format!("{before} → {after}"))
}

/// The roots of both routings; nothing where neither has one.
pub(super) fn root_pair(before: Option<&str>, after: Option<&str>) -> String {
    let name = |root: Option<&str>| root.unwrap_or("none").to_string();
    if before.or(after).is_none() { String::new() } else { format!(", root {} → {}", name(before), name(after)) }
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
        assert_eq!(percent(0.2996), "30.0 %");
    }
}
