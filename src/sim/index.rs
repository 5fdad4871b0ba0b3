//! Index types of the simulation: a lane is not a packet, and an in lane is not an out lane.
//!
//! They are dense: only they index arrays by lane or packet ([`By`]). The highest number stands for none, so that
//! queues and lines threaded through arrays cost no more than the number.

use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense number.
pub(super) trait Dense: Copy {
    /// As an index.
    fn index(self) -> usize;
}

macro_rules! dense {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl $name {
            /// None.
            pub const NONE: $name = $name(u32::MAX);

            /// Whether it stands for none.
            #[inline(always)]
            pub fn is_none(self) -> bool {
                self == Self::NONE
            }

            /// As an option.
            #[inline(always)]
            pub fn get(self) -> Option<$name> {
                (!self.is_none()).then_some(self)
            }
        }

        impl Dense for $name {
            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

dense! {
    /// A lane as its receiver has it: an input buffer, or a send queue.
    InLane
    /// A lane as its sender has it.
    OutLane
    /// A packet alive; numbers are used again.
    PacketId
}

impl OutLane {
    /// Where a packet goes that is to be discarded on reaching the head of its queue.
    pub const DISCARD: OutLane = OutLane(u32::MAX - 1);

    /// Whether it is a lane, neither none nor [`OutLane::DISCARD`].
    #[inline]
    pub fn is_lane(self) -> bool {
        self < OutLane::DISCARD
    }
}

/// An array by a dense number.
#[derive(Clone, Debug)]
pub(super) struct By<I, T> {
    items: Vec<T>,
    by: PhantomData<fn(I)>,
}

impl<I: Dense, T: Clone> By<I, T> {
    /// So many alike.
    pub fn filled(item: T, count: usize) -> By<I, T> {
        By { items: vec![item; count], by: PhantomData }
    }
}

impl<I, T> By<I, T> {
    pub fn len(&self) -> usize {
        self.items.len()
    }

    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}

impl<I: Dense, T> Index<I> for By<I, T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, at: I) -> &T {
        &self.items[at.index()]
    }
}

impl<I: Dense, T> IndexMut<I> for By<I, T> {
    #[inline(always)]
    fn index_mut(&mut self, at: I) -> &mut T {
        &mut self.items[at.index()]
    }
}
