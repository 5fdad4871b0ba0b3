//! From a file's description of nodes and ports to a checked [`Fabric`].
//!
//! Each port has at most one line, in the section of its own node; that line also describes the neighbour's port. Two
//! lines on the same port must agree; a port without a line of its own is known as far as its neighbour's line
//! describes it. A link has one rate: where its ends state two, the lower one.

use super::diagnostic::{ReadError, SourceText, Span, Spanned};
use super::ledger::FaultLedger;
use crate::fabric::{BuildError, Fabric, FabricBuilder, LinkEnd, LinkSpeed, LinkWidth, NodeId, NodeKind, PortZero};
use crate::ids::{Guid, Lid, Lmc, PortNum};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// A node as the file describes it.
pub(super) struct ParsedNode<'a> {
    /// Where its section begins, or where it is first mentioned.
    pub at: Span,
    pub kind: NodeKind,
    pub guid: Guid,
    /// `None` for a node that the file only mentions as a neighbour: as many as are mentioned.
    pub num_ports: Option<u8>,
    pub description: Cow<'a, str>,
    pub system_guid: Option<Guid>,
    pub chassis: Option<u8>,
    pub vendor_id: u32,
    pub device_id: u32,
    pub port_zero: PortZero,
    /// Port 0 of a switch.
    pub zero: ParsedEnd,
}

impl<'a> ParsedNode<'a> {
    /// A node of which a file states no more than this.
    pub fn bare(
        at: Span,
        kind: NodeKind,
        guid: Guid,
        num_ports: Option<u8>,
        description: impl Into<Cow<'a, str>>,
    ) -> ParsedNode<'a> {
        ParsedNode {
            at,
            kind,
            guid,
            num_ports,
            description: description.into(),
            system_guid: None,
            chassis: None,
            vendor_id: 0,
            device_id: 0,
            port_zero: PortZero::default(),
            zero: ParsedEnd::default(),
        }
    }
}

/// GUID and LID of a port.
#[derive(Clone, Copy, Default)]
pub(super) struct ParsedEnd {
    pub guid: Option<Spanned<Guid>>,
    pub lid: Option<Spanned<Lid>>,
    pub lmc: Lmc,
}

/// A port as a line of its own node describes it.
pub(super) struct ParsedPort {
    /// The line's port number.
    pub at: Span,
    /// Index of its node in [`ParsedFabric::nodes`].
    pub node: usize,
    pub num: u8,
    pub own: ParsedEnd,
    pub width: Option<LinkWidth>,
    pub speed: Option<LinkSpeed>,
    pub data_vls: Option<u8>,
    pub remote: ParsedRemote,
}

/// The neighbour as a port line describes it.
pub(super) struct ParsedRemote {
    pub at: Span,
    /// Index of the node in [`ParsedFabric::nodes`].
    pub node: usize,
    pub num: u8,
    pub end: ParsedEnd,
}

/// The whole content of a file.
#[derive(Default)]
pub(super) struct ParsedFabric<'a> {
    pub nodes: Vec<ParsedNode<'a>>,
    pub ports: Vec<ParsedPort>,
    pub origin: Option<(Guid, Guid)>,
    /// The writer describes every link at both of its ends.
    pub both_ends: bool,
    /// The rate of a link of which neither end states one.
    pub untold_rate: (LinkWidth, LinkSpeed),
}

/// Assumed of a link whose rate is missing in a file that has rates.
pub(super) const RATE_UNTOLD: &str =
    "a link's rate is missing or unknown: the rate of the other end is taken, else 4xQDR";

/// What is said of a LID that stands for none.
pub(super) const UNASSIGNED: &str = "a LID of 65535, of -1 or of no digits is taken as not assigned";

/// What stands in place of a LID that is out of range.
pub(super) const EXPECTED_LID: &str = "expected a LID from 1 to 49151, or 0 for none";

/// The LID that a file states as a number; 0 stands for none, and so does 65535, which is a repair.
///
/// # Errors
/// What is wrong with any other number beyond [`Lid::MAX_UNICAST`].
pub(super) fn stated_lid(ledger: &mut FaultLedger<'_>, stated: Spanned<u64>) -> Result<Option<Spanned<Lid>>, String> {
    let Spanned { value, at } = stated;
    match u16::try_from(value) {
        Ok(0) => Ok(None),
        Ok(u16::MAX) => {
            ledger.repair(at, UNASSIGNED, "");
            Ok(None)
        }
        Ok(lid) if lid <= Lid::MAX_UNICAST.0 => Ok(Some(Spanned { value: Lid(lid), at })),
        _ => Err(format!("LID {value} is out of range")),
    }
}

