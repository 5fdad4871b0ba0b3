//! Settings that a subnet keeps while it carries traffic, although this manager is configured otherwise: LMC, data VLs,
//! GID prefix and M_Key protection.
//!
//! Each is that of most ports that carry data, unless the user requires the configured one. The log names what is kept,
//! and a reserved service level that is not.

use super::config::Config;
use super::installed;
use crate::fabric::{Fabric, PortId};
use crate::ids::{Lmc, Sl};
use crate::plan::{Lanes, Policy};
use crate::subnet::{Discovered, Manager};
use crate::tables::{NodeSlToVl, PortState, SubnetTables};
use crate::transport::Transport;
use std::collections::BTreeMap;

/// The LMC to bring the subnet up with. A subnet that carries traffic keeps its own, since another one would move LIDs
/// under that traffic. The wanted one applies where nothing flows, or where it is required.
pub(super) fn lmc_to_keep(found: &Discovered, wanted: Lmc, is_required: bool) -> Lmc {
    if is_required || !installed::carries_traffic(&found.fabric, &found.port_states) {
        return wanted;
    }
    let fabric = &found.fabric;
    let addressed = fabric.end_ports().filter(|&port| is_active(found, port) && fabric.port(port).lid.is_some());
    let Some(held) = of_most(addressed.map(|port| fabric.port(port).lmc)) else { return wanted };
    if held < wanted {
        tracing::warn!(%held, %wanted, "the subnet carries traffic under a lesser LMC, which is kept: with LMC 0 no change can \
            move hosts to other LIDs, so that only changes by forwarding entries alone are made (--lmc to have it changed)");
    }
    held
}

/// The most data VLs to bring the subnet up with. A subnet that carries traffic keeps its own, since packets stand in
/// them and more come into operation only while links are down. The wanted number applies where nothing flows, where no
/// port reports its number, or where it is required.
pub(super) fn data_vls_to_keep<T: Transport>(manager: &Manager<T>, found: &Discovered, config: &Config) -> u8 {
    let fabric = &found.fabric;
    if config.data_vls_are_required || !installed::carries_traffic(fabric, &found.port_states) {
        return config.data_vls;
    }
    let wanted = config.data_vls;
    let held = lanes_of_most(manager, found).unwrap_or(wanted);
    if held < wanted {
        tracing::warn!(%held, %wanted, "the subnet carries traffic on fewer data VLs, which are kept: a change by `double` \
            needs two (--vls to have it changed, for which links go down)");
    }
    held
}

/// The GID prefix to bring the subnet up with. A subnet that carries traffic keeps its own, since hosts are addressed
/// by it. The wanted one applies where nothing flows, or where it is required.
pub(super) fn prefix_to_keep<T: Transport>(manager: &Manager<T>, found: &Discovered, config: &Config) -> u64 {
    let wanted = config.subnet_prefix;
    let ends = found.fabric.end_ports().filter(|&port| is_active(found, port));
    let held = of_most(ends.filter_map(|port| manager.port_info(port)).map(|info| info.gid_prefix));
    let Some(held) = held.filter(|&held| held != wanted && held != 0) else { return wanted };
    if config.subnet_prefix_is_required {
        tracing::warn!("hosts get the GID prefix {wanted:016x}, and had {held:016x}: their GIDs change");
        return wanted;
    }
    tracing::info!(
        "the subnet carries traffic under the GID prefix {held:016x}, which is kept (--subnet-prefix to have it changed)"
    );
    held
}

