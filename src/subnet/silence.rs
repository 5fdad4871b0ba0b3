//! Requests that nothing may wait for: a device that was silent the last time is asked once, without retries.
//!
//! SMInfo, AdaptiveRoutingInfo and the values read back after a light sweep are such questions. Deliberately omitted:
//! questions that the last sweep had no answer to, whose device may be known only by the port in front of it (`sweep`),
//! and devices that are spared questions for a while after a failure (`health`).

use super::ask::Unanswered;
use super::{Ask, AskResult, Manager, RequestTarget, SubnetError};
use crate::ids::Guid;
use crate::transport::Transport;
use crate::wire::AttributeId;
use std::collections::BTreeSet;

/// The requests that went unanswered the last time: the GUID of the device or port, and the number of the attribute.
pub(super) type SilentPlaces = BTreeSet<(Guid, u16)>;

impl<T: Transport> Manager<T> {
    /// Asks devices in parallel; `None` if `until_event` is set and an event has arrived. Devices that were silent the
    /// last time are sent each request once.
    ///
    /// # Errors
    /// As [`Manager::ask`].
    pub async fn ask_beside(
        &mut self,
        asks: Vec<Ask>,
        until_event: bool,
    ) -> Result<Option<Vec<AskResult>>, SubnetError> {
        let fabric = &self.topology("asking devices")?.fabric;
        let place = |ask: &Ask| match ask.place {
            RequestTarget::Node(node) => (fabric.node(node).guid, ask.attribute.into()),
            RequestTarget::Port(port) => (fabric.port_guid(port), ask.attribute.into()),
        };
        let places: Vec<(Guid, u16)> = asks.iter().map(place).collect();
        let once = (0..).zip(&places).filter(|(_, place)| self.silent.contains(place)).map(|(tag, _)| tag).collect();
        let answers = self.ask_some(asks.into_iter(), &mut Unanswered::default(), &once, until_event).await?;
        if self.is_interrupted(until_event) {
            return Ok(None);
        }
        for (place, answer) in places.into_iter().zip(&answers) {
            match answer {
                Err(SubnetError::Silent { .. }) => _ = self.silent.insert(place),
                Ok(_) | Err(SubnetError::Refused { .. }) => _ = self.silent.remove(&place),
                Err(_) => {}
            }
        }
        Ok(Some(answers))
    }

    /// Has such devices and ports asked with all tries the next time.
    pub fn forget_silence(&mut self, attribute: AttributeId, of: impl Fn(Guid) -> bool) {
        let number = u16::from(attribute);
        self.silent.retain(|&(place, about)| about != number || !of(place));
    }
}
