//! Bit fields in the numbering of the specification: bit 0 is the highest bit of byte 0, fields are big-endian.
//!
//! Both functions panic on a field outside the data: the offsets are constants of a declared format, never input.

/// The `width` bits of `data` (1 to 64) from bit `offset` on.
#[inline]
pub(super) fn get(data: &[u8], offset: usize, width: usize) -> u64 {
    let (first, last) = bytes(data.len(), offset, width);
    // 64 bits off a byte boundary touch nine bytes, which a u64 would not hold.
    let held = data[first..=last].iter().fold(0u128, |held, &byte| held << 8 | u128::from(byte));
    (held >> shift(offset, width)) as u64 & mask(width)
}

/// Replaces those bits by `value` and changes nothing beside them. Panics on a value that is wider.
#[inline]
pub(super) fn put(data: &mut [u8], offset: usize, width: usize, value: u64) {
    assert!(value <= mask(width), "{value:#x} does not fit the {width} bits at bit {offset}");
    let (first, last) = bytes(data.len(), offset, width);
    let mut mask = u128::from(mask(width)) << shift(offset, width);
    let mut value = u128::from(value) << shift(offset, width);
    for byte in data[first..=last].iter_mut().rev() {
        *byte = *byte & !(mask as u8) | value as u8;
        mask >>= 8;
        value >>= 8;
    }
}

/// The first and the last byte that the field touches.
#[inline]
fn bytes(len: usize, offset: usize, width: usize) -> (usize, usize) {
    assert!((1..=64).contains(&width), "a field has 1 to 64 bits, not {width}");
    let last = (offset + width - 1) / 8;
    assert!(last < len, "the {width} bits at bit {offset} lie outside {len} bytes");
    (offset / 8, last)
}

/// Bits that follow the field in its last byte.
#[inline]
fn shift(offset: usize, width: usize) -> usize {
    7 - (offset + width - 1) % 8
}

#[inline]
fn mask(width: usize) -> u64 {
    u64::MAX >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_where_the_specification_counts_it() {
        let data = [0b1010_0000, 0x12, 0x34, 0x56];
        assert_eq!(get(&data, 0, 1), 1);
        assert_eq!(get(&data, 1, 2), 0b01);
        assert_eq!(get(&data, 8, 16), 0x1234);
        assert_eq!(get(&data, 4, 12), 0x012);
        assert_eq!(get(&data, 12, 8), 0x23);
    }

    #[test]
    fn putting_a_field_leaves_its_neighbours() {
        let mut data = [0xFF; 4];
        put(&mut data, 6, 5, 0);
        assert_eq!(data, [0b1111_1100, 0b0001_1111, 0xFF, 0xFF]);
    }

    #[test]
    fn a_field_of_64_bits_off_a_byte_boundary_survives() {
        let mut data = [0; 9];
        put(&mut data, 3, 64, u64::MAX);
        assert_eq!(data, [0x1F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xE0]);
        assert_eq!(get(&data, 3, 64), u64::MAX);
    }

    #[test]
    #[should_panic(expected = "0x10 does not fit the 4 bits at bit 8")]
    fn a_value_wider_than_its_field_is_refused() {
        put(&mut [0; 4], 8, 4, 0x10);
    }
}
