//! SMInfoRecord (section 15.2.5.9): a subnet manager. Reserved: bytes 2–3 and 25–31.

use super::component::{components, record};
use crate::ids::Lid;
use crate::wire::SmInfo;

record! {
    /// SMInfoRecord.
    SmInfoRecord: 32; {
        /// Base LID of its port.
        lid: Lid = 0, 16;
        /// Its SMInfo.
        info: SmInfo = 32, 168;
    }
    components components![(0, 16), (16, 16), (32, 64), (96, 64), (160, 32), (192, 4), (196, 4)]
}
