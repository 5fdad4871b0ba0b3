//! Assembles the directory from which the SA answers, from what the manager read and wrote.

use super::config::Config;
use super::responder::SharedResponder;
use crate::fabric::Fabric;
use crate::ids::{PKey, Sl};
use crate::sa::{
    Directory, DirectoryError, DirectoryFacts, FirstOfHalf, MulticastFacts, OfLayers, Reserving, ServiceLevels,
};
use crate::subnet::{Manager, Outlook, SubnetManager};
use crate::tables::PathLayers;
use crate::transport::Transport;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Publishes a directory of the subnet to the SA.
///
/// # Errors
/// An attribute of a device was not read; the SA keeps its previous directory.
pub(super) fn publish<T: Transport>(
    manager: &Manager<T>,
    responder: &SharedResponder,
    config: &Config,
    outlook: Outlook,
) -> Result<(), DirectoryError> {
    let Outlook { fabric, tables, ways, half, sm } = outlook;
    let own = responder.borrow_mut().info();
    let node = |(id, _)| manager.node_info(id);
    let facts = DirectoryFacts {
        fabric: fabric.clone(),
        tables: Arc::new(tables),
        sm,
        managers: vec![(sm, own)],
        nodes: fabric.nodes().map(node).map(|known| known.map(|(info, _)| info.clone())).collect(),
        switches: fabric.nodes().map(node).map(|known| known.and_then(|(_, info)| info.clone())).collect(),
        ports: fabric.ports().map(|(id, _)| manager.port_info(id).cloned()).collect(),
        p_keys: fabric.ports().map(|(id, _)| manager.p_keys(id).map_or_else(Vec::new, table)).collect(),
        vl_arbitration: BTreeMap::new(),
        subnet_prefix: config.subnet_prefix,
        packet_life_time: config.limits.life_time_value,
        half,
        service_levels: levels(&fabric, ways, config.policy.reserved_sl),
        remote: config.remote.clone(),
        multicast: config.policy.reserved_sl.map(|sl| MulticastFacts {
            sl,
            mlids: mlids(manager, &fabric),
            broadcast: config.broadcast,
        }),
    };
    let directory = Directory::new(facts)?;
    responder.borrow_mut().set_directory(directory, manager.now_ns());
    Ok(())
}

/// The number of multicast LIDs that every switch has entries for. Switches without any do not count: trees pass them
/// by.
fn mlids<T: Transport>(manager: &Manager<T>, fabric: &Fabric) -> u16 {
    let cap =
        |switch| manager.node_info(switch).and_then(|(_, info)| info.as_ref()).map_or(0, |info| info.multicast_fdb_cap);
    let caps: Vec<u16> = fabric.switches().filter(|&switch| fabric.node(switch).present).map(cap).collect();
    match caps.is_empty() {
        // Two hosts at one cable: nothing forwards.
        true => u16::MAX,
        false => caps.into_iter().filter(|&cap| cap > 0).min().unwrap_or_default(),
    }
}

/// The P_Keys of a port whose table was read. They are never empty, since an empty table stands for one that was not
/// read.
fn table(keys: &[PKey]) -> Vec<u16> {
    if keys.is_empty() { vec![0] } else { keys.iter().map(|key| key.0).collect() }
}

/// The service levels that the routing functions of the halves require, and the one reserved for switches.
fn levels(fabric: &Arc<Fabric>, ways: [Option<Arc<PathLayers>>; 2], reserved: Option<Sl>) -> Arc<dyn ServiceLevels> {
    let data: Arc<dyn ServiceLevels> = match ways {
        [None, None] => Arc::new(FirstOfHalf),
        ways => Arc::new(OfLayers { fabric: fabric.clone(), ways }),
    };
    match reserved {
        Some(sl) => Arc::new(Reserving { fabric: fabric.clone(), sl, data }),
        None => data,
    }
}
