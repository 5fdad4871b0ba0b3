//! Moves end ports with agents off a half before it is closed (E.8), each by itself: one that does not move is named,
//! and delays no other.
//!
//! On entry: the half that is kept, while either half is proved for each source. On return: every port that follows
//! sends on the kept half alone. No proof rests on that. Deliberately omitted: closing the other half, which the plan
//! does.

use super::context::Context;
use super::error::SmError;
use super::upkeep::Upkeep;
use crate::fabric::{Fabric, PortId};
use crate::ids::Half;
use crate::subnet::{Ask, FailingAs, RequestTarget, SubnetError, SubnetManager as _, Timing};
use crate::transport::Transport;
use crate::wire::vendor::ActiveHalf;
use crate::wire::{AttributeId, Method};
use std::fmt::Display;

/// How long the manager waits each time for sources to move, before it closes the half that they leave.
const MOVING_NS: u64 = 2_000_000_000;

/// An end port's answer to the question which half it sends on.
type HalfAnswer = Result<ActiveHalf, SubnetError>;

impl<T: Transport> Upkeep<T> {
    /// Has end ports with agents send on the kept half alone before the other one is closed, so that closing it takes
    /// nothing from those that follow.
    pub(super) async fn move_sources(&mut self, context: &Context, kept: Half) -> Result<(), SmError> {
        if self.driver.subnet().settle_ns().is_some() {
            return Ok(());
        }
        let fabric = self.driver.running().alive.clone();
        let ports = fabric.end_ports().filter(|&port| fabric.peer(port).is_some()).collect();
        let notified = self.notify(&fabric, ports, kept).await?;
        let moved = self.followers(&fabric, notified, kept).await?;
        // A reply copies the half of its request (P3.6): no more of them are owed once all requests have arrived.
        let patience_ns = self.driver.subnet_mut().manager.set_patience(MOVING_NS);
        let aged = self.age(context, self.rounds_to_age()).await;
        self.driver.subnet_mut().manager.set_patience(patience_ns);
        match aged {
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => tracing::warn!(%error, %kept, "the other half is closed while hosts may owe replies there"),
            Ok(()) => drop(self.followers(&fabric, moved, kept).await?),
        }
        Ok(())
    }

    /// Notifies end ports of the half that is kept. Returns those that take it.
    async fn notify(&mut self, fabric: &Fabric, ports: Vec<PortId>, kept: Half) -> Result<Vec<PortId>, SmError> {
        let mut notified = Vec::new();
        for (port, answer) in self.ask_halves(fabric, Method::Set, ports, kept).await? {
            match answer {
                Ok(answer) if answer.half == kept => notified.push(port),
                Ok(_) => {
                    let (node, attribute) = (fabric.port(port).node, AttributeId::ActiveHalf);
                    let manager = &mut self.driver.subnet_mut().manager;
                    manager.device_fails(node, attribute, Method::Set, FailingAs::HoldsOther, false);
                    left_behind(fabric, port, kept, &"it keeps the other one");
                }
                Err(error) => left_behind(fabric, port, kept, &error),
            }
        }
        Ok(notified)
    }

    /// Waits for end ports to send on the kept half alone. Returns those that do.
    async fn followers(&mut self, fabric: &Fabric, ports: Vec<PortId>, kept: Half) -> Result<Vec<PortId>, SmError> {
        let Timing { poll_first_ns, poll_most_ns, .. } = self.driver.subnet().manager().timing();
        let until_ns = self.now_ns().saturating_add(MOVING_NS);
        let (mut moved, mut waiting, mut pause_ns) = (Vec::new(), ports, poll_first_ns.max(1));
        while !waiting.is_empty() {
            let mut left = Vec::new();
            for (port, answer) in self.ask_halves(fabric, Method::Get, waiting, kept).await? {
                match answer {
                    Ok(ActiveHalf { half, settled: true }) if half == kept => moved.push(port),
                    Ok(_) => left.push(port),
                    Err(error) => left_behind(fabric, port, kept, &error),
                }
            }
            let now_ns = self.now_ns();
            if now_ns >= until_ns {
                left.iter().for_each(|&port| left_behind(fabric, port, kept, &"it has not followed in time"));
                break;
            }
            if !left.is_empty() {
                self.driver.subnet_mut().manager.idle(now_ns.saturating_add(pause_ns)).await?;
                pause_ns = (pause_ns * 2).min(poll_most_ns.max(1));
            }
            waiting = left;
        }
        Ok(moved)
    }

    /// Asks end ports for the half that they send on, or sets it.
    async fn ask_halves(
        &mut self,
        fabric: &Fabric,
        method: Method,
        ports: Vec<PortId>,
        kept: Half,
    ) -> Result<Vec<(PortId, HalfAnswer)>, SmError> {
        let data = Box::new(ActiveHalf { half: kept, settled: false }.encode());
        let ask = |&port: &PortId| {
            let (place, modifier) = (RequestTarget::Port(port), u32::from(fabric.port(port).num.0));
            Ask { place, method, attribute: AttributeId::ActiveHalf, modifier, data: data.clone() }
        };
        let answers = self.driver.subnet_mut().manager.ask(ports.iter().map(ask).collect()).await?;
        let decoded = answers.into_iter().map(|answer| answer.map(|data| ActiveHalf::decode(&data)));
        Ok(ports.into_iter().zip(decoded).collect())
    }
}

/// Warns that an end port may still send on the half that is about to be closed.
fn left_behind(fabric: &Fabric, port: PortId, kept: Half, why: &dyn Display) {
    let port = fabric.describe_port(port);
    tracing::warn!(%kept, port, "loses what it sends on the half that is about to be closed: {why}");
}