/// A node's index and a port's number.
type PortKey = (usize, u8);

/// Width and speed, as far as a line states them.
type Rate = (Option<LinkWidth>, Option<LinkSpeed>);

/// So many ports are accepted of a file of any size.
const MOST_PORTS: usize = 1_000_000;

/// So many ports are accepted of this file.
pub(super) fn most_ports(source: SourceText<'_>) -> usize {
    MOST_PORTS.max(source.text.len() / 2)
}

/// LIDs that are out of range or owned twice, each of which takes one more attempt to build.
const MOST_LID_FAULTS: usize = 20;

impl ParsedFabric<'_> {
    /// The fabric that the file describes, nodes in the order of the file. What is wrong goes to the ledger: a node or
    /// a port described twice, a port number that does not exist on its node, lines that contradict each other, a LID
    /// that is out of range or belongs to two ports, a node without a section. Lines at fault are left out. None if
    /// nothing coherent is left.
    pub fn assemble(mut self, ledger: &mut FaultLedger<'_>) -> Option<Fabric> {
        let bounded = self.check_size(ledger);
        (bounded && self.check_nodes(ledger)).then_some(())?;
        let by_port = self.index_ports(ledger);
        let faulty = Assembly { account: &self, source: ledger.source, by_port }.check_ends(ledger);
        let mut faulty = faulty.into_iter();
        self.ports.retain(|_| !faulty.next().unwrap_or(false));
        self.settle_rates(ledger);
        self.note_missing(ledger);
        self.note_single_ends(ledger);
        self.build(ledger)
    }

    /// Builds the fabric; each attempt that finds a LID at fault is followed by one without that LID.
    fn build(&mut self, ledger: &mut FaultLedger<'_>) -> Option<Fabric> {
        for _ in 0..MOST_LID_FAULTS {
            let by_port = self.ports.iter().enumerate().map(|(i, port)| ((port.node, port.num), i)).collect();
            let assembly = Assembly { account: self, source: ledger.source, by_port };
            let (error, lid) = match assembly.build() {
                Ok(fabric) => return Some(fabric),
                Err(failed) => failed,
            };
            ledger.fault(error);
            self.forget(lid?);
        }
        None
    }

    /// Removes the LID that is stated at `place`.
    fn forget(&mut self, place: Span) {
        let ends = self.ports.iter_mut().flat_map(|port| [&mut port.own, &mut port.remote.end]);
        for end in ends.chain(self.nodes.iter_mut().map(|node| &mut node.zero)) {
            end.lid = end.lid.filter(|stated| stated.at != place);
        }
    }

    /// The line of each port. A second line that says the same is left out.
    fn index_ports(&mut self, ledger: &mut FaultLedger<'_>) -> FxHashMap<PortKey, usize> {
        let mut by_port: FxHashMap<PortKey, usize> = FxHashMap::default();
        let mut kept: Vec<ParsedPort> = Vec::with_capacity(self.ports.len());
        for port in std::mem::take(&mut self.ports) {
            let Some(&first) = by_port.get(&(port.node, port.num)) else {
                by_port.insert((port.node, port.num), kept.len());
                kept.push(port);
                continue;
            };
            let first = &kept[first];
            if (first.remote.node, first.remote.num) == (port.remote.node, port.remote.num) {
                ledger.repair(port.at, "a repeated line is left out", "");
                continue;
            }
            let problem = format!("port {} of node {} is described twice", port.num, self.nodes[port.node].guid);
            let other = (first.at, "described here already");
            ledger.fault(ledger.source.clash(port.at, problem, "expected each port once", other));
        }
        self.ports = kept;
        by_port
    }

    /// Whether the nodes have no more ports than a file of its size can be about. Each port costs memory, cabled or
    /// not, and a file may claim 254 of them in a short line.
    fn check_size(&self, ledger: &mut FaultLedger<'_>) -> bool {
        let most = most_ports(ledger.source);
        let mut ports = 0;
        let beyond = self.nodes.iter().find(|node| {
            ports += 1 + usize::from(node.num_ports.unwrap_or(0));
            ports > most
        });
        if let Some(node) = beyond {
            let problem =
                format!("the nodes up to here have more than {most} ports, and lines for {} of them", self.ports.len());
            let label = "expected a capture of one subnet, whose nodes have lines for many of their ports";
            ledger.fault(ledger.source.error(node.at, problem, label));
        }
        beyond.is_none()
    }

    /// Gives both ends of each link one rate: what one end leaves open is taken from the other, and of two rates the
    /// lower one counts.
    fn settle_rates(&mut self, ledger: &mut FaultLedger<'_>) {
        let keys = self.ports.iter().map(|port| (port.node, port.num));
        let by_port: FxHashMap<PortKey, usize> = keys.zip(0..).collect();
        let rate = |(width, speed): Rate| width.unwrap_or_default().data_rate_kbps(speed.unwrap_or_default());
        for index in 0..self.ports.len() {
            let remote = &self.ports[index].remote;
            let other = by_port.get(&(remote.node, remote.num)).copied().filter(|&other| other > index);
            let Some(other) = other else { continue };
            let [(width, speed), (far_width, far_speed)]: [Rate; 2] =
                [index, other].map(|end| (self.ports[end].width, self.ports[end].speed));
            let near = (width.or(far_width), speed.or(far_speed));
            let far = (far_width.or(width), far_speed.or(speed));
            if near != far {
                let kind = "the two ends of a link state different rates: the lower one is taken";
                ledger.repair(self.ports[other].at, kind, "");
            }
            let taken = if rate(far) < rate(near) { far } else { near };
            for end in [index, other] {
                (self.ports[end].width, self.ports[end].speed) = taken;
            }
        }
    }

    /// Whether every GUID belongs to one node.
    fn check_nodes(&self, ledger: &mut FaultLedger<'_>) -> bool {
        let mut first = FxHashMap::default();
        let mut distinct = true;
        for node in &self.nodes {
            if let Some(at) = first.insert(node.guid, node.at) {
                let problem = format!("two nodes have GUID {}", node.guid);
                let other = (at, "described here already");
                ledger.fault(ledger.source.clash(node.at, problem, "expected each node once", other));
                distinct = false;
            }
        }
        distinct
    }

    /// Records the nodes that are only named as neighbours.
    fn note_missing(&self, ledger: &mut FaultLedger<'_>) {
        for node in self.nodes.iter().filter(|node| node.num_ports.is_none()) {
            let problem = match node.description.trim() {
                "" => format!("{} {} has no section of its own", node.kind, node.guid),
                text => format!("{} `{text}` ({}) has no section of its own", node.kind, node.guid),
            };
            let label = "named here only: capture the whole fabric, or accept what its neighbours state (--partial)";
            ledger.missing(node.at, problem, label);
        }
    }

    /// Records lines whose neighbour has a section, but no line there for the same link.
    fn note_single_ends(&self, ledger: &mut FaultLedger<'_>) {
        if !self.both_ends {
            return;
        }
        let listed: FxHashSet<PortKey> = self.ports.iter().map(|port| (port.node, port.num)).collect();
        for remote in self.ports.iter().map(|port| &port.remote) {
            if self.nodes[remote.node].num_ports.is_some() && !listed.contains(&(remote.node, remote.num)) {
                ledger.repair(remote.at, "a link is described by only one of its ends", "");
            }
        }
    }

    /// The number of a node's ports: as given in its section, or the highest that neighbours mention.
    fn ports_by_mention(&self) -> Vec<u8> {
        let mut ports: Vec<u8> = self.nodes.iter().map(|node| node.num_ports.unwrap_or(0)).collect();
        for remote in self.ports.iter().map(|port| &port.remote) {
            if self.nodes[remote.node].num_ports.is_none() {
                ports[remote.node] = ports[remote.node].max(remote.num);
            }
        }
        ports
    }
}

