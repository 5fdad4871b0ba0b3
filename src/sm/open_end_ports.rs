//! Opens end ports that would otherwise stay fenced: the change that fenced them was given up, and the recovery fails
//! repeatedly.
//!
//! It does what `reconfig rescue --clear` does, at end ports alone: service levels that they discard get back the lanes
//! of the steady state, and nothing else is written. Not under `--takeover proved`, and not while the journal has a
//! change to continue. Deliberately omitted: a proof. Switches may hold two routings, or split lanes.

use super::bring_up;
use super::config::Takeover;
use super::context::Context;
use super::error::SmError;
use crate::fabric::PortId;
use crate::ids::Vl;
use crate::plan::Lanes;
use crate::subnet::{Ask, AskResult, Manager, RequestTarget, SubnetManager};
use crate::tables::SlToVl;
use crate::transport::Transport;
use crate::wire::{AttributeId, SlToVlMappingTable};

/// Opens every end port that discards service levels. Returns what that leaves unproved; `None` if no end port discards
/// any.
///
/// # Errors
/// The subnet cannot be swept, or the port failed.
pub(super) async fn open_ends<T: Transport>(
    manager: &mut Manager<T>,
    context: &mut Context,
) -> Result<Option<String>, SmError> {
    let goes_on = context.journal.as_ref().is_some_and(|journal| journal.standing().is_some());
    if goes_on || context.config.takeover == Takeover::Proved {
        return Ok(None);
    }
    let found = manager.discover().await?;
    manager.set_topology(&found.fabric, found.sm_port);
    let (fabric, _) = bring_up::equipped(manager, context, &found)?;
    let policy = context.config.policy;
    let steady = Lanes::steady_table(&fabric, &policy);
    let has_table = |port: &PortId| !manager.lacks_sl_to_vl(fabric.port(*port).node, fabric.port(*port).num);
    let ports: Vec<PortId> = fabric.end_ports().filter(has_table).collect();
    let place = |port| (RequestTarget::Port(port), AttributeId::SlToVlMappingTable);
    let get = |&port: &PortId| Ask::get(place(port).0, place(port).1, 0);
    let answers = manager.ask(ports.iter().map(get).collect()).await?;
    let open = |(&port, answer): (&PortId, AskResult)| {
        let answer = answer.ok()?;
        let held = SlToVl(SlToVlMappingTable::decode(&answer).0);
        let open = SlToVl::from_fn(|sl| match held.get(sl) {
            Vl::MANAGEMENT => steady.get(sl),
            lane => lane,
        });
        (open != held).then_some((port, open))
    };
    let closed: Vec<(PortId, SlToVl)> = ports.iter().zip(answers).filter_map(open).collect();
    let set = |&(port, table): &(PortId, SlToVl)| {
        Ask::set(place(port).0, place(port).1, 0, SlToVlMappingTable(table.0).encode())
    };
    let answers = manager.ask(closed.iter().map(set).collect()).await?;
    let is_open =
        |wanted: SlToVl, answer: AskResult| answer.is_ok_and(|held| SlToVlMappingTable::decode(&held).0 == wanted.0);
    let rest = closed.iter().zip(answers).filter(|((_, wanted), answer)| !is_open(*wanted, answer.clone()));
    let rest: Vec<PortId> = rest.map(|((port, _), _)| *port).collect();
    manager.set_closed_ends(&rest);
    let opened = closed.len() - rest.len();
    Ok((!closed.is_empty()).then(|| {
        let left = if rest.is_empty() { String::new() } else { format!(", and {} do not take it", rest.len()) };
        format!(
            "{opened} end ports that discarded service levels are opened{left}, since the subnet does not come up: until it \
             does, nothing is proved of what their hosts send, which may be lost or wait in a circle"
        )
    }))
}
