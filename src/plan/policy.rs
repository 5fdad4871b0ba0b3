//! The choices under which a plan is made, each with one name for the command line, JSON and messages.

use crate::ids::Sl;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// An unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a valid {what}: expected one of {expected}")]
pub struct UnknownName {
    /// The kind of name expected.
    pub what: &'static str,
    /// The text given.
    pub given: String,
    /// The known names, separated by commas.
    pub expected: String,
}

macro_rules! choice {
    (
        $(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident = $text:literal;)+ }
        $(besides { $($(#[$odoc:meta])* $other:ident = $otext:literal;)+ })?
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, schemars::JsonSchema)]
        pub enum $name {
            $($(#[$vdoc])* #[serde(rename = $text)] $variant,)+
            $($($(#[$odoc])* #[serde(rename = $otext)] $other),+)?
        }

        impl $name {
            /// Every value that can be chosen.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            /// Its name.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ $($($name::$other => $otext),+)? }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $name {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<$name, UnknownName> {
                $name::ALL.iter().copied().find(|value| value.name() == text).ok_or_else(|| UnknownName {
                    what: $what,
                    given: text.to_string(),
                    expected: $name::ALL.iter().map(|value| value.name()).collect::<Vec<_>>().join(", "),
                })
            }
        }
    };
}

choice! {
    /// The scheme of a change (docs/PROTOCOL.md).
    Scheme, "scheme" {
        /// The Double Scheme: two halves of LIDs, service levels and lanes, five phases.
        Double = "double";
        /// Forwarding entries alone are written, those that must change, in waves of which every mixture is proved.
        Ordered = "ordered";
        /// Ports stop carrying data, tables are written, ports start again.
        Static = "static";
        /// Tables are overwritten block by block under traffic, as OpenSM does.
        InPlace = "in-place";
    }
    besides {
        /// A change that was not ended is mended: one half is kept, the other follows it. No user chooses it; a subnet
        /// manager takes it where it finds such a subnet.
        Recover = "recover";
    }
}

choice! {
    /// The treatment of ports while the spare half's tables are installed (docs/PROTOCOL.md, *arming*).
    Arming, "arming policy" {
        /// Ports are ARMED and hold data back until they are ACTIVE again: the model of the Double Scheme's paper.
        Hold = "hold";
        /// As `hold`, but switch by switch: a switch's ports are ARMED only while its own tables are written.
        HoldEach = "hold-each";
        /// Ports are ARMED and discard data queued for sending: the InfiniBand specification.
        Discard = "discard";
        /// Port states stay as they are.
        Off = "off";
    }
}

choice! {
    /// The observer that shows that the retired lanes are empty (docs/PROTOCOL.md, *drain*).
    Observer, "drain observer" {
        /// Agents in the devices pass tokens on after the data.
        Token = "token";
        /// The subnet manager queries device by device, in the order of the channel dependency graph.
        Poll = "poll";
        /// Counters of the end ports: as much was received as was sent.
        Conservation = "conservation";
        /// Switches discard packets by age, and that much time has passed.
        Lifetime = "lifetime";
    }
}

choice! {
    /// When the halves' service levels are on lanes of their own (docs/PROTOCOL.md, P1.6).
    LanePartition, "lane partition" {
        /// During a change only; between changes each half has all lanes.
        Temporary = "temporary";
        /// Always: no change moves a service level to another lane, so that order is kept within each class.
        Standing = "standing";
    }
}

choice! {
    /// The means by which sources move from one half to the other, and by which that is shown (docs/PROTOCOL.md, P3.5
    /// and P3.8).
    MovedBy, "way of moving sources" {
        /// Agents at end ports: each is notified of its half, and reports when it has moved.
        Told = "told";
        /// Clients are asked to query again, and then a fence closes at every end port.
        Fence = "fence";
    }
}

impl MovedBy {
    /// A fence gives clients a time to query again; hosts that are notified need none.
    pub fn of_settle(settle_ns: Option<u64>) -> MovedBy {
        if settle_ns.is_some() { MovedBy::Fence } else { MovedBy::Told }
    }
}

impl Default for MovedBy {
    /// The way of plans that name none.
    fn default() -> MovedBy {
        MovedBy::Told
    }
}

fn is_told(by: &MovedBy) -> bool {
    *by == MovedBy::default()
}

choice! {
    /// The treatment by switches of a packet whose output port is its input port.
    TurnedBack, "way with packets that turn back" {
        /// They discard it, as InfiniBand switches do (PortRcvSwitchRelayErrors, *looping*): plans may rest on that.
        Discarded = "discarded";
        /// They may send it back: no plan rests on anything else.
        Returned = "returned";
    }
}

choice! {
    /// The role of a wave in its scheme.
    Phase, "phase" {
        /// The service levels of the two halves go to separate lanes.
        Split = "split";
        /// Forwarding tables are written where no data uses them.
        Install = "install";
        /// Sources move to the new half.
        Swap = "swap";
        /// The lanes of the old half run empty.
        Drain = "drain";
        /// The new half gets all lanes.
        Restore = "restore";
        /// Ports stop carrying data.
        Stop = "stop";
        /// Ports carry data again.
        Start = "start";
        /// Forwarding tables are overwritten under traffic.
        Rewrite = "rewrite";
    }
}

/// The user's choices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Port states during *install*.
    pub arming: Arming,
    /// The observer of empty lanes.
    pub observer: Observer,
    /// The means by which sources move to the other half.
    #[serde(default, skip_serializing_if = "is_told")]
    pub sources: MovedBy,
    /// When the halves have lanes of their own.
    #[serde(default, skip_serializing_if = "is_temporary")]
    pub partition: LanePartition,
    /// The treatment by switches of packets that turn back.
    #[serde(default = "discarded", skip_serializing_if = "is_discarded")]
    pub turned_back: TurnedBack,
    /// The service level that is of neither half and has a lane to itself, for multicast and for management to and from
    /// switches; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reserved_sl: Option<Sl>,
}

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            arming: Arming::Off,
            observer: Observer::Token,
            sources: MovedBy::default(),
            partition: LanePartition::default(),
            turned_back: discarded(),
            reserved_sl: None,
        }
    }
}

impl Default for LanePartition {
    /// The partition of plans that name none.
    fn default() -> LanePartition {
        LanePartition::Temporary
    }
}

fn is_temporary(partition: &LanePartition) -> bool {
    *partition == LanePartition::default()
}

/// The treatment of packets that turn back in plans that do not state it.
fn discarded() -> TurnedBack {
    TurnedBack::Discarded
}

fn is_discarded(turned_back: &TurnedBack) -> bool {
    *turned_back == discarded()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back() {
        for &scheme in Scheme::ALL {
            assert_eq!(scheme.to_string().parse(), Ok(scheme));
            assert_eq!(serde_json::to_string(&scheme).ok(), Some(format!("\"{scheme}\"")));
        }
        for &observer in Observer::ALL {
            assert_eq!(observer.to_string().parse(), Ok(observer));
        }
        for &partition in LanePartition::ALL {
            assert_eq!(partition.to_string().parse(), Ok(partition));
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known() {
        let error = "twice".parse::<Scheme>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`twice` is not a valid scheme: expected one of double, ordered, static, in-place"
        );
    }
}
