//! What becomes of a subnet when a part of it dies: for each of many losses, the change that a subnet manager would
//! make.
//!
//! On entry: a fabric with its routing in force, as for a change between two captures, and the losses, each one switch
//! or cable, or several at once. On return: of each loss who is cut off, how many pairs are without a way, what the
//! change takes that a manager makes first, or why there is none. On large fabrics that is the change that gives hosts
//! ways again at once, and does without the full re-route. The routing in force is proved once for all of them, and its
//! ways are counted once, so that what a loss breaks is found in milliseconds: thousands can be looked at without
//! changes, and those planned first that seem the worst. The losses are looked at on all processors, and the result
//! does not depend on how many there are. Deliberately omitted: the time until a manager has found a loss and planned
//! its change, the second change of large fabrics, and what packets do meanwhile (`scenario`).

use super::at_once::{at_once, in_turn};
use super::captures::{begun, with_lanes};
use super::cheapest::{Pace, PlannedOutage, keeps_hosts_waiting, outage};
use super::crossing::SwitchCrossings;
use super::unserved::{self, ProvedRouting, Survivors};
use super::{Captures, CapturesError, ChangeBase, ChangeInput, Prepared, manager_port};
use crate::fabric::difference::union;
use crate::fabric::{Fabric, NodeId, NodeRole, PortId};
use crate::plan::Scheme;
use crate::routing::stranded;
use crate::vet::{PlanVerdict, Provable, Vetted};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What dies at once.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loss {
    /// Nodes.
    pub nodes: Vec<NodeId>,
    /// One end of each cable.
    pub links: Vec<PortId>,
}

/// Who judges the changes that answer losses. Nobody runs them, so the prover is enough to say which there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Judges {
    /// The prover alone.
    #[default]
    Prover,
    /// All whom a change needs that is to be run: the prover, the independent checker, and the lint.
    All,
}

/// A subnet of which any part may die.
pub struct WhatIf<'a> {
    begun: ChangeInput<'a>,
    base: ChangeBase,
    crossings: SwitchCrossings,
    engine: &'static str,
    named_sm: Option<NodeId>,
    pace: Pace,
    judges: Judges,
    /// What a reader should know of the tables in force.
    pub note: Option<String>,
}

/// What becomes of a subnet after a loss.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AfterLoss {
    /// End ports that the manager cannot reach any more, in index order.
    pub cut_off: Vec<PortId>,
    /// How many of them are at a switch or a cable that died.
    pub at_the_dead: usize,
    /// Whether the manager's own port dies or is cut off, so that another host has to manage.
    pub needs_standby: bool,
    /// Pairs of an end port and a LID without a way until a change gives them one; those that are cut off do not count.
    pub pairs: u64,
    /// Blocks of forwarding tables that lead these pairs to what is lost: about as many writes bring them back.
    pub blocks: u64,
    /// The change that a manager makes, or why there is none that is proved. None where no change was to be planned.
    pub change: Option<Result<AnsweringChange, String>>,
    /// Whether no host is left that could manage what is left: then there is no change either.
    pub nobody_left: bool,
}

impl AfterLoss {
    /// An estimate of harm without a change: pairs times blocks, as if each block that leads them astray were one write
    /// and no wave waited. The change may write more, or less, and wait.
    pub fn likely_harm(&self) -> u128 {
        u128::from(self.pairs) * u128::from(self.blocks)
    }
}

/// A change that answers a loss.
#[derive(Clone, PartialEq, Debug)]
pub struct AnsweringChange {
    /// By which scheme; it may write nothing.
    pub scheme: Scheme,
    /// How long pairs are without a way from the first write on, as the plan estimates.
    pub outage: PlannedOutage,
    /// Whether some of these pairs wait until packets have left that were sent before.
    pub waits: bool,
    /// Whether a second change follows, for rows (switch and LID) to which this one gives no way.
    pub rest_follows: bool,
    /// End ports that have to send to other LIDs on other service levels.
    pub hosts_that_move: usize,
    /// Waves.
    pub waves: usize,
    /// Writes in all.
    pub writes: usize,
    /// Why other ways were passed over.
    pub notes: Vec<String>,
}

