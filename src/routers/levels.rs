//! The service level that a router gives a packet in the next subnet.
//!
//! Subnets that are each free of deadlock may not be so together: packets that come out of one router and packets bound
//! for another share lanes, and so a circle can lead through both. *Keeping* the level leaves that to the topology.
//! *Raising* it prevents such circles. The eight levels of a half are divided into L layers: level ℓ of the half is of
//! layer ℓ mod L. SL-to-VL tables give level ℓ lane ℓ mod V, where V is the number of data lanes and L divides V, so
//! each layer has lanes of its own. A packet starts on layer 0, each router forwards it one layer higher, and a packet
//! that would need more layers is discarded. A dependency inside a subnet stays within a layer, and one through a
//! router leads upward, so no circle can lead through a router.
//!
//! *Turning* spends fewer layers. Subnets stand in an order ([`Routes::falls`](super::Routes::falls)), so that each
//! crossing rises to an earlier subnet or falls to a later one. Layers take turns: packets rise in even layers and fall
//! in odd ones, so a packet goes a layer higher only where its way turns, counted from rising. No circle leads through
//! a router: of dependencies through routers those within an even layer only rise, those within an odd one only fall,
//! and all others lead to a higher layer. Where the graph of subnets has no cycle every way rises first and falls then,
//! so two layers suffice for any number of routers in a row.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Levels of a half.
const LEVELS: u8 = 8;

/// The effect of a router on the service level.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LevelsRule {
    /// A layer higher with each crossing.
    #[default]
    Raise,
    /// A layer higher with each crossing at which the way turns from rising to falling or back.
    Turn,
    /// As it came.
    Keep,
}

impl fmt::Display for LevelsRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            LevelsRule::Raise => "raise",
            LevelsRule::Turn => "turn",
            LevelsRule::Keep => "keep",
        })
    }
}

impl FromStr for LevelsRule {
    type Err = String;

    fn from_str(text: &str) -> Result<LevelsRule, String> {
        let known = [LevelsRule::Raise, LevelsRule::Turn, LevelsRule::Keep];
        let found = known.into_iter().find(|rule| rule.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is no rule for service levels at routers: expected raise, turn or keep"))
    }
}

/// The policy of all routers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Levels {
    /// Layers: 1 where levels are kept.
    layers: u8,
    rule: LevelsRule,
}

/// Why levels cannot be raised as often as packets cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "packets {} {crossings} {}, so raising the service level takes {needed} layers, and half of {data_vls} data VLs has room for {room}: \
     {}; --router-sl keep leaves levels as they are, if that can be proved",
    if *turns { "turn up to" } else { "cross up to" }, if *turns { "times" } else { "routers" }, advice(*needed, *turns)
)]
pub struct LevelsError {
    /// The most routers on a way at which the level is raised.
    pub crossings: u8,
    /// Whether these are only those at which the way turns.
    pub turns: bool,
    /// Layers needed: a power of two.
    pub needed: u8,
    /// Data VLs in operation.
    pub data_vls: u8,
    /// Layers that there is room for.
    pub room: u8,
}

/// A way to raise levels through so many layers, if there is one.
fn advice(needed: u8, turns: bool) -> &'static str {
    match needed {
        5.. if turns => "four layers are the most (8 data VLs)",
        0..=2 => "choose 4 data VLs or 8 (--vls)",
        3..=4 => "choose 8 data VLs (--vls)",
        _ => {
            "three routers in a row are the most that levels can be raised for at each, whatever the data VLs (4 layers on 8); \
             --router-sl turn raises them only where ways turn, once where the graph of subnets has no cycle"
        }
    }
}

impl Levels {
    /// The level stays.
    pub const KEEP: Levels = Levels { layers: 1, rule: LevelsRule::Keep };

    /// The policy where levels are raised at `crossings` routers of a way at most
    /// ([`Routes::most_raises`](super::Routes::most_raises)) and ports have `data_vls` data VLs, of which a change
    /// splits off half.
    ///
    /// # Errors
    /// Levels are to be raised, and half of the lanes cannot be divided into as many layers.
    pub fn new(rule: LevelsRule, crossings: u8, data_vls: u8) -> Result<Levels, LevelsError> {
        // One layer for the source and one for each crossing.
        let needed = crossings.saturating_add(1).next_power_of_two();
        let half = data_vls / 2;
        // Layers must divide the lanes of either set, which are in use during a change, and of both, which are in use
        // otherwise.
        let fits = |layers: &u8| half.is_multiple_of(*layers) && data_vls.is_multiple_of(*layers);
        let room = [8, 4, 2, 1].into_iter().find(fits).unwrap_or(1);
        match rule {
            LevelsRule::Keep => Ok(Levels::KEEP),
            LevelsRule::Raise | LevelsRule::Turn if needed <= room => Ok(Levels { layers: needed, rule }),
            LevelsRule::Raise => Err(LevelsError { crossings, turns: false, needed, data_vls, room }),
            LevelsRule::Turn => Err(LevelsError { crossings, turns: true, needed, data_vls, room }),
        }
    }

