//! The reserved service level of a plan: traffic on it other than multicast is proved, or assumed to pause.
//!
//! A plan is made with assumption `switch-management-paused`. With a reserved level it drops that assumption, unless
//! the prover finds that packets to LIDs of switches could wait for each other, go round or arrive elsewhere (section K
//! of docs/PROTOCOL.md).

use super::{Assumption, Plan};
use crate::ids::ReservedLevel;
use crate::verify::{self, Reservation};

/// Why a plan assumes that packets pause which are in no class of data: how its note ends.
pub const UNRESERVED: &str = "no service level is reserved for such packets (--reserved-sl)";

impl Plan {
    /// The service level that is of neither half, and its lane.
    pub fn reserved(&self) -> Option<ReservedLevel> {
        self.draft.lanes.reserved
    }

    /// Returns whether the judges of the plan follow packets on its reserved level.
    pub fn proves_switch_management(&self) -> bool {
        self.reserved().is_some() && !self.draft.assumptions.contains(&Assumption::SwitchManagementPaused)
    }

    /// The plan without the assumption about management to switches, if it has a reserved level on which that is
    /// proved; with a note that says why it, and that about multicast, are needed, if they are.
    #[must_use]
    pub fn prove_switch_management(mut self) -> Plan {
        if self.reserved().is_none() {
            let paused = [Assumption::SwitchManagementPaused, Assumption::NoMulticast];
            let named = paused.into_iter().filter(|paused| self.draft.assumptions.contains(paused));
            let named: Vec<_> = named.map(|paused| format!("`{}`", paused.name())).collect();
            if !named.is_empty() {
                let (named, are) = (named.join(" and "), if named.len() > 1 { "are" } else { "is" });
                self.draft.notes.push(format!("{named} {are} assumed, because {UNRESERVED}"));
            }
            return self;
        }
        let paused = Assumption::SwitchManagementPaused;
        let assumptions = self.draft.assumptions.clone();
        self.draft.assumptions.retain(|&assumption| assumption != paused);
        if let Err(why) = verify::prove_reservation(&self) {
            self.draft.assumptions = assumptions;
            let (name, why) = (paused.name(), why.to_string());
            let why = why.lines().map(str::trim).collect::<Vec<_>>().join("; ");
            self.draft
                .notes
                .push(format!("`{name}` is assumed, because packets on the reserved level are not proved: {why}"));
        }
        self
    }

    /// The part of it that the prover reads.
    pub(super) fn reservation_to_prove(&self) -> Option<Reservation> {
        let fabric = &self.draft.before;
        // Nothing is known of the tables of a switch all of whose cables have come (G.2).
        let is_new = |&node: &_| {
            let mut cabled = fabric.ports_of(node).filter(|&port| fabric.peer(port).is_some()).peekable();
            cabled.peek().is_some() && cabled.all(|port| self.has_come(port))
        };
        let level = self.reserved()?;
        let followed = self.proves_switch_management();
        Some(Reservation { level, followed, unknown: fabric.switches().filter(is_new).collect() })
    }
}
