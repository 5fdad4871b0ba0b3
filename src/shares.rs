//! Fair shares of a bounded resource, without a fixed bound per client that would have to suit both few and many.
//!
//! A client is given more as long as it then holds no more than is left free. One that hoards gets half, two get a
//! third each, n get 1/(n + 1) each, and as much stays free for whoever comes next (dynamic thresholds: Choudhury,
//! Hahne, IEEE/ACM ToN 6, 1998, with α = 1).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Room for so many units, and who holds how many.
#[derive(Clone, Debug)]
pub struct Shares<K> {
    free: usize,
    held: BTreeMap<K, usize>,
}

impl<K: Ord> Shares<K> {
    /// Room for `units`, all of it free.
    pub fn new(units: usize) -> Shares<K> {
        Shares { free: units, held: BTreeMap::new() }
    }

    /// Whether a client is given so many more.
    pub fn has_room(&self, client: &K, units: usize) -> bool {
        let held = self.held.get(client).copied().unwrap_or_default();
        held.saturating_add(units) <= self.free
    }

    /// Gives a client so many; whether it could.
    #[must_use]
    pub fn take(&mut self, client: K, units: usize) -> bool {
        let has_room = self.has_room(&client, units);
        if has_room && units > 0 {
            *self.held.entry(client).or_default() += units;
            self.free -= units;
        }
        has_room
    }

    /// Takes back what a client was given.
    ///
    /// # Panics
    /// The client does not hold as many.
    pub fn give_back(&mut self, client: &K, units: usize) {
        // Who was given nothing is not in the list: an empty table is an answer, too.
        if units == 0 {
            return;
        }
        let held = self.held.get_mut(client).expect("the client was given some");
        *held = held.checked_sub(units).expect("it was given as many");
        if *held == 0 {
            self.held.remove(client);
        }
        self.free += units;
    }
}

/// Connections at a time, in fair shares.
#[derive(Clone, Debug)]
pub struct ConnectionShares<K>(Arc<Mutex<Shares<K>>>);

impl<K: Ord + Clone> ConnectionShares<K> {
    /// Room for so many connections.
    pub fn new(connections: usize) -> ConnectionShares<K> {
        ConnectionShares(Arc::new(Mutex::new(Shares::new(connections))))
    }

    /// Room for one more of a client's, until it is dropped; none if the client has its share.
    pub fn admit(&self, client: K) -> Option<Admitted<K>> {
        self.shares().take(client.clone(), 1).then(|| Admitted { of: self.clone(), client })
    }

    fn shares(&self) -> MutexGuard<'_, Shares<K>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for one connection.
#[derive(Debug)]
pub struct Admitted<K: Ord + Clone> {
    of: ConnectionShares<K>,
    client: K,
}

impl<K: Ord + Clone> Drop for Admitted<K> {
    fn drop(&mut self) {
        self.of.shares().give_back(&self.client, 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_hoards_leaves_room_for_the_next_and_what_is_given_back_is_free() {
        let mut shares = Shares::new(1_000);
        let hoard = |shares: &mut Shares<&str>, client| (0..).take_while(|_| shares.take(client, 1)).count();
        let got = ["a", "b", "c"].map(|client| hoard(&mut shares, client));
        assert_eq!(got, [500, 250, 125]);
        assert!(shares.has_room(&"d", 125) && !shares.has_room(&"d", 126));
        shares.give_back(&"a", 500);
        assert_eq!(["b", "a"].map(|client| hoard(&mut shares, client)), [188, 219]);
    }

    #[test]
    fn nothing_is_given_and_taken_back_as_often_as_wanted() {
        let mut shares = Shares::new(1);
        assert!(shares.take("a", 0) && shares.take("a", 0) && shares.take("a", 1));
        for units in [0, 1, 0] {
            shares.give_back(&"a", units);
        }
        assert!(shares.held.is_empty() && shares.has_room(&"a", 1));
    }
}
