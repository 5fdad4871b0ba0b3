//! The load of each link when every end port sends equally to every other.

use super::usage::{channels_between_switches, homes, opens};
use super::{PathSet, RoutingFunction};
use crate::fabric::{Fabric, NodeId, PortId};
use crate::ids::PortNum;
use std::ops::Range;

/// Load by channel out of a switch under uniform traffic, in units of what one end port sends to all others together
/// (seed 002, section 5.2). A port with several paths sends equally by each. Paths from and to switches carry no
/// traffic. Links into end ports are included; the links out of end ports, which always carry 1, are not.
#[derive(Clone, PartialEq, Debug)]
pub struct LinkLoad {
    /// By port: the number of paths that leave through it.
    paths: Vec<u64>,
    /// The number of all paths.
    total: u64,
    /// The number of sending end ports.
    sources: u64,
}

impl LinkLoad {
    /// The load of a path set.
    pub fn of_paths(fabric: &Fabric, paths: &PathSet) -> LinkLoad {
        let mut load = LinkLoad::none(fabric);
        let mut sends = vec![false; fabric.port_count()];
        let traffic =
            paths.iter().filter(|path| !is_switch(fabric, path.source) && !is_switch(fabric, path.destination));
        for path in traffic {
            sends[path.source.index()] = true;
            load.total += 1;
            path.hops.iter().for_each(|hop| load.add(fabric, hop.switch, hop.output));
        }
        load.sources = sends.iter().filter(|&&sends| sends).count() as u64;
        load
    }

    /// The load if the end ports among a routing function's destinations send to each other, each by every path open to
    /// it. Packets without a route, or in a loop, load the links that they pass.
    pub fn of_function(fabric: &Fabric, function: &RoutingFunction) -> LinkLoad {
        LinkLoad::of_classes(fabric, function, 0..function.paths())
    }

    /// The load if every source uses only the paths with these numbers.
    pub fn of_classes(fabric: &Fabric, function: &RoutingFunction, classes: Range<usize>) -> LinkLoad {
        let mut load = LinkLoad::none(fabric);
        let mut led_to = vec![false; fabric.port_count()];
        let ends = || function.destinations().iter().enumerate().filter(|&(_, &port)| !is_switch(fabric, port));
        ends().for_each(|(_, port)| led_to[port.index()] = true);
        load.sources = ends().count() as u64;
        for (home, sources) in homes(fabric) {
            for (destination, &to) in ends() {
                for path in classes.clone() {
                    let sends = |&&from: &&PortId| led_to[from.index()] && opens(function, from, to, path);
                    let senders = sources.iter().filter(sends).count() as u64;
                    load.total += senders;
                    if senders > 0 {
                        let way = function.way(fabric, home, destination, path);
                        way.for_each(|port| load.paths[port.index()] += senders);
                    }
                }
            }
        }
        load
    }

    /// Every channel from one switch to another, with its load.
    pub fn between_switches<'a>(&'a self, fabric: &'a Fabric) -> impl Iterator<Item = (PortId, f64)> + 'a {
        channels_between_switches(fabric).map(|channel| (channel, self.on(channel)))
    }

    /// The load of the busiest link; 0 without paths.
    pub fn max(&self) -> f64 {
        self.paths.iter().max().map_or(0.0, |&paths| self.scaled(paths))
    }

    /// The load of the channel out of a switch's port.
    pub fn on(&self, channel: PortId) -> f64 {
        self.scaled(self.paths[channel.index()])
    }

    fn scaled(&self, paths: u64) -> f64 {
        if self.total == 0 { 0.0 } else { paths as f64 * self.sources as f64 / self.total as f64 }
    }

    fn none(fabric: &Fabric) -> LinkLoad {
        LinkLoad { paths: vec![0; fabric.port_count()], total: 0, sources: 0 }
    }

    fn add(&mut self, fabric: &Fabric, switch: NodeId, output: PortNum) {
        if let Some(port) = fabric.port_at(switch, output) {
            self.paths[port.index()] += 1;
        }
    }
}

fn is_switch(fabric: &Fabric, port: PortId) -> bool {
    fabric.node(fabric.port(port).node).is_switch()
}