    /// The rule.
    pub fn rule(self) -> LevelsRule {
        self.rule
    }

    /// Layers, 1 where levels are kept.
    pub fn layers(self) -> u8 {
        self.layers
    }

    /// The layer of a level, given by its rank in its half.
    pub fn layer(self, rank: u8) -> u8 {
        rank % self.layers
    }

    /// The level, by its rank in its half, on which a source sends packets that are to cross routers: one of layer 0.
    /// `service` is any number; equal ones give equal levels.
    pub fn at_source(self, service: u32) -> u8 {
        (service % u32::from(self.classes())) as u8 * self.layers
    }

    /// Levels of a layer: so many traffic classes differ.
    pub fn classes(self) -> u8 {
        LEVELS / self.layers
    }

    /// The traffic class of a packet that sets out on a level: which of the levels of a layer it takes. It is kept on
    /// the way.
    pub fn traffic_class(self, rank: u8) -> u8 {
        rank / self.layers
    }

    /// The level, by its rank in its half, of a packet that a router forwards; none where there is no layer left.
    /// `falls`: whether the crossing leads to a subnet that is later in the order of subnets; none where it leads back
    /// into the same one.
    pub fn crossing(self, traffic_class: u8, rank: u8, falls: Option<bool>) -> Option<u8> {
        let goes_on = self.rule == LevelsRule::Turn && falls == Some(!self.layer(rank).is_multiple_of(2));
        if goes_on {
            return Some(traffic_class % self.classes() * self.layers + self.layer(rank));
        }
        self.next(traffic_class, rank)
    }

    /// The level, by its rank in its half, of a packet for which a router raises it; none where it has been raised as
    /// often as it can. Where levels are kept, the same level.
    pub fn next(self, traffic_class: u8, rank: u8) -> Option<u8> {
        if self.rule == LevelsRule::Keep {
            return Some(rank % LEVELS);
        }
        let layer = self.layer(rank) + 1;
        (layer < self.layers).then_some(traffic_class % self.classes() * self.layers + layer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_crossing_raises_the_layer_and_keeps_the_class() {
        let levels = Levels::new(LevelsRule::Raise, 3, 8).unwrap();
        assert_eq!(levels.layers(), 4);
        for service in 0..20 {
            let mut rank = levels.at_source(service);
            let class = levels.traffic_class(rank);
            for layer in 1..4 {
                rank = levels.next(class, rank).unwrap();
                assert_eq!((levels.layer(rank), levels.traffic_class(rank)), (layer, class));
            }
            assert_eq!(levels.next(class, rank), None);
        }
    }

    #[test]
    fn a_way_that_turns_once_takes_two_layers_however_long_it_is() {
        let levels = Levels::new(LevelsRule::Turn, 1, 4).unwrap();
        assert_eq!(levels.layers(), 2);
        for service in 0..20 {
            let start = levels.at_source(service);
            let class = levels.traffic_class(start);
            let top = (0..9).fold(start, |rank, _| levels.crossing(class, rank, Some(false)).unwrap());
            assert_eq!(top, start);
            let end = (0..9).fold(top, |rank, _| levels.crossing(class, rank, Some(true)).unwrap());
            assert_eq!((levels.layer(end), levels.traffic_class(end)), (1, class));
            assert_eq!(levels.crossing(class, end, Some(false)), None, "to rise again takes a third layer");
        }
        let message = Levels::new(LevelsRule::Turn, 4, 8).unwrap_err().to_string();
        assert!(message.contains("turn up to 4 times") && !message.contains("--router-sl turn"), "{message}");
    }

    #[test]
    fn a_kept_level_is_the_same_everywhere() {
        for rank in 0..8 {
            assert!((0..=255).all(|traffic_class| Levels::KEEP.next(traffic_class, rank) == Some(rank)));
        }
    }

    #[test]
    fn layers_divide_either_set_of_lanes() {
        assert_eq!(Levels::new(LevelsRule::Raise, 1, 4).unwrap().layers(), 2);
        assert_eq!(Levels::new(LevelsRule::Raise, 2, 8).unwrap().layers(), 4);
        for (crossings, data_vls) in [(1, 2), (2, 4), (1, 15), (4, 8)] {
            let error = Levels::new(LevelsRule::Raise, crossings, data_vls).unwrap_err();
            assert!(error.needed > error.room, "{error}");
            let message = error.to_string();
            assert_eq!(message.contains("choose"), crossings <= 3, "{message}");
            assert_eq!(message.contains("three routers in a row are the most"), crossings > 3, "{message}");
            // The advice suffices, and where there is none nothing would.
            for data_vls in [1, 2, 4, 8, 15] {
                let words: Vec<&str> =
                    message.split_once("choose").map_or(Vec::new(), |(_, rest)| rest.split(' ').collect());
                let advised = words.contains(&data_vls.to_string().as_str());
                assert_eq!(
                    Levels::new(LevelsRule::Raise, crossings, data_vls).is_ok(),
                    advised,
                    "{data_vls}: {message}"
                );
            }
        }
    }
}
