//! Moves intact rows towards other tables, as far as one wave can: a LID's column in full where that is admitted, entry
//! by entry elsewhere.

use super::columns::{LidColumns, Ways};
use super::net::{HERE, Net};
use super::subject::{Ground, Moment, RepairSubject};
use super::trial::{Change, Trial};

/// The tables after a wave towards `aim` that begins behind `aged`; none where it would change nothing. What is left
/// once the subject's work exceeds a limit stays as it is.
pub(super) fn toward(
    subject: &RepairSubject<'_>,
    ground: &Ground,
    from: &LidColumns,
    aim: &LidColumns,
    limit: u64,
) -> Option<LidColumns> {
    let net = &subject.net;
    let mut trial = Trial::new(subject, ground, from, Moment::Aged)?;
    let (mut ways, mut moved) = (Ways::new(net), false);
    for at in (0..subject.targets.len()).filter(|&at| subject.targets[at].wanted && from.differs(aim, at)) {
        if trial.work() >= limit {
            break;
        }
        let wanted = aim.column(at);
        trial.turn_to(at);
        ways.follow(net, wanted, &net.kept);
        // Only rows that have a way now, and lead to such a row: a packet that would have arrived does so.
        let open = |row: usize| net.stays[row] && trial.intact.arrives(row) && ways.arrives(row);
        let mut rows: Vec<u32> = (0..net.rows.len())
            .filter(|&row| open(row) && trial.now[row] != wanted[row])
            .map(|row| row as u32)
            .collect();
        rows.sort_by_key(|&row| ways.hops[row as usize]);
        let changes: Vec<Change> = rows.into_iter().map(|row| Change { row, entry: wanted[row as usize] }).collect();
        let safe = |change: &Change| leads_on(net, change.entry) && trial.is_safe(*change);
        let (safe, unsafe_now): (Vec<Change>, Vec<Change>) = changes.into_iter().partition(safe);
        if safe.is_empty() {
            continue;
        }
        if unsafe_now.is_empty() && trial.admit(&safe) {
            moved = true;
        } else if safe.len() > 1 || !unsafe_now.is_empty() {
            for change in safe {
                moved |= trial.admit(&[change]);
            }
        }
        trial.keep();
    }
    moved.then(|| trial.new.clone())
}

fn leads_on(net: &Net, entry: u32) -> bool {
    entry == HERE || Net::leads(&net.kept, entry)
}
