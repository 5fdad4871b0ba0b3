//! The InfiniBand adapters of this machine, and the choice of a port.

use crate::ids::{Guid, Lid, PortNum};
use crate::wire::{PortPhysState, PortState};

/// One InfiniBand adapter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Adapter {
    /// The kernel's name for it, such as `mlx5_0`.
    pub name: String,
    /// The GUID of the node.
    pub node_guid: Guid,
    /// Whether it is a switch, which manages itself through its port 0.
    pub is_switch: bool,
    /// Its ports, in the order of their numbers.
    pub ports: Vec<AdapterPort>,
}

/// A port of an adapter, as the kernel reported it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdapterPort {
    /// Its number at the adapter.
    pub number: PortNum,
    /// Its own GUID.
    pub guid: Guid,
    /// Whether it carries data.
    pub state: PortState,
    /// Whether it has a link.
    pub phys_state: PortPhysState,
    /// Its base LID; 0 if no subnet manager has assigned one.
    pub lid: Lid,
    /// LID mask control: it answers to 2^LMC LIDs.
    pub lmc: u8,
    /// The LID of its subnet manager; 0 for none.
    pub sm_lid: Lid,
    /// `InfiniBand`, or `Ethernet`, which has no subnet manager.
    pub link_layer: String,
}

/// Why no port was chosen.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChoiceError {
    /// The machine has no adapter.
    #[error("this machine has no InfiniBand adapter: /sys/class/infiniband is empty (is the adapter's driver loaded?)")]
    NoAdapter,
    /// No adapter of that name.
    #[error("there is no adapter `{wanted}` here; there are: {there}")]
    UnknownAdapter {
        /// The name asked for.
        wanted: String,
        /// The existing ones.
        there: String,
    },
    /// No port of that number.
    #[error("adapter `{adapter}` has no port {wanted}; it has: {there}")]
    UnknownPort {
        /// The adapter.
        adapter: String,
        /// The number asked for.
        wanted: PortNum,
        /// The existing ones.
        there: String,
    },
    /// The port is not InfiniBand (RoCE).
    #[error("port {port} of `{adapter}` is {link_layer}: only InfiniBand has a subnet manager")]
    NotInfiniBand {
        /// The adapter.
        adapter: String,
        /// Its port.
        port: PortNum,
        /// Its link layer.
        link_layer: String,
    },
    /// All ports are disabled.
    #[error("no InfiniBand port of {looked_at} is enabled; name one with --ca and --port to use it anyway")]
    NothingUp {
        /// The adapters looked at.
        looked_at: String,
    },
}

/// The port selected by an adapter's name, a number, both or neither. The rule is libibumad's: the first adapter with
/// an ACTIVE port; if there is none, the first with a link, then the first that is not disabled.
pub(super) fn choose(
    adapters: &[Adapter],
    name: Option<&str>,
    port: Option<PortNum>,
) -> Result<(String, PortNum), ChoiceError> {
    let named: Vec<&Adapter> = adapters.iter().filter(|adapter| name.is_none_or(|name| adapter.name == name)).collect();
    if adapters.is_empty() {
        return Err(ChoiceError::NoAdapter);
    }
    if let (Some(wanted), true) = (name, named.is_empty()) {
        return Err(ChoiceError::UnknownAdapter { wanted: wanted.into(), there: names(adapters.iter()) });
    }
    if let (Some(wanted), [adapter]) = (port, named.as_slice()) {
        return numbered(adapter, wanted);
    }
    let ports: Vec<(&Adapter, &AdapterPort)> = named
        .iter()
        .flat_map(|&adapter| adapter.ports.iter().map(move |port| (adapter, port)))
        .filter(|(_, found)| is_infiniband(found) && port.is_none_or(|port| found.number == port))
        .collect();
    let grades: [fn(&AdapterPort) -> bool; 3] = [
        |port| port.state == PortState::Active,
        |port| port.phys_state == PortPhysState::LinkUp,
        |port| port.phys_state != PortPhysState::Disabled,
    ];
    let best = grades.iter().find_map(|good| ports.iter().find(|(_, port)| good(port)));
    best.map(|(adapter, port)| (adapter.name.clone(), port.number))
        .ok_or_else(|| ChoiceError::NothingUp { looked_at: names(named.iter().copied()) })
}

