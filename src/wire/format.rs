//! Formats told in one table: a type whose `decode` and `encode` are made of the same line for each field, and so are mirror
//! images. Bits count as in [`bits`]; what no line names is reserved.

use super::bits::bits;
use crate::ids::{Guid, Lid, PortNum, Sl, Vl};

/// A value that stands in some bits of a format. `write` panics on a value wider than its bits.
pub(super) trait Field {
    /// The value of the `width` bits from bit `offset` on.
    fn read(data: &[u8], offset: usize, width: usize) -> Self;

    /// Puts it there, and changes nothing beside it.
    fn write(&self, data: &mut [u8], offset: usize, width: usize);
}

macro_rules! numbers {
    ($($number:ty),+) => {
        $(impl Field for $number {
            fn read(data: &[u8], offset: usize, width: usize) -> $number {
                assert!(width <= <$number>::BITS as usize, "{width} bits do not fit the type");
                bits(offset, width).get(data) as $number
            }

            fn write(&self, data: &mut [u8], offset: usize, width: usize) {
                bits(offset, width).put(data, *self);
            }
        })+
    };
}

numbers!(u8, u16, u32, u64);

/// Fields that are a number under another name.
macro_rules! named_numbers {
    ($($type:ty: $number:ty, $from:expr, $into:expr;)+) => {
        $(impl $crate::wire::format::Field for $type {
            fn read(data: &[u8], offset: usize, width: usize) -> $type {
                let from: fn($number) -> $type = $from;
                from(<$number as $crate::wire::format::Field>::read(data, offset, width))
            }

            fn write(&self, data: &mut [u8], offset: usize, width: usize) {
                let into: fn($type) -> $number = $into;
                $crate::wire::format::Field::write(&into(*self), data, offset, width);
            }
        })+
    };
}
pub(super) use named_numbers;

named_numbers! {
    bool: u8, |number| number == 1, u8::from;
    Guid: u64, Guid, |guid| guid.0;
    Lid: u16, Lid, |lid| lid.0;
    PortNum: u8, PortNum, |port| port.0;
    Sl: u8, Sl::masked, Sl::get;
    Vl: u8, Vl::masked, Vl::get;
    super::NodeType: u8, Into::into, Into::into;
    super::NoticeType: u8, Into::into, Into::into;
}

/// Equal shares of the bits, the first element first.
impl<T: Field, const N: usize> Field for [T; N] {
    fn read(data: &[u8], offset: usize, width: usize) -> [T; N] {
        std::array::from_fn(|at| T::read(data, offset + at * (width / N), width / N))
    }

    fn write(&self, data: &mut [u8], offset: usize, width: usize) {
        self.iter().enumerate().for_each(|(at, one)| one.write(data, offset + at * (width / N), width / N));
    }
}

/// An attribute within a record: its first bytes, as many as `width` says.
macro_rules! embedded {
    ($($attribute:ty),+) => {
        $(impl $crate::wire::format::Field for $attribute {
            fn read(data: &[u8], offset: usize, width: usize) -> $attribute {
                let mut whole = [0; $crate::wire::SMP_DATA_SIZE];
                whole[..width / 8].copy_from_slice(&data[offset / 8..(offset + width) / 8]);
                <$attribute>::decode(&whole)
            }

            fn write(&self, data: &mut [u8], offset: usize, width: usize) {
                data[offset / 8..(offset + width) / 8].copy_from_slice(&self.encode()[..width / 8]);
            }
        })+
    };
}
pub(super) use embedded;

/// Declares a format of so many bytes: for each field its type, first bit and width. The format can be a field of another,
/// which then names the first bit and the width that it has there.
macro_rules! wire_format {
    ($(#[$doc:meta])* $name:ident: $size:expr; {
        $($(#[$fdoc:meta])* $field:ident: $type:ty = $offset:expr, $width:expr;)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: $type,)+
        }

        /// All zeroes.
        impl Default for $name {
            fn default() -> $name {
                $name::decode(&[0; $size])
            }
        }

        impl $crate::wire::format::Field for $name {
            fn read(data: &[u8], offset: usize, _width: usize) -> $name {
                $name { $($field: <$type as $crate::wire::format::Field>::read(data, offset + $offset, $width),)+ }
            }

            fn write(&self, data: &mut [u8], offset: usize, _width: usize) {
                $($crate::wire::format::Field::write(&self.$field, data, offset + $offset, $width);)+
            }
        }

        impl $name {
            /// Reads the format.
            pub fn decode(data: &[u8; $size]) -> $name {
                <$name as $crate::wire::format::Field>::read(data, 0, 8 * $size)
            }

            /// Writes the format.
            pub fn encode(&self) -> [u8; $size] {
                let mut data = [0; $size];
                $crate::wire::format::Field::write(self, &mut data, 0, 8 * $size);
                data
            }
        }
    };
}
pub(super) use wire_format;