impl<'a> WhatIf<'a> {
    /// The subnet that captures and options describe; its fabric before is the fabric after. Of `pace`,
    /// `settle_ns` is that of the captures.
    ///
    /// # Errors
    /// The fabric cannot be brought up or routed, or the routing in force cannot be proved.
    pub fn of(captures: &Captures<'a>, pace: Pace, judges: Judges) -> Result<WhatIf<'a>, CapturesError> {
        let whole = union(captures.before, captures.after)?;
        let begun = with_lanes(captures, |settings| begun(captures, settings, whole.clone()))?;
        let base = ChangeBase::of(&begun.input.in_force()).map_err(Box::new)?;
        let crossings = SwitchCrossings::of(&begun.input.before, &begun.input.tables.lfts, begun.input.old);
        let pace = Pace { settle_ns: captures.settle_ns, ..pace };
        let (named_sm, engine, note) = (captures.sm, begun.engine, begun.note);
        Ok(WhatIf { begun: begun.input, base, crossings, engine, named_sm, pace, judges, note })
    }

    /// The fabric, with LIDs.
    pub fn fabric(&self) -> &Fabric {
        &self.begun.before
    }

    /// The name of the engine whose tables are in force.
    pub fn engine(&self) -> &'static str {
        self.engine
    }

    /// The manager's port.
    pub fn sm(&self) -> PortId {
        self.begun.sm
    }

    /// The cables between switches, each by one end: every one, or of parallel ones that which most entries of the
    /// tables in force name, at either end.
    pub fn cables(&self, every: bool) -> Vec<PortId> {
        let fabric = self.fabric();
        let mut named = vec![0usize; fabric.port_count()];
        for switch in fabric.switches() {
            for (_, num) in self.begun.tables.lfts[switch.index()].routes() {
                if let Some(port) = fabric.port_at(switch, num) {
                    named[port.index()] += 1;
                }
            }
        }
        let mut busiest: BTreeMap<[NodeId; 2], (usize, PortId)> = BTreeMap::new();
        let mut all = Vec::new();
        for (a, b) in fabric.links() {
            let mut ends = [a, b].map(|port| fabric.port(port).node);
            if !ends.iter().all(|&end| fabric.node(end).is_switch()) {
                continue;
            }
            // Of parallel cables the one that most entries name has most to lose.
            ends.sort_unstable();
            let load = named[a.index()] + named[b.index()];
            let best = busiest.entry(ends).or_insert((load, a));
            if load > best.0 {
                *best = (load, a);
            }
            all.push(a);
        }
        if every {
            return all;
        }
        let mut chosen: Vec<PortId> = busiest.into_values().map(|(_, port)| port).collect();
        chosen.sort_unstable();
        chosen
    }

    fn answer<V: PlanVerdict>(&self, prepared: &Prepared<V>) -> AnsweringChange {
        let plan = prepared.plan.plan();
        let size = plan.size();
        let own = AnsweringChange {
            scheme: plan.scheme(),
            outage: outage(plan, self.pace),
            waits: keeps_hosts_waiting(plan),
            rest_follows: plan.leads_into_loss(),
            hosts_that_move: plan.hosts_that_move(),
            waves: size.waves,
            writes: size.writes,
            notes: plan.draft().notes.clone(),
        };
        // The second change begins when the first has ended, so times and writes add up; who moves, and by which
        // scheme, is the second's.
        let Some(then) = &prepared.then else { return own };
        let then = self.answer(then);
        AnsweringChange {
            outage: own.outage + then.outage,
            waits: own.waits || then.waits,
            waves: own.waves + then.waves,
            writes: own.writes + then.writes,
            ..then
        }
    }

    /// Who is cut off after a loss, and how many pairs are without a way; no change is planned.
    pub fn unanswered(&self, loss: &Loss) -> AfterLoss {
        self.rest(loss).1
    }

    /// What becomes of it after a loss.
    pub fn after(&self, loss: &Loss) -> AfterLoss {
        let (rest, after) = self.rest(loss);
        let Some(Rest { fabric, sm }) = rest else { return after };
        let input = ChangeInput {
            surviving: fabric.clone(),
            after: fabric,
            sm,
            // The base includes answers of the manager's port (P0.8). Another manager answers from elsewhere.
            base: Some(&self.base).filter(|_| !after.needs_standby),
            ..self.begun.clone()
        };
        let change = match self.judges {
            Judges::Prover => self.answered::<Provable>(input),
            Judges::All => self.answered::<Vetted>(input),
        };
        AfterLoss { change: Some(change), ..after }
    }

    /// The change that a manager makes, by these judges.
    fn answered<V: PlanVerdict>(&self, input: ChangeInput<'_>) -> Result<AnsweringChange, String> {
        let prepared: Result<Prepared<V>, _> = match at_once(&input) {
            Some(at_once) => Ok(at_once),
            None => in_turn(input, self.pace.settle_ns.unwrap_or(0)),
        };
        prepared.map(|prepared| self.answer(&prepared)).map_err(|error| error.to_string())
    }

