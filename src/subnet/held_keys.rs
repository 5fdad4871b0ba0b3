//! The P_Key tables of ports, as last read.

use super::manager::Manager;
use crate::fabric::PortId;
use crate::ids::{Guid, PKey, PortNum};
use crate::transport::Transport;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// P_Keys in table order, unused entries as 0, those at the end left out.
#[derive(Debug)]
pub(super) struct HeldKeys {
    /// By node GUID and port number.
    known: BTreeMap<(Guid, PortNum), Arc<[PKey]>>,
    /// Ports of which some block was not read.
    partly: BTreeSet<(Guid, PortNum)>,
    /// Shared by the ports that hold the default partition alone, as most do.
    usual: Arc<[PKey]>,
}

impl Default for HeldKeys {
    fn default() -> HeldKeys {
        HeldKeys { known: BTreeMap::new(), partly: BTreeSet::new(), usual: Arc::from([PKey::DEFAULT]) }
    }
}

impl<T: Transport> Manager<T> {
    /// The P_Keys that a port was last read to hold, without the unused entries at the end; none if its table was not
    /// read.
    pub fn p_keys(&self, port: PortId) -> Option<&[PKey]> {
        self.held_keys.known.get(&self.place_of(port)?).map(|keys| &**keys)
    }

    /// Whether some block of a port's table was not read: it may hold more.
    pub fn p_keys_are_partial(&self, port: PortId) -> bool {
        self.place_of(port).is_some_and(|place| self.held_keys.partly.contains(&place))
    }

    /// Keeps the P_Keys that a port was read to hold, in the blocks that it reported; `is_whole` says whether these are
    /// all.
    pub fn holds_p_keys(&mut self, port: PortId, table: &[PKey], is_whole: bool) {
        let Some(place) = self.place_of(port) else { return };
        match is_whole {
            true => _ = self.held_keys.partly.remove(&place),
            false => _ = self.held_keys.partly.insert(place),
        }
        let used = table.iter().rposition(|key| key.0 != 0).map_or(0, |last| last + 1);
        let usual = &self.held_keys.usual;
        let keys = match table[..used] == [PKey::DEFAULT] {
            true => usual.clone(),
            false => Arc::from(&table[..used]),
        };
        self.held_keys.known.insert(place, keys);
    }

    /// Forgets all tables: another manager may have written them since they were read.
    pub fn forget_p_keys(&mut self) {
        self.held_keys.known.clear();
        self.held_keys.partly.clear();
    }

    fn place_of(&self, port: PortId) -> Option<(Guid, PortNum)> {
        Some(self.topology.as_ref()?.fabric.place(port))
    }
}
