//! What a repair begins with that no loss changes: what the tables in force do on the whole fabric.

use super::balance::PairLoad;
use super::columns::{LidColumns, WantedLid, Ways};
use super::subject::{Caused, Ground, RepairSubject, is_broken};
use super::{RepairError, RepairInput, check};
use crate::fabric::PortId;
use crate::verify::InjectionRules;

/// A survey of tables in force, made before anything is lost. A repair that begins with it is the repair that would be
/// made without it.
pub struct RepairBase {
    senders: InjectionRules,
    answerer: Option<PortId>,
    switches: bool,
    targets: Vec<WantedLid>,
    pub(super) columns: LidColumns,
    load: PairLoad,
    caused: Caused,
    /// By target: whether some row does not arrive.
    is_broken: Vec<bool>,
    /// By row: its end ports.
    ends: Vec<u32>,
}

impl RepairBase {
    /// Surveys the tables of the fabric before; the other fabrics, guides and limits of the input are not read.
    ///
    /// # Errors
    /// The input does not fit together.
    pub fn of(input: &RepairInput<'_>) -> Result<RepairBase, RepairError> {
        let before = input.before;
        let input = RepairInput { surviving: before, remaining: before, discards_turned_back: false, ..*input };
        check(&input)?;
        let subject = RepairSubject::of(input);
        let (net, targets) = (&subject.net, &subject.targets);
        let columns = LidColumns::read(&input, net, targets, &input.tables.lfts);
        let (mut ways, mut load, mut broken) = (Ways::new(net), PairLoad::none(net), vec![false; targets.len()]);
        for (at, target) in targets.iter().enumerate() {
            ways.follow(net, columns.column(at), &net.kept);
            broken[at] = is_broken(net, &ways);
            if target.host && target.wanted {
                load.add(net, columns.column(at), &ways);
            }
        }
        let caused = Caused::of(&subject, &columns, 0..targets.len());
        let (senders, answerer, switches) = (input.senders.clone(), input.answerer, input.switches);
        let ends = subject.net.ends.clone();
        Ok(RepairBase {
            senders,
            answerer,
            switches,
            columns,
            load,
            caused,
            is_broken: broken,
            ends,
            targets: subject.targets,
        })
    }

    /// Whether it is of what a repair begins with, if the fabric before and the tables are those that it was made of.
    pub(super) fn suits(&self, subject: &RepairSubject<'_>) -> bool {
        let input = &subject.input;
        let key = |target: &WantedLid| (target.lid, target.owner, target.row, target.last);
        !input.discards_turned_back
            && (self.answerer, self.switches) == (input.answerer, input.switches)
            && self.senders == *input.senders
            && self.targets.iter().map(key).eq(subject.targets.iter().map(key))
    }

    /// What [`Ground::survey`] finds, from what was known before the loss: only what the loss concerns is followed
    /// again.
    pub(super) fn ground(&self, subject: &RepairSubject<'_>, load: &mut PairLoad) -> Ground {
        let net = &subject.net;
        let (mut ways, mut is_changing) = (Ways::new(net), vec![false; subject.targets.len()]);
        let leaves = |channel: &u32| !net.kept[*channel as usize] && net.stays[net.channel(*channel).from as usize];
        let broken: Vec<(usize, u32)> = (0..net.channels.len() as u32)
            .filter(leaves)
            .map(|channel| (net.channel(channel).from as usize, channel))
            .collect();
        // As long as every end port sends that did, only ways that break carry other pairs than before.
        let sends_alike = self.ends == net.ends && (0..net.rows.len()).all(|row| net.stays[row] || net.ends[row] == 0);
        if sends_alike {
            load.clone_from(&self.load);
        }
        for (at, (target, was)) in subject.targets.iter().zip(&self.targets).enumerate() {
            let column = self.columns.column(at);
            let breaks = broken.iter().any(|&(row, channel)| column[row] == channel);
            if sends_alike && !breaks && !self.is_broken[at] && target.wanted == was.wanted {
                continue;
            }
            if sends_alike && was.host && was.wanted {
                ways.follow(net, column, &subject.existed);
                load.subtract(net, column, &ways);
            }
            ways.follow(net, column, &net.kept);
            is_changing[at] = is_broken(net, &ways);
            if target.host && target.wanted {
                load.add(net, column, &ways);
            }
        }
        let Caused { lanes, turns_back } = &self.caused;
        let in_force = Caused { lanes: lanes.surviving(net), turns_back: *turns_back };
        Ground::with(self.columns.clone(), Some(in_force), is_changing)
    }
}
