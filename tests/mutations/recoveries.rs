//! Plans of scheme `recover` with one thing wrong. The sound one closes a half, has it follow the other, and opens
//! both.

use super::Row;
use super::plans::{Sound, caught};
use crate::support::recovery::closing;
use reconfig::ids::{Half, PortNum};
use reconfig::plan::{Assumption, Barrier, Draft, Plan, Wave};
use reconfig::tables::{LFT_BLOCK, Write};

/// One way to break a recovery.
pub struct Mutation {
    name: &'static str,
    broken: &'static str,
    apply: fn(&mut Draft),
    harmless: Option<&'static str>,
}

const fn mutation(name: &'static str, broken: &'static str, apply: fn(&mut Draft)) -> Mutation {
    Mutation { name, broken, apply, harmless: None }
}

const fn harmless(why: &'static str, mutation: Mutation) -> Mutation {
    Mutation { harmless: Some(why), ..mutation }
}

pub const MUTATIONS: &[Mutation] = &[
    mutation("no wait after the close", "packets of tables that nobody knows meet new entries", |draft| {
        draft.waves[0].barriers.retain(|barrier| !matches!(barrier, Barrier::Vacated(_)));
    }),
    mutation("a wait that is a round short", "a packet may have one channel before it", |draft| {
        for barrier in &mut draft.waves[0].barriers {
            if let Barrier::Vacated(rounds) = barrier {
                *rounds -= 1;
            }
        }
    }),
    mutation("nobody closed", "hosts send on the half whose entries are written", |draft| {
        draft.waves[0].writes.clear();
    }),
    mutation("one host not closed", "it sends on the half whose entries are written", |draft| {
        draft.waves[0].writes.pop();
    }),
    mutation("the close not acknowledged", "it may land after the wait", |draft| _ = draft.waves[0].barriers.remove(0)),
    harmless(
        "both halves are followed throughout, and lead alike in the end",
        mutation("the halves exchanged", "the half that was closed is called the one that is kept", |draft| {
            (draft.old, draft.new) = (draft.old.other(), draft.new.other());
        }),
    ),
    mutation("sources on one half only", "hosts on the other are left out", |draft| draft.both_halves = false),
    harmless(
        "what is left is proved at every moment, and by the last wave for both halves",
        mutation("one block does not follow", "the other half leads there as before", |draft| {
            wave(draft, "rewrite/follow/1").writes.pop();
        }),
    ),
    harmless(
        "hosts are closed still, and what they had sent has left",
        mutation("switches opened before the half follows", "two routings have all lanes", |draft| {
            let follow = position(draft, "rewrite/follow/1");
            let open = position(draft, "rewrite/open/1");
            draft.waves.swap(follow, open);
        }),
    ),
    mutation("hosts opened before the half follows", "they send where entries are written", |draft| {
        let follow = position(draft, "rewrite/follow/1");
        let open = position(draft, "rewrite/open/2");
        let wave = draft.waves.remove(open);
        draft.waves.insert(follow, wave);
    }),
    mutation("no host opened", "what hosts send on one half is discarded for good", |draft| _ = draft.waves.pop()),
    mutation("one host not opened", "what it sends on one half is discarded for good", |draft| {
        wave(draft, "rewrite/open/2").writes.pop();
    }),
    mutation("a row robbed of its way", "packets are lost at a switch", |draft| {
        let (fabric, tables) = (draft.before.clone(), Plan::seal(draft.clone()));
        let host = fabric.end_ports().last().expect("hosts");
        let home = fabric.neighbour(host).expect("at a switch");
        let lid = fabric.half_lids(host, Half::Lower).next().expect("a LID");
        let block = (usize::from(lid.0) / LFT_BLOCK) as u16;
        let last = draft.waves.len();
        let mut entries = Box::new(tables.tables_at(last).lfts[home.index()].block(block));
        entries[lid.index() % LFT_BLOCK] = PortNum::NO_ROUTE.0;
        draft.waves[last - 1].writes.push(Write::LftBlock { switch: home, block, entries });
    }),
    mutation("`fences-discard` not named", "nobody is told what must hold", |draft| {
        draft.assumptions.retain(|assumed| *assumed != Assumption::FencesDiscard);
    }),
    mutation("`entries-decide` not named", "nobody is told what must hold", |draft| {
        draft.assumptions.retain(|assumed| *assumed != Assumption::EntriesDecide);
    }),
];

fn position(draft: &Draft, name: &str) -> usize {
    let found = draft.waves.iter().position(|wave| wave.name == name);
    found.unwrap_or_else(|| {
        panic!("no wave {name}: {:?}", draft.waves.iter().map(|wave| &wave.name).collect::<Vec<_>>())
    })
}

fn wave<'a>(draft: &'a mut Draft, name: &str) -> &'a mut Wave {
    let at = position(draft, name);
    &mut draft.waves[at]
}

/// Applies every mutation to the recovery of a torus whose halves lead by different roots, with hosts on both.
pub fn rows() -> Vec<Row> {
    let sound = Sound::certified(closing().expect("a half is closed"));
    let row = |mutation: &Mutation| {
        let mut draft = sound.plan.draft().clone();
        (mutation.apply)(&mut draft);
        assert!(draft != *sound.plan.draft(), "{}: nothing is changed", mutation.name);
        let caught = caught(&sound, Plan::seal(draft));
        Row { name: mutation.name, broken: mutation.broken, caught, harmless: mutation.harmless }
    };
    MUTATIONS.iter().map(row).collect()
}