/// The protection by the M_Key to bring the subnet up with: the stricter of the configured one and that of most ports
/// that carry data and hold this key, since an earlier manager had a reason for it. A lease is not kept: nothing renews
/// it.
pub(super) fn protection_to_keep<T: Transport>(manager: &Manager<T>, found: &Discovered, config: &Config) -> u8 {
    let wanted = config.m_key_protection;
    if config.m_key == 0 {
        return wanted;
    }
    let ends = found.fabric.end_ports().filter(|&port| is_active(found, port));
    let infos: Vec<_> = ends.filter_map(|port| manager.port_info(port)).collect();
    let keyed = || infos.iter().filter(|info| info.m_key == config.m_key);
    let lease = of_most(keyed().map(|info| info.m_key_lease_period));
    if let Some(lease) = lease.filter(|&held| held != config.m_key_lease_s) {
        tracing::warn!("ports forgot their M_Key {lease} s after a violation, and keep it for ever now");
    }
    let Some(held) = of_most(keyed().map(|info| info.m_key_protect_bits)).filter(|&held| held > wanted) else {
        return wanted;
    };
    tracing::info!("ports are under M_Key protection {held}, which is kept");
    held
}

/// Warns if the manager before this one reserved a service level and this one reserves none.
pub(super) fn warn_of_level_given_up(fabric: &Fabric, held: &SubnetTables, policy: &Policy) {
    if let Some(level) = level_given_up(fabric, held, policy) {
        tracing::warn!(
            "SL {level} has a lane to itself, as with --reserved-sl {level}: without that option data gets it back, and \
             IPoIB does not work"
        );
    }
}

/// The level that the tables of most devices reserve, if this manager reserves none.
fn level_given_up(fabric: &Fabric, held: &SubnetTables, policy: &Policy) -> Option<Sl> {
    let steady = |reserved| Lanes::of_fabric(fabric, reserved).steady(policy.partition);
    let present = fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id);
    let uniform = present.filter_map(|id| match *held.sl_to_vl[id.index()] {
        NodeSlToVl::Uniform(table) => Some(table.0),
        _ => None,
    });
    let held = of_most(uniform).filter(|&held| policy.reserved_sl.is_none() && held != steady(None).0)?;
    Sl::all().find(|&sl| steady(Some(sl)).0 == held)
}

/// The number of data VLs in operation at most ports that carry data; `None` if no port reports it.
pub(super) fn lanes_of_most<T: Transport>(manager: &Manager<T>, found: &Discovered) -> Option<u8> {
    of_most(carrying(found).filter_map(|port| manager.port_info(port)?.operational_vls.lanes()))
}

/// Cabled ports that let data through.
pub(super) fn carrying(found: &Discovered) -> impl Iterator<Item = PortId> + '_ {
    let cabled = found.fabric.ports().filter(|(_, port)| port.peer.is_some()).map(|(id, _)| id);
    cabled.filter(|&port| is_active(found, port))
}

/// The most frequent value, the smallest on a tie; `None` for an empty list. Callers pass values of ports that carry
/// data: other ports hold values from elsewhere, and are written before they carry any.
fn of_most<T: Ord>(held: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: BTreeMap<T, usize> = BTreeMap::new();
    held.for_each(|value| *counts.entry(value).or_default() += 1);
    let most = counts.values().copied().max()?;
    counts.into_iter().find(|&(_, count)| count == most).map(|(value, _)| value)
}

pub(super) fn is_active(found: &Discovered, port: PortId) -> bool {
    found.port_states[port.index()] == PortState::Active
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, generate};
    use crate::ids::Half;
    use crate::plan::LanePartition;

    #[test]
    fn a_level_that_is_given_up_is_recognised() {
        let fabric = generate(&"fat-tree:4,2".parse().expect("a topology"), &Options::default()).expect("a fabric");
        let held = |level| {
            let steady = Lanes::of_fabric(&fabric, level).steady(LanePartition::default());
            SubnetTables::new(&fabric, steady, Half::Lower)
        };
        let policy = |reserved_sl| Policy { reserved_sl, ..Policy::default() };
        for level in (1..8).map(Sl::new) {
            assert_eq!(level_given_up(&fabric, &held(level), &policy(None)), level);
            assert_eq!(level_given_up(&fabric, &held(level), &policy(level)), None);
        }
        assert_eq!(level_given_up(&fabric, &held(None), &policy(None)), None);
    }
}
