//! `reconfig change`: makes the running manager change the routing, or controls the change in progress.

use super::manager::{Socket, ask, unexpected};
use super::outcome::{Answer, Failure};
use super::stderr::remark;
use super::{Common, output};
use crate::report;
use anyhow::anyhow;
use reconfig::frontend::control::{ChangeDone, ChangeOrder, ChangeOutcome, ControlClient, ControlOrder, Reply};
use reconfig::sm::SubnetElement;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  reconfig change --remove-switch spine-1 --planned --dry-run
  reconfig change --remove-switch spine-1 --planned
  reconfig change --remove-link leaf-1:7 --planned --json
  reconfig change --remove-switch leaf-1 --planned --allow-cut-off
  reconfig change --abort

With --planned, the element is working: traffic is routed around it, phase by phase, and it can be unplugged when the command \
ends. An element that fails needs no command: the manager detects the failure.

Exit codes: 0 done, 1 the change was refused or called off, 2 wrong usage or no such element, 3 it failed, or no \
manager answered.")]
#[command(group = clap::ArgGroup::new("what").required(true).multiple(false))]
pub(super) struct Arguments {
    #[command(flatten)]
    socket: Socket,
    /// Remove this switch: a description, a GUID, or S-GUID.
    #[arg(long, value_name = "NODE", group = "what", requires = "planned")]
    remove_switch: Option<String>,
    /// Remove this cable, named by either end.
    #[arg(long, value_name = "NODE:PORT", group = "what", requires = "planned")]
    remove_link: Option<String>,
    /// Use this switch again after it was set aside.
    #[arg(long, value_name = "NODE", group = "what")]
    take_back_switch: Option<String>,
    /// Use this cable again after it was set aside.
    #[arg(long, value_name = "NODE:PORT", group = "what")]
    take_back_link: Option<String>,
    /// Call off the change in progress; possible until the swap begins.
    #[arg(long, group = "what")]
    abort: bool,
    /// Continue from the barrier at which the manager is paused.
    #[arg(long = "continue", group = "what")]
    go_on: bool,
    /// The element is working, and will be removed when the change is done.
    #[arg(long)]
    planned: bool,
    /// Plan and prove only; write nothing.
    #[arg(long, requires = "planned")]
    dry_run: bool,
    /// Allow the removal to cut off end ports; otherwise such a removal is refused.
    #[arg(long, requires = "planned")]
    allow_cut_off: bool,
}

pub(super) fn run(arguments: &Arguments, common: Common) -> Result<Answer, Failure> {
    let order = arguments.order()?;
    // A drain may take long: an interrupt ends only the wait, and the change continues.
    let mut client = arguments.socket.connect_for_long()?;
    match asked(&mut client, &order, common)? {
        Reply::Changed(done) => arguments.finished(&done, common),
        Reply::Done { text } => {
            if common.json {
                output::print_json(&serde_json::json!({ "done": text }))?;
            } else {
                output::print(&format!("{text}\n"))?;
            }
            Ok(Answer::Yes)
        }
        other => Err(unexpected(&other)),
    }
}

impl Arguments {
    fn order(&self) -> Result<ControlOrder, Failure> {
        let element = |switch: &Option<String>, link: &Option<String>| {
            let switch = switch.as_ref().map(|node| SubnetElement::Switch(node.clone()));
            switch.or_else(|| link.as_ref().map(|port| SubnetElement::Link(port.clone())))
        };
        let removed = element(&self.remove_switch, &self.remove_link);
        let taken_back = element(&self.take_back_switch, &self.take_back_link);
        match (removed, taken_back) {
            (Some(remove), _) => {
                let (planned, dry_run, allow_cut_off) = (self.planned, self.dry_run, self.allow_cut_off);
                Ok(ControlOrder::Change(ChangeOrder { remove, planned, dry_run, allow_cut_off }))
            }
            (None, Some(element)) => Ok(ControlOrder::TakeBack { element }),
            (None, None) if self.abort => Ok(ControlOrder::Abort),
            (None, None) if self.go_on => Ok(ControlOrder::Continue),
            (None, None) => Err(Failure::input(anyhow!("no change was requested: see `reconfig change --help`"))),
        }
    }

    fn finished(&self, done: &ChangeDone, common: Common) -> Result<Answer, Failure> {
        if common.json {
            output::print_json(done)?;
        } else {
            let link = self.remove_link.as_ref().map(|port| format!("the cable at {port}"));
            // A proved change that was made leaves no traffic on it: its barriers have waited for that.
            let is_free = done.outcome == ChangeOutcome::Completed && done.proved;
            let removed = self.remove_switch.clone().or(link).filter(|_| is_free);
            let free = removed.map_or_else(String::new, |name| {
                format!("{name} can be unplugged now, as long as this manager is master\n")
            });
            output::print(&(report::change_done(done) + &free))?;
        }
        if done.outcome == ChangeOutcome::Failed {
            let reason = done.reason.as_deref().unwrap_or("the manager gave no reason");
            return Err(Failure::undone(anyhow!("the change was not brought to its end: {reason}")));
        }
        Ok(done.outcome.is_done().into())
    }
}

fn asked(client: &mut ControlClient, order: &ControlOrder, common: Common) -> Result<Reply, Failure> {
    ask(client, order, |event| {
        if !common.json {
            remark(&report::manager_event(&event));
        }
    })
}
