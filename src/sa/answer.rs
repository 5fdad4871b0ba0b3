//! Dispatch: the answer to each request, by method and attribute, and the number of MADs that it takes.

use super::legs::PathQuery;
use super::member_requests::MemberRequest;
use super::records::{RecordQuery, RecordTable};
use super::subscriptions::SubscriptionContext;
use super::{Directory, Sa, SaEvent};
use crate::transport::Datagram;
use crate::wire::sa::{
    InformInfo, InformInfoRecord, McMemberRecord, PathRecord, Record, Rmpp, RmppStatus, RmppType, SA_DATA_SIZE,
    SaAttributeId, SaMad, ServiceRecord,
};
use crate::wire::{ClassPortInfo, GENERAL_SERVICES_Q_KEY, Method, status};
use std::sync::Arc;

/// SAClassPortInfo:CapabilityMask, bit 13: a modifier bit makes the capability mask of a PortInfoRecord query match
/// supersets.
const MATCHES_CAPABILITIES: u16 = 1 << 13;

/// SAClassPortInfo:CapabilityMask2: MulticastFDBTop (bit 3) and the whole PortInfo (6) are reported; rates exist for
/// FDR and EDR (7), 2x (13), HDR (15) and NDR (17); the superset modifier also applies to CapabilityMask2 (10).
const CAPABILITIES2: u32 = 1 << 3 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 13 | 1 << 15 | 1 << 17;

/// SAClassPortInfo:CapabilityMask, bit 9: multicast groups of unreliable datagrams are served.
const SERVES_GROUPS: u16 = 1 << 9;

/// SAClassPortInfo:CapabilityMask2, bit 12: ports may join as full members that only send. Without it, IPoIB joins as a
/// member that receives, and connection managers refuse such joins.
const TAKES_SENDERS: u32 = 1 << 12;

impl Sa {
    /// Answers one MAD of this class: the datagrams to send.
    pub(super) fn respond(&mut self, asked: &Datagram, mad: &SaMad, now_ns: u64) -> Vec<Datagram> {
        match (mad.rmpp.kind, mad.method) {
            (RmppType::Ack | RmppType::Stop | RmppType::Abort, _) if mad.rmpp.active => {
                self.transfers.take(asked, mad, now_ns, &mut self.events)
            }
            (_, Method::ReportResp) => {
                self.subscriptions.acknowledged(mad.tid);
                Vec::new()
            }
            (_, method) if method.is_answer() => Vec::new(),
            _ if mad.sm_key != 0 && mad.sm_key != self.limits.sm_key => {
                self.events.push(SaEvent::WrongKey { client: asked.lid });
                Vec::new()
            }
            (RmppType::Data, _) if mad.rmpp.active && !(mad.rmpp.first && mad.rmpp.last) => vec![too_long(asked, mad)],
            _ => self.request(asked, mad, now_ns),
        }
    }

    fn request(&mut self, asked: &Datagram, mad: &SaMad, now_ns: u64) -> Vec<Datagram> {
        *self.requests.entry(mad.attribute.into()).or_default() += 1;
        if let Some(again) = self.transfers.repeat(asked, mad.tid, now_ns) {
            return again;
        }
        let directory = match (&self.directory, mad.attribute) {
            (_, SaAttributeId::ClassPortInfo) => return vec![back(asked, &self.class_port_info(mad))],
            (None, _) => return vec![back(asked, &mad.refusal(status::BUSY))],
            (Some(directory), _) => Arc::clone(directory),
        };
        let answered = match mad.method {
            Method::Get => self.get(&directory, asked, mad, now_ns),
            Method::GetTable => return self.table(&directory, asked, mad, now_ns),
            Method::Set => self.set(&directory, asked, mad, now_ns),
            Method::Delete if mad.attribute == SaAttributeId::ServiceRecord => {
                let record = ServiceRecord::decode(&mad.data);
                self.services.delete(mad.component_mask, &record, now_ns).map(|record| record.to_data())
            }
            Method::Delete if mad.attribute == SaAttributeId::McMemberRecord => self
                .member_request(&directory, asked, mad)
                .and_then(|request| request.leave(&mut self.groups))
                .map(|record| record.to_data()),
            Method::Delete => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            _ => Err(status::UNSUPPORTED_METHOD),
        };
        vec![back(asked, &answered.map_or_else(|refused| mad.refusal(refused), |data| mad.response(data)))]
    }

    fn class_port_info(&self, mad: &SaMad) -> SaMad {
        if mad.method != Method::Get {
            return mad.refusal(status::UNSUPPORTED_METHOD_ATTRIBUTE);
        }
        let serves_groups = self.directory.as_ref().is_some_and(|directory| directory.facts().multicast.is_some());
        let (groups, groups2) = if serves_groups { (SERVES_GROUPS, TAKES_SENDERS) } else { (0, 0) };
        let (first, second) = (MATCHES_CAPABILITIES | groups, CAPABILITIES2 | groups2);
        let mut info = ClassPortInfo::new(2, first, second, self.limits.resp_time_value);
        (info.redirect_qp, info.redirect_q_key) = (1, GENERAL_SERVICES_Q_KEY);
        info.trap_q_key = GENERAL_SERVICES_Q_KEY;
        let mut data = [0; SA_DATA_SIZE];
        let encoded = info.encode();
        data[..encoded.len()].copy_from_slice(&encoded);
        mad.response(data)
    }

