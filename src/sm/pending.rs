//! The work that remains before a subnet is up, while its hosts send and SA clients are answered.
//!
//! On entry: a subnet as it was brought up, and what is left to do. On return: the subnet is up, or an error, and the
//! next look reads its state again. Deliberately omitted: choosing what is run (`bring_up`).

use super::arrival::Pending;
use super::config::Takeover;
use super::context::Context;
use super::error::SmError;
use super::lifecycle::{Goal, RetiredHalf};
use super::mailbox::Happening;
use super::planning::computed;
use super::upkeep::{Upkeep, intent};
use crate::change::{Recovery, RecoveryWay};
use crate::drain::Ticket;
use crate::driver::{Intent, Running};
use crate::machine::{Outcome, UNFINISHABLE};
use crate::plan::{Lanes, Policy, Scheme, writes_between};
use crate::subnet::{Leaving, REQUESTS_AT_A_TIME, SubnetManager as _, in_turn};
use crate::tables::{SlToVl, Write};
use crate::transport::Transport;
use crate::verify;

impl<T: Transport> Upkeep<T> {
    /// Does the work that remains before the subnet is up. SA clients are answered meanwhile. Returns the state of the
    /// half that it leaves.
    pub(super) async fn finish(&mut self, context: &Context, pending: Pending) -> Result<RetiredHalf, SmError> {
        let (record, name, retired) = match pending {
            Pending::Lanes { writes, ages } => {
                self.replace_lanes(context, &writes, ages).await?;
                return Ok(RetiredHalf::Current);
            }
            // Whatever the retired half led to, it is closed, or leads there again.
            Pending::Recovery(Recovery { prepared, kept, way, first }) => {
                self.publish();
                self.driver.subnet_mut().reserve(prepared.plan.plan().reserved());
                // Before the other way nothing is proved of hosts on both halves: none may be sent to the kept one.
                if way == RecoveryWay::Close {
                    self.move_sources(context, kept).await?;
                }
                let fabric = self.driver.running().alive.clone();
                self.driver.subnet_mut().manager.apply_each(&fabric, &first).await?;
                (self.change(context, prepared).await?, "the recovery of the subnet", RetiredHalf::Current)
            }
            Pending::Standing(standing) => {
                let plan = standing.under_way.plan.clone();
                // Answers come from the half that was in force when the earlier manager stopped: those of the SA too,
                // which `take_up` publishes.
                let half = plan.plan().answered_half(standing.position.wave);
                self.driver.subnet_mut().manager.begin_mastership(half);
                // While SL-to-VL tables are being replaced, changes have no reserved level. This includes changes that
                // follow a loss.
                let wanted = intent(&context.config);
                let reserved_sl = plan.plan().policy().reserved_sl;
                self.driver.intend(Intent { policy: Policy { reserved_sl, ..wanted.policy }, ..wanted.clone() });
                let record = self.driver.take_up(standing).await;
                self.driver.intend(wanted);
                let record = self.report_end(context, record)?;
                self.keep_aside(&record);
                (record, "the change that an earlier manager left", RetiredHalf::Current.after(plan.plan()))
            }
        };
        check_end(&record.outcome, name)?;
        let writes = self.lanes_left(context);
        if !writes.is_empty() {
            self.replace_lanes(context, &writes, true).await?;
        }
        Ok(retired.after_later(&record))
    }

    /// SL-to-VL tables that are still to be replaced: the change that an earlier manager left was for a loss before it
    /// had replaced them, and devices hold what that change begins with.
    fn lanes_left(&self, context: &Context) -> Vec<Write> {
        let Running { alive, tables, .. } = self.driver.running();
        let policy = context.config.policy;
        let steady = Lanes::steady_table(alive, &policy);
        match tables.is_on_one_lane() && steady != SlToVl::ONE {
            true => writes_between(alive, Some(tables), &tables.lfts, steady),
            false => Vec::new(),
        }
    }

    /// Replaces SL-to-VL tables under traffic, while the forwarding tables are proved on any lanes. A loss meanwhile is
    /// routed around before the rest is replaced.
    async fn replace_lanes(&mut self, context: &Context, writes: &[Write], ages: bool) -> Result<(), SmError> {
        self.publish();
        context.post(self.now_ns(), Happening::HostsUp);
        let alive = self.driver.running().alive.clone();
        let policy = context.config.policy;
        let steady = Lanes::steady_table(&alive, &policy);
        let nodes = || alive.nodes().map(|(id, _)| id);
        // It is unknown which device holds which table. A proof of forwarding entries with every level on one lane
        // holds on any lanes (docs/PROOF.md, Corollary 1). Scheme `double` would split tables that are not known, and
        // the level that is to be reserved is not reserved yet.
        self.driver.subnet_mut().reserve(None);
        let unreserved = Policy { reserved_sl: None, ..policy };
        let intent_of_now =
            Intent { auto: false, scheme: Scheme::Ordered, policy: unreserved, ..intent(&context.config) };
        self.driver.intend(intent_of_now);
        self.driver.record_lanes(nodes(), SlToVl::ONE);
        if ages {
            self.outlast(context).await?;
        }
        let order = in_turn(writes.iter().map(|write| write.node(&alive).expect("a table is at a device")));
        for part in order.chunks(REQUESTS_AT_A_TIME) {
            let part: Vec<Write> = part.iter().map(|&at| writes[at].clone()).collect();
            self.replace(context, &part).await?;
        }
        if policy.reserved_sl.is_some() {
            // Packets that other levels put on the reserved lane must have left when a change begins (K.3).
            self.outlast(context).await?;
        }
        self.driver.record_lanes(nodes(), steady);
        self.driver.intend(intent(&context.config));
        Ok(())
    }

