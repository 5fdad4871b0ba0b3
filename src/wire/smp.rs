//! Subnet management packets: 64 bytes of one attribute under a header, LID routed or along a directed route
//! (section 14.2.1). Reserved, and written as zero: bytes 18–19 and 36–63; of a LID routed SMP bytes 6–7, 32–35,
//! 128–255 and the highest bit of the status, which is the D bit of the other kind.

use super::format::{BitLayout, Field, check_spans, layout};
use super::header::{AttributeId, Method, WireError, class, class_of, decode_mad, encode_mad};
use super::{DirectedRoute, MAD_SIZE, SMP_DATA_SIZE};
use crate::ids::PortNum;

/// The routing of an SMP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Route {
    /// By the forwarding tables (class 0x01).
    Lid,
    /// Hop by hop, along the path it carries (class 0x81).
    Directed(DirectedRoute),
}

/// The class says which; a directed route has its bits here and there in the whole MAD.
impl Field for Route {
    fn read(mad: &[u8], offset: usize, width: usize) -> Route {
        match u8::read(mad, 8, 8) {
            class::SUBNET_DIRECTED => Route::Directed(DirectedRoute::read(mad, offset, width)),
            _ => Route::Lid,
        }
    }

    fn write(&self, mad: &mut [u8], offset: usize, width: usize) {
        match self {
            Route::Lid => {}
            Route::Directed(route) => route.write(mad, offset, width),
        }
    }
}

layout! {
    /// A subnet management packet.
    Smp {
        /// Its route.
        route: Route = 0, 8 * MAD_SIZE;
        /// The method.
        method: Method = 24, 8;
        /// 15 bits, see [`status`](super::status).
        status: u16 = 33, 15;
        /// Names the request; the answer repeats it.
        tid: u64 = 64, 64;
        /// The attribute carried in `data`.
        attribute: AttributeId = 128, 16;
        /// The instance of the attribute: a port, a block (each attribute specifies it).
        modifier: u32 = 160, 32;
        /// The management key that the device may demand.
        m_key: u64 = 192, 64;
        /// The attribute, for its own type to decode.
        data: [u8; SMP_DATA_SIZE] = 512, 512;
    }
}

// The route has no bits of its own beside those of `DirectedRoute`.
const _: () = check_spans(Smp::SPANS.split_at(1).1, MAD_SIZE);
const _: () = check_spans(DirectedRoute::SPANS, MAD_SIZE);

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

    /// This packet with another transaction ID.
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
        match class_of(bytes) {
            class::SUBNET_LID => {}
            class::SUBNET_DIRECTED => check_hops(bytes[6], bytes[7])?,
            found => return Err(WireError::Class { expected: "0x01 or 0x81", found }),
        }
        decode_mad(bytes)
    }

    /// Writes the SMP.
    pub fn encode(&self) -> [u8; MAD_SIZE] {
        let class = match &self.route {
            Route::Lid => class::SUBNET_LID,
            Route::Directed(_) => class::SUBNET_DIRECTED,
        };
        encode_mad(class, self)
    }
}

fn check_hops(pointer: u8, count: u8) -> Result<(), WireError> {
    if count > 63 || pointer > count + 1 { Err(WireError::Hops { pointer, count }) } else { Ok(()) }
}
