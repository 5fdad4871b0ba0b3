//! What the SA answers from: what the manager read and wrote, put together.

use super::config::Config;
use super::responder::SharedResponder;
use crate::driver::Running;
use crate::fabric::Fabric;
use crate::sa::{Directory, DirectoryError, DirectoryFacts, FirstOfHalf, OfLayers, ServiceLevels};
use crate::subnet::Manager;
use crate::tables::{PathLayers, SubnetTables};
use crate::transport::Transport;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the SA is to answer from.
pub(super) struct Outlook {
    /// What is routed, in the indices of [`Running`].
    pub(super) fabric: Arc<Fabric>,
    /// The routes of the half in use, and of the other one where answers will move to it.
    pub(super) tables: SubnetTables,
    /// Who sends by which path of each half.
    pub(super) ways: [Option<Arc<PathLayers>>; 2],
}

/// Gives the SA a directory of the subnet.
///
/// # Errors
/// Something was not read from a device; the SA keeps the directory it had.
pub(super) fn publish<T: Transport>(
    manager: &Manager<T>,
    responder: &SharedResponder,
    config: &Config,
    running: &Running,
    outlook: Outlook,
) -> Result<(), DirectoryError> {
    let Outlook { fabric, tables, ways } = outlook;
    let own = responder.borrow_mut().info();
    let node = |(id, _)| manager.node_info(id);
    let facts = DirectoryFacts {
        fabric: fabric.clone(),
        tables: Arc::new(tables),
        sm: running.sm,
        managers: vec![(running.sm, own)],
        nodes: fabric.nodes().map(node).map(|told| told.map(|(info, _)| info.clone())).collect(),
        switches: fabric.nodes().map(node).map(|told| told.and_then(|(_, info)| info.clone())).collect(),
        ports: fabric.ports().map(|(id, _)| manager.port_info(id).cloned()).collect(),
        p_keys: vec![Vec::new(); fabric.port_count()],
        vl_arbitration: BTreeMap::new(),
        subnet_prefix: config.subnet_prefix,
        packet_life_time: config.limits.life_time_value,
        half: running.half,
        service_levels: levels(&fabric, ways),
        remote: config.remote.clone(),
    };
    let directory = Directory::new(facts)?;
    responder.borrow_mut().set_directory(directory);
    Ok(())
}

/// The service levels that the routing functions of the halves ask for.
fn levels(fabric: &Arc<Fabric>, ways: [Option<Arc<PathLayers>>; 2]) -> Arc<dyn ServiceLevels> {
    match ways {
        [None, None] => Arc::new(FirstOfHalf),
        ways => Arc::new(OfLayers { fabric: fabric.clone(), ways }),
    }
}
