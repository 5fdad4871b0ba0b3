//! Report(Notice) (section 13.4.8.2): a notice on its way to a subscriber, with the GID of its issuer.

use super::SA_DATA_SIZE;
use crate::wire::format::wire_format;
use crate::wire::{Gid, Notice};

wire_format! {
    /// The data of a Report.
    Report: SA_DATA_SIZE; {
        /// The notice.
        notice: Notice = 0, 512;
        /// The port that issued it.
        issuer_gid: Gid = 512, 128;
    }
}
