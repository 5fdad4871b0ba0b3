//! What the checker keeps of the moment before the first wave: every row as it was judged, and what follows from all.

use super::CertificateFault;
use super::file::Rows;
use super::lanes::Packed;
use crate::ids::Lid;
use std::collections::HashMap;

/// The lanes that a class occupies at a moment.
#[derive(Clone, Copy, Default)]
pub(super) struct Occupied {
    pub pairs: u64,
    pub lanes: u16,
}

/// The row of a DLID at the moment before the first wave, judged.
pub(super) struct KeptRow {
    /// The switches at which packets choose, one bit each; none where the row is empty.
    pub choosing: Option<Vec<u8>>,
    pub occupied: Occupied,
}

/// The results for the moment before the first wave.
pub(super) struct FirstMoment {
    /// By DLID, and whether it is of answers.
    pub rows: HashMap<(Lid, bool), KeptRow>,
    /// [`Closure::ways`](super::closure::Closure::ways) at that moment.
    pub ways_taken: [Vec<Packed>; 2],
    /// [`Closure::entered`](super::closure::Closure::entered) at that moment.
    pub entered: [Vec<Packed>; 2],
    /// By channel: lanes in which something can stand.
    pub occupied: Vec<u16>,
}

/// The rows that need no judgement in a plan.
pub(super) struct JudgedRows<'b> {
    pub first: &'b FirstMoment,
    /// By LID: whether it is judged all the same.
    pub open: Vec<bool>,
    pub moments: usize,
}

impl JudgedRows<'_> {
    /// Reads the rows of a DLID if they are those that were judged, and returns the lanes that it occupies at every
    /// moment.
    pub fn next(&self, lid: Lid, answers: bool, rows: &mut Rows<'_>) -> Result<Option<Occupied>, CertificateFault> {
        let Some(row) = self.first.rows.get(&(lid, answers)).filter(|_| !self.open[lid.index()]) else {
            return Ok(None);
        };
        let mut wanted = Vec::new();
        match &row.choosing {
            // As docs/CERTIFICATE.md has it: nowhere, at every moment; or at these switches, and then at the same ones.
            None => wanted.resize(self.moments, 0),
            Some(bits) => {
                wanted.push(2);
                wanted.extend(bits);
                wanted.resize(bits.len() + self.moments, 1);
            }
        }
        // The certificate need not repeat the row. One that lists more places is legitimate, and is then judged as
        // without a base.
        Ok(rows.begin_with(&wanted)?.then_some(row.occupied))
    }
}