    /// What is left, if a host can manage it, and what becomes of it before any change.
    fn rest(&self, loss: &Loss) -> (Option<Rest>, AfterLoss) {
        let fabric = &*self.begun.before;
        let rest = Arc::new(match &loss.nodes[..] {
            [] => fabric.without_links(&loss.links),
            nodes => fabric.without_nodes(nodes).without_links(&loss.links),
        });
        let seat = |named| manager_port(fabric, &rest, named);
        let stays = seat(self.named_sm).ok().filter(|&port| port == self.begun.sm);
        let needs_standby = stays.is_none();
        let Some(sm) = stays.or_else(|| seat(None).ok()) else {
            let all: Vec<PortId> = fabric.end_ports().filter(|&port| fabric.peer(port).is_some()).collect();
            let cut_off = of_their_own(fabric, all);
            let at_the_dead = at_dead(&rest, &cut_off);
            let own = AfterLoss { cut_off, at_the_dead, needs_standby, ..AfterLoss::default() };
            return (None, AfterLoss { nobody_left: true, ..own });
        };
        let cut_off = stranded(fabric, &rest, sm);
        let (pairs, blocks) = self.broken(loss, &rest, &cut_off);
        let cut_off = of_their_own(fabric, cut_off);
        let at_the_dead = at_dead(&rest, &cut_off);
        let after = AfterLoss { cut_off, at_the_dead, needs_standby, pairs, blocks, ..AfterLoss::default() };
        (Some(Rest { fabric: rest, sm }), after)
    }

    /// Pairs whose ways a loss breaks, and blocks that lead them there.
    fn broken(&self, loss: &Loss, rest: &Fabric, stranded: &[PortId]) -> (u64, u64) {
        let (fabric, lfts) = (&*self.begun.before, &self.begun.tables.lfts);
        let crossed = self.crossings.of_loss(fabric, lfts, rest, stranded);
        // Ways cross one element once, and several perhaps more than once; and who is cut off elsewhere crosses it too.
        let is_one = loss.nodes.len() + loss.links.len() == 1;
        if is_one && self.begun.ways.is_none() && at_dead(rest, stranded) == stranded.len() {
            return (crossed.pairs, crossed.blocks);
        }
        let among = Survivors { fabric: rest, stranded, half: self.begun.old };
        (unserved::pairs(Some(ProvedRouting { fabric, lfts }), among, lfts), crossed.blocks)
    }
}

/// What is left after a loss, and the port of the manager of it.
struct Rest {
    fabric: Arc<Fabric>,
    sm: PortId,
}

/// Of losses that were looked at without a change, so many that seem to do most harm, the worst first, by their places
/// in the list: first those that leave pairs without a way, since a change can mend nothing else, then by end ports cut
/// off, then by [`AfterLoss::likely_harm`].
pub fn worst<'a>(looked_at: impl Iterator<Item = &'a AfterLoss>, most: usize) -> Vec<usize> {
    let harm = |own: &AfterLoss| Reverse((own.pairs > 0, own.cut_off.len(), own.likely_harm()));
    let mut places: Vec<_> = looked_at.enumerate().map(|(place, own)| (harm(own), place)).collect();
    places.sort_unstable();
    places.into_iter().take(most).map(|(_, place)| place).collect()
}

/// Looks at each of these losses on all processors; they are begun in their order. Once `look` has nothing to say, no
/// more is begun; what was not looked at is none.
pub fn each<T: Send>(losses: &[Loss], look: &(dyn Fn(&Loss) -> Option<T> + Sync)) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let place = || next.fetch_add(1, Ordering::Relaxed);
    let on_one = |_: rayon::BroadcastContext<'_>| -> Vec<(usize, T)> {
        iter::from_fn(|| Some(place()).and_then(|place| Some((place, look(losses.get(place)?)?)))).collect()
    };
    let mut looked_at: Vec<Option<T>> = losses.iter().map(|_| None).collect();
    for (place, own) in rayon::broadcast(on_one).into_iter().flatten() {
        looked_at[place] = Some(own);
    }
    looked_at
}

/// Those of these end ports whose loss matters: parts of switches are lost and added with them.
fn of_their_own(fabric: &Fabric, mut ports: Vec<PortId>) -> Vec<PortId> {
    ports.retain(|&port| fabric.role(fabric.port(port).node) != NodeRole::InSwitch);
    ports
}

/// How many of these ports lost their cable, or the switch at its other end.
fn at_dead(rest: &Fabric, ports: &[PortId]) -> usize {
    ports.iter().filter(|&&port| rest.peer(port).is_none()).count()
}
