//! Waves of a course that are joined: which two can be one wave, and which need no `aged` between them.

use super::classes::SourceClasses;
use super::columns::{LidColumns, Ways};
use super::net::{HERE, Net};
use super::occupancy::{Entries, Occupancy, add_fair};
use super::subject::{Ground, Moment, RepairSubject};

/// Whether waves that follow each other with no `aged` between them have no ring of lanes in all their mixtures
/// together. `tables` are those before the first and after each; `moment` is that of the first.
pub(super) fn proves(subject: &RepairSubject<'_>, ground: &Ground, tables: &[LidColumns], moment: Moment) -> bool {
    let net = &subject.net;
    let mut all = ground.fixed(subject);
    let mut feed = SourceClasses::of(net, &subject.classes);
    let mut occupancy = Occupancy::new(net, &subject.classes);
    let (mut ways, mut fair) = (Ways::new(net), vec![false; net.channels.len()]);
    let mut loses = false;
    for target in ground.changing.iter().map(|&at| at as usize) {
        subject.feed(target, &mut feed);
        let mut add = |before, after| all.add(net, before, after);
        fair.fill(false);
        subject.find_standing(tables[0].column(target), &feed, moment, &mut occupancy, &mut add);
        for pair in tables.windows(2).filter(|pair| pair[0].differs(&pair[1], target)) {
            let entries = Entries { old: pair[0].column(target), new: pair[1].column(target) };
            if subject.input.discards_turned_back {
                add_fair(net, &mut ways, entries, &mut fair);
            }
            let way = subject.passage(&feed, Moment::Aged, &fair);
            occupancy.stir();
            occupancy.inject(&way, entries, &feed.now);
            loses |= !occupancy.spread(&way, entries, &mut |before, after| {
                all.add(net, before, after);
                true
            });
        }
    }
    !loses && all.is_acyclic(net)
}

/// Whether one wave from `old` to `new` keeps rules b and c of docs/REPAIR.md: no mixture leads round, and none of what
/// arrives by the old tables is led to a row that does not.
pub(super) fn keeps_rules_b_c(
    subject: &RepairSubject<'_>,
    ground: &Ground,
    old: &LidColumns,
    new: &LidColumns,
) -> bool {
    let net = &subject.net;
    let mut ways = Ways::new(net);
    ground.changing.iter().map(|&at| at as usize).filter(|&at| old.differs(new, at)).all(|at| {
        let (old, new) = (old.column(at), new.column(at));
        ways.follow(net, old, &net.alive);
        let stays_whole = |row: usize| match new[row] {
            HERE => true,
            entry => Net::leads(&net.alive, entry) && ways.arrives(net.to(entry)),
        };
        let whole = (0..net.rows.len()).filter(|&row| net.present[row] && ways.arrives(row)).all(stays_whole);
        whole && (!goes_round(net, Entries { old, new }) || goes_round(net, Entries::steady(old)))
    })
}

/// Whether some mixture of entries leads round.
fn goes_round(net: &Net, entries: Entries<'_>) -> bool {
    let rows = net.rows.len();
    let onward = |row: usize| entries.at(row).filter(|&entry| Net::leads(&net.alive, entry)).map(|entry| net.to(entry));
    let mut arriving = vec![0u32; rows];
    (0..rows).flat_map(onward).for_each(|to| arriving[to] += 1);
    let mut queue: Vec<usize> = (0..rows).filter(|&row| arriving[row] == 0).collect();
    let mut next = 0;
    while let Some(&row) = queue.get(next) {
        next += 1;
        for to in onward(row) {
            arriving[to] -= 1;
            if arriving[to] == 0 {
                queue.push(to);
            }
        }
    }
    queue.len() < rows
}
