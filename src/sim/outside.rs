//! What a server in front of a subnet reads and sets from outside, without a MAD: attributes as an agent would report
//! them, the load, port states; and whether the run continues after a deadlock.

use super::mad::{Mad, MadBody};
use super::wheel::TICKS_PER_NS;
use super::{Sim, SimConfig, SimError};
use crate::fabric::PortId;
use crate::ids::{Lid, Sl};
use crate::wire::{AttributeId, Method, PortState, SMP_DATA_SIZE, Smp, status};

impl Sim {
    /// An attribute as the agent at a port would answer a `Get` at this moment; none where it would refuse.
    pub fn attribute(&mut self, port: PortId, attribute: AttributeId, modifier: u32) -> Option<[u8; SMP_DATA_SIZE]> {
        let m_key = self.devices.ports[self.plane.management_port(port)].m_key;
        let request = Smp { m_key, ..Smp::lid_routed(Method::Get, attribute, modifier, [0; SMP_DATA_SIZE]) };
        let answer = self.agent_answers(port, &Mad::smp(Lid::default(), Lid::default(), request))?;
        match answer.body {
            MadBody::Smp(smp) if smp.status == status::SUCCESS => Some(smp.data),
            _ => None,
        }
    }

    /// Whether sources send.
    pub fn sources_on(&self) -> bool {
        self.sources.sending
    }

    /// The offered load, a fraction of each end port's data rate.
    pub fn load(&self) -> f64 {
        self.config.load
    }

    /// Changes the offered load: from each source's next packet on.
    ///
    /// # Errors
    /// The load is outside 0 to 1.
    pub fn set_load(&mut self, load: f64) -> Result<(), SimError> {
        let config = SimConfig { load, ..self.config.clone() };
        config.check()?;
        self.config = config;
        for source in self.sources.list.iter_mut().filter(|source| !self.plane.is_router_port(source.port)) {
            let port = self.fabric.port(source.port);
            let rate = port.width.data_rate_kbps(port.speed) as f64 * load;
            source.interval = super::source::interval(&self.config, source.rank, rate);
        }
        if self.sources.sending {
            self.start_traffic();
        }
        Ok(())
    }

    /// Lets the run continue after a deadlock: its packets stay where they are, and the rest of the subnet continues as
    /// it can. The first deadlock stays on record ([`Sim::deadlock`]); the search for others ends.
    pub fn outlast_deadlocks(&mut self) {
        self.deadlocks.outlasted = true;
    }

    /// The state of a port, as its device holds it.
    pub fn port_state(&self, port: PortId) -> PortState {
        self.plane.ports[port].state
    }

    /// The base LID that a port holds; 0 where it holds none.
    pub fn port_lid(&self, port: PortId) -> Lid {
        self.devices.ports[port].lid
    }

    /// The LID of the subnet manager that a port holds (PortInfo:MasterSMLID), 0 for none, and the service level
    /// towards it (MasterSMSL).
    pub fn manager_of(&self, port: PortId) -> (Lid, Sl) {
        let held = &self.devices.ports[port];
        (held.master_sm_lid, held.master_sm_sl)
    }

    /// The end port that owns a LID in the subnet of a port; none where no end port does.
    pub fn end_port_of(&self, port: PortId, lid: Lid) -> Option<PortId> {
        self.sources.list.get(self.sources.owner(port, lid.0)).map(|source| source.port)
    }

    /// How long nothing has been delivered, in nanoseconds; since the present period began at most.
    pub fn silent_ns(&self) -> u64 {
        let since = self.ledger.periods.last().map_or(self.clock.now(), |period| period.last_delivery);
        (self.clock.now() - since) / TICKS_PER_NS
    }
}