    /// Waits until everything sent earlier has arrived or been discarded, however often its paths change meanwhile.
    async fn outlast(&mut self, context: &Context) -> Result<(), SmError> {
        let mut left = self.rounds_to_age();
        while left > 0 {
            let aged = self.age(context, 1).await;
            let is_led_anew = self.route_around(context, aged.is_err()).await?;
            left = match aged {
                _ if is_led_anew => self.rounds_to_age(),
                Ok(()) => left - 1,
                Err(error) if error.is_fatal() => return Err(error),
                Err(error) if context.config.takeover == Takeover::Proved => {
                    return Err(SmError::Unaged { why: error.to_string() });
                }
                Err(error) => {
                    tracing::warn!(%error, "SL-to-VL tables are replaced while packets sent under others may be under way: \
                        nothing is proved of these");
                    0
                }
            };
        }
        Ok(())
    }

    /// Writes tables as far as their devices are there.
    async fn replace(&mut self, context: &Context, part: &[Write]) -> Result<(), SmError> {
        loop {
            let alive = self.driver.running().alive.clone();
            let there: Vec<Write> = part.iter().filter(|write| write.is_there(&alive)).cloned().collect();
            let written = self.driver.subnet_mut().manager.apply_each(&alive, &there).await;
            let is_less = self.route_around(context, written.is_err()).await?;
            if is_less {
                // The next tables are of lanes on which packets of two routings would meet.
                self.outlast(context).await?;
            }
            match written {
                Err(error) if !is_less => return Err(error.into()),
                // Without what has died.
                Err(_) => {}
                Ok(_) => return Ok(()),
            }
        }
    }

    /// Routes around a loss if forwarding entries alone can do that. A loss is looked for only if the subnet has
    /// reported a change or a question has failed. Returns whether something that is routed is gone.
    async fn route_around(&mut self, context: &Context, has_failed: bool) -> Result<bool, SmError> {
        let mut is_noticed = has_failed;
        while let Some(event) = self.driver.subnet_mut().pending_event() {
            tracing::info!(?event, "the subnet reports a change");
            context.post(self.now_ns(), Happening::Subnet(event));
            is_noticed = true;
        }
        if !is_noticed || !self.driver.finds_a_loss().await? {
            return Ok(false);
        }
        let Some(Goal { fabric, why }) = self.goal() else { return Ok(true) };
        context.post(self.now_ns(), Happening::Begun { why });
        let preparation = self.driver.preparation(fabric);
        let manager = &mut self.driver.subnet_mut().manager;
        match computed(manager, context.config.planning, || preparation.carried_out()).await? {
            Ok(prepared) => {
                let record = self.change(context, prepared).await?;
                check_end(&record.outcome, "the change for a loss")?;
                self.publish();
            }
            Err(error) => tracing::warn!(%error, "what was lost is routed around once SL-to-VL tables are replaced"),
        }
        Ok(true)
    }

    /// Rounds after which everything sent earlier has arrived or been discarded (W.3).
    pub(super) fn rounds_to_age(&self) -> usize {
        let Running { alive, tables, .. } = self.driver.running();
        verify::rounds_to_age(alive, alive, tables)
    }

    /// Waits for this many rounds.
    pub(super) async fn age(&mut self, context: &Context, rounds: usize) -> Result<(), SmError> {
        let alive = self.driver.running().alive.clone();
        for _ in 0..rounds {
            let (ticket, observer, since_ns) =
                (self.ticket(context), context.config.policy.observer, self.driver.subnet().now_ns());
            let (ages, fenced, until_event) = (true, false, false);
            let leaving = Leaving { after: &alive, omitted: &[], rounds: 1, since_ns, ages, fenced, until_event };
            self.driver.subnet_mut().manager.vacate(ticket, observer, &leaving).await?;
        }
        Ok(())
    }

    /// A ticket for a question that belongs to no change; those of later changes are above it.
    fn ticket(&mut self, context: &Context) -> Ticket {
        let ticket = Ticket::at(context.epoch_ns.saturating_add(self.now_ns()));
        self.driver.begin_tickets_at(ticket.next());
        ticket
    }
}

/// Checks that a change has ended so that the subnet may be used.
fn check_end(outcome: &Outcome, name: &str) -> Result<(), SmError> {
    match outcome {
        Outcome::Completed | Outcome::CalledOff(_) | Outcome::CutShort => Ok(()),
        Outcome::Abandoned { .. } => Err(SmError::GivenUp { why: UNFINISHABLE }),
        Outcome::Failed { .. } => Err(SmError::StandsStill { outcome: format!("{name}: {outcome}") }),
    }
}
