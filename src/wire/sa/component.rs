//! Component masks (section 15.4.2): which fields of a request count, one bit each in the order of the fields.

use super::{SA_DATA_SIZE, SaAttributeId};
use crate::wire::format::field_as;

/// The position of a component in its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Component {
    /// Its first bit, counted from the highest bit of byte 0.
    pub offset: usize,
    /// Its width in bits.
    pub width: usize,
}

/// SAHeader:ComponentMask. Bit n stands for component n of the record asked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct ComponentMask(pub u64);

field_as! {
    ComponentMask: u64, ComponentMask, |mask| mask.0;
}

impl ComponentMask {
    /// No component: everything matches.
    pub const NONE: ComponentMask = ComponentMask(0);

    /// The mask of these components.
    pub fn of(components: &[u32]) -> ComponentMask {
        ComponentMask(components.iter().fold(0, |mask, component| mask | 1 << component))
    }

    /// Returns whether component n is selected.
    pub fn has(self, component: u32) -> bool {
        self.0 >> component & 1 == 1
    }

    /// Returns whether each of these components is selected.
    pub fn has_all(self, components: &[u32]) -> bool {
        components.iter().all(|&component| self.has(component))
    }

    /// This mask without component n.
    pub fn without(self, component: u32) -> ComponentMask {
        ComponentMask(self.0 & !(1 << component))
    }
}

/// A record of subnet administration.
pub trait Record: Sized {
    /// The attribute that carries it.
    const ID: SaAttributeId;
    /// Bytes of one record in a table: a multiple of eight, the unit of AttributeOffset.
    const SIZE: usize;
    /// The components in the order of their mask bits, reserved ones included.
    const COMPONENTS: &'static [Component];

    /// Reads the record.
    fn from_data(data: &[u8; SA_DATA_SIZE]) -> Self;

    /// Writes the record.
    fn to_data(&self) -> [u8; SA_DATA_SIZE];
}

/// Returns whether a record agrees with the request in every selected component. Mask bits without a component are
/// ignored.
pub fn selected<R: Record>(mask: ComponentMask, asked: &[u8; SA_DATA_SIZE], record: &[u8; SA_DATA_SIZE]) -> bool {
    let counted = (0..).zip(R::COMPONENTS).filter(|&(bit, _)| mask.has(bit));
    counted.into_iter().all(|(_, &component)| agree(component, asked, record))
}

fn agree(component: Component, asked: &[u8], record: &[u8]) -> bool {
    let (first, end) = (component.offset, component.offset + component.width);
    let mask = |byte: usize| {
        let from = first.saturating_sub(8 * byte).min(8);
        let to = (end - 8 * byte).min(8);
        (0xFFu32 >> from) & !(0xFF >> to)
    };
    (first / 8..end.div_ceil(8)).all(|byte| u32::from(asked[byte] ^ record[byte]) & mask(byte) == 0)
}

/// Components given as (first bit, width).
macro_rules! components {
    ($(($offset:expr, $width:expr)),+ $(,)?) => {
        &[$($crate::wire::sa::Component { offset: $offset, width: $width }),+]
    };
}
pub(super) use components;

/// Declares a record: a format of 200 bytes, its attribute, its bytes in a table and its components.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident: $size:literal; $body:tt components $components:expr) => {
        $crate::wire::format::wire_format! { $(#[$doc])* $name: $crate::wire::sa::SA_DATA_SIZE; $body }

        impl $crate::wire::sa::Record for $name {
            const ID: $crate::wire::sa::SaAttributeId = $crate::wire::sa::SaAttributeId::$name;
            const SIZE: usize = $size;
            const COMPONENTS: &'static [$crate::wire::sa::Component] = $components;

            fn from_data(data: &[u8; $crate::wire::sa::SA_DATA_SIZE]) -> $name {
                $name::decode(data)
            }

            fn to_data(&self) -> [u8; $crate::wire::sa::SA_DATA_SIZE] {
                self.encode()
            }
        }
    };
}
pub(super) use record;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bits_of_a_component_are_compared() {
        let (mut asked, record) = ([0; SA_DATA_SIZE], [0; SA_DATA_SIZE]);
        let within = Component { offset: 12, width: 8 };
        for bit in 0..32 {
            asked[bit / 8] ^= 0x80 >> (bit % 8);
            assert_eq!(agree(within, &asked, &record), !(12..20).contains(&bit), "bit {bit}");
            asked[bit / 8] ^= 0x80 >> (bit % 8);
        }
    }
}
