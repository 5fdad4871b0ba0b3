//! The P_Key tables of ports, as last read.

use super::manager::Manager;
use crate::fabric::PortId;
use crate::ids::{PKey, PortName};
use crate::transport::Transport;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// P_Keys in table order, unused entries as 0, those at the end left out.
#[derive(Debug)]
pub(super) struct HeldKeys {
    /// The tables.
    known: BTreeMap<PortName, Arc<[PKey]>>,
    /// Ports of which some block was not read.
    partly: BTreeSet<PortName>,
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
        self.held_keys.known.get(&self.port_name(port)?).map(|keys| &**keys)
    }

    /// Whether some block of a port's table was not read: it may hold more.
    pub fn p_keys_are_partial(&self, port: PortId) -> bool {
        self.port_name(port).is_some_and(|port| self.held_keys.partly.contains(&port))
    }

    /// Keeps the P_Keys that a port was read to hold, in the blocks that it reported; `is_whole` says whether these are
    /// all.
    pub fn holds_p_keys(&mut self, port: PortId, table: &[PKey], is_whole: bool) {
        let Some(port) = self.port_name(port) else { return };
        match is_whole {
            true => _ = self.held_keys.partly.remove(&port),
            false => _ = self.held_keys.partly.insert(port),
        }
        let used = table.iter().rposition(|key| key.0 != 0).map_or(0, |last| last + 1);
        let usual = &self.held_keys.usual;
        let keys = match table[..used] == [PKey::DEFAULT] {
            true => usual.clone(),
            false => Arc::from(&table[..used]),
        };
        self.held_keys.known.insert(port, keys);
    }

    /// Forgets all tables: another manager may have written them since they were read.
    pub fn forget_p_keys(&mut self) {
        self.held_keys.known.clear();
        self.held_keys.partly.clear();
    }

    fn port_name(&self, port: PortId) -> Option<PortName> {
        Some(self.topology.as_ref()?.fabric.port_name(port))
    }
}
