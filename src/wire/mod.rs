//! Management datagrams as they stand on the wire.

/// Bytes of a MAD (section 13.4.2).
pub const MAD_SIZE: usize = 256;
