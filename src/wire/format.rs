//! The one form in which formats are declared: a line for each field, with its type, first bit and width. Definition,
//! `decode` and `encode` are made of the same lines, and so are mirror images. Bits count as in [`bits`](super::bits);
//! bits that no line names are reserved: dropped by `decode`, zero after `encode`. Two fields that overlap, or one that
//! leaves the format, do not compile.
//!
//! | declared by | is |
//! |---|---|
//! | [`layout!`] | a struct, as a part of formats |
//! | [`wire_format!`] | a layout of a fixed number of bytes, with `decode` and `encode` |
//! | [`attribute!`] | a format of 64 bytes that an SMP carries under its `AttributeId` |
//! | `record!` (`sa`) | a format of 200 bytes, with its components |
//! | [`wire_enum!`] | named numbers, and `Unknown(n)` for all others |
//! | [`field_as!`] | a type that the wire holds as another |
//!
//! No crate does this with less. `zerocopy` knows bytes, not bits. `modular-bitfield` counts from the lowest bit and
//! hides fields in accessors. `deku` and `binrw` read a stream in order, where the specification names offsets: every
//! reserved bit would be a field of padding, and `decode` of an attribute, which cannot fail, would return a `Result`.
//! `packed_struct` comes closest, but wraps each number of an odd width and each open enumeration in a type of its own,
//! and cannot fail less.

use super::bits;
use crate::ids::{Guid, Half, Lid, Lmc, PortMask, PortNum, Sl, Vl, VlSet};

/// A value in some bits of a format. `write` panics on a value wider than its bits.
pub(super) trait Field: Sized {
    /// The value of the `width` bits from bit `offset` on.
    fn read(data: &[u8], offset: usize, width: usize) -> Self;

    /// Puts it there, and changes nothing beside it.
    fn write(&self, data: &mut [u8], offset: usize, width: usize);

    /// Equal shares of the bits, the first element first.
    #[inline]
    fn read_array<const N: usize>(data: &[u8], offset: usize, width: usize) -> [Self; N] {
        std::array::from_fn(|at| Self::read(data, offset + at * (width / N), width / N))
    }

    /// Puts equal shares there.
    #[inline]
    fn write_array<const N: usize>(all: &[Self; N], data: &mut [u8], offset: usize, width: usize) {
        all.iter().enumerate().for_each(|(at, one)| one.write(data, offset + at * (width / N), width / N));
    }
}

/// A struct whose fields each have their own bits.
pub(super) trait BitLayout: Field {
    /// First bit and width of each field, in the order of declaration.
    const SPANS: &'static [(usize, usize)];
}

/// Compiles only if the fields overlap nowhere and end within `size` bytes.
pub(super) const fn check_spans(spans: &[(usize, usize)], size: usize) {
    let mut at = 0;
    while at < spans.len() {
        let (first, end) = (spans[at].0, spans[at].0 + spans[at].1);
        assert!(end <= 8 * size, "a field ends beyond its format");
        let mut other = 0;
        while other < at {
            assert!(end <= spans[other].0 || spans[other].0 + spans[other].1 <= first, "two fields overlap");
            other += 1;
        }
        at += 1;
    }
}

macro_rules! numbers {
    ($($number:ty { $($more:tt)* })+) => {
        $(impl Field for $number {
            #[inline]
            fn read(data: &[u8], offset: usize, width: usize) -> $number {
                assert!(width <= <$number>::BITS as usize, "{width} bits do not fit the type");
                bits::get(data, offset, width) as $number
            }

            #[inline]
            fn write(&self, data: &mut [u8], offset: usize, width: usize) {
                bits::put(data, offset, width, u64::from(*self));
            }

            $($more)*
        })+
    };
}

numbers! {
    // Whole bytes are copied: forwarding tables and the data of MADs are most of what travels.
    u8 {
        #[inline]
        fn read_array<const N: usize>(data: &[u8], offset: usize, width: usize) -> [u8; N] {
            data[whole_bytes(N, offset, width)].try_into().expect("as many bytes as the array has")
        }

        #[inline]
        fn write_array<const N: usize>(all: &[u8; N], data: &mut [u8], offset: usize, width: usize) {
            data[whole_bytes(N, offset, width)].copy_from_slice(all);
        }
    }
    u16 {}
    u32 {}
    u64 {}
}

/// The bytes of an array of `len` bytes, which no format puts off a byte boundary.
#[inline]
fn whole_bytes(len: usize, offset: usize, width: usize) -> std::ops::Range<usize> {
    assert!(offset.is_multiple_of(8) && width == 8 * len, "{len} bytes at bit {offset}, {width} bits wide");
    offset / 8..offset / 8 + len
}

impl<T: Field, const N: usize> Field for [T; N] {
    #[inline]
    fn read(data: &[u8], offset: usize, width: usize) -> [T; N] {
        T::read_array(data, offset, width)
    }

    #[inline]
    fn write(&self, data: &mut [u8], offset: usize, width: usize) {
        T::write_array(self, data, offset, width);
    }
}

