//! ServiceRecord (section 15.2.5.14): a service that a port offers, until its lease runs out. Reserved: bytes 26–27.

use super::Component;
use super::component::record;
use crate::wire::Gid;

record! {
    /// ServiceRecord.
    ServiceRecord: 176; {
        /// The service.
        id: u64 = 0, 64;
        /// The port that offers it.
        gid: Gid = 64, 128;
        /// The partition in which it does.
        p_key: u16 = 192, 16;
        /// Seconds until the record expires; all ones for never.
        lease_s: u32 = 224, 32;
        /// The key that permits changes of the record.
        key: [u8; 16] = 256, 128;
        /// The service's name, padded with zeroes.
        name: [u8; 64] = 384, 512;
        /// The service's own data.
        data8: [u8; 16] = 896, 128;
        /// Service data, continued.
        data16: [u16; 8] = 1024, 128;
        /// Service data, continued.
        data32: [u32; 4] = 1152, 128;
        /// Service data, continued.
        data64: [u64; 2] = 1280, 128;
    }
    components &COMPONENTS
}

/// The fields up to the name, then each element of the data on its own.
const COMPONENTS: [Component; 37] = {
    let mut all = [Component { offset: 0, width: 0 }; 37];
    let heads = [(0, 64), (64, 128), (192, 16), (208, 16), (224, 32), (256, 128), (384, 512)];
    let (mut at, mut offset) = (0, 896);
    while at < 37 {
        all[at] = if at < 7 {
            Component { offset: heads[at].0, width: heads[at].1 }
        } else {
            let width = if at < 23 {
                8
            } else if at < 31 {
                16
            } else if at < 35 {
                32
            } else {
                64
            };
            let element = Component { offset, width };
            offset += width;
            element
        };
        at += 1;
    }
    all
};

impl ServiceRecord {
    /// `id`.
    pub const SERVICE_ID: u32 = 0;
    /// `gid`.
    pub const GID: u32 = 1;
    /// `p_key`.
    pub const P_KEY: u32 = 2;
    /// `lease_s`.
    pub const LEASE: u32 = 4;
    /// `key`.
    pub const KEY: u32 = 5;
    /// The lease of a record that stays.
    pub const FOR_EVER: u32 = u32::MAX;
}
