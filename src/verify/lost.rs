//! Rows that were lost to a death: pairs of switch and DLID from which no way led on any more when a wave began.
//!
//! A row is *lost* at a stage if the first tables led into a dead element, and those in force when the stage begins
//! still lead nowhere. Where a transition states that it begins with losses, rows that the first tables led nowhere are
//! lost likewise, from the moment before the first wave on. Packets there are lost to the failure, so the proof
//! forgives their loss, and nothing else: packets of any other row must neither be discarded nor be led into a lost
//! one. By induction over stages no packet is lost that would have arrived without the change (docs/PROOF.md, Theorem
//! 3).

use super::net::{Exit, FlatFabric, Head};
use super::walk::Columns;
use super::ways::{WayEnds, WayStep};
use crate::ids::PortNum;

/// The lost rows of one DLID, stage by stage.
pub(super) struct LostRows {
    /// By stage, then row; empty where no entry for the DLID has changed yet. There a lost row is one whose entry leads
    /// into a dead element, and the others are not needed.
    stages: Vec<Vec<bool>>,
    /// By row: whether the first entries led into a dead element; empty where no entry for the DLID changes.
    died: Vec<bool>,
    /// Whether rows that the first entries led nowhere are lost rows.
    begins_with_losses: bool,
    ways: WayEnds<End>,
}

/// The end of the way from a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// At a port.
    Arrives,
    /// In a dead element.
    Dies,
    /// Without a route.
    Nowhere,
}

impl LostRows {
    pub fn new(net: &FlatFabric, stages: usize, begins_with_losses: bool) -> LostRows {
        let ways = WayEnds::new(net.rows.len());
        LostRows { stages: vec![Vec::new(); stages], died: Vec::new(), begins_with_losses, ways }
    }

    /// Turns to another DLID. `sent`: whether packets were sent to it before the change; otherwise nothing was lost.
    pub fn turn_to(&mut self, net: &FlatFabric, columns: &Columns, sent: bool) {
        self.stages.iter_mut().for_each(Vec::clear);
        self.died.clear();
        let all = self.begins_with_losses;
        let lost_at_first = move |end: Option<End>| end == Some(End::Dies) || all && end == Some(End::Nowhere);
        if sent && all {
            self.stages[0] = self.ends(net, columns, 0, lost_at_first);
        }
        for stage in 1..self.stages.len() {
            let begun = !self.died.is_empty();
            if !sent || !begun && !all && !(0..net.rows.len()).any(|row| columns.changes(stage, row)) {
                continue;
            }
            if begun {
                let lost = self.ends(net, columns, stage, |end| end != Some(End::Arrives));
                self.stages[stage] = self.died.iter().zip(lost).map(|(&died, lost)| died && lost).collect();
            } else {
                // Entries of this stage are the first to change, so it begins with the first tables.
                self.died = self.ends(net, columns, stage, lost_at_first);
                self.stages[stage] = self.died.clone();
            }
        }
    }

    /// Returns whether packets at a row were lost when a stage began; `exit` is the far end of one of its entries.
    pub fn forgives(&self, stage: usize, row: usize, exit: Exit) -> bool {
        match self.stages[stage].get(row) {
            Some(&lost) => lost,
            None => matches!(exit, Exit::Died(_)),
        }
    }

    /// Returns whether packets that a row sends by an output may be discarded where they would turn back. They may if
    /// the row was lost at every stage so far at which it may have sent by that output, so that all such packets were
    /// lost.
    pub fn forgives_turning(&self, columns: &Columns, stage: usize, (row, output): (usize, PortNum)) -> bool {
        let was_lost = |earlier: usize| match self.stages[earlier].get(row) {
            Some(&lost) => lost || !columns.choices(earlier, row).any(|choice| choice == output),
            // No entry had changed yet.
            None => true,
        };
        stage > 0 && self.died.get(row).is_some_and(|&died| died) && (1..=stage).all(was_lost)
    }

    /// Returns whether an output leads from a row that is not lost to one that is.
    #[inline]
    pub fn is_led_astray(&self, net: &FlatFabric, stage: usize, row: usize, output: PortNum) -> bool {
        let lost = &self.stages[stage];
        // Almost all stages change no entry of the DLID; this is asked for every hop.
        if lost.is_empty() || lost[row] {
            return false;
        }
        match net.head(stage, net.channel(row, output)) {
            Head::Switch { row, .. } => lost[row as usize],
            Head::End(_) | Head::Nothing => false,
        }
    }

    /// By row: whether the way by the entries with which a stage begins ends so; a way into a loop has no end.
    fn ends(
        &mut self,
        net: &FlatFabric,
        columns: &Columns,
        stage: usize,
        wanted: impl Fn(Option<End>) -> bool,
    ) -> Vec<bool> {
        self.ways.clear();
        let hop = |row| match net.exit(stage, row, columns.at(stage, row)[0]) {
            Exit::Channel(channel) => match net.head(stage, channel) {
                Head::Switch { row, .. } => WayStep::Switch(row as usize),
                Head::End(_) | Head::Nothing => WayStep::End(End::Arrives),
            },
            Exit::Own => WayStep::End(End::Arrives),
            Exit::Died(_) => WayStep::End(End::Dies),
            Exit::NoRoute | Exit::NoCable(_) => WayStep::End(End::Nowhere),
        };
        (0..net.rows.len()).map(|row| wanted(self.ways.from(row, hop).map(|way| way.end))).collect()
    }
}
