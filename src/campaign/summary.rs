//! What rows of a campaign have in common: shares and means with intervals of 95 % confidence.

use super::RunRow;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Half of the probability outside an interval, below it and above it each.
const TAIL: f64 = 0.025;
/// The quantile of the normal distribution that leaves [`TAIL`] above it.
const NORMAL: f64 = 1.959_963_985;

/// How many of how many, and within which shares the true one lies (Wilson, JASA 22, 1927).
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Share {
    /// Runs of this kind.
    pub count: u64,
    /// Runs.
    pub of: u64,
    /// The least and the greatest share; none without runs.
    pub interval: Option<[f64; 2]>,
}

/// A mean, and how far it may be from the true one (Student's t). Skewed figures of few runs may lie beyond.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct Estimate {
    /// Figures.
    pub count: u64,
    /// Their mean; none without figures.
    pub mean: Option<f64>,
    /// Half the width of the interval; none with fewer than two figures.
    pub half_width: Option<f64>,
}

/// The runs of one scheme under otherwise equal settings.
#[derive(Clone, PartialEq, Debug, Serialize, schemars::JsonSchema)]
pub struct SchemeSummary {
    /// The fabric, as described.
    pub fabric: String,
    /// What was lost.
    pub change: String,
    /// The engine, as described.
    pub engine: String,
    /// The load.
    pub load: f64,
    /// The scheme, as described.
    pub scheme: String,
    /// Runs, those included that could not begin.
    pub runs: u64,
    /// Runs that could not begin.
    pub refused: u64,
    /// Of those that began: deadlocked.
    pub deadlocked: Share,
    /// Of those that began: not proved beforehand.
    pub unproved: Share,
    /// Of those that began: packets lost to the change.
    pub lossy: Share,
    /// Of those that completed: packets lost to the change.
    pub lost_to_change: Estimate,
    /// Of those that completed: packets lost to the failure and to the change.
    pub lost_in_all: Estimate,
    /// Of those that completed: the mean outage of pairs, in nanoseconds.
    pub outage_ns: Estimate,
    /// Of those that completed: how long the change took, in nanoseconds.
    pub change_ns: Estimate,
    /// Of those that completed: SMPs.
    pub smps: Estimate,
}

impl Share {
    fn of(count: usize, of: usize) -> Share {
        let interval = (of > 0).then(|| {
            let (n, p, z2) = (of as f64, count as f64 / of as f64, NORMAL * NORMAL);
            let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
            let half = NORMAL / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
            [(middle - half).max(0.0), (middle + half).min(1.0)]
        });
        Share { count: count as u64, of: of as u64, interval }
    }
}

impl Estimate {
    fn of(figures: impl Iterator<Item = u64>) -> Estimate {
        let figures: Vec<f64> = figures.map(|figure| figure as f64).collect();
        let n = figures.len();
        if n == 0 {
            return Estimate { count: 0, mean: None, half_width: None };
        }
        let mean = figures.iter().sum::<f64>() / n as f64;
        let half_width = (n > 1).then(|| {
            let variance = figures.iter().map(|figure| (figure - mean).powi(2)).sum::<f64>() / (n - 1) as f64;
            let t = StudentsT::new(0.0, 1.0, (n - 1) as f64).expect("the degrees of freedom are positive");
            t.inverse_cdf(1.0 - TAIL) * (variance / n as f64).sqrt()
        });
        Estimate { count: n as u64, mean: Some(mean), half_width }
    }
}

