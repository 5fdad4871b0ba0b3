//! Bit fields as the specification counts them: bit 0 is the highest bit of byte 0, fields are big-endian.

/// One field of a format: where it starts and how wide it is.
#[derive(Clone, Copy)]
pub(super) struct Bits {
    offset: usize,
    width: usize,
}

/// The field of `width` bits that starts at bit `offset`.
pub(super) const fn bits(offset: usize, width: usize) -> Bits {
    assert!(width >= 1 && width <= 64, "a field has 1 to 64 bits");
    Bits { offset, width }
}

impl Bits {
    /// The field's value in `data`.
    pub(super) fn get(self, data: &[u8]) -> u64 {
        let held = self.bytes(data.len()).fold(0u128, |value, byte| value << 8 | u128::from(data[byte]));
        (held >> self.shift()) as u64 & self.mask()
    }

    /// A field of at most 8 bits.
    pub(super) fn get_u8(self, data: &[u8]) -> u8 {
        assert!(self.width <= 8);
        self.get(data) as u8
    }

    /// A field of at most 16 bits.
    pub(super) fn get_u16(self, data: &[u8]) -> u16 {
        assert!(self.width <= 16);
        self.get(data) as u16
    }

    /// A field of at most 32 bits.
    pub(super) fn get_u32(self, data: &[u8]) -> u32 {
        assert!(self.width <= 32);
        self.get(data) as u32
    }

    /// A field of one bit.
    pub(super) fn get_flag(self, data: &[u8]) -> bool {
        assert!(self.width == 1);
        self.get(data) == 1
    }

    /// Replaces the field's value and nothing beside it.
    pub(super) fn put(self, data: &mut [u8], value: impl Into<u64>) {
        let value: u64 = value.into();
        assert!(value <= self.mask(), "{value:#x} does not fit the {} bits at bit {}", self.width, self.offset);
        let mut mask = u128::from(self.mask()) << self.shift();
        let mut value = u128::from(value) << self.shift();
        for byte in self.bytes(data.len()).rev() {
            data[byte] = data[byte] & !(mask as u8) | value as u8;
            mask >>= 8;
            value >>= 8;
        }
    }

    fn bytes(self, len: usize) -> impl DoubleEndedIterator<Item = usize> {
        let last = (self.offset + self.width - 1) / 8;
        assert!(last < len, "the {} bits at bit {} lie outside {len} bytes", self.width, self.offset);
        self.offset / 8..last + 1
    }

    /// Bits that follow the field in its last byte.
    fn shift(self) -> usize {
        7 - (self.offset + self.width - 1) % 8
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width)
    }
}

/// An enumeration of the wire: named numbers, and `Unknown` for all others. Make values with `from`: `Unknown` of a number
/// that has a name equals nothing that was decoded.
macro_rules! wire_enum {
    ($(#[$doc:meta])* $name:ident: $number:ty { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// A number without a name here, kept as it came.
            Unknown($number),
        }

        impl From<$number> for $name {
            fn from(number: $number) -> $name {
                match number {
                    $($value => $name::$variant,)+
                    other => $name::Unknown(other),
                }
            }
        }

        impl From<$name> for $number {
            fn from(name: $name) -> $number {
                match name {
                    $($name::$variant => $value,)+
                    $name::Unknown(other) => other,
                }
            }
        }

        impl From<$name> for u64 {
            fn from(name: $name) -> u64 {
                u64::from(<$number>::from(name))
            }
        }
    };
}
pub(super) use wire_enum;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_read_where_the_specification_counts_it() {
        let data = [0b1010_0000, 0x12, 0x34, 0x56];
        assert_eq!(bits(0, 1).get(&data), 1);
        assert_eq!(bits(1, 2).get(&data), 0b01);
        assert_eq!(bits(8, 16).get(&data), 0x1234);
        assert_eq!(bits(4, 12).get(&data), 0x012);
        assert_eq!(bits(12, 8).get(&data), 0x23);
    }

    #[test]
    fn putting_a_field_leaves_its_neighbours() {
        let mut data = [0xFF; 4];
        bits(6, 5).put(&mut data, 0u8);
        assert_eq!(data, [0b1111_1100, 0b0001_1111, 0xFF, 0xFF]);
    }

    #[test]
    fn a_field_of_64_bits_off_a_byte_boundary_survives() {
        let mut data = [0; 9];
        bits(3, 64).put(&mut data, u64::MAX);
        assert_eq!(data, [0x1F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xE0]);
        assert_eq!(bits(3, 64).get(&data), u64::MAX);
    }

    #[test]
    #[should_panic(expected = "0x10 does not fit the 4 bits at bit 8")]
    fn a_value_wider_than_its_field_is_refused() {
        bits(8, 4).put(&mut [0; 4], 0x10u8);
    }
}
