//! Sets anew, behind the barrier `aged`, what the first wave could not reconnect: its rows are blanked in the wave
//! before, so nothing that they led to stands in the way.
//!
//! Several tables are tried as guides. The last of them, restricted up*/down* on the order of the tables in force,
//! always does where that order still has a single sink: every entry that is left is one of up*/down* on that order, so
//! is every new one, and all their turns go up before they go down.

use super::balance::PairLoad;
use super::columns::{LidColumns, Ways};
use super::limits::{GUIDE_WORK, STEP_WORK};
use super::net::NONE;
use super::reconnect::{Pass, SearchPreference, Unserved, WaySearch, serve};
use super::subject::{Ground, Moment, RepairSubject};
use super::trial::Trial;
use super::up_down::SwitchOrder;

/// A wave behind `aged`, with the tables that it begins from.
pub(super) struct Finished {
    /// The tables when the wave before has ended: what is set anew is blank.
    pub blank: LidColumns,
    pub after: LidColumns,
    pub left: Vec<Unserved>,
    pub load: PairLoad,
}

/// Tables to begin from, and the targets that have rows without ways there.
#[derive(Clone, Copy)]
pub(super) struct Start<'c> {
    pub columns: &'c LidColumns,
    pub targets: &'c [u32],
    pub load: &'c PairLoad,
}

/// Rounds of the search, each with the targets first that the last one left. Chosen by trial, as are the other
/// numbers here. A round costs as much as the first one did.
const ROUNDS: usize = 5;

/// The most sinks that are tried as the main one, each for a guide.
const SINKS: usize = 8;

/// Orders made of the one in force, each for a guide: four main sinks, and for each two ways to place the rest.
const ORDERS: usize = 8;

/// By attempt for one LID: how many hops of detour a row takes rather than change its entry. The first attempt keeps
/// what it can, since a row that ends with its old entry needs no blank and no write. The third goes by length alone.
const DETOURS: [u32; 4] = [4, 1, 0, 2];

/// Attempts that go by load and by exact lengths. A later one, or one of a later round, goes by noise instead.
const WITHOUT_NOISE: usize = 2;

/// What a guide leaves is searched for with this much noise in the end. Any seed does.
const AFTER_GUIDE: SearchPreference<'static> = SearchPreference { seed: 7, stray: 3, ..SearchPreference::PLAIN };

/// Spreads small numbers over a word, so that seeds do not begin alike (2^32 over the golden ratio).
const SPREAD: u64 = 0x9E37_79B9;

/// The same tables with every row blank that does not arrive.
pub(super) fn blanked(subject: &RepairSubject<'_>, columns: &LidColumns, targets: &[u32]) -> LidColumns {
    let (net, mut ways, mut blank) = (&subject.net, Ways::new(&subject.net), columns.clone());
    for &target in targets {
        let mut column = columns.column(target as usize).to_vec();
        ways.follow(net, &column, &net.alive);
        for (row, entry) in column.iter_mut().enumerate() {
            if net.present[row] && !ways.arrives(row) {
                *entry = NONE;
            }
        }
        blank.set(target as usize, &column);
    }
    blank
}

/// Searches ways in the order of lanes, as Nue does; several times, with other tastes.
pub(super) fn by_search(subject: &RepairSubject<'_>, ground: &Ground, start: Start<'_>) -> Option<Finished> {
    let blank = blanked(subject, start.columns, start.targets);
    let mut search = WaySearch::new(&subject.net);
    let (mut targets, mut best) = (start.targets.to_vec(), None::<Finished>);
    // A search that serves everything may take what it takes. One that fails ends here.
    let limit = subject.work.get().saturating_add(STEP_WORK);
    for round in 0..ROUNDS {
        if round > 0 && subject.work.get() >= limit {
            break;
        }
        let mut trial = Trial::new(subject, ground, &blank, Moment::Aged)?;
        let mut load = start.load.clone();
        let mut left: Vec<Unserved> = Vec::new();
        for &target in &targets {
            if !left.is_empty() && trial.work() >= limit {
                left.extend(search.untried(&trial, target));
                continue;
            }
            // One after the other, each with several tastes: what one admits narrows what is left for the next.
            let served = (0..DETOURS.len()).any(|attempt| {
                // Noise grows from attempt to attempt and from round to round: ways ever further from the shortest.
                let (seed, stray) = match attempt + round {
                    0..WITHOUT_NOISE => (SearchPreference::BY_LOAD, 0),
                    noise => ((round * DETOURS.len() + attempt) as u64 * SPREAD + 1, noise as u32),
                };
                let preference = SearchPreference { change: DETOURS[attempt], seed, stray, ..SearchPreference::PLAIN };
                let targets = vec![target];
                let pass =
                    Pass { targets, prefer: start.columns, toward: None, preference, whole: true, limit: u64::MAX };
                let rest = serve(&mut trial, &mut search, &mut load, &pass);
                let done = rest.is_empty();
                if !done && attempt + 1 == DETOURS.len() {
                    left.extend(rest);
                }
                done
            });
            assert!(served || left.last().is_some_and(|last| last.target == target));
        }
        let first: Vec<u32> = left.iter().map(|unserved| unserved.target).collect();
        if best.as_ref().is_none_or(|best| left.len() < best.left.len()) {
            let after = trial.new.clone();
            best = Some(Finished { blank: leanest(subject, start, &blank, &after), after, left, load });
        }
        if best.as_ref().is_some_and(|best| best.left.is_empty()) {
            break;
        }
        targets.retain(|target| !first.contains(target));
        targets.splice(0..0, first);
    }
    best
}

