//! Switches that choose outputs by themselves, against assumption `entries-decide`.
//!
//! No standard attribute says so. Switches of NVIDIA (Mellanox) have an attribute of their own for it, and only they
//! are asked, since its number means something else elsewhere. A kind of switch that does not serve it is asked once.

use super::{Ask, Manager, RequestTarget, SubnetError};
use crate::fabric::NodeId;
use crate::transport::Transport;
use crate::wire::AttributeId;
use crate::wire::vendor::AdaptiveRoutingInfo;
use std::collections::BTreeMap;

/// NodeInfo:VendorID of NVIDIA (Mellanox).
const MAKER: u32 = 0x00_02C9;

impl<T: Transport> Manager<T> {
    /// The switches of the known fabric that say that adaptive routing, or a fallback to other outputs, is on, in index
    /// order.
    ///
    /// # Errors
    /// No fabric is known, or the port failed.
    pub async fn adaptive_switches(&mut self) -> Result<Vec<NodeId>, SubnetError> {
        let mut kinds: BTreeMap<u32, Vec<NodeId>> = BTreeMap::new();
        for switch in self.live_switches()? {
            let node = self.topology("asking for adaptive routing")?.fabric.node(switch);
            if node.vendor_id == MAKER && !self.without_adaptive.contains(&node.device_id) {
                kinds.entry(node.device_id).or_default().push(switch);
            }
        }
        let mut adaptive = Vec::new();
        for (kind, switches) in kinds {
            // One first: a kind that does not serve the attribute may stay silent, and each would cost every retry.
            let (one, others) = switches.split_at(1);
            match self.ask_adaptive(one).await?[..] {
                [Some(is_on)] => adaptive.extend(is_on.then_some(one[0])),
                _ => {
                    self.without_adaptive.insert(kind);
                    continue;
                }
            }
            let answers = self.ask_adaptive(others).await?;
            adaptive.extend(
                others.iter().zip(answers).filter(|(_, answer)| *answer == Some(true)).map(|(&switch, _)| switch),
            );
        }
        adaptive.sort_unstable();
        Ok(adaptive)
    }

    /// Whether each chooses outputs by itself; none where it does not say.
    async fn ask_adaptive(&mut self, switches: &[NodeId]) -> Result<Vec<Option<bool>>, SubnetError> {
        let ask = |&switch: &NodeId| Ask::get(RequestTarget::Node(switch), AttributeId::AdaptiveRoutingInfo, 0);
        let answers = self.ask(switches.iter().map(ask).collect()).await?;
        let is_on = |info: AdaptiveRoutingInfo| info.fallback || info.enabled;
        Ok(answers
            .iter()
            .map(|answer| answer.as_ref().ok().map(|data| is_on(AdaptiveRoutingInfo::decode(data))))
            .collect())
    }
}
