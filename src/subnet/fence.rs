//! The fence at end ports: which half is closed while which table is written, and the tables that follow.
//!
//! A closed half's service levels are mapped to VL 15, where the end port discards what its host sends (section 7.6.6).
//! Closed is the spare half from the split to the swap, and the retired half from the end of the swap until
//! [`Manager::open_ends`]. Devices that are told of halves need none of this.

use super::manager::Manager;
use super::{SubnetError, SubnetManager};
use crate::fabric::{Fabric, PortId};
use crate::ids::{Half, Sl, Vl};
use crate::tables::{SlToVl, SlToVlScope, Write};
use crate::transport::Transport;

/// A table with one half closed.
pub(super) fn closed(table: SlToVl, half: Option<Half>) -> SlToVl {
    SlToVl::from_fn(|sl: Sl| if Some(Half::of_sl(sl)) == half { Vl::MANAGEMENT } else { table.get(sl) })
}

/// Whether a table gives each half lanes of its own, as it is from split to restore.
fn keeps_apart(table: &SlToVl) -> bool {
    let lanes = |half: Half| half.sls().map(|sl| table.get(sl)).collect::<Vec<_>>();
    let upper = lanes(Half::Upper);
    lanes(Half::Lower).iter().all(|lane| !upper.contains(lane))
}

impl<T: Transport> Manager<T> {
    /// Moves the fence as the writes of a wave ask for it, and returns the writes with what the fence makes of them.
    pub(super) fn fenced(&mut self, fabric: &Fabric, writes: &[Write]) -> Vec<Write> {
        let splits = |write: &Write| match write {
            Write::SlToVl { scope: SlToVlScope::EndPort { .. }, table, .. } => keeps_apart(table),
            _ => false,
        };
        if self.closed.is_none() && writes.iter().any(splits) {
            self.closed = Some(self.sa_half.other());
        }
        let swaps = writes.iter().any(|write| matches!(write, Write::ActiveHalf { .. }));
        if swaps {
            self.closed = None;
        }
        let mut fenced = Vec::with_capacity(writes.len());
        for write in writes {
            match *write {
                Write::SlToVl { node, scope: scope @ SlToVlScope::EndPort { port }, table } => {
                    self.end_tables.insert((fabric.node(node).guid, port), table);
                    fenced.push(Write::SlToVl { node, scope, table: closed(table, self.closed) });
                }
                Write::ActiveHalf { port, .. } => {
                    // Opened before its clients are told.
                    fenced.extend(self.table_at(fabric, port));
                    fenced.push(write.clone());
                }
                _ => fenced.push(write.clone()),
            }
        }
        fenced
    }

    /// The write of an end port's table as it is wanted, where one was.
    fn table_at(&self, fabric: &Fabric, id: PortId) -> Option<Write> {
        let port = fabric.port(id);
        let table = *self.end_tables.get(&(fabric.node(port.node).guid, port.num))?;
        let scope = SlToVlScope::EndPort { port: port.num };
        Some(Write::SlToVl { node: port.node, scope, table: closed(table, self.closed) })
    }

    /// Opens the retired half again: both halves may be sent on. Whoever calls this has both routed.
    ///
    /// # Errors
    /// An end port does not answer, or does not take its table; then some are open and others not.
    pub async fn open_ends(&mut self, fabric: &Fabric) -> Result<(), SubnetError> {
        if self.closed.take().is_none() {
            return Ok(());
        }
        let writes: Vec<Write> = fabric.end_ports().filter_map(|port| self.table_at(fabric, port)).collect();
        self.apply(fabric, &writes, super::Order::Any).await.map(|_| ())
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
        let fenced = closed(steady, Some(Half::Lower));
        assert!(Half::Lower.sls().all(|sl| fenced.get(sl) == Vl::MANAGEMENT));
        assert!(Half::Upper.sls().all(|sl| fenced.get(sl) == steady.get(sl)));
        assert_eq!(closed(steady, None), steady);
    }
}
