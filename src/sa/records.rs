//! Queries for the records of the directory: the matching records as the bytes of a table.
//!
//! A LID, GUID or block in the component mask narrows the search first, so that a query for one device does not visit
//! the others. A LID selects the port that owns it, whichever of the port's LIDs it is; the record names the base LID.

use super::directory::Directory;
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::{Lid, PortNum};
use crate::tables::LFT_BLOCK;
use crate::wire::sa::*;
use crate::wire::{
    GuidInfo, LinearForwardingTable, NodeDescription, NodeInfo, PKeyTable, PortInfo, SlToVlMappingTable, SmInfo,
    VlArbitrationBlock, status,
};
use std::iter::once;

/// One request for records.
pub(super) struct RecordQuery<'a> {
    pub(super) directory: &'a Directory,
    pub(super) asked: &'a SaMad,
    /// Whether the client may read keys.
    pub(super) trusted: bool,
    /// The most bytes in the answer.
    pub(super) most: usize,
}

/// Records of one kind, back to back.
pub(super) struct RecordTable {
    /// Bytes of one record.
    pub(super) size: usize,
    pub(super) bytes: Vec<u8>,
}

impl RecordQuery<'_> {
    /// The matching records; none if the directory holds no such attribute.
    ///
    /// # Errors
    /// The status to refuse with.
    pub(super) fn collect(&self) -> Option<Result<RecordTable, u16>> {
        Some(match self.asked.attribute {
            SaAttributeId::NodeRecord => self.select(self.nodes()),
            SaAttributeId::PortInfoRecord => self.ports(),
            SaAttributeId::SlToVlRecord => self.select(self.sl_to_vl()),
            SaAttributeId::SwitchInfoRecord => self.select(self.switches()),
            SaAttributeId::LftRecord => self.select(self.lfts()),
            SaAttributeId::SmInfoRecord => self.select(self.managers()),
            SaAttributeId::LinkRecord => self.links(),
            SaAttributeId::GuidInfoRecord => self.select(self.guids()),
            SaAttributeId::PKeyTableRecord if !self.trusted => Err(status::REQUEST_INVALID),
            SaAttributeId::PKeyTableRecord => self.select(self.p_keys()),
            SaAttributeId::VlArbitrationRecord => self.select(self.vl_arbitration()),
            _ => return None,
        })
    }

    /// The candidates that match the request; LIDs are not compared, because the candidates were found by them.
    fn select<R: Record>(&self, candidates: impl Iterator<Item = R>) -> Result<RecordTable, u16> {
        self.select_by(self.asked.component_mask.without(0), candidates)
    }

    fn select_by<R: Record>(
        &self,
        mask: ComponentMask,
        candidates: impl Iterator<Item = R>,
    ) -> Result<RecordTable, u16> {
        let mut bytes = Vec::new();
        for record in candidates.map(|record| record.to_data()) {
            if selected::<R>(mask, &self.asked.data, &record) {
                if bytes.len() + R::SIZE > self.most {
                    return Err(status::NO_RESOURCES);
                }
                bytes.extend_from_slice(&record[..R::SIZE]);
            }
        }
        Ok(RecordTable { size: R::SIZE, bytes })
    }

    fn fabric(&self) -> &Fabric {
        self.directory.fabric()
    }

    fn has(&self, component: u32) -> bool {
        self.asked.component_mask.has(component)
    }

    /// The LID at the start of the request's record, if the mask selects it.
    fn lid(&self) -> Option<Lid> {
        let [high, low, ..] = self.asked.data;
        self.has(0).then_some(Lid(u16::from_be_bytes([high, low])))
    }

    /// The ports that own LIDs and can match: one if the request names a LID.
    fn owners(&self) -> Box<dyn Iterator<Item = PortId> + '_> {
        match self.lid() {
            Some(lid) => Box::new(self.fabric().lid_owner(lid).into_iter()),
            None => Box::new(self.fabric().lid_ports()),
        }
    }

    /// Every port that shares the LID of one of [`RecordQuery::owners`], with that LID.
    fn all_ports(&self) -> impl Iterator<Item = (Lid, PortId)> + '_ {
        self.owners().flat_map(move |owner| {
            let lid = self.directory.base_lid(owner).into_iter();
            lid.flat_map(move |lid| self.beside(owner).map(move |port| (lid, port)))
        })
    }

    /// All ports of a switch for its port 0; otherwise the port itself.
    fn beside(&self, owner: PortId) -> Box<dyn Iterator<Item = PortId>> {
        let node = self.fabric().port(owner).node;
        if self.fabric().node(node).is_switch() {
            Box::new(self.fabric().ports_of(node))
        } else {
            Box::new(once(owner))
        }
    }

    /// The switches that can match, with their LIDs.
    fn switch_nodes(&self) -> impl Iterator<Item = (Lid, NodeId)> + '_ {
        self.owners().filter_map(|owner| {
            let node = self.fabric().port(owner).node;
            Some((self.directory.base_lid(owner)?, node)).filter(|_| self.fabric().node(node).is_switch())
        })
    }

    fn nodes(&self) -> impl Iterator<Item = NodeRecord> + '_ {
        let asked = NodeRecord::decode(&self.asked.data).info;
        let owners: Box<dyn Iterator<Item = PortId>> = if self.lid().is_some() {
            self.owners()
        } else if self.has(NodeRecord::PORT_GUID) {
            Box::new(self.directory.by_port_guid(asked.port_guid).into_iter())
        } else if self.has(NodeRecord::NODE_GUID) {
            let node = self.fabric().by_guid(asked.node_guid).into_iter();
            Box::new(node.flat_map(|node| self.ports_with_lids(node)))
        } else {
            self.owners()
        };
        owners.filter_map(|port| {
            let found = self.fabric().port(port);
            let info = self.directory.facts().nodes[found.node.index()].clone()?;
            let description = NodeDescription::new(&self.fabric().node(found.node).description);
            let info = NodeInfo { port_guid: self.directory.guid(port), local_port: found.num, ..info };
            Some(NodeRecord { lid: self.directory.base_lid(port)?, info, description })
        })
    }

    /// The ports of a node that own LIDs.
    fn ports_with_lids(&self, node: NodeId) -> impl Iterator<Item = PortId> + '_ {
        let (present, is_switch) = (self.fabric().node(node).present, self.fabric().node(node).is_switch());
        self.fabric().ports_of(node).filter(move |&port| {
            let found = self.fabric().port(port);
            present && if is_switch { found.num == PortNum::ZERO } else { found.peer.is_some() }
        })
    }

    /// A bit of the attribute modifier makes capability masks select every port that has at least those capabilities.
    /// The option bits state what the client understands; answers always carry all fields and repeat the bits.
    fn ports(&self) -> Result<RecordTable, u16> {
        let asked = PortInfoRecord::decode(&self.asked.data);
        let supersets = self.asked.modifier & PortInfoRecord::MATCH_CAPABILITIES != 0;
        let (mut mask, mut wanted) = (self.asked.component_mask.without(PortInfoRecord::LID), (0, 0));
        if supersets && self.has(PortInfoRecord::CAPABILITY_MASK) {
            (mask, wanted.0) = (mask.without(PortInfoRecord::CAPABILITY_MASK), asked.info.capability_mask);
        }
        if supersets && self.has(PortInfoRecord::CAPABILITY_MASK2) {
            (mask, wanted.1) = (mask.without(PortInfoRecord::CAPABILITY_MASK2), asked.info.capability_mask2);
        }
        let options = if self.has(PortInfoRecord::OPTIONS) { asked.options } else { 0 };
        let records = self.all_ports().filter_map(|(lid, port)| {
            let known = self.directory.port_info(port)?;
            let m_key = if self.trusted { known.m_key } else { 0 };
            let info = PortInfo { m_key, ..known.clone() };
            Some(PortInfoRecord { lid, port: self.fabric().port(port).num, options, info })
        });
        let has_them = |info: &PortInfo| {
            info.capability_mask & wanted.0 == wanted.0 && info.capability_mask2 & wanted.1 == wanted.1
        };
        self.select_by(mask, records.filter(|record| has_them(&record.info)))
    }

    fn sl_to_vl(&self) -> impl Iterator<Item = SlToVlRecord> + '_ {
        self.owners().filter_map(|owner| Some((self.directory.base_lid(owner)?, owner))).flat_map(|(lid, owner)| {
            let found = self.fabric().port(owner);
            let tables = &self.directory.facts().tables.sl_to_vl[found.node.index()];
            let pair = move |(input, output): (PortNum, PortNum), of: (PortNum, PortNum)| {
                let table = SlToVlMappingTable(tables.get(of.0, of.1).0);
                SlToVlRecord { lid, input, output, table }
            };
            let node = self.fabric().node(found.node);
            let all: Box<dyn Iterator<Item = SlToVlRecord>> = if node.is_switch() {
                let ports = move || (0..=node.num_ports).map(PortNum);
                let pairs = ports().flat_map(move |input| ports().map(move |output| (input, output)));
                Box::new(pairs.filter(|(input, output)| input != output).map(move |of| pair(of, of)))
            } else {
                let zero = (PortNum::ZERO, PortNum::ZERO);
                Box::new(once(pair(zero, (PortNum::ZERO, found.num))))
            };
            all
        })
    }

    fn switches(&self) -> impl Iterator<Item = SwitchInfoRecord> + '_ {
        self.switch_nodes().filter_map(|(lid, node)| {
            Some(SwitchInfoRecord { lid, info: self.directory.facts().switches[node.index()].clone()? })
        })
    }

    fn lfts(&self) -> impl Iterator<Item = LftRecord> + '_ {
        let wanted = self.has(LftRecord::BLOCK).then(|| LftRecord::decode(&self.asked.data).block);
        self.switch_nodes().flat_map(move |(lid, node)| {
            let table = &self.directory.facts().tables.lfts[node.index()];
            let top = self.directory.facts().switches[node.index()].as_ref().map_or(Lid(0), |info| info.linear_fdb_top);
            let blocks = table.blocks().max((top.index() / LFT_BLOCK + 1) as u16);
            let range = wanted.map_or(0..blocks, |block| block.min(blocks)..block.saturating_add(1).min(blocks));
            range.map(move |block| LftRecord { lid, block, table: LinearForwardingTable(table.block(block)) })
        })
    }

    fn managers(&self) -> impl Iterator<Item = SmInfoRecord> + '_ {
        let owner = self.lid().map(|lid| self.fabric().lid_owner(lid));
        let managers = self.directory.facts().managers.iter();
        managers.filter(move |(port, _)| owner.is_none_or(|owner| owner == Some(*port))).filter_map(|(port, info)| {
            let sm_key = if self.trusted { info.sm_key } else { 0 };
            let info = SmInfo { sm_key, ..info.clone() };
            Some(SmInfoRecord { lid: self.directory.base_lid(*port)?, info })
        })
    }

    /// Link records name both ends by LID.
    fn links(&self) -> Result<RecordTable, u16> {
        let far = self.has(LinkRecord::TO_LID).then(|| LinkRecord::decode(&self.asked.data).to_lid);
        let far = far.map(|lid| self.fabric().lid_owner(lid).and_then(|port| self.directory.base_lid(port)));
        let records = self.all_ports().filter_map(|(from_lid, port)| {
            let peer = self.fabric().peer(port)?;
            let to_lid = self.directory.base_lid(peer)?;
            let [from_port, to_port] = [port, peer].map(|port| self.fabric().port(port).num);
            Some(LinkRecord { from_lid, from_port, to_port, to_lid })
        });
        let records = records.filter(|record| far.is_none_or(|far| far == Some(record.to_lid)));
        self.select_by(self.asked.component_mask.without(LinkRecord::FROM_LID).without(LinkRecord::TO_LID), records)
    }

    /// GUID 0 of each port: there are no aliases.
    fn guids(&self) -> impl Iterator<Item = GuidInfoRecord> + '_ {
        self.owners().filter_map(|port| {
            let mut table = GuidInfo::default();
            table.guids[0] = self.directory.guid(port);
            Some(GuidInfoRecord { lid: self.directory.base_lid(port)?, block: 0, table })
        })
    }

    fn p_keys(&self) -> impl Iterator<Item = PKeyTableRecord> + '_ {
        self.all_ports().flat_map(|(lid, port)| {
            let keys = &self.directory.facts().p_keys[port.index()];
            let num = self.fabric().port(port).num;
            (0..).zip(keys.chunks(PKeyTable::BLOCK)).map(move |(block, part)| {
                let mut table = PKeyTable::default();
                table.keys[..part.len()].copy_from_slice(part);
                PKeyTableRecord { lid, block, port: num, table }
            })
        })
    }

    fn vl_arbitration(&self) -> impl Iterator<Item = VlArbitrationRecord> + '_ {
        self.all_ports().flat_map(|(lid, port)| {
            let num = self.fabric().port(port).num;
            let known = &self.directory.facts().vl_arbitration;
            VlArbitrationBlock::ALL.into_iter().filter_map(move |block| {
                let table = *known.get(&(port, block))?;
                Some(VlArbitrationRecord { lid, port: num, block: block.number(), table })
            })
        })
    }
}