    /// Answers SubnAdmGet: exactly one record must match.
    fn get(
        &mut self,
        directory: &Directory,
        asked: &Datagram,
        mad: &SaMad,
        now_ns: u64,
    ) -> Result<[u8; SA_DATA_SIZE], u16> {
        if mad.attribute == SaAttributeId::PathRecord {
            let query = PathQuery::new(directory, self.half, mad.component_mask, PathRecord::decode(&mad.data));
            return query.one().map(|path| path.to_data());
        }
        let table = self.collect(directory, asked, mad, now_ns)?;
        match table.bytes.len() / table.size {
            0 => Err(status::NO_RECORDS),
            1 => {
                let mut data = [0; SA_DATA_SIZE];
                data[..table.size].copy_from_slice(&table.bytes);
                Ok(data)
            }
            _ => Err(status::TOO_MANY_RECORDS),
        }
    }

    /// Answers SubnAdmGetTable: every matching record, in as many segments as it takes.
    fn table(&mut self, directory: &Directory, asked: &Datagram, mad: &SaMad, now_ns: u64) -> Vec<Datagram> {
        let table = match self.collect(directory, asked, mad, now_ns) {
            Ok(table) => table,
            Err(refused) => return vec![back(asked, &mad.refusal(refused))],
        };
        let offset = if table.bytes.is_empty() { 0 } else { table.size as u16 / 8 };
        let head = SaMad { attribute_offset: offset, ..mad.response([0; SA_DATA_SIZE]) };
        let port = directory.owner(asked.lid);
        let begun = self.transfers.begin(asked, head, port, table.bytes, now_ns);
        begun.unwrap_or_else(|| vec![back(asked, &mad.refusal(status::BUSY))])
    }

    /// The matching records of any attribute.
    fn collect(
        &mut self,
        directory: &Directory,
        asked: &Datagram,
        mad: &SaMad,
        now_ns: u64,
    ) -> Result<RecordTable, u16> {
        let (mask, most) = (mad.component_mask, self.limits.answer_bytes);
        let trusted = mad.sm_key != 0;
        match mad.attribute {
            SaAttributeId::PathRecord => {
                let query = PathQuery::new(directory, self.half, mask, PathRecord::decode(&mad.data));
                query.table(most).map(|bytes| RecordTable { size: PathRecord::SIZE, bytes })
            }
            SaAttributeId::ServiceRecord => {
                let wanted = ServiceRecord::decode(&mad.data);
                Ok(listed(self.services.select(mask, &wanted, now_ns)))
            }
            SaAttributeId::McMemberRecord => {
                let request = self.member_request(directory, asked, mad)?;
                Ok(listed(request.select(&self.groups)))
            }
            SaAttributeId::InformInfoRecord => {
                Ok(listed(self.subscriptions.select(mask, &InformInfoRecord::decode(&mad.data))))
            }
            SaAttributeId::InformInfo => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
            _ => {
                let query = RecordQuery { directory, asked: mad, trusted, most };
                query.collect().unwrap_or(Err(status::UNSUPPORTED_METHOD_ATTRIBUTE))
            }
        }
    }

    fn set(
        &mut self,
        directory: &Directory,
        asked: &Datagram,
        mad: &SaMad,
        now_ns: u64,
    ) -> Result<[u8; SA_DATA_SIZE], u16> {
        match mad.attribute {
            SaAttributeId::InformInfo => {
                let view = SubscriptionContext { directory, half: self.half, limits: &self.limits };
                self.subscriptions.set(view, asked, &InformInfo::decode(&mad.data)).map(|info| info.encode())
            }
            SaAttributeId::ServiceRecord => {
                let record = ServiceRecord::decode(&mad.data);
                if directory.by_gid(record.gid).is_none() {
                    return Err(status::INVALID_GID);
                }
                let by = directory.owner(asked.lid);
                self.services.set(mad.component_mask, record, by, now_ns).map(|record| record.to_data())
            }
            SaAttributeId::McMemberRecord => {
                let request = self.member_request(directory, asked, mad)?;
                request.join(&mut self.groups).map(|record| record.to_data())
            }
            _ => Err(status::UNSUPPORTED_METHOD_ATTRIBUTE),
        }
    }

    /// A request about multicast groups.
    ///
    /// # Errors
    /// The status to refuse with: there are no groups, or nobody here has the LID that the request came from.
    fn member_request<'a>(
        &mut self,
        directory: &'a Directory,
        asked: &Datagram,
        mad: &SaMad,
    ) -> Result<MemberRequest<'a>, u16> {
        let Some(facts) = directory.facts().multicast else {
            if !std::mem::replace(&mut self.has_refused_groups, true) {
                self.events.push(SaEvent::NoGroups { client: asked.lid });
            }
            return Err(status::UNSUPPORTED_METHOD_ATTRIBUTE);
        };
        let from = directory.fabric().lid_owner(asked.lid).ok_or(status::REQUEST_INVALID)?;
        let (mask, is_trusted) = (mad.component_mask, mad.sm_key != 0);
        Ok(MemberRequest { directory, facts, from, mask, asked: McMemberRecord::decode(&mad.data), is_trusted })
    }
}

fn listed<R: Record>(records: Vec<R>) -> RecordTable {
    let bytes = records.iter().flat_map(|record| record.to_data().into_iter().take(R::SIZE)).collect();
    RecordTable { size: R::SIZE, bytes }
}

fn back(asked: &Datagram, mad: &SaMad) -> Datagram {
    Datagram { bytes: Box::new(mad.encode()), ..asked.clone() }
}

/// Refuses a request of several segments: none that is supported here needs more than one.
fn too_long(asked: &Datagram, mad: &SaMad) -> Datagram {
    let rmpp = Rmpp { status: RmppStatus::ResourcesExhausted, ..Rmpp::of(RmppType::Stop) };
    back(asked, &SaMad { rmpp, ..mad.response([0; SA_DATA_SIZE]) })
}
