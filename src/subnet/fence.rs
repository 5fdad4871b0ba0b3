//! The fence at end ports: which half is closed while each table is written, and the resulting tables.
//!
//! The service levels of a closed half are mapped to VL 15, so the end port discards what its host sends on them
//! (section 7.6.6). The spare half is closed from the split to the swap, the retired half from the end of the swap
//! until [`Manager::open_ends`]. Devices with ActiveHalf need none of this.

use super::manager::Manager;
use super::{SubnetError, SubnetManager};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Guid, Half, PortNum, Sl, Vl};
use crate::tables::{PortState, SlToVl, SlToVlScope, Write};
use crate::transport::Transport;

/// A table with one half closed. A reserved level is of neither half (K.4).
pub(super) fn closed(table: SlToVl, half: Option<Half>, reserved: Option<Sl>) -> SlToVl {
    let closes = |sl: Sl| Some(Half::of_sl(sl)) == half && Some(sl) != reserved;
    SlToVl::from_fn(|sl: Sl| if closes(sl) { Vl::MANAGEMENT } else { table.get(sl) })
}

fn key(fabric: &Fabric, port: PortId) -> (Guid, PortNum) {
    let port = fabric.port(port);
    (fabric.node(port.node).guid, port.num)
}

/// Whether a table gives each half its own lanes, as from split to restore.
fn keeps_apart(table: &SlToVl) -> bool {
    let lanes = |half: Half| half.sls().map(|sl| table.get(sl)).collect::<Vec<_>>();
    let upper = lanes(Half::Upper);
    lanes(Half::Lower).iter().all(|lane| !upper.contains(lane))
}

impl<T: Transport> Manager<T> {
    /// Moves the fence as the writes of a wave require, and returns the adapted writes (P3.8).
    pub(super) fn fenced(&mut self, fabric: &Fabric, writes: &[Write]) -> Vec<Write> {
        let splits = |write: &Write| match write {
            Write::SlToVl { scope: SlToVlScope::EndPort { .. }, table, .. } => keeps_apart(table),
            _ => false,
        };
        let is_split = writes.iter().any(splits);
        if self.closed.is_none() && is_split {
            self.closed = Some(self.sa_half.other());
        }
        let swaps = writes.iter().any(|write| matches!(write, Write::ActiveHalf { .. }));
        if swaps {
            self.closed = None;
        }
        for write in writes {
            // A port that comes up with the split has not been notified of a half yet, and must send on neither until
            // the swap (G.4). Between changes nobody would notify it.
            if let (true, &Write::PortState { port, state: PortState::Active }) = (is_split, write) {
                self.fresh.insert(key(fabric, port));
            }
        }
        // A port is opened before its clients are notified: the writes of one device are sent in this order.
        let mut opened = Vec::new();
        let mut fenced = Vec::with_capacity(writes.len());
        for write in writes {
            match *write {
                Write::SlToVl { node, scope: scope @ SlToVlScope::EndPort { port }, table } => {
                    let key = (fabric.node(node).guid, port);
                    self.end_tables.insert(key, table);
                    let shut = SlToVl::from_fn(|_| Vl::MANAGEMENT);
                    let table =
                        if self.fresh.contains(&key) { shut } else { closed(table, self.closed, self.reserved_sl()) };
                    fenced.push(Write::SlToVl { node, scope, table });
                }
                Write::ActiveHalf { port, half } => {
                    let fresh = self.fresh.remove(&key(fabric, port));
                    opened.extend(self.table_at(fabric, port, fresh.then_some(half.other())));
                    fenced.push(write.clone());
                }
                _ => fenced.push(write.clone()),
            }
        }
        opened.extend(fenced);
        opened
    }

    /// The write of an end port's wanted table, if there is one, with one half closed.
    fn table_at(&self, fabric: &Fabric, id: PortId, shut: Option<Half>) -> Option<Write> {
        let port = fabric.port(id);
        let table = *self.end_tables.get(&key(fabric, id))?;
        let scope = SlToVlScope::EndPort { port: port.num };
        Some(Write::SlToVl { node: port.node, scope, table: closed(table, shut, self.reserved_sl()) })
    }

    /// The service level that is of neither half.
    pub(super) fn reserved_sl(&self) -> Option<Sl> {
        self.reserved.map(|level| level.sl)
    }

    /// Forgets the state of an earlier mastership: nothing is closed, and the SA answers with `half`.
    pub fn begin_mastership(&mut self, half: Half) {
        (self.closed, self.sa_half) = (None, half);
        self.end_tables.clear();
        self.fresh.clear();
        if let Some(attendant) = &self.attendant {
            attendant.borrow_mut().half_moved(half);
        }
    }

    /// Opens the retired half again: sources may send on both halves. The caller has routed both.
    ///
    /// # Errors
    /// An end port does not answer, or does not accept its table; some are then open and others not.
    pub async fn open_ends(&mut self, fabric: &Fabric) -> Result<(), SubnetError> {
        let Some(shut) = self.closed.take() else { return Ok(()) };
        self.fresh.clear();
        let writes: Vec<Write> = fabric.end_ports().filter_map(|port| self.table_at(fabric, port, None)).collect();
        let opened = self.apply(fabric, &writes, super::WriteOrder::Any).await.map(|_| ());
        if opened.is_err() {
            // Some may still be closed: the next call opens them.
            self.closed = Some(shut);
        }
        opened
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_table_is_told_from_a_steady_one() {
        let steady = SlToVl::from_fn(|sl| Vl::masked(sl.get() % 4));
        let split = SlToVl::from_fn(|sl| Vl::masked(sl.get() % 2 + if sl.get() < 8 { 0 } else { 2 }));
        assert!(keeps_apart(&split) && !keeps_apart(&steady));
    }

    #[test]
    fn a_closed_half_goes_to_lane_15_and_the_other_stays() {
        let steady = SlToVl::from_fn(|sl| Vl::masked(sl.get() % 4));
        let fenced = closed(steady, Some(Half::Lower), None);
        assert!(Half::Lower.sls().all(|sl| fenced.get(sl) == Vl::MANAGEMENT));
        assert!(Half::Upper.sls().all(|sl| fenced.get(sl) == steady.get(sl)));
        assert_eq!(closed(steady, None, None), steady);
        let spared = closed(steady, Some(Half::Upper), Some(Sl::MAX));
        assert_eq!(spared.get(Sl::MAX), steady.get(Sl::MAX));
        assert_eq!(spared.get(Sl::masked(14)), Vl::MANAGEMENT);
    }
}