/// Types with another representation on the wire: the conversions in both directions.
macro_rules! field_as {
    ($($type:ty: $held:ty, $from:expr, $into:expr;)+) => {
        $(impl $crate::wire::format::Field for $type {
            #[inline]
            fn read(data: &[u8], offset: usize, width: usize) -> $type {
                let from: fn($held) -> $type = $from;
                from(<$held as $crate::wire::format::Field>::read(data, offset, width))
            }

            #[inline]
            fn write(&self, data: &mut [u8], offset: usize, width: usize) {
                let into: fn($type) -> $held = $into;
                $crate::wire::format::Field::write(&into(*self), data, offset, width);
            }
        })+
    };
}
pub(super) use field_as;

field_as! {
    bool: u8, |number| number == 1, u8::from;
    Guid: u64, Guid, |guid| guid.0;
    Lid: u16, Lid, |lid| lid.0;
    Lmc: u8, Lmc::masked, Lmc::get;
    PortNum: u8, PortNum, |port| port.0;
    PortMask: [u8; 32], PortMask, |mask| mask.0;
    Sl: u8, Sl::masked, Sl::get;
    Vl: u8, Vl::masked, Vl::get;
    VlSet: u16, VlSet, |lanes| lanes.0;
    Half: bool, |upper| if upper { Half::Upper } else { Half::Lower }, |half| half == Half::Upper;
}

/// An enumeration of the wire: named numbers, and `Unknown` for all others. Make values with `from`: `Unknown` of a
/// number that has a name equals nothing that was decoded.
macro_rules! wire_enum {
    ($(#[$doc:meta])* $name:ident: $number:ty { $($(#[$vdoc:meta])* $variant:ident = $value:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum $name {
            $($(#[$vdoc])* $variant,)+
            /// A number without a name here, kept as it came.
            Unknown($number),
        }

        impl $name {
            /// All that have a name, by number.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
        }

        impl From<$number> for $name {
            #[inline]
            fn from(number: $number) -> $name {
                match number {
                    $($value => $name::$variant,)+
                    other => $name::Unknown(other),
                }
            }
        }

        impl From<$name> for $number {
            #[inline]
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

        $crate::wire::format::field_as! {
            $name: $number, Into::into, Into::into;
        }
    };
}
pub(super) use wire_enum;

/// Declares a struct of fields, `{ name: Type = first bit, width; … }`, or around one, `(Type = first bit, width)`. As
/// a field of another format it begins at a byte, from which its own bits count.
macro_rules! layout {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$fdoc:meta])* $field:ident: $type:ty = $offset:expr, $width:expr;)+
    }) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name {
            $($(#[$fdoc])* pub $field: $type,)+
        }

        $crate::wire::format::layout! { @fields $name; $($field: $type = $offset, $width;)+ }
    };
    ($(#[$doc:meta])* $name:ident($type:ty = $offset:expr, $width:expr)) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub struct $name(pub $type);

        $crate::wire::format::layout! { @fields $name; 0: $type = $offset, $width; }
    };
    (@fields $name:ident; $($field:tt: $type:ty = $offset:expr, $width:expr;)+) => {
        impl $crate::wire::format::BitLayout for $name {
            const SPANS: &'static [(usize, usize)] = &[$(($offset, $width)),+];
        }

        impl $crate::wire::format::Field for $name {
            #[inline]
            fn read(data: &[u8], offset: usize, _width: usize) -> $name {
                assert!(offset.is_multiple_of(8), "a layout at bit {offset}");
                let own = &data[offset / 8..];
                $name { $($field: <$type as $crate::wire::format::Field>::read(own, $offset, $width),)+ }
            }

            #[inline]
            fn write(&self, data: &mut [u8], offset: usize, _width: usize) {
                assert!(offset.is_multiple_of(8), "a layout at bit {offset}");
                let own = &mut data[offset / 8..];
                $($crate::wire::format::Field::write(&self.$field, own, $offset, $width);)+
            }
        }
    };
}
pub(super) use layout;

/// Declares a layout of so many bytes, which is read and written by itself.
macro_rules! wire_format {
    ($(#[$doc:meta])* $name:ident: $size:expr; $body:tt) => {
        $crate::wire::format::layout! { $(#[$doc])* $name $body }

        const _: () = $crate::wire::format::check_spans(<$name as $crate::wire::format::BitLayout>::SPANS, $size);

        /// All zeroes.
        impl Default for $name {
            fn default() -> $name {
                $name::decode(&[0; $size])
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

/// Declares an attribute of subnet management, named as in [`AttributeId`](super::AttributeId).
macro_rules! attribute {
    ($(#[$doc:meta])* $name:ident $body:tt) => {
        $crate::wire::format::wire_format! { $(#[$doc])* $name: $crate::wire::SMP_DATA_SIZE; $body }

        impl $name {
            /// The attribute that this type reads and writes.
            pub const ID: $crate::wire::AttributeId = $crate::wire::AttributeId::$name;
        }
    };
}
pub(super) use attribute;
