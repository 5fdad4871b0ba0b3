//! Index types of the simulation: ports, nodes, lanes, packets and ranks of end ports are not numbers of each other.
//!
//! They are dense: only they index arrays by port, lane, packet and so on ([`By`]). The highest number stands for none,
//! so that queues and lines threaded through arrays cost no more than the number.

use crate::fabric::{NodeId, PortId};
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense number.
pub(super) trait Dense: Copy + PartialEq {
    /// None.
    const NONE: Self;

    /// The number that stands for an index.
    fn at(index: usize) -> Self;

    fn index(self) -> usize;

    /// Whether it stands for none.
    #[inline(always)]
    fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether it stands for one.
    #[inline(always)]
    fn is_some(self) -> bool {
        !self.is_none()
    }

    #[inline(always)]
    fn get(self) -> Option<Self> {
        self.is_some().then_some(self)
    }
}

macro_rules! dense {
    ($($name:ident)*) => {$(
        impl Dense for $name {
            const NONE: $name = $name(u32::MAX);

            #[inline(always)]
            fn at(index: usize) -> $name {
                $name(index as u32)
            }

            #[inline(always)]
            fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}

dense! { PortId NodeId EndPortRank InLane OutLane PacketId }

/// The rank of an end port among all end ports, as traffic names it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct EndPortRank(pub u32);

/// A lane as its receiver has it: an input buffer, or a send queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InLane(pub u32);

/// A lane as its sender has it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct OutLane(pub u32);

/// A packet alive; numbers are used again.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PacketId(pub u32);

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
        vec![item; count].into_iter().collect()
    }
}

impl<I: Dense, T> By<I, T> {
    #[inline]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The item at a number; none beyond the end, and for [`Dense::NONE`].
    #[inline]
    pub fn get(&self, at: I) -> Option<&T> {
        self.items.get(at.index())
    }

    /// As [`By::get`], to write.
    #[inline]
    pub fn get_mut(&mut self, at: I) -> Option<&mut T> {
        self.items.get_mut(at.index())
    }

    /// All numbers, in rising order.
    #[inline]
    pub fn keys(&self) -> impl Iterator<Item = I> + use<I, T> {
        (0..self.len()).map(I::at)
    }

    #[inline]
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    #[inline]
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Appends an item; its number.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::at(self.items.len() - 1)
    }

    /// Sets the item at a number. Places before it that are not there yet get the same item.
    pub fn put(&mut self, at: I, item: T)
    where
        T: Clone,
    {
        if at.index() >= self.len() {
            self.items.resize(at.index() + 1, item.clone());
        }
        self[at] = item;
    }
}

impl<I, T> Default for By<I, T> {
    fn default() -> By<I, T> {
        By { items: Vec::new(), by: PhantomData }
    }
}

impl<I, T> FromIterator<T> for By<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> By<I, T> {
        By { items: items.into_iter().collect(), by: PhantomData }
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
