//! Switches that choose outputs by themselves, against assumption `entries-decide`.
//!
//! No standard attribute reports this. NVIDIA (Mellanox) switches have a vendor attribute for it, and only they are
//! asked, because its number has another meaning elsewhere. A kind of switch that refuses it is not asked again. If
//! nothing is known of a kind, two switches of it are asked first. Switches that were silent the last time are asked
//! once, without retries.

use super::{Ask, Manager, RequestTarget, SubnetError};
use crate::fabric::NodeId;
use crate::transport::Transport;
use crate::wire::AttributeId;
use crate::wire::vendor::AdaptiveRoutingInfo;
use std::collections::BTreeMap;

/// NodeInfo:VendorID of NVIDIA (Mellanox).
const MAKER: u32 = 0x00_02C9;

/// How many switches of an unknown kind are asked first. A silent one costs all its retries, and a single one may be
/// faulty.
const FIRST: usize = 2;

/// Kinds of switches, by NodeInfo:DeviceID: whether they report whether they choose outputs by themselves.
pub(super) type AdaptiveKinds = BTreeMap<u32, bool>;

impl<T: Transport> Manager<T> {
    /// The switches of the known fabric that report adaptive routing, or a fallback to other outputs, as on, in index
    /// order; `None` if `until_event` is set and an event has arrived.
    ///
    /// # Errors
    /// No fabric is known, or the port failed.
    pub async fn adaptive_switches(&mut self, until_event: bool) -> Result<Option<Vec<NodeId>>, SubnetError> {
        let mut kinds: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        for switch in self.live_switches()? {
            let node = self.topology("asking for adaptive routing")?.fabric.node(switch);
            if node.vendor_id == MAKER && self.adaptive.get(&node.device_id) != Some(&false) {
                kinds.entry(node.device_id).or_default().push(switch);
            }
        }
        let (mut first, mut others) = (Vec::new(), Vec::new());
        for (kind, switches) in &kinds {
            let count = if self.adaptive.contains_key(kind) { switches.len() } else { FIRST.min(switches.len()) };
            first.extend(&switches[..count]);
            others.extend(switches[count..].iter().map(|&switch| (*kind, switch)));
        }
        let Some(mut answers) = self.ask_adaptive(&first, until_event).await? else { return Ok(None) };
        for (kind, switches) in kinds {
            // Silence says nothing: the kind stays unknown.
            let said: Vec<bool> =
                switches.iter().filter_map(|switch| answers.get(switch)).map(Option::is_some).collect();
            if !said.is_empty() {
                self.adaptive.entry(kind).or_insert(said.contains(&true));
            }
        }
        others.retain(|(kind, _)| self.adaptive.get(kind) == Some(&true));
        let others: Vec<NodeId> = others.into_iter().map(|(_, switch)| switch).collect();
        let Some(more) = self.ask_adaptive(&others, until_event).await? else { return Ok(None) };
        answers.extend(more);
        Ok(Some(answers.into_iter().filter(|&(_, is_on)| is_on == Some(true)).map(|(switch, _)| switch).collect()))
    }

    /// For each switch that answers, whether it chooses outputs by itself; `None` if it refuses to say so.
    async fn ask_adaptive(
        &mut self,
        switches: &[NodeId],
        until_event: bool,
    ) -> Result<Option<BTreeMap<NodeId, Option<bool>>>, SubnetError> {
        let ask = |&switch: &NodeId| Ask::get(RequestTarget::Node(switch), AttributeId::AdaptiveRoutingInfo, 0);
        let asks = switches.iter().map(ask).collect();
        let Some(answers) = self.ask_beside(asks, until_event).await? else { return Ok(None) };
        let mut adaptive = BTreeMap::new();
        for (&switch, answer) in switches.iter().zip(answers) {
            let is_on = match answer {
                Ok(data) => {
                    let AdaptiveRoutingInfo { fallback, enabled } = AdaptiveRoutingInfo::decode(&data);
                    Some(fallback || enabled)
                }
                Err(SubnetError::Refused { .. }) => None,
                Err(_) => continue,
            };
            adaptive.insert(switch, is_on);
        }
        Ok(Some(adaptive))
    }
}