/// Rows by settings, in the order in which these first occur; rows in any order give the same.
pub fn summaries(rows: &[RunRow]) -> Vec<SchemeSummary> {
    let mut ordered: Vec<&RunRow> = rows.iter().collect();
    ordered.sort_by_key(|row| row.run);
    let mut groups: Vec<Vec<&RunRow>> = Vec::new();
    let alike = |a: &RunRow, b: &RunRow| {
        (&a.fabric, &a.change, &a.engine, &a.scheme) == (&b.fabric, &b.change, &b.engine, &b.scheme)
            && a.load.to_bits() == b.load.to_bits()
    };
    for row in ordered {
        match groups.iter_mut().find(|group| alike(group[0], row)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups.iter().map(|group| summary(group)).collect()
}

/// All rows of each scheme together, in the order in which schemes first occur. Fabric, change and engine are `all` and the
/// load 0 where they are several.
pub fn pooled(rows: &[RunRow]) -> Vec<SchemeSummary> {
    let mut ordered: Vec<&RunRow> = rows.iter().collect();
    ordered.sort_by_key(|row| row.run);
    let mut schemes: Vec<&str> = Vec::new();
    for row in &ordered {
        if !schemes.contains(&row.scheme.as_str()) {
            schemes.push(&row.scheme);
        }
    }
    let of = |scheme: &str| {
        let group: Vec<&RunRow> = ordered.iter().copied().filter(|row| row.scheme == scheme).collect();
        let same = |one: fn(&RunRow) -> &str| match group.iter().all(|row| one(row) == one(group[0])) {
            true => one(group[0]).to_string(),
            false => "all".to_string(),
        };
        let one_load = group.iter().all(|row| row.load.to_bits() == group[0].load.to_bits());
        SchemeSummary {
            fabric: same(|row| &row.fabric),
            change: same(|row| &row.change),
            engine: same(|row| &row.engine),
            load: if one_load { group[0].load } else { 0.0 },
            ..summary(&group)
        }
    };
    schemes.into_iter().map(of).collect()
}

fn summary(group: &[&RunRow]) -> SchemeSummary {
    let began: Vec<&RunRow> = group.iter().copied().filter(|row| row.outcome != "refused").collect();
    let share = |is: &dyn Fn(&RunRow) -> bool| Share::of(began.iter().filter(|row| is(row)).count(), began.len());
    let completed = || began.iter().filter(|row| row.outcome == "completed");
    let estimate = |of: &dyn Fn(&RunRow) -> Option<u64>| Estimate::of(completed().filter_map(|row| of(row)));
    let first = group[0];
    SchemeSummary {
        fabric: first.fabric.clone(),
        change: first.change.clone(),
        engine: first.engine.clone(),
        load: first.load,
        scheme: first.scheme.clone(),
        runs: group.len() as u64,
        refused: (group.len() - began.len()) as u64,
        deadlocked: share(&|row| row.outcome == "deadlocked"),
        unproved: share(&|row| row.proof != "proved"),
        lossy: share(&|row| row.lost_to_change.is_some_and(|lost| lost > 0)),
        lost_to_change: estimate(&|row| row.lost_to_change),
        lost_in_all: estimate(&|row| row.lost_in_all),
        outage_ns: estimate(&|row| row.outage_mean_ns),
        change_ns: estimate(&|row| row.change_ns),
        smps: estimate(&|row| row.smps),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of textbooks: Wilson's interval of 8 in 10, and t of nine degrees of freedom, 2.262.
    #[test]
    fn intervals_are_those_of_the_textbooks() {
        let [least, most] = Share::of(8, 10).interval.unwrap();
        assert!((least - 0.4902).abs() < 1e-4 && (most - 0.9433).abs() < 1e-4, "{least} {most}");
        assert_eq!(Share::of(0, 10).interval.unwrap()[0], 0.0);
        let estimate = Estimate::of([2, 4, 4, 4, 5, 5, 7, 9, 5, 5].into_iter());
        assert_eq!(estimate.mean, Some(5.0));
        // The variance is 32 / 9.
        let half = 2.262_157 * (32.0f64 / 9.0 / 10.0).sqrt();
        assert!((estimate.half_width.unwrap() - half).abs() < 1e-5);
        assert_eq!(Estimate::of([7].into_iter()).half_width, None);
    }
}
