//! MADs as they travel: what a datagram of a client becomes, and what becomes a datagram again.

use crate::ids::{Lid, PortNum, Sl};
use crate::transport::Datagram;
use crate::wire::{AttributeId, MAD_SIZE, Method, Route, Smp, SmpAction, class, class_of};

/// What a datagram carries.
#[derive(Clone, Debug)]
pub enum MadBody {
    /// Subnet management.
    Smp(Box<Smp>),
    /// General services, of whatever class, as they came.
    General(Box<[u8; MAD_SIZE]>),
}

/// A MAD on its way.
#[derive(Clone, Debug)]
pub struct Mad {
    /// Where it was sent from; where an answer goes.
    pub slid: Lid,
    /// Where it goes; permissive for directed routes.
    pub dlid: Lid,
    /// Its service level; none for subnet management, which VL 15 carries.
    pub sl: Sl,
    /// Whether it came on VL 15 by a link: then it takes room in the buffer of the port where it waits.
    pub came_on_vl15: bool,
    /// What it says.
    pub body: MadBody,
}

/// Where every MAD says its method (section 13.4.2).
const METHOD: usize = 3;

/// The bit of a method that makes it a response.
const RESPONSE: u8 = 0x80;

impl Mad {
    /// Reads a datagram that a client sends; none where it is no MAD that could travel.
    pub(super) fn read(datagram: &Datagram, slid: Lid) -> Option<Mad> {
        let (sl, body) = match class_of(&datagram.bytes) {
            class::SUBNET_LID | class::SUBNET_DIRECTED => {
                (Sl::default(), MadBody::Smp(Box::new(Smp::decode(&datagram.bytes).ok()?)))
            }
            _ => (datagram.sl, MadBody::General(datagram.bytes.clone())),
        };
        Some(Mad { slid, dlid: datagram.lid, sl, came_on_vl15: false, body })
    }

    /// A LID-routed packet of subnet management.
    pub(super) fn smp(slid: Lid, dlid: Lid, smp: Smp) -> Mad {
        Mad { slid, dlid, sl: Sl::default(), came_on_vl15: false, body: MadBody::Smp(Box::new(smp)) }
    }

    /// Advances a directed route by one node; none for a LID-routed MAD.
    pub(super) fn advance(&mut self, arrival: Option<PortNum>) -> Option<SmpAction> {
        match &mut self.body {
            MadBody::Smp(smp) => match &mut smp.route {
                Route::Directed(route) => Some(route.advance(arrival)),
                Route::Lid => None,
            },
            MadBody::General(_) => None,
        }
    }

    /// Whether it is of a general class: a packet on data lanes.
    pub(super) fn is_general(&self) -> bool {
        matches!(self.body, MadBody::General(_))
    }

    /// Whether it answers another.
    pub(super) fn is_response(&self) -> bool {
        match &self.body {
            MadBody::Smp(smp) => u8::from(smp.method) & RESPONSE != 0,
            MadBody::General(bytes) => bytes[METHOD] & RESPONSE != 0,
        }
    }

    pub(super) fn method(&self) -> Method {
        match &self.body {
            MadBody::Smp(smp) => smp.method,
            MadBody::General(bytes) => bytes[METHOD].into(),
        }
    }

    /// The datagram that a client receives.
    pub(super) fn write(self) -> Datagram {
        let (qp, bytes) = match self.body {
            MadBody::Smp(smp) => (0, Box::new(smp.encode())),
            MadBody::General(bytes) => (1, bytes),
        };
        Datagram { lid: self.slid, from: None, qp, sl: self.sl, bytes }
    }

    /// Whether a device's own agents handle it: subnet management except SMInfo, and performance management.
    pub(super) fn is_for_agents(&self) -> bool {
        match (&self.body, self.method()) {
            (MadBody::Smp(smp), Method::Get | Method::Set) => smp.attribute != AttributeId::SmInfo,
            (MadBody::Smp(_), Method::TrapRepress) => true,
            (MadBody::General(bytes), Method::Get | Method::Set) => class_of(bytes) == class::PERFORMANCE,
            _ => false,
        }
    }
}
