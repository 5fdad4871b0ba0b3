//! Gives lost rows ways in waves that follow each other at once, from rows that have ways outwards into the loss.
//!
//! A row is set once the row that its new entry leads to has a way, so no wave blanks anything and each serves
//! somebody. What was sent before may still be under way in all of them, so an entry must be admitted beside all that
//! the waves before could put anywhere. What stands in the way is most often a mixture that leads round: a row's new
//! entry leads to a row whose old entry leads back. There the second is set in one wave and the first in the next.

use super::balance::PairLoad;
use super::blanked::{self, Start};
use super::columns::LidColumns;
use super::joining;
use super::reconnect::{Pass, SearchPreference, Unserved, WaySearch, serve};
use super::subject::{Ground, Moment, RepairSubject};
use super::trial::Trial;

/// Waves with no barrier before them.
pub(super) struct Course {
    /// The tables after each.
    pub tables: Vec<LidColumns>,
    pub left: Vec<Unserved>,
    pub load: PairLoad,
}

/// The most waves: beyond, the Double Scheme is as soon done.
const WAVES: usize = 24;

/// Waves from the tables that a trial begins with, as long as each gives some row a way: first by the entries of a
/// guide, then by any. Ends, unfinished, once the subject's work exceeds a limit.
pub(super) fn course(trial: &mut Trial<'_, '_>, start: Start<'_>, guide: Option<&LidColumns>, limit: u64) -> Course {
    trial.restart();
    let mut search = WaySearch::new(&trial.subject.net);
    let (mut tables, mut load) = (Vec::new(), start.load.clone());
    let mut targets = start.targets.to_vec();
    // Where no wave was tried nothing is served.
    let all = |&target: &u32| Unserved { target, rows: Vec::new() };
    let mut left: Vec<Unserved> = targets.iter().map(all).collect();
    let by_guide = SearchPreference { explore: false, clears: true, ..SearchPreference::PLAIN };
    for preference in guide.map(|_| by_guide).into_iter().chain([SearchPreference::PLAIN]) {
        while !targets.is_empty() && tables.len() < WAVES && trial.work() < limit {
            let pass = Pass {
                targets: std::mem::take(&mut targets),
                prefer: start.columns,
                toward: guide,
                preference,
                whole: false,
                limit,
            };
            left = serve(trial, &mut search, &mut load, &pass);
            targets = left.iter().map(|unserved: &Unserved| unserved.target).collect();
            if !pass.targets.iter().any(|&target| trial.old.differs(&trial.new, target as usize)) {
                break;
            }
            tables.push(trial.new.clone());
            trial.follow_up();
        }
    }
    Course { tables, left, load }
}

impl Course {
    /// The same in two waves, where that proves: what the first does not serve is blank in it.
    pub fn in_two(&mut self, subject: &RepairSubject<'_>, ground: &Ground, start: Start<'_>) {
        let [first, .., last] = &self.tables[..] else { return };
        if self.tables.len() < 3 {
            return;
        }
        let two = [start.columns.clone(), blanked::blanked(subject, first, start.targets), last.clone()];
        let keeps_rules = two.windows(2).all(|pair| joining::keeps_rules_b_c(subject, ground, &pair[0], &pair[1]));
        if keeps_rules && joining::proves(subject, ground, &two, Moment::Loss) {
            let [_, blank, last] = two;
            self.tables = vec![blank, last];
        }
    }
}
