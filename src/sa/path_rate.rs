//! MTU and rate of a path, as numbers of PathRecord.

use crate::fabric::LinkSpeed;
use crate::wire::{Mtu, PortInfo};
use std::str::FromStr;

/// Rates as PathRecord numbers them, in ascending order, in tenths of Gb/s (section 15.2.5.16).
const RATES: [(u8, u64); 23] = [
    (2, 25),
    (5, 50),
    (3, 100),
    (11, 140),
    (6, 200),
    (15, 250),
    (19, 280),
    (4, 300),
    (7, 400),
    (20, 500),
    (12, 560),
    (8, 600),
    (9, 800),
    (16, 1000),
    (13, 1120),
    (10, 1200),
    (14, 1680),
    (17, 2000),
    (18, 3000),
    (21, 4000),
    (22, 6000),
    (23, 8000),
    (24, 12000),
];

/// A rate for which PathRecord has a number. Faster links count as the fastest of these.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct PathRate(usize);

impl PathRate {
    /// 10 Gb/s.
    pub const SDR_4X: PathRate = PathRate(2);

    /// The rate with this number; none if the number is reserved.
    pub fn from_number(number: u8) -> Option<PathRate> {
        RATES.iter().position(|&(known, _)| known == number).map(PathRate)
    }

    /// The number in PathRecord:Rate.
    pub fn number(self) -> u8 {
        RATES[self.0].0
    }

    /// The next lower rate.
    pub fn below(self) -> Option<PathRate> {
        self.0.checked_sub(1).map(PathRate)
    }

    /// The rate of a link.
    pub(super) fn of_link(info: &PortInfo) -> Option<PathRate> {
        let lanes = info.link_width_active.of_link()?.lanes();
        let lane = match info.speed()? {
            LinkSpeed::Sdr => 25,
            LinkSpeed::Ddr => 50,
            LinkSpeed::Qdr | LinkSpeed::Fdr10 => 100,
            LinkSpeed::Fdr => 140,
            LinkSpeed::Edr => 250,
            LinkSpeed::Hdr => 500,
            LinkSpeed::Ndr => 1000,
            LinkSpeed::Xdr => 2000,
        };
        RATES.iter().rposition(|&(_, tenths)| tenths <= lanes * lane).map(PathRate)
    }
}

/// From Gb/s, such as 2.5 or 100.
impl FromStr for PathRate {
    type Err = String;

    fn from_str(text: &str) -> Result<PathRate, String> {
        let gbps = |tenths: u64| format!("{}", tenths as f64 / 10.0);
        let found = RATES.iter().position(|&(_, tenths)| gbps(tenths) == text).map(PathRate);
        let all = || RATES.iter().map(|&(_, tenths)| gbps(tenths)).collect::<Vec<_>>().join(", ");
        found.ok_or_else(|| format!("expected a rate of InfiniBand in Gb/s: {}", all()))
    }
}

/// MTU and rate that every link of a path supports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathCapacity {
    /// The largest packet.
    pub mtu: Mtu,
    /// The rate.
    pub rate: PathRate,
}
