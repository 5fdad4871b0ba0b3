//! Ports whose LIDs differ from the capture's: a renumbering, which must not be overlooked.

use crate::fabric::{Fabric, PortId};
use crate::ids::{Lid, Lmc};

/// A port, and its LIDs in the capture and in use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MovedLids {
    /// The port.
    pub port: PortId,
    /// Base LID and LMC in the capture.
    pub was: (Lid, Lmc),
    /// Those in use; none for a port that is not there.
    pub is: Option<(Lid, Lmc)>,
}

/// The ports with another base LID than in `captured`, which has the same indices, by index.
pub fn moved(captured: &Fabric, used: &Fabric) -> Vec<MovedLids> {
    let own = |fabric: &Fabric, port: PortId| Some((fabric.port(port).lid?, fabric.port(port).lmc));
    let both = captured.lid_ports().filter_map(|port| Some((port, own(captured, port)?, own(used, port))));
    let moved = both.filter(|(_, was, is)| is.is_some_and(|is| is.0 != was.0));
    moved.map(|(port, was, is)| MovedLids { port, was, is }).collect()
}

/// The text for a reader; none if there are none.
pub fn describe_moved(used: &Fabric, moved: &[MovedLids]) -> Option<String> {
    let &MovedLids { port, was, is } = moved.first()?;
    let (number, all, name) = (moved.len(), used.lid_ports().count(), used.describe_port(port));
    let now = is.map_or("none".to_string(), |(lid, _)| lid.to_string());
    Some(format!(
        "{number} of {all} ports have other LIDs here than in the capture ({name}: {now}, not {}), so that each end port has as \
         many as are needed",
        was.0
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fabric::generate::{Options, Topology, generate};
    use crate::lid::assign;

    #[test]
    fn what_keeps_its_lids_is_not_told() {
        let topology: Topology = "ring:4,1".parse().expect("a topology");
        let captured = generate(&topology, &Options::default()).expect("a ring");
        assert_eq!(moved(&captured, &captured), []);
        let used = assign(&captured, Lmc::new(1).expect("an LMC")).expect("room");
        let found = moved(&captured, &used);
        assert!(!found.is_empty());
        let text = describe_moved(&used, &found).expect("some");
        assert!(text.starts_with(&format!("{} of 8 ports have other LIDs here", found.len())), "{text}");
    }
}
