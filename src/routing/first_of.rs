//! A list of engines: the first that can route the fabric does.

use super::{Demand, Engine, RouteError};
use crate::fabric::Fabric;
use crate::tables::RoutingFunction;

/// Several engines, to be tried in order, as OpenSM's `routing_engine` lists them. The function names the one that
/// routed.
pub struct FirstOf {
    engines: Vec<Box<dyn Engine>>,
}

impl FirstOf {
    /// The name of every such list.
    pub const NAME: &'static str = "first-of";

    /// A list; `engines` are tried in this order.
    pub fn new(engines: Vec<Box<dyn Engine>>) -> FirstOf {
        FirstOf { engines }
    }
}

impl Engine for FirstOf {
    fn name(&self) -> &'static str {
        FirstOf::NAME
    }

    fn route(&self, fabric: &Fabric, demand: &Demand) -> Result<RoutingFunction, RouteError> {
        let mut refusals = Vec::new();
        for engine in &self.engines {
            match engine.route(fabric, demand) {
                Ok(function) => return Ok(function),
                Err(error) => refusals.push(error.to_string()),
            }
        }
        Err(RouteError::NoneOf { refusals: refusals.join("; ") })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FatTree, UpDown};
    use super::*;
    use crate::fabric::generate::{Options, generate};

    fn routed_on(shape: &str, engines: Vec<Box<dyn Engine>>) -> Result<RoutingFunction, RouteError> {
        let fabric = generate(&shape.parse().unwrap(), &Options::default()).unwrap();
        FirstOf::new(engines).route(&fabric, &Demand::all(&fabric, 1))
    }

    #[test]
    fn the_first_engine_that_can_route_does_and_the_function_names_it() {
        let both = || -> Vec<Box<dyn Engine>> { vec![Box::new(FatTree), Box::new(UpDown::default())] };
        assert_eq!(routed_on("fat-tree:4,2", both()).unwrap().engine(), FatTree.name());
        assert_eq!(routed_on("torus:4x4,1", both()).unwrap().engine(), UpDown::default().name());
    }

    #[test]
    fn where_none_can_every_reason_is_given() {
        let error = routed_on("torus:4x4,1", vec![Box::new(FatTree), Box::new(FatTree)]).err().unwrap().to_string();
        assert_eq!(error.matches("fat-tree: ").count(), 2, "{error}");
    }
}
