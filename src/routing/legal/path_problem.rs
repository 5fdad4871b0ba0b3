//! The input of a path engine: a fabric's channels under a rule, and the ports to connect; and the conversion of paths
//! between switches to paths between ports.

use super::{Ahead, ChannelPath, Channels, TurnModel, TurnRule, switches};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::routing::switch_graph::Target;
use crate::routing::up_down::root_among;
use crate::routing::{Connectivity, Demand, RouteError};
use crate::tables::{Path, PathSet};

/// A fabric as an engine sees it.
pub(in crate::routing) struct PathProblem<'a> {
    pub fabric: &'a Fabric,
    pub channels: Channels,
    /// Hops to every switch that is demanded, or to which a demanded end port is attached.
    pub ahead: Ahead,
    pub root: NodeId,
    /// Demanded end ports, in the order of the demand.
    pub ends: Vec<Target>,
    /// Demanded switches, in the order of the demand.
    pub switches: Vec<Target>,
    engine: &'static str,
    destinations: Vec<PortId>,
}

impl<'a> PathProblem<'a> {
    /// Checks the demand and numbers the switches; none if the fabric has no switch, so that there are no paths.
    pub fn of(
        engine: &'static str,
        model: TurnModel,
        root: Option<NodeId>,
        fabric: &'a Fabric,
        demand: &Demand,
    ) -> Result<Option<PathProblem<'a>>, RouteError> {
        if !(1..=128).contains(&demand.paths) {
            return Err(RouteError::Paths { engine, paths: demand.paths });
        }
        Connectivity::of(fabric).check(engine, fabric, demand)?;
        let Some(root) = root.or_else(|| root_among(fabric, &demand.destinations)) else { return Ok(None) };
        let absent = || RouteError::RootAbsent { engine, root: fabric.describe_node(root) };
        let rule = TurnRule::new(model, fabric, root).ok_or_else(absent)?;
        let channels = Channels::of(fabric, &rule);
        let target = |(destination, &port): (usize, &PortId)| {
            let target = channels.graph().target(fabric, destination, port);
            let (named, port_named) = (|| fabric.describe_node(root), || fabric.describe_port(port));
            let apart = || RouteError::RootApart { engine, root: named(), port: port_named() };
            target.filter(|target| channels.reaches(target.row)).ok_or_else(apart)
        };
        let all: Vec<Target> = demand.destinations.iter().enumerate().map(target).collect::<Result<_, _>>()?;
        let ahead = Ahead::of(&channels, all.iter().map(|target| target.row));
        let (switches, ends) = all.into_iter().partition(Target::is_switch);
        Ok(Some(PathProblem {
            fabric,
            channels,
            ahead,
            root,
            ends,
            switches,
            engine,
            destinations: demand.destinations.clone(),
        }))
    }

    /// A path for every ordered pair of end ports, source by source: `choose` leaves in its last argument a way from
    /// the switch of the first port to that of the second. Paths from switches follow, then paths to switches.
    pub fn join(&self, mut choose: impl FnMut(&Target, &Target, &mut ChannelPath)) -> PathSet {
        let mut paths = PathSet::new(self.engine, self.destinations.clone());
        paths.set_root(self.root);
        let (mut way, mut hops) = (ChannelPath::new(), Vec::new());
        for source in &self.ends {
            for destination in self.ends.iter().filter(|destination| destination.port != source.port) {
                choose(source, destination, &mut way);
                self.channels.hops(&way, destination.row, destination.last, &mut hops);
                paths.push(Path { source: source.port, destination: destination.port, layer: 0, hops: &hops });
            }
        }
        switches::join(self, &mut paths);
        paths
    }

    /// No paths, for a fabric without switches.
    pub fn nothing(engine: &'static str, demand: &Demand) -> PathSet {
        PathSet::new(engine, demand.destinations.clone())
    }
}