struct Assembly<'a, 'b> {
    account: &'b ParsedFabric<'a>,
    source: SourceText<'b>,
    by_port: FxHashMap<PortKey, usize>,
}

impl Assembly<'_, '_> {
    /// Checks every line against its node's ports and against the neighbour's line; by line, whether it is at fault.
    fn check_ends(&self, ledger: &mut FaultLedger<'_>) -> Vec<bool> {
        let mut mentioned: FxHashMap<PortKey, &ParsedPort> = FxHashMap::default();
        let mut check = |port| {
            let checked = if ledger.is_full() { Ok(()) } else { self.check_line(port, &mut mentioned) };
            checked.map_err(|fault| ledger.fault(fault)).is_err()
        };
        self.account.ports.iter().map(&mut check).collect()
    }

    fn check_line<'p>(
        &'p self,
        port: &'p ParsedPort,
        mentioned: &mut FxHashMap<PortKey, &'p ParsedPort>,
    ) -> Result<(), ReadError> {
        self.check_number(port.at, port.node, port.num)?;
        self.check_number(port.remote.at, port.remote.node, port.remote.num)?;
        let remote = (port.remote.node, port.remote.num);
        // A file can state this; no cable can.
        if remote == (port.node, port.num) {
            let problem = format!("port {} of node {} is cabled to itself", port.num, self.guid(port.node));
            return Err(self.source.error(port.remote.at, problem, "expected another port"));
        }
        // A neighbour with a line of its own must agree. One without is known by this line alone, so no second line may
        // name it.
        match self.by_port.get(&remote) {
            Some(&index) => self.check_pair(port, &self.account.ports[index])?,
            None => {
                if let Some(first) = mentioned.insert(remote, port) {
                    let problem = format!("port {} of node {} is cabled twice", remote.1, self.guid(remote.0));
                    let label = "expected a port that no other line names as its neighbour";
                    let other = (first.remote.at, "named as the neighbour here already");
                    return Err(self.source.clash(port.remote.at, problem, label, other));
                }
            }
        }
        self.check_remote_end(port)
    }

    fn check_number(&self, at: Span, node: usize, num: u8) -> Result<(), ReadError> {
        let node = &self.account.nodes[node];
        match node.num_ports {
            Some(ports) if num > ports => {
                let problem = format!("node {} has no port {num}", node.guid);
                let label = format!("expected a port from 1 to {ports}");
                Err(self.source.clash(at, problem, label, (node.at, format!("it has {ports} ports"))))
            }
            _ => Ok(()),
        }
    }

    /// Checks that the two lines of a link name each other.
    fn check_pair(&self, port: &ParsedPort, other: &ParsedPort) -> Result<(), ReadError> {
        if (other.remote.node, other.remote.num) == (port.node, port.num) {
            return Ok(());
        }
        let (this, that) = (self.name(port.node, port.num), self.name(other.node, other.num));
        let problem = "the two ends of a link state different neighbours";
        let label = format!("expected {that} to name {this}, or this line another neighbour");
        let claim = format!("{that} names {}", self.name(other.remote.node, other.remote.num));
        Err(self.source.clash(port.remote.at, problem, label, (other.remote.at, claim)))
    }

    /// Checks the GUID and LID that a line gives its neighbour against the neighbour's own.
    fn check_remote_end(&self, port: &ParsedPort) -> Result<(), ReadError> {
        let remote = &port.remote;
        let Some(own) = self.own_end(remote.node, remote.num) else { return Ok(()) };
        let name = self.name(remote.node, remote.num);
        if let (Some(stated), Some(own)) = (remote.end.lid, own.lid)
            && stated.value != own.value
        {
            let label = format!("expected lid {}", own.value);
            return Err(self.source.clash(
                stated.at,
                format!("two LIDs for {name}"),
                label,
                (own.at, "as stated here"),
            ));
        }
        if let (Some(stated), Some(own)) = (remote.end.guid, own.guid)
            && stated.value != own.value
        {
            let label = format!("expected {}", own.value);
            return Err(self.source.clash(
                stated.at,
                format!("two GUIDs for {name}"),
                label,
                (own.at, "as stated here"),
            ));
        }
        Ok(())
    }

    /// The GUID and LID of a port by its own node; a switch's ports have those of port 0.
    fn own_end(&self, node: usize, num: u8) -> Option<&ParsedEnd> {
        match self.account.nodes[node].kind {
            NodeKind::Switch => Some(&self.account.nodes[node].zero),
            _ => self.by_port.get(&(node, num)).map(|&index| &self.account.ports[index].own),
        }
    }

    fn guid(&self, node: usize) -> Guid {
        self.account.nodes[node].guid
    }

    fn name(&self, node: usize, num: u8) -> String {
        let stated = &self.account.nodes[node];
        match stated.description.trim() {
            "" => format!("port {num} of {}", stated.guid),
            text => format!("port {num} of `{text}` ({})", stated.guid),
        }
    }

    /// The fabric; otherwise the error, and the place of the LID at fault, if one is.
    fn build(&self) -> Result<Fabric, (ReadError, Option<Span>)> {
        let mut builder = FabricBuilder::new();
        if let Some((node, port)) = self.account.origin {
            builder.origin(node, port);
        }
        for (stated, num_ports) in self.account.nodes.iter().zip(self.account.ports_by_mention()) {
            add_node(&mut builder, stated, num_ports);
        }
        for port in &self.account.ports {
            let ends = [(port.node, port.num), (port.remote.node, port.remote.num)]
                .map(|(node, num)| LinkEnd { node: NodeId(node as u32), num: PortNum(num) });
            // Rates are each port's own and are set below, once every cable is in.
            let linked = builder.link(ends[0], ends[1], LinkWidth::default(), LinkSpeed::default());
            linked
                .map_err(|error| (self.source.error(port.at, error.to_string(), "expected one cable a port"), None))?;
        }
        for port in &self.account.ports {
            let key = (port.remote.node, port.remote.num);
            // The neighbour has no line of its own: this one stands for it, rates included.
            if !self.by_port.contains_key(&key) {
                self.set_port(&mut builder, key, port, &port.remote.end);
            }
            self.set_port(&mut builder, (port.node, port.num), port, &port.own);
        }
        builder.build().map_err(|error| self.locate(&error))
    }

    /// Completes a port from the line that describes it, its own or its neighbour's. A switch's port has no GUID or
    /// LID.
    fn set_port(&self, builder: &mut FabricBuilder, (node, num): PortKey, line: &ParsedPort, end: &ParsedEnd) {
        let (id, num) = (NodeId(node as u32), PortNum(num));
        if builder.nodes()[node].kind != NodeKind::Switch {
            set_end(builder, id, num, end);
        }
        if let Some(port) = builder.port_mut(id, num) {
            let (width, speed) = self.account.untold_rate;
            port.width = line.width.unwrap_or(width);
            port.speed = line.speed.unwrap_or(speed);
            port.data_vls = line.data_vls.unwrap_or(port.data_vls);
        }
    }

    /// The place in the file where an error of the whole can be corrected.
    fn locate(&self, error: &BuildError) -> (ReadError, Option<Span>) {
        let (place, label, other) = match error {
            BuildError::LidRange { lid, .. } => (self.lids_at(*lid).next(), "expected a LID from 1 to 49151", None),
            BuildError::LidShared { lid, .. } => {
                let mut places = self.lids_at(*lid);
                let first = places.next();
                (places.next().or(first), "expected LIDs that no other port owns", first)
            }
            _ => (None, "expected a fabric without this fault", None),
        };
        let at = place.unwrap_or(Span { start: 0, end: 0 });
        let located = match other.filter(|&other| other != at) {
            Some(other) => self.source.clash(at, error.to_string(), label, (other, "owned here already")),
            None => self.source.error(at, error.to_string(), label),
        };
        (located, place)
    }

    /// Where the file gives the LIDs of the ports that own `lid`, in the order of the file.
    fn lids_at(&self, lid: Lid) -> impl Iterator<Item = Span> {
        let zeros = self.account.nodes.iter().map(|node| &node.zero);
        let ports = self.account.ports.iter().flat_map(move |port| {
            let key = (port.remote.node, port.remote.num);
            let remote = self.own_end(key.0, key.1).is_none().then_some(&port.remote.end);
            [Some(&port.own), remote].into_iter().flatten()
        });
        let owns =
            move |stated: Spanned<Lid>, lmc: Lmc| lid.0.checked_sub(stated.value.0).is_some_and(|d| d < lmc.lids());
        let mut places: Vec<Span> = zeros
            .chain(ports)
            .filter_map(|end| end.lid.filter(|&stated| owns(stated, end.lmc)).map(|stated| stated.at))
            .collect();
        places.sort_by_key(|place| place.start);
        places.into_iter()
    }
}

fn add_node(builder: &mut FabricBuilder, stated: &ParsedNode<'_>, num_ports: u8) {
    let id = builder.node(stated.kind, stated.guid, num_ports, &*stated.description);
    let node = builder.node_mut(id);
    node.system_guid = stated.system_guid;
    node.chassis = stated.chassis;
    node.vendor_id = stated.vendor_id;
    node.device_id = stated.device_id;
    node.port_zero = stated.port_zero;
    set_end(builder, id, PortNum::ZERO, &stated.zero);
}

fn set_end(builder: &mut FabricBuilder, node: NodeId, num: PortNum, end: &ParsedEnd) {
    if let Some(port) = builder.port_mut(node, num) {
        port.guid = end.guid.map(|stated| stated.value);
        port.lid = end.lid.map(|stated| stated.value);
        port.lmc = end.lmc;
    }
}
