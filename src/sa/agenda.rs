//! Entries that wait until a due time.

use std::collections::{BTreeMap, BTreeSet};

/// Entries by key, and also in the order of their due times.
#[derive(Clone, Debug)]
pub(super) struct Agenda<K, V> {
    items: BTreeMap<K, (u64, V)>,
    order: BTreeSet<(u64, K)>,
}

impl<K, V> Default for Agenda<K, V> {
    fn default() -> Agenda<K, V> {
        Agenda { items: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<K: Ord + Copy, V> Agenda<K, V> {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// Inserts the entry for `key`, or replaces it.
    pub(super) fn insert(&mut self, key: K, due_ns: u64, value: V) {
        self.remove(&key);
        self.items.insert(key, (due_ns, value));
        self.order.insert((due_ns, key));
    }

    pub(super) fn remove(&mut self, key: &K) -> Option<V> {
        let (due_ns, value) = self.items.remove(key)?;
        self.order.remove(&(due_ns, *key));
        Some(value)
    }

    /// The earliest due time; `u64::MAX` if nothing waits.
    pub(super) fn due_ns(&self) -> u64 {
        self.order.first().map_or(u64::MAX, |&(due_ns, _)| due_ns)
    }

    /// Removes and returns the earliest entry that is due.
    pub(super) fn pop_due(&mut self, now_ns: u64) -> Option<(K, V)> {
        let &(due_ns, key) = self.order.first()?;
        if due_ns > now_ns {
            return None;
        }
        self.remove(&key).map(|value| (key, value))
    }

    /// Drops every entry for which `stays` is false.
    pub(super) fn retain(&mut self, stays: impl Fn(&V) -> bool) {
        let gone: Vec<K> = self.items.iter().filter(|(_, (_, value))| !stays(value)).map(|(&key, _)| key).collect();
        gone.iter().for_each(|key| drop(self.remove(key)));
    }
}
