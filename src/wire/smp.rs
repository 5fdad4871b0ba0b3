//! Subnet management packets: 64 bytes of one attribute under a header, LID routed or along a directed route
//! (section 14.2.1). Reserved, and written as zero: bytes 18–19 and 36–63; of a LID routed SMP bytes 6–7, 32–35, 128–255 and
//! the highest bit of the status, which is the D bit of the other kind.

use super::header::{AttributeId, Method, WireError, check_versions, class, class_of, field as common, put_versions};
use super::{DirectedRoute, MAD_SIZE, SMP_DATA_SIZE};
use crate::ids::{Lid, PortNum};

/// Offsets beyond those that all MADs share.
mod field {
    use crate::wire::bits::{Bits, bits};
    use std::ops::Range;

    pub const RETURNING: Bits = bits(32, 1);
    pub const STATUS: Bits = bits(33, 15);
    pub const HOP_POINTER: Bits = bits(48, 8);
    pub const HOP_COUNT: Bits = bits(56, 8);
    pub const M_KEY: Bits = bits(192, 64);
    pub const DR_SLID: Bits = bits(256, 16);
    pub const DR_DLID: Bits = bits(272, 16);
    pub const DATA: Range<usize> = 64..128;
    pub const INITIAL_PATH: Range<usize> = 128..192;
    pub const RETURN_PATH: Range<usize> = 192..256;
}

/// How an SMP finds its way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Route {
    /// By the forwarding tables (class 0x01).
    Lid,
    /// Hop by hop, along the path it carries (class 0x81).
    Directed(DirectedRoute),
}

/// A subnet management packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Smp {
    /// How it travels.
    pub route: Route,
    /// What it asks for.
    pub method: Method,
    /// 15 bits, see [`status`](super::status).
    pub status: u16,
    /// Names the request; the answer repeats it.
    pub tid: u64,
    /// The management key that the device may demand.
    pub m_key: u64,
    /// The attribute carried in `data`.
    pub attribute: AttributeId,
    /// Which instance of the attribute: a port, a block (each attribute says).
    pub modifier: u32,
    /// The attribute, for its own type to decode.
    pub data: [u8; SMP_DATA_SIZE],
}

impl Smp {
    /// A request along `route`, with no transaction number and no key yet.
    pub fn new(route: Route, method: Method, attribute: AttributeId, modifier: u32, data: [u8; SMP_DATA_SIZE]) -> Smp {
        Smp { route, method, status: 0, tid: 0, m_key: 0, attribute, modifier, data }
    }

    /// A request out along a path of output ports, the sender's own port first. Fails above 63 hops.
    pub fn directed(
        path: &[PortNum],
        method: Method,
        attribute: AttributeId,
        modifier: u32,
        data: [u8; SMP_DATA_SIZE],
    ) -> Result<Smp, WireError> {
        Ok(Smp::new(Route::Directed(DirectedRoute::new(path)?), method, attribute, modifier, data))
    }

    /// A request that the forwarding tables carry.
    pub fn lid_routed(method: Method, attribute: AttributeId, modifier: u32, data: [u8; SMP_DATA_SIZE]) -> Smp {
        Smp::new(Route::Lid, method, attribute, modifier, data)
    }

    /// The same packet under another transaction number.
    pub fn with_tid(self, tid: u64) -> Smp {
        Smp { tid, ..self }
    }

    /// The answer that carries `data`: same transaction and attribute, on its way back. The M_Key is not repeated.
    pub fn response(&self, data: [u8; SMP_DATA_SIZE]) -> Smp {
        let route = match &self.route {
            Route::Lid => Route::Lid,
            Route::Directed(route) => Route::Directed(route.returned()),
        };
        Smp { route, method: self.method.answer(), status: 0, m_key: 0, data, ..self.clone() }
    }

    /// The answer that refuses: the request's own data under a status other than zero.
    pub fn refusal(&self, status: u16) -> Smp {
        Smp { status, ..self.response(self.data) }
    }

    /// Reads an SMP of either class. Fails on another class or version and on a hop count or pointer beyond the path.
    pub fn decode(bytes: &[u8; MAD_SIZE]) -> Result<Smp, WireError> {
        let route = match class_of(bytes) {
            class::SUBNET_LID => Route::Lid,
            class::SUBNET_DIRECTED => Route::Directed(decode_route(bytes)?),
            found => return Err(WireError::Class { expected: "0x01 or 0x81", found }),
        };
        check_versions(bytes)?;
        let mut data = [0; SMP_DATA_SIZE];
        data.copy_from_slice(&bytes[field::DATA]);
        Ok(Smp {
            route,
            method: common::METHOD.get_u8(bytes).into(),
            status: field::STATUS.get_u16(bytes),
            tid: common::TID.get(bytes),
            m_key: field::M_KEY.get(bytes),
            attribute: common::ATTRIBUTE.get_u16(bytes).into(),
            modifier: common::MODIFIER.get_u32(bytes),
            data,
        })
    }

    /// Writes the SMP.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        let mut bytes = [0; MAD_SIZE];
        match &self.route {
            Route::Lid => put_versions(&mut bytes, class::SUBNET_LID),
            Route::Directed(route) => {
                put_versions(&mut bytes, class::SUBNET_DIRECTED);
                encode_route(route, &mut bytes);
            }
        }
        common::METHOD.put(&mut bytes, self.method);
        field::STATUS.put(&mut bytes, self.status);
        common::TID.put(&mut bytes, self.tid);
        field::M_KEY.put(&mut bytes, self.m_key);
        common::ATTRIBUTE.put(&mut bytes, self.attribute);
        common::MODIFIER.put(&mut bytes, self.modifier);
        bytes[field::DATA].copy_from_slice(&self.data);
        bytes
    }
}

fn decode_route(bytes: &[u8; MAD_SIZE]) -> Result<DirectedRoute, WireError> {
    let (pointer, count) = (field::HOP_POINTER.get_u8(bytes), field::HOP_COUNT.get_u8(bytes));
    if count > 63 || pointer > count + 1 {
        return Err(WireError::Hops { pointer, count });
    }
    let (mut initial_path, mut return_path) = ([0; 64], [0; 64]);
    initial_path.copy_from_slice(&bytes[field::INITIAL_PATH]);
    return_path.copy_from_slice(&bytes[field::RETURN_PATH]);
    Ok(DirectedRoute {
        returning: field::RETURNING.get_flag(bytes),
        hop_pointer: pointer,
        hop_count: count,
        dr_slid: Lid(field::DR_SLID.get_u16(bytes)),
        dr_dlid: Lid(field::DR_DLID.get_u16(bytes)),
        initial_path,
        return_path,
    })
}

fn encode_route(route: &DirectedRoute, bytes: &mut [u8; MAD_SIZE]) {
    field::RETURNING.put(bytes, route.returning);
    field::HOP_POINTER.put(bytes, route.hop_pointer);
    field::HOP_COUNT.put(bytes, route.hop_count);
    field::DR_SLID.put(bytes, route.dr_slid.0);
    field::DR_DLID.put(bytes, route.dr_dlid.0);
    bytes[field::INITIAL_PATH].copy_from_slice(&route.initial_path);
    bytes[field::RETURN_PATH].copy_from_slice(&route.return_path);
}
