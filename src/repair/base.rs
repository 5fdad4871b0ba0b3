//! What a repair begins with that no loss changes: what the tables in force do on the whole fabric.

use super::balance::PairLoad;
use super::columns::{LidColumns, WantedLid, Ways};
use super::subject::{RepairSubject, Settled, is_broken};
use super::{RepairError, RepairInput, check};
use crate::fabric::PortId;
use crate::verify::InjectionRules;

/// A survey of tables in force, made before anything is lost. A repair that begins with it is the repair that would be
/// made without it.
pub struct RepairBase {
    senders: InjectionRules,
    answerer: Option<PortId>,
    switches: bool,
    pub(super) targets: Vec<WantedLid>,
    pub(super) columns: LidColumns,
    pub(super) load: PairLoad,
    pub(super) settled: Settled,
    /// By target: whether some row does not arrive.
    pub(super) is_broken: Vec<bool>,
    /// By row: its end ports.
    pub(super) ends: Vec<u32>,
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
        let settled = Settled::of(&subject, &columns, 0..targets.len());
        let (senders, answerer, switches) = (input.senders.clone(), input.answerer, input.switches);
        let ends = subject.net.ends.clone();
        Ok(RepairBase {
            senders,
            answerer,
            switches,
            columns,
            load,
            settled,
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
}
