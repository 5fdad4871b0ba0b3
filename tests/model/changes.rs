//! Changes of small fabrics, and the plans for them.

use crate::support::fabrics::{fabric_of, random_fabric, ring};
use reconfig::change::{ChangeError, ChangeInput, prepare, prepare_baseline};
use reconfig::fabric::{Fabric, NodeId, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Arming, Plan, Policy, Scheme};
use reconfig::routing::{Demand, Engine, UpDown};
use reconfig::verify::Refusal;
use reconfig::vet::Vetted;
use std::sync::Arc;

/// Data lanes: one in A and one in B.
const VLS: u8 = 2;

/// What is changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// Nothing comes or goes; the tree gets another root.
    NewRoot { from: usize, to: usize },
    /// A switch goes; R's root is the one given.
    SwitchGoes { root: usize, switch: usize, sudden: bool },
    /// A cable goes: the nth of those between switches.
    LinkGoes { root: usize, link: usize, sudden: bool },
    /// A switch comes, with its end ports.
    SwitchComes { switch: usize },
    /// A cable comes.
    LinkComes { link: usize },
}

/// A fabric and what happens to it.
#[derive(Clone)]
pub struct Change {
    pub name: String,
    fabric: Fabric,
    event: Event,
    /// Whether switches take all SL-to-VL tables with one write, or one for each pair of ports.
    optimised: bool,
}

pub fn ring_change(switches: usize, event: Event) -> Change {
    Change { name: format!("ring of {switches}, {event:?}"), fabric: ring(switches), event, optimised: true }
}

/// Every switch joined with every other.
pub fn complete_change(switches: usize, event: Event) -> Change {
    let pairs = (0..switches).flat_map(|a| (a + 1..switches).map(move |b| (a, b)));
    let fabric = fabric_of(switches, &pairs.collect::<Vec<_>>(), 1);
    Change { name: format!("complete graph of {switches}, {event:?}"), fabric, event, optimised: true }
}

pub fn random_change(seed: u64, switches: usize, extra: usize, event: Event) -> Change {
    let name = format!("random fabric of {switches} switches, {extra} links beyond a tree, seed {seed}, {event:?}");
    Change { name, fabric: random_fabric(seed, switches, extra, 1), event, optimised: true }
}

impl Change {
    /// The same where switches know the plain form of SL-to-VL alone.
    pub fn plain(self) -> Change {
        Change { name: format!("{}, plain SL-to-VL", self.name), optimised: false, ..self }
    }

    /// A plan that the prover accepted.
    pub fn proved(&self, scheme: Scheme) -> Plan {
        let prepared = self.with_input(scheme, Policy::default(), prepare);
        let prepared = prepared.unwrap_or_else(|error| panic!("{}: {error}", self.name));
        prepared.plan.plan().clone()
    }

    /// A plan, and what the prover has against it, of a baseline scheme.
    pub fn judged(&self, scheme: Scheme) -> (Plan, Option<Refusal>) {
        let vetted = self.vetted(scheme, Arming::Off);
        (vetted.plan().clone(), vetted.refusal().cloned())
    }

    /// A plan as the machine takes it.
    pub fn vetted(&self, scheme: Scheme, arming: Arming) -> Arc<Vetted> {
        self.vetted_under(scheme, Policy { arming, ..Policy::default() })
    }

    /// The same by any policy.
    pub fn vetted_under(&self, scheme: Scheme, policy: Policy) -> Arc<Vetted> {
        let prepared = self.with_input(scheme, policy, prepare_baseline);
        prepared.unwrap_or_else(|error| panic!("{}: {error}", self.name)).plan
    }

    /// Whether a double plan can be made at all: a removal may leave nobody to talk to.
    pub fn is_possible(&self) -> bool {
        self.with_input(Scheme::Double, Policy::default(), prepare).is_ok()
    }

    fn with_input<T>(
        &self,
        scheme: Scheme,
        policy: Policy,
        run: fn(ChangeInput<'_>) -> Result<T, ChangeError>,
    ) -> Result<T, ChangeError> {
        let capable = self.fabric.with_capabilities(VLS, self.optimised);
        let whole = Arc::new(lid::assign(&capable, Lmc::masked(1)).expect("LIDs suffice"));
        let links: Vec<PortId> = whole.links().map(|(end, _)| end).filter(|&end| joins_switches(&whole, end)).collect();
        let (mut before, mut surviving, mut after) = (whole.clone(), whole.clone(), whole.clone());
        let mut roots = [None, None];
        match self.event {
            Event::NewRoot { from, to } => roots = [Some(switch(from)), Some(switch(to))],
            Event::SwitchGoes { root, switch: gone, .. } => {
                roots[0] = Some(switch(root));
                after = Arc::new(without(&whole, switch(gone)));
            }
            Event::LinkGoes { root, link, .. } => {
                roots[0] = Some(switch(root));
                after = Arc::new(whole.without_links(&[links[link]]));
            }
            Event::SwitchComes { switch: come } => before = Arc::new(without(&whole, switch(come))),
            Event::LinkComes { link } => before = Arc::new(whole.without_links(&[links[link]])),
        }
        if let Event::SwitchGoes { sudden: true, .. } | Event::LinkGoes { sudden: true, .. } = self.event {
            surviving = after.clone();
        }
        let old = UpDown { root: roots[0] };
        let function = old.route(&before, &Demand::all(&before, 1))?;
        let tables = lid::bring_up(&whole, &function, VLS);
        let stays = |port: &PortId| before.peer(*port).is_some() && after.peer(*port).is_some();
        let sm = whole.end_ports().find(stays).expect("an end port that stays");
        let engine = UpDown { root: roots[1] };
        let input = ChangeInput {
            before,
            surviving,
            after,
            tables,
            layers: 1,
            ways: None,
            old: Half::Lower,
            both_halves: false,
            engine: &engine,
            scheme,
            policy,
            sm,
            base: None,
        };
        run(input)
    }
}

/// Switches come first in the fabrics here.
fn switch(index: usize) -> NodeId {
    NodeId(index as u32)
}

fn joins_switches(fabric: &Fabric, end: PortId) -> bool {
    let is_switch = |port: Option<PortId>| port.is_some_and(|port| fabric.node(fabric.port(port).node).is_switch());
    is_switch(Some(end)) && is_switch(fabric.peer(end))
}

/// The fabric without a switch and without what is joined by nothing else.
fn without(fabric: &Fabric, switch: NodeId) -> Fabric {
    let hosts = fabric.ports_of(switch).filter_map(|port| fabric.neighbour(port));
    let hosts = hosts.filter(|&node| !fabric.node(node).is_switch());
    fabric.without_nodes(&std::iter::once(switch).chain(hosts).collect::<Vec<_>>())
}