/// The port of that number, whatever its state: the user named it.
fn numbered(adapter: &Adapter, wanted: PortNum) -> Result<(String, PortNum), ChoiceError> {
    let Some(port) = adapter.ports.iter().find(|port| port.number == wanted) else {
        let there: Vec<String> = adapter.ports.iter().map(|port| port.number.to_string()).collect();
        return Err(ChoiceError::UnknownPort { adapter: adapter.name.clone(), wanted, there: there.join(", ") });
    };
    if !is_infiniband(port) {
        let (adapter, link_layer) = (adapter.name.clone(), port.link_layer.clone());
        return Err(ChoiceError::NotInfiniBand { adapter, port: wanted, link_layer });
    }
    Ok((adapter.name.clone(), wanted))
}

fn is_infiniband(port: &AdapterPort) -> bool {
    // Kernels too old to report this support nothing else; the library then writes `IB`.
    matches!(port.link_layer.as_str(), "InfiniBand" | "IB" | "")
}

fn names<'a>(adapters: impl Iterator<Item = &'a Adapter>) -> String {
    adapters.map(|adapter| format!("`{}`", adapter.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, ports: &[(PortState, PortPhysState)]) -> Adapter {
        let ports = ports.iter().zip(1..).map(|(&(state, phys_state), number)| AdapterPort {
            number: PortNum(number),
            guid: Guid(u64::from(number)),
            state,
            phys_state,
            lid: Lid(0),
            lmc: 0,
            sm_lid: Lid(0),
            link_layer: "InfiniBand".into(),
        });
        Adapter { name: name.into(), node_guid: Guid(1), is_switch: false, ports: ports.collect() }
    }

    const ACTIVE: (PortState, PortPhysState) = (PortState::Active, PortPhysState::LinkUp);
    const LINKED: (PortState, PortPhysState) = (PortState::Initialize, PortPhysState::LinkUp);
    const POLLING: (PortState, PortPhysState) = (PortState::Down, PortPhysState::Polling);
    const OFF: (PortState, PortPhysState) = (PortState::Down, PortPhysState::Disabled);

    fn chosen(adapters: &[Adapter], name: Option<&str>, port: Option<u8>) -> Result<(String, u8), ChoiceError> {
        choose(adapters, name, port.map(PortNum)).map(|(name, port)| (name, port.0))
    }

    #[test]
    fn the_first_active_port_goes_before_links_and_those_before_the_rest() {
        let two = [adapter("a", &[OFF, LINKED]), adapter("b", &[POLLING, ACTIVE])];
        assert_eq!(chosen(&two, None, None), Ok(("b".into(), 2)));
        assert_eq!(chosen(&two[..1], None, None), Ok(("a".into(), 2)));
        assert_eq!(chosen(&[adapter("c", &[OFF, POLLING])], None, None), Ok(("c".into(), 2)));
        assert_eq!(chosen(&two, None, Some(1)), Ok(("b".into(), 1)), "the only port 1 that is not off");
    }

    #[test]
    fn whoever_names_a_port_gets_it_or_hears_why_not() {
        let mut two = [adapter("a", &[OFF]), adapter("b", &[ACTIVE])];
        assert_eq!(chosen(&two, Some("a"), Some(1)), Ok(("a".into(), 1)));
        assert!(matches!(chosen(&two, Some("a"), Some(2)), Err(ChoiceError::UnknownPort { .. })));
        assert!(matches!(chosen(&two, Some("c"), None), Err(ChoiceError::UnknownAdapter { .. })));
        assert!(matches!(chosen(&two, Some("a"), None), Err(ChoiceError::NothingUp { .. })));
        assert_eq!(chosen(&[], None, None), Err(ChoiceError::NoAdapter));
        two[1].ports[0].link_layer = "Ethernet".into();
        assert!(matches!(chosen(&two, Some("b"), Some(1)), Err(ChoiceError::NotInfiniBand { .. })));
        assert!(matches!(chosen(&two, Some("b"), None), Err(ChoiceError::NothingUp { .. })));
    }
}
