//! How many MADs clients sent, by class, method and attribute.

use super::clients;
use crate::wire::sa::SaAttributeId;
use crate::wire::{AttributeId, MAD_SIZE, Method, PerfAttributeId, class, class_of};
use std::collections::BTreeMap;

/// MADs that clients sent, answers included.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MadCounts {
    sent: BTreeMap<MadKind, u64>,
}

/// What a MAD asks for, by the numbers of its header.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct MadKind {
    class: u8,
    method: u8,
    attribute: u16,
}

impl MadCounts {
    pub(super) fn count(&mut self, mad: &[u8; MAD_SIZE]) {
        let kind = MadKind { class: class_of(mad), method: clients::method(mad), attribute: clients::attribute(mad) };
        *self.sent.entry(kind).or_default() += 1;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.sent.values().sum()
    }

    /// By `Method(Attribute)`; of classes other than subnet management the class goes before it.
    pub fn by_attribute(&self) -> BTreeMap<String, u64> {
        let mut named = BTreeMap::new();
        for (&kind, count) in &self.sent {
            *named.entry(name(kind)).or_default() += count;
        }
        named
    }
}

/// LID routed and directed SMPs have one name: they ask for the same.
fn name(kind: MadKind) -> String {
    let MadKind { class, method, attribute } = kind;
    let method = Method::from(method);
    match class {
        class::SUBNET_LID | class::SUBNET_DIRECTED => format!("{method:?}({:?})", AttributeId::from(attribute)),
        class::SUBNET_ADMINISTRATION => format!("SA {method:?}({:?})", SaAttributeId::from(attribute)),
        class::PERFORMANCE => format!("Perf {method:?}({:?})", PerfAttributeId::from(attribute)),
        other => format!("class {other:#04x} {method:?}({attribute:#06x})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mads_are_counted_by_what_they_ask_for() {
        let mut counts = MadCounts::default();
        let kinds =
            [(0x81, 0x01, 0x11), (0x01, 0x01, 0x11), (0x81, 0x02, 0x19), (0x04, 0x01, 0x12), (0x03, 0x12, 0x35)];
        for (class, method, attribute) in kinds {
            let mut mad = [0; MAD_SIZE];
            (mad[1], mad[3], mad[17]) = (class, method, attribute);
            counts.count(&mad);
        }
        let named = counts.by_attribute();
        assert_eq!(named["Get(NodeInfo)"], 2);
        assert_eq!(named["Set(LinearForwardingTable)"], 1);
        assert_eq!((named["Perf Get(PortCounters)"], counts.total()), (1, 5));
    }
}
