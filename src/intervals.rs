//! Shares and means with intervals of 95 % confidence.

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

impl Share {
    /// So many of so many.
    pub fn of(count: usize, of: usize) -> Share {
        let interval = (of > 0).then(|| {
            let (n, p, z2) = (of as f64, count as f64 / of as f64, NORMAL * NORMAL);
            let middle = (p + z2 / (2.0 * n)) / (1.0 + z2 / n);
            let half = NORMAL / (1.0 + z2 / n) * (p * (1.0 - p) / n + z2 / (4.0 * n * n)).sqrt();
            // Exact at both ends, where rounding would leave some 1e-17.
            [if count == 0 { 0.0 } else { middle - half }, if count == of { 1.0 } else { middle + half }]
        });
        Share { count: count as u64, of: of as u64, interval }
    }
}

impl Estimate {
    /// The mean of figures.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Estimate {
        let figures: Vec<f64> = figures.into_iter().collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures of textbooks: Wilson's interval of 8 in 10, and t of nine degrees of freedom, 2.262.
    #[test]
    fn intervals_are_those_of_the_textbooks() {
        let [least, most] = Share::of(8, 10).interval.unwrap();
        assert!((least - 0.4902).abs() < 1e-4 && (most - 0.9433).abs() < 1e-4, "{least} {most}");
        assert_eq!(Share::of(0, 10).interval.unwrap()[0], 0.0);
        let estimate = Estimate::of([2, 4, 4, 4, 5, 5, 7, 9, 5, 5].map(f64::from));
        assert_eq!(estimate.mean, Some(5.0));
        // The variance is 32 / 9.
        let half = 2.262_157 * (32.0f64 / 9.0 / 10.0).sqrt();
        assert!((estimate.half_width.unwrap() - half).abs() < 1e-5);
        assert_eq!(Estimate::of([7.0]).half_width, None);
    }
}
