//! A fabric with more in it: a cable, a host, or a switch like one that is there. Indices of what is there stay, and
//! what is new follows. A GUID that is not given is made from the name, so that it is the same in every run.

use super::{
    BuildError, Fabric, FabricBuilder, LinkEnd, LinkSpeed, LinkWidth, Node, NodeId, NodeKind, NodeRole, PortId,
};
use crate::ids::{Guid, Lmc, PortNum};

/// Why nothing can be added.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AdditionError {
    /// The port has a cable.
    #[error(
        "{port} is cabled to {peer}: name a port without a cable, or pull that cable with the same change (--remove-link, --move-cable)"
    )]
    Cabled {
        /// The port.
        port: String,
        /// Its peer.
        peer: String,
    },
    /// The name belongs to a node.
    #[error("a node has the name `{0}` already")]
    Named(String),
    /// A host is to be cabled to something else than a switch.
    #[error("{0} is no switch: a host is cabled to one")]
    NoSwitch(String),
    /// A neighbour of the switch that is to be imitated has no port left.
    #[error("{switch} has no free port for another switch like {like}, which is cabled to it")]
    Full {
        /// The neighbour.
        switch: String,
        /// The switch to be imitated.
        like: String,
    },
    /// The node to be imitated is no switch, or is cabled to none.
    #[error("{0} is no switch that is cabled to others: there is nothing to imitate")]
    NothingAlike(String),
    /// The fabric would break a rule of the model.
    #[error("adding to the fabric: {0}")]
    Build(#[from] BuildError),
}

/// Width and speed.
type Rate = (LinkWidth, LinkSpeed);

impl Fabric {
    /// The fabric with a cable between two ports. It has the rate of the fastest cable at either of both nodes, the
    /// lower one of them.
    ///
    /// # Errors
    /// A port has a cable, or is port 0.
    pub fn with_cable(&self, a: PortId, b: PortId) -> Result<Fabric, AdditionError> {
        [a, b].into_iter().try_for_each(|port| self.check_free(port))?;
        let rates = [a, b].into_iter().filter_map(|port| self.fastest(self.port(port).node));
        let rate = rates.min_by_key(bandwidth).unwrap_or((self.port(a).width, self.port(a).speed));
        let mut builder = self.copied()?;
        self.cable(&mut builder, (a, b), rate)?;
        Ok(builder.build()?)
    }

    /// The fabric with a host of one port, without LID, at a port of a switch. It is like a host that is there, and its
    /// cable like that of one at the switch, if there are such.
    ///
    /// # Errors
    /// The port has a cable, or belongs to no switch, or the name is taken.
    pub fn with_host(&self, name: &str, at: PortId) -> Result<Fabric, AdditionError> {
        self.check_free(at)?;
        self.check_name(name)?;
        let switch = self.port(at).node;
        if !self.node(switch).is_switch() {
            return Err(AdditionError::NoSwitch(self.describe_node(switch)));
        }
        let is_host = |&port: &PortId| self.role(self.port(port).node) == NodeRole::Host;
        let here = self.ports_of(switch).filter_map(|port| self.peer(port)).find(is_host);
        let model = here.or_else(|| self.end_ports().find(is_host)).map(|port| self.port(port));
        let mut builder = self.copied()?;
        let guid = self.guid_of(name);
        let host = builder.node(NodeKind::Ca, guid, 1, name);
        let node = builder.node_mut(host);
        node.system_guid = Some(guid);
        if let Some(like) = model.map(|port| self.node(port.node)) {
            (node.vendor_id, node.device_id) = (like.vendor_id, like.device_id);
        }
        if let Some(port) = builder.port_mut(host, PortNum(1)) {
            port.guid = Some(Guid(guid.0 + 1));
            port.data_vls = model.map_or(port.data_vls, |like| like.data_vls);
        }
        let (width, speed) = here
            .map(|port| (self.port(port).width, self.port(port).speed))
            .or_else(|| self.fastest(switch))
            .unwrap_or((self.port(at).width, self.port(at).speed));
        builder.link(
            LinkEnd { node: host, num: PortNum(1) },
            LinkEnd { node: switch, num: self.port(at).num },
            width,
            speed,
        )?;
        Ok(builder.build()?)
    }

