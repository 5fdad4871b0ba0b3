//! SMInfo (section 14.2.5.13): the priority and state that a subnet manager reports to others. Reserved: bytes 21–63.

use super::format::{attribute, wire_enum};
use crate::ids::Guid;

wire_enum! {
    /// SMInfo:SMState, 4 bits.
    SmState: u8 {
        /// Does not take part.
        NotActive = 0,
        /// Looks for others.
        Discovering = 1,
        /// Watches the master.
        Standby = 2,
        /// Manages the subnet.
        Master = 3,
    }
}

wire_enum! {
    /// The modifier of a Set(SMInfo): the command of one manager to another (section 14.4.1).
    SmControl: u32 {
        /// Take over.
        Handover = 1,
        /// Yes, I took over.
        Acknowledge = 2,
        /// Stop taking part.
        Disable = 3,
        /// Become standby; after this, the receiver of Disable takes part again.
        Standby = 4,
        /// Discover the subnet anew.
        Discover = 5,
    }
}

attribute! {
    /// SMInfo.
    SmInfo {
        /// The port that the manager runs on.
        guid: Guid = 0, 64;
        /// The manager's key; 0 to those that it does not trust.
        sm_key: u64 = 64, 64;
        /// Grows while the manager lives.
        activity: u32 = 128, 32;
        /// The higher is master, 4 bits; of equals the lower GUID.
        priority: u8 = 160, 4;
        /// The state of the manager.
        state: SmState = 164, 4;
    }
}
