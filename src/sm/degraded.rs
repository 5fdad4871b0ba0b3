//! Services that the subnet lacks because devices fail: for status, metrics and log.

use crate::ids::Guid;
use crate::subnet::{DeviceFault, FailingAs, Manager, MissingDevice};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method};
use serde::{Deserialize, Serialize};

/// A device that fails at an attribute, and the consequence.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Degraded {
    /// Its name.
    pub device: String,
    /// Its GUID.
    pub guid: Guid,
    /// The attribute.
    pub attribute: String,
    /// `Get` or `Set`.
    pub method: String,
    /// `silent`, `refuses`, `holds-other`, or `unfit` for a newcomer that does not fit the subnet.
    pub fails: String,
    /// The status of its refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Since when, in nanoseconds of the manager's clock.
    pub since_ns: u64,
    /// Whether it is left out of the subnet.
    pub left_out: bool,
    /// The consequence, in words.
    pub follows: String,
}

impl Degraded {
    /// One line.
    pub fn in_words(&self) -> String {
        let Degraded { device, attribute, method, follows, .. } = self;
        let fails = match (self.fails.as_str(), self.status) {
            ("silent", _) => "does not answer".to_string(),
            ("unfit", _) => "does not fit the subnet".to_string(),
            ("refuses", Some(status)) => format!("refuses, status {status:#06x}"),
            _ => "holds something else than what was written".to_string(),
        };
        format!("{device}: {method} {attribute}: {fails}; {follows}")
    }
}

/// Lists the requests that devices fail, and the devices that do not answer although their links are up.
pub(super) fn list<T: Transport>(manager: &Manager<T>) -> Vec<Degraded> {
    let (unfit, failing): (Vec<_>, Vec<_>) = manager.faults().partition(|(fault, _)| fault.is_unfit());
    let mut list: Vec<Degraded> = failing.into_iter().map(|(fault, left_out)| of_fault(fault, left_out)).collect();
    for missing in manager.missing() {
        // A device has several links, and may be in the list for what it refuses.
        let missing = of_missing(missing);
        if list.iter().all(|known| (known.guid, &known.device) != (missing.guid, &missing.device)) {
            list.push(missing);
        }
    }
    list.extend(unfit.into_iter().map(|(newcomer, left_out)| of_fault(newcomer, left_out)));
    list
}

fn of_missing(missing: &MissingDevice) -> Degraded {
    let unknown = || (Guid(0), format!("the device behind {}", missing.place));
    let (guid, device) = missing.device.clone().unwrap_or_else(unknown);
    let follows = "it counts as gone, and is asked again";
    Degraded {
        device,
        guid,
        attribute: format!("{:?}", AttributeId::NodeInfo),
        method: format!("{:?}", Method::Get),
        fails: "silent".to_string(),
        status: None,
        since_ns: missing.since_ns,
        left_out: true,
        follows: follows.to_string(),
    }
}

pub(super) fn of_fault(fault: &DeviceFault, left_out: bool) -> Degraded {
    let is_wholly_unfit = fault.is_unfit() && matches!(fault.fails, FailingAs::Unfit { wholly: true, .. });
    let (fails, status) = match &fault.fails {
        FailingAs::Silent => ("silent", None),
        FailingAs::Refuses(status) => ("refuses", Some(*status)),
        FailingAs::HoldsOther => ("holds-other", None),
        FailingAs::Unfit { .. } => ("unfit", None),
    };
    Degraded {
        device: fault.name.clone(),
        guid: fault.device,
        attribute: format!("{:?}", fault.attribute),
        method: format!("{:?}", fault.method),
        fails: fails.to_string(),
        status,
        since_ns: fault.since_ns,
        left_out: left_out || is_wholly_unfit,
        follows: match &fault.fails {
            FailingAs::Unfit { why, .. } if is_wholly_unfit => format!("it is not taken in: {why}"),
            FailingAs::Unfit { why, .. } if fault.is_unfit() => format!("part of it is not taken in: {why}"),
            FailingAs::Unfit { why, .. } => format!("{}: {why}", follows(fault, left_out)),
            _ => follows(fault, left_out).to_string(),
        },
    }
}

/// The consequence for the subnet.
fn follows(fault: &DeviceFault, left_out: bool) -> &'static str {
    use AttributeId as A;
    if left_out {
        return "it is left out, and no data passes through it; it is tried again later";
    }
    match (fault.attribute, fault.method) {
        (A::SwitchInfo, Method::Set) => {
            "it keeps the limits that it was read to hold, and changes at its ports show by traps alone"
        }
        (A::PKeyTable, _) => "its partitions stay as they are",
        (A::MulticastForwardingTable, _) => {
            "trees of multicast groups pass it by, and what is attached to it is in none"
        }
        (A::VlArbitrationTable, Method::Get) => {
            "whether its ports serve all lanes is assumed (`arbitration-serves-all-lanes`), not read"
        }
        (A::NodeDescription, _) => "it goes by its GUID",
        (A::PortInfo | A::SwitchInfo, Method::Get) => "what it is like is not known, and it is not used",
        _ => "what needs this is tried again",
    }
}