    /// The fabric with a switch, without LID, that has as many ports as `like`, and from the same ports of its own
    /// cables to the same switches: at each to its first free port. Also these cables, by their ports at the new
    /// switch.
    ///
    /// # Errors
    /// The name is taken, `like` has no neighbour that is a switch, or one has no free port.
    pub fn with_switch_like(&self, name: &str, like: NodeId) -> Result<(Fabric, Vec<PortId>), AdditionError> {
        self.check_name(name)?;
        let trunks: Vec<(PortId, NodeId)> = self
            .ports_of(like)
            .filter_map(|port| Some((port, self.neighbour(port)?)))
            .filter(|&(_, neighbour)| self.node(neighbour).is_switch())
            .collect();
        if trunks.is_empty() || !self.node(like).is_switch() {
            return Err(AdditionError::NothingAlike(self.describe_node(like)));
        }
        let mut builder = self.copied()?;
        let switch = builder.copy(self, like);
        let guid = self.guid_of(name);
        let node = builder.node_mut(switch);
        let first_port = node.first_port;
        *node = Node { guid, system_guid: Some(guid), description: name.to_string(), ..node.clone() };
        for num in 0..=self.node(like).num_ports {
            if let Some(port) = builder.port_mut(switch, PortNum(num)) {
                (port.guid, port.lid, port.lmc) = (port.guid.map(|_| guid), None, Lmc::default());
            }
        }
        let mut taken: Vec<PortId> = Vec::new();
        for &(port, neighbour) in &trunks {
            let free = self.ports_of(neighbour).filter(|&port| self.peer(port).is_none() && self.port(port).num.0 > 0);
            let free = free.filter(|port| !taken.contains(port)).min_by_key(|&port| self.port(port).num);
            let free = free.ok_or_else(|| AdditionError::Full {
                switch: self.describe_node(neighbour),
                like: self.describe_node(like),
            })?;
            taken.push(free);
            let own = self.port(port);
            let near = LinkEnd { node: switch, num: own.num };
            builder.link(near, LinkEnd::of(self, free), own.width, own.speed)?;
        }
        let own = |&(port, _): &(PortId, NodeId)| PortId(first_port.0 + u32::from(self.port(port).num.0));
        Ok((builder.build()?, trunks.iter().map(own).collect()))
    }

    fn check_free(&self, port: PortId) -> Result<(), AdditionError> {
        match self.peer(port) {
            None => Ok(()),
            Some(peer) => Err(AdditionError::Cabled { port: self.describe_port(port), peer: self.describe_port(peer) }),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), AdditionError> {
        let taken = self.nodes().any(|(_, node)| node.description.trim() == name.trim());
        if taken { Err(AdditionError::Named(name.to_string())) } else { Ok(()) }
    }

    /// The rate of the fastest cable at a node.
    fn fastest(&self, node: NodeId) -> Option<Rate> {
        let cabled = self.ports_of(node).filter(|&port| self.peer(port).is_some());
        cabled.map(|port| (self.port(port).width, self.port(port).speed)).max_by_key(bandwidth)
    }

    /// A builder that has all of this fabric.
    fn copied(&self) -> Result<FabricBuilder, BuildError> {
        let mut builder = FabricBuilder::new();
        if let Some((node, port)) = self.origin() {
            builder.origin(node, port);
        }
        self.nodes().for_each(|(id, _)| _ = builder.copy(self, id));
        for (a, b) in self.links() {
            self.cable(&mut builder, (a, b), (self.port(a).width, self.port(a).speed))?;
        }
        Ok(builder)
    }

    fn cable(&self, builder: &mut FabricBuilder, (a, b): (PortId, PortId), rate: Rate) -> Result<(), BuildError> {
        builder.link(LinkEnd::of(self, a), LinkEnd::of(self, b), rate.0, rate.1)
    }

    /// A GUID for a new node: locally assigned, with room for the GUIDs of its ports, and the same for one name.
    fn guid_of(&self, name: &str) -> Guid {
        // FNV-1a, folded to the 24 bits that are free.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let first = 0x0200_00fe_0000_0000 | ((hash ^ hash >> 32) & 0x00ff_ffff) << 8;
        let free = |guid: &Guid| self.by_guid(*guid).is_none();
        (0..)
            .map(|step: u64| Guid(first + (step << 8)))
            .find(free)
            .expect("a fabric has fewer nodes than there are GUIDs")
    }
}

fn bandwidth(rate: &Rate) -> u64 {
    rate.0.data_rate_kbps(rate.1)
}
