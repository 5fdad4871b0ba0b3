//! Directed routes: a path of output ports carried in the SMP itself, and the rules by which each node moves it on
//! (section 14.2.2). Only pure rules: the caller knows which node holds the packet and which links are up.

use super::format::layout;
use super::header::WireError;
use crate::ids::{Lid, PortNum};

/// Most hops of a directed route.
const MAX_HOPS: usize = 63;

layout! {
    /// The route of a directed-route SMP, at the bits that it has in the MAD. Element 0 of both paths is unused.
    DirectedRoute {
        /// The D bit: on its way back.
        returning: bool = 32, 1;
        /// The position of the packet on the path: 0 at its source, rising on the way out, falling on the way back.
        hop_pointer: u8 = 48, 8;
        /// The number of directed hops of the path.
        hop_count: u8 = 56, 8;
        /// LID of the source of the directed part; [`Lid::PERMISSIVE`] where the route is directed from the start.
        dr_slid: Lid = 256, 16;
        /// LID of the destination of the directed part; [`Lid::PERMISSIVE`] where it is directed to the end.
        dr_dlid: Lid = 272, 16;
        /// Output port of each hop, by hop from 1 on.
        initial_path: [u8; 64] = 1024, 512;
        /// The port each hop came in by, filled in on the way out.
        return_path: [u8; 64] = 1536, 512;
    }
}

/// The action of a node on a directed-route SMP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SmpAction {
    /// Sends it out of this port.
    Forward(PortNum),
    /// Hands it to its own management agent, or to the manager that sent it.
    Deliver,
    /// Drops it: the path is exhausted or inconsistent.
    Discard,
}

impl DirectedRoute {
    /// A purely directed route out of its source: `path` names the output port at each node, beginning with the
    /// source's.
    pub fn new(path: &[PortNum]) -> Result<DirectedRoute, WireError> {
        if path.len() > MAX_HOPS {
            return Err(WireError::PathTooLong(path.len()));
        }
        let mut initial_path = [0; 64];
        initial_path[1..].iter_mut().zip(path).for_each(|(hop, port)| *hop = port.0);
        Ok(DirectedRoute {
            returning: false,
            hop_pointer: 0,
            hop_count: path.len() as u8,
            dr_slid: Lid::PERMISSIVE,
            dr_dlid: Lid::PERMISSIVE,
            initial_path,
            return_path: [0; 64],
        })
    }

    /// The output ports of the route, in the order in which the packet meets them on its way out.
    pub fn path(&self) -> impl Iterator<Item = PortNum> {
        self.initial_path[1..].iter().take(usize::from(self.hop_count)).copied().map(PortNum)
    }

    /// The output ports of the way back of an SMP that was delivered, beginning with the receiver's.
    pub fn path_back(&self) -> impl Iterator<Item = PortNum> {
        self.return_path[1..].iter().take(usize::from(self.hop_count)).rev().copied().map(PortNum)
    }

    /// The route back of an SMP that was delivered.
    pub fn returned(&self) -> DirectedRoute {
        DirectedRoute { returning: true, ..self.clone() }
    }

    /// Moves the packet on at a node that received it by port `arrival`, or at its source (`None`: sent by this node's
    /// own manager or agent). Parts that are LID routed (DrSLID or DrDLID not permissive) are not walked: `Discard`.
    pub fn advance(&mut self, arrival: Option<PortNum>) -> SmpAction {
        if usize::from(self.hop_count) > MAX_HOPS || self.dr_slid != Lid::PERMISSIVE || self.dr_dlid != Lid::PERMISSIVE
        {
            return SmpAction::Discard;
        }
        if self.returning { self.advance_back(arrival) } else { self.advance_out(arrival) }
    }

    fn advance_out(&mut self, arrival: Option<PortNum>) -> SmpAction {
        let at_source = self.hop_pointer == 0;
        if at_source != arrival.is_none() || self.hop_pointer > self.hop_count {
            return SmpAction::Discard;
        }
        if let Some(port) = arrival {
            self.return_path[usize::from(self.hop_pointer)] = port.0;
        }
        self.hop_pointer += 1;
        if self.hop_pointer > self.hop_count {
            return SmpAction::Deliver;
        }
        SmpAction::Forward(PortNum(self.initial_path[usize::from(self.hop_pointer)]))
    }

    fn advance_back(&mut self, arrival: Option<PortNum>) -> SmpAction {
        let at_responder = self.hop_pointer == self.hop_count + 1;
        if at_responder != arrival.is_none() || !(1..=self.hop_count + 1).contains(&self.hop_pointer) {
            return SmpAction::Discard;
        }
        self.hop_pointer -= 1;
        if self.hop_pointer == 0 {
            return SmpAction::Deliver;
        }
        SmpAction::Forward(PortNum(self.return_path[usize::from(self.hop_pointer)]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of nodes: each hop leaves by port 7 and comes in by port 10 + hop.
    fn there(hops: usize) -> (DirectedRoute, Vec<SmpAction>) {
        let mut route = DirectedRoute::new(&vec![PortNum(7); hops]).unwrap();
        let mut seen = vec![route.advance(None)];
        seen.extend((1..=hops).map(|hop| route.advance(Some(PortNum(10 + hop as u8)))));
        (route, seen)
    }

    #[test]
    fn a_route_goes_out_by_its_path_and_back_by_the_ports_it_came_in() {
        let (route, out) = there(2);
        assert_eq!(out, [SmpAction::Forward(PortNum(7)), SmpAction::Forward(PortNum(7)), SmpAction::Deliver]);
        assert_eq!(route.hop_pointer, 3);
        let mut back = route.returned();
        assert_eq!(back.advance(None), SmpAction::Forward(PortNum(12)));
        assert_eq!(back.advance(Some(PortNum(7))), SmpAction::Forward(PortNum(11)));
        assert_eq!(back.advance(Some(PortNum(7))), SmpAction::Deliver);
        assert_eq!(back.hop_pointer, 0);
    }

    #[test]
    fn a_route_of_no_hops_stays_at_home() {
        let (route, out) = there(0);
        assert_eq!(out, [SmpAction::Deliver]);
        assert_eq!(route.returned().advance(None), SmpAction::Deliver);
    }

    #[test]
    fn the_longest_route_fits_and_one_more_hop_does_not() {
        let (route, out) = there(63);
        assert_eq!(out.last(), Some(&SmpAction::Deliver));
        assert_eq!(route.hop_pointer, 64);
        assert_eq!(route.path().count(), 63);
        assert_eq!(DirectedRoute::new(&[PortNum(1); 64]), Err(WireError::PathTooLong(64)));
    }

    #[test]
    fn a_pointer_that_contradicts_where_the_packet_is_is_discarded() {
        let route = DirectedRoute::new(&[PortNum(1)]).unwrap();
        assert_eq!(route.clone().advance(Some(PortNum(1))), SmpAction::Discard);
        assert_eq!(DirectedRoute { hop_pointer: 2, ..route.clone() }.advance(Some(PortNum(1))), SmpAction::Discard);
        assert_eq!(DirectedRoute { returning: true, ..route.clone() }.advance(Some(PortNum(1))), SmpAction::Discard);
        assert_eq!(DirectedRoute { dr_dlid: Lid(3), ..route }.advance(None), SmpAction::Discard);
    }
}