/// Takes the entries of a guide; what these do not serve is searched for.
pub(super) fn by_guide(
    subject: &RepairSubject<'_>,
    ground: &Ground,
    start: Start<'_>,
    guide: &LidColumns,
) -> Option<Finished> {
    let blank = blanked(subject, start.columns, start.targets);
    let mut search = WaySearch::new(&subject.net);
    let mut trial = Trial::new(subject, ground, &blank, Moment::Aged)?;
    let mut load = start.load.clone();
    let mut targets = start.targets.to_vec();
    let mut left = Vec::new();
    let limit = subject.work.get().saturating_add(GUIDE_WORK);
    // First the guide alone for all: what a search finds for one may stand in the way of the guide for the next.
    for preference in
        [SearchPreference { explore: false, ..SearchPreference::PLAIN }, SearchPreference::PLAIN, AFTER_GUIDE]
    {
        let toward = (!preference.explore).then_some(guide);
        // A LID served in part narrows what is left for the others. The last pass has no pass after it to spare.
        let whole = preference.seed == SearchPreference::BY_LOAD;
        let pass = Pass { targets, prefer: start.columns, toward, preference, whole, limit };
        left = serve(&mut trial, &mut search, &mut load, &pass);
        targets = left.iter().map(|unserved| unserved.target).collect();
    }
    let after = trial.new.clone();
    Some(Finished { blank: leanest(subject, start, &blank, &after), after, left, load })
}

/// The tables with as few blanks as prove what the blanked ones do: a row that ends up with its old entry keeps it. Its
/// packets go where they go in the end, or nowhere, so it adds nothing to either.
fn leanest(subject: &RepairSubject<'_>, start: Start<'_>, blank: &LidColumns, after: &LidColumns) -> LidColumns {
    let mut lean = blank.clone();
    for &target in start.targets {
        let at = target as usize;
        let (was, new) = (start.columns.column(at), after.column(at));
        let keeps = |row: usize| subject.net.stays[row] && was[row] == new[row];
        let mut column = blank.column(at).to_vec();
        (0..column.len()).filter(|&row| keeps(row)).for_each(|row| column[row] = was[row]);
        lean.set(at, &column);
    }
    lean
}

/// Guides for waves with no barrier between: restricted up*/down* on orders all turns of which go with those of the one
/// in force, then those of [`guides`].
pub(super) fn guides_without_barrier<'g, 'a>(
    subject: &'g RepairSubject<'a>,
    target: Option<&'g LidColumns>,
    start: Start<'g>,
) -> impl Iterator<Item = LidColumns> + use<'g, 'a> {
    let order = subject.input.order.unwrap_or_default();
    let grafted = (0..SINKS).filter_map(|variant| SwitchOrder::grafted(&subject.net, order, variant));
    let route = move |order: SwitchOrder| order.route(subject, start.columns, start.targets.to_vec(), start.load);
    let others = std::iter::once_with(move || guides(subject, target, start)).flatten();
    grafted.map(route).chain(others)
}

/// Guides for a wave behind `aged`: the engine's re-route, then restricted up*/down* on orders made of the one in
/// force.
pub(super) fn guides(subject: &RepairSubject<'_>, target: Option<&LidColumns>, start: Start<'_>) -> Vec<LidColumns> {
    let mut guides: Vec<LidColumns> = target.cloned().into_iter().collect();
    let Some(order) = subject.input.order else { return guides };
    let mut known: Vec<SwitchOrder> = Vec::new();
    for variant in 0..ORDERS {
        let order = SwitchOrder::repaired(&subject.net, order, variant);
        if !known.contains(&order) {
            guides.push(order.route(subject, start.columns, start.targets.to_vec(), start.load));
            known.push(order);
        }
    }
    guides
}
