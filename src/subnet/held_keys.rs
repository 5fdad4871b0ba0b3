//! What ports were last read to hold in their P_Key tables.

use super::manager::Manager;
use crate::fabric::PortId;
use crate::ids::{Guid, PKey, PortNum};
use crate::transport::Transport;
use std::collections::BTreeMap;
use std::sync::Arc;

/// P_Keys in table order, unused entries as 0, those at the end left out.
#[derive(Debug)]
pub(super) struct HeldKeys {
    /// By node GUID and port number.
    known: BTreeMap<(Guid, PortNum), Arc<[PKey]>>,
    /// Shared by the ports that hold the default partition alone, as most do.
    usual: Arc<[PKey]>,
}

impl Default for HeldKeys {
    fn default() -> HeldKeys {
        HeldKeys { known: BTreeMap::new(), usual: Arc::from([PKey::DEFAULT]) }
    }
}

impl<T: Transport> Manager<T> {
    /// The P_Keys that a port was last read to hold, without the unused entries at the end; none if its table was not
    /// read.
    pub fn p_keys(&self, port: PortId) -> Option<&[PKey]> {
        self.held_keys.known.get(&self.place_of(port)?).map(|keys| &**keys)
    }

    /// A port was read to hold these; none: it did not say.
    pub fn holds_p_keys(&mut self, port: PortId, table: Option<&[u16]>) {
        let Some(place) = self.place_of(port) else { return };
        let Some(table) = table else {
            self.held_keys.known.remove(&place);
            return;
        };
        let used = table.iter().rposition(|&key| key != 0).map_or(0, |last| last + 1);
        let usual = &self.held_keys.usual;
        let keys = match table[..used] == [PKey::DEFAULT.0] {
            true => usual.clone(),
            false => table[..used].iter().map(|&key| PKey(key)).collect(),
        };
        self.held_keys.known.insert(place, keys);
    }

    /// Another manager may have written P_Key tables since they were read.
    pub fn forget_p_keys(&mut self) {
        self.held_keys.known.clear();
    }

    fn place_of(&self, port: PortId) -> Option<(Guid, PortNum)> {
        let fabric = &self.topology.as_ref()?.fabric;
        let owner = fabric.port(port);
        Some((fabric.node(owner.node).guid, owner.num))
    }
}
