//! Reads and writes parts of multicast forwarding tables between other work. An event of the subnet ends that at once.
//!
//! A part that was written and not acknowledged may hold the old masks or the new ones, and a copy of the `Set` may
//! still arrive; the next write of such tables waits for that, and nothing else does. Deliberately omitted: what the
//! tables are to hold, and in which order (`sm`).

use super::exchange::{Completed, Exchange, MadAnswer, MadData, MadRequest};
use super::manager::{Manager, answered_or_failed};
use super::{Ask, RequestTarget, SubnetError};
use crate::fabric::NodeId;
use crate::ids::{Lid, PortNum};
use crate::tables::{MftMasks, MftPart};
use crate::transport::Transport;
use crate::wire::{AttributeId, Method, MulticastForwardingTable, SwitchInfo, capability};

/// A request about one part of a switch's multicast table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MftAsk {
    /// The switch.
    pub switch: NodeId,
    /// The part.
    pub part: MftPart,
    /// The masks to write; `None` to read.
    pub masks: Option<MftMasks>,
}

impl<T: Transport> Manager<T> {
    /// Asks switches of the known fabric for parts of their tables, each in the order of the list. Ends as soon as an
    /// event arrives. Returns, by request, the masks that the switch reports; `None` if it has refused, was silent, or
    /// was not asked in time. Failures are on record.
    ///
    /// # Errors
    /// No fabric is known, or the port failed.
    pub async fn ask_for_multicast(&mut self, asks: &[MftAsk]) -> Result<Vec<Option<MftMasks>>, SubnetError> {
        let mut held = vec![None; asks.len()];
        if self.is_interrupted(true) {
            return Ok(held);
        }
        if asks.iter().any(|ask| ask.masks.is_some()) {
            self.wait_until(self.multicast_copies_until_ns).await?;
        }
        let mut exchange = Exchange::ended_by_event(self.timing);
        for (tag, ask) in asks.iter().enumerate() {
            // A switch to which no path leads is asked again once one does.
            if let Ok(request) = self.request_of(mad_of(ask), tag as u64)? {
                exchange.submit(request);
            }
        }
        let quiet_at_ns = self.quiet_at_ns;
        let mut ended: Vec<Completed> = Vec::new();
        let on = |exchange: &mut Exchange, completed: Completed| {
            if completed.answer.is_none() {
                // Each of them would cost all tries.
                exchange.withdraw(completed.request.queue, |waiting: &MadRequest| {
                    waiting.asks_the_same(&completed.request)
                });
            }
            ended.push(completed);
        };
        let ran = self.run_until(&mut exchange, on, |manager, _| manager.is_interrupted(true)).await;
        // No other table is written by these copies.
        let copies_until_ns = std::mem::replace(&mut self.quiet_at_ns, quiet_at_ns);
        self.multicast_copies_until_ns = self.multicast_copies_until_ns.max(copies_until_ns);
        ran?;
        for completed in ended {
            let ask = &asks[completed.request.tag as usize];
            let (attribute, method) = (AttributeId::MulticastForwardingTable, completed.request.method);
            match answered_or_failed(completed) {
                Ok((request, MadAnswer { data: MadData::Smp(_, data), .. })) => {
                    let masks = MulticastForwardingTable::decode(&data).masks;
                    held[request.tag as usize] = Some(masks);
                    match ask.masks {
                        Some(wanted) if wanted != masks => {
                            let asked = MulticastForwardingTable { masks: wanted }.encode();
                            self.keeps_another(ask.switch, attribute, (request.modifier, Box::new(asked)), data);
                        }
                        _ => self.request_went(ask.switch, attribute, method, Ok(())),
                    }
                }
                Ok(_) => {}
                Err(failed) => self.request_went(ask.switch, attribute, method, Err(&failed)),
            }
        }
        Ok(held)
    }

    /// Whether the next write would wait for copies of earlier ones.
    pub fn may_multicast_copies_arrive(&self) -> bool {
        self.transport.now_ns() < self.multicast_copies_until_ns
    }

    /// The number of multicast LIDs that a switch has entries for, counted from the first.
    pub fn multicast_cap(&self, switch: NodeId) -> u16 {
        self.switch_info(switch).map_or(0, |info| info.multicast_fdb_cap)
    }

    /// Has switches route every multicast LID that they have entries for, where they limit that (MulticastFDBTop).
    ///
    /// # Errors
    /// No fabric is known, or the port failed.
    pub async fn raise_multicast_tops(&mut self, switches: &[NodeId]) -> Result<(), SubnetError> {
        let asks: Vec<Ask> = switches.iter().filter_map(|&switch| self.raising(switch)).collect();
        for answer in if asks.is_empty() { Vec::new() } else { self.ask(asks).await? } {
            match answer {
                Err(error) if error.is_fatal() => return Err(error),
                // The failure is on record; hosts do not get the groups that the switch does not route.
                Err(_) | Ok(_) => {}
            }
        }
        Ok(())
    }

    fn raising(&self, switch: NodeId) -> Option<Ask> {
        let port_0 = self.topology.as_ref()?.fabric.port_at(switch, PortNum::ZERO)?;
        let limits = self.port_info(port_0)?.capability_mask & capability::MULTICAST_FDB_TOP != 0;
        let held = self.switch_info(switch)?;
        let last = Lid::FIRST_MULTICAST.0.saturating_add(held.multicast_fdb_cap.saturating_sub(1));
        if !limits || held.multicast_fdb_top.0 >= last || self.fails_at(switch, AttributeId::SwitchInfo, Method::Set) {
            return None;
        }
        // Writing a 1 would clear the port-change bit.
        let multicast_fdb_top = Lid(last);
        let wanted = SwitchInfo { multicast_fdb_top, port_state_change: false, ..held.clone() };
        Some(Ask::set(RequestTarget::Node(switch), AttributeId::SwitchInfo, 0, wanted.encode()))
    }

    fn switch_info(&self, switch: NodeId) -> Option<&SwitchInfo> {
        self.node_info(switch)?.1.as_ref()
    }
}

fn mad_of(ask: &MftAsk) -> Ask {
    let (target, attribute) = (RequestTarget::Node(ask.switch), AttributeId::MulticastForwardingTable);
    let modifier = MulticastForwardingTable::modifier(ask.part.0, ask.part.1);
    match ask.masks {
        Some(masks) => Ask::set(target, attribute, modifier, MulticastForwardingTable { masks }.encode()),
        None => Ask::get(target, attribute, modifier),
    }
}
