//! A subnet manager's life, from discovery to its end: standing by while another rules, ruling, handing over.

use super::config::Config;
use super::court::Court;
use super::desk::{Happening, SharedDesk};
use super::election::Event;
use super::error::SmError;
use super::pace;
use super::reception::SharedReception;
use super::service::{End, Service};
use crate::fabric::Fabric;
use crate::subnet::{Discovered, Manager, SubnetManager};
use crate::transport::Transport;

/// How long is slept between two looks while standing by.
const SLICE_NS: u64 = 100_000_000;

/// How long until a subnet that could not be brought up is tried again.
const RETRY_NS: u64 = 2_000_000_000;

/// Gives a fabric its LIDs: those remembered first, then those held.
pub type AssignLids = Box<dyn FnMut(&Fabric) -> Result<Fabric, SmError>>;

/// Remembers the LIDs of a fabric.
pub type KeepLids = Box<dyn FnMut(&Fabric)>;

/// What a subnet manager has besides its port.
pub struct Household {
    /// Its settings.
    pub config: Config,
    /// Its desk.
    pub desk: SharedDesk,
    /// Who answers others.
    pub reception: SharedReception,
    /// Gives LIDs.
    pub assign: AssignLids,
    /// Remembers them.
    pub keep: KeepLids,
    /// How often is swept.
    pub pace: pace::Policy,
}

/// How long a life is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Until {
    /// Until the subnet is up for the first time, or cannot be brought up.
    Up,
    /// Until it is told to stop.
    Told,
}

/// Lives.
///
/// # Errors
/// The port failed; with [`Until::Up`], the subnet cannot be brought up.
pub async fn live<T: Transport>(
    mut manager: Manager<T>,
    mut household: Household,
    until: Until,
) -> Result<(), SmError> {
    manager.attend(household.reception.clone());
    manager.move_sources(household.config.sources);
    let mut court = Court::default();
    loop {
        let found = match look(&mut manager, &mut court, &household).await {
            Ok(seen) => seen,
            Err(error) => {
                if try_again(&mut manager, &household, until, error).await? == End::Stopped {
                    return Ok(());
                }
                continue;
            }
        };
        tell(&manager, &household, Happening::Election { state: household.reception.borrow().state().name() });
        if !household.reception.borrow().state().may_write() {
            if stand_by(&mut manager, &mut court, &household).await? == End::Stopped {
                return Ok(());
            }
            continue;
        }
        let mut service = match Service::start(&mut household, manager, &found).await {
            Ok(service) => service,
            Err((returned, error)) => {
                manager = *returned;
                if try_again(&mut manager, &household, until, error).await? == End::Stopped {
                    return Ok(());
                }
                continue;
            }
        };
        if until == Until::Up || service.serve(&mut household).await? == End::Stopped {
            return Ok(());
        }
        manager = service.into_manager();
    }
}

/// Sweeps, and asks who else manages; what the election makes of it is carried out.
async fn look<T: Transport>(
    manager: &mut Manager<T>,
    court: &mut Court,
    household: &Household,
) -> Result<Discovered, SmError> {
    let found = manager.discover().await?;
    found.notices.iter().for_each(|notice| tracing::warn!("{notice}"));
    manager.set_topology(&found.fabric, found.sm_port);
    let peers = court.peers(manager, &found.fabric, found.sm_port).await?;
    household.reception.borrow_mut().step(Event::Swept(peers), manager.now_ns());
    court.carry_out(manager, &household.reception, &household.desk).await?;
    Ok(found)
}

/// Tells why something could not be done, and waits a while.
async fn try_again<T: Transport>(
    manager: &mut Manager<T>,
    household: &Household,
    until: Until,
    error: SmError,
) -> Result<End, SmError> {
    if until == Until::Up || matches!(&error, SmError::Subnet(error) if error.is_fatal()) {
        return Err(error);
    }
    tell(manager, household, Happening::Failed(error.to_string()));
    manager.idle(manager.now_ns() + RETRY_NS).await?;
    let stop = household.desk.borrow_mut().told_to_stop("the subnet is not up");
    Ok(if stop { End::Stopped } else { End::Deposed })
}

/// Watches the master until the election says to look again, or whoever runs this says to stop.
async fn stand_by<T: Transport>(
    manager: &mut Manager<T>,
    court: &mut Court,
    household: &Household,
) -> Result<End, SmError> {
    let reception = &household.reception;
    loop {
        manager.idle(manager.now_ns() + SLICE_NS).await?;
        while manager.pending_event().is_some() {}
        let now_ns = manager.now_ns();
        if reception.borrow().state().due_ns().is_some_and(|due_ns| now_ns >= due_ns) {
            reception.borrow_mut().step(Event::Due, now_ns);
        }
        let wants = court.carry_out(manager, reception, &household.desk).await?;
        if wants.sweep || wants.reign {
            return Ok(End::Deposed);
        }
        if household.desk.borrow_mut().told_to_stop("another subnet manager rules this subnet") {
            return Ok(End::Stopped);
        }
    }
}

fn tell<T: Transport>(manager: &Manager<T>, household: &Household, happening: Happening) {
    household.desk.borrow_mut().tell(manager.now_ns(), happening);
}
