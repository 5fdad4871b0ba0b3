//! Plans of the Double Scheme with one thing wrong: what the reader of their file, the lint, the prover and the checker
//! of certificates say.

use super::{Catcher, Row};
use crate::support::brought_up::bring_up;
use crate::support::removal::{Removal, removal};
use reconfig::change::prepare;
use reconfig::check::{certificate, lint};
use reconfig::fabric::generate::{BUNDLED, Options, generate};
use reconfig::fabric::{NodeId, PortId};
use reconfig::ids::{Half, Lid, PortNum, Sl, Vl, VlSet};
use reconfig::plan::{Assumption, Barrier, Draft, DrainGraph, Phase, Plan, Scheme, Wave};
use reconfig::tables::{LFT_BLOCK, PortState, SlToVl, SlToVlScope, Write};
use reconfig::verify::{Binding, Certificate, prove, prove_certified};
use std::sync::Arc;

/// One way to break a plan.
pub struct Mutation {
    name: &'static str,
    broken: &'static str,
    removal: Removal,
    apply: fn(&mut Draft),
    harmless: Option<&'static str>,
}

const fn planned(name: &'static str, broken: &'static str, apply: fn(&mut Draft)) -> Mutation {
    Mutation { name, broken, removal: Removal::Planned, apply, harmless: None }
}

const fn sudden(name: &'static str, broken: &'static str, apply: fn(&mut Draft)) -> Mutation {
    Mutation { removal: Removal::Sudden, ..planned(name, broken, apply) }
}

const fn harmless(why: &'static str, mutation: Mutation) -> Mutation {
    Mutation { harmless: Some(why), ..mutation }
}

pub const MUTATIONS: &[Mutation] = &[
    planned("flush barrier removed", "packets latched for B may outlive the split", |draft| {
        wave(draft, Phase::Split).barriers.retain(|barrier| !matches!(barrier, Barrier::Flushed(_)));
    }),
    planned("flush of one lane of B", "the other lanes may hold packets", |draft| {
        let first = draft.lanes.b.iter().take(1).collect();
        wave(draft, Phase::Split).barriers[1] = Barrier::Flushed(first);
    }),
    planned("flush before the writes are acknowledged", "a switch may latch for B after its token", |draft| {
        wave(draft, Phase::Split).barriers.reverse();
    }),
    planned("split not acknowledged", "its writes may land in any later wave", |draft| {
        wave(draft, Phase::Split).barriers.remove(0);
    }),
    planned("install not acknowledged", "sources may move before R′ is in place", |draft| {
        draft.waves[2].barriers.clear();
    }),
    planned("drain barrier removed", "packets of R may meet those of R′ on all lanes", |draft| {
        wave(draft, Phase::Drain).barriers.clear();
    }),
    planned("drain of one lane of A", "the other lanes may hold packets", |draft| {
        let first = draft.lanes.a.iter().take(1).collect();
        wave(draft, Phase::Drain).barriers = vec![Barrier::Drained(first)];
    }),
    planned("drain of no lane", "nothing is waited for, and the old half is said to be gone", |draft| {
        wave(draft, Phase::Drain).barriers = vec![Barrier::Drained(VlSet::EMPTY)];
    }),
    planned("drained before anybody moved", "the split ends at a barrier that cannot be passed yet", |draft| {
        let lanes = draft.lanes.a;
        wave(draft, Phase::Split).barriers.push(Barrier::Drained(lanes));
    }),
    planned("sources not waited for", "old packets may be sent after the drain", |draft| {
        wave(draft, Phase::Swap).barriers.pop();
    }),
    planned("install before split", "R′ is written while B is in use", |draft| draft.waves.swap(0, 2)),
    planned("swap before install", "sources use R′ before it is there", |draft| {
        let swap = writing(draft, |write| matches!(write, Write::ActiveHalf { .. }));
        draft.waves.swap(2, swap);
    }),
    planned("drain before swap", "A is waited for while it is in use", |draft| {
        let swap = draft.waves.iter().rposition(|wave| wave.phase == Phase::Swap).expect("a swap");
        draft.waves.swap(swap, swap + 1);
    }),
    planned("restore before drain", "B opens to all lanes while R is there", |draft| {
        let last = draft.waves.len() - 1;
        draft.waves.swap(last, last - 1);
    }),
    planned("no restore", "half of the lanes stay unused", |draft| _ = draft.waves.pop()),
    planned("an old SL on a lane of B, at one switch", "R enters B", |draft| {
        stray(draft, true, |old, lanes| (old, lanes.b.iter().next().expect("B")));
    }),
    planned("a new SL on a lane of A, at one switch", "R′ enters A", |draft| {
        stray(draft, true, |old, lanes| (old.other(), lanes.a.iter().next().expect("A")));
    }),
    planned("an old SL on a lane of B, at one end port", "R enters B", |draft| {
        stray(draft, false, |old, lanes| (old, lanes.b.iter().next().expect("B")));
    }),
    planned("one (input, output) pair not split", "between two ports R keeps all lanes", |draft| {
        let at = transit(draft);
        wave(draft, Phase::Split).writes.remove(at);
    }),
    planned("one switch not split", "R keeps all its lanes there", |draft| {
        let Write::SlToVl { node, .. } = draft.waves[0].writes[0] else { panic!("a split writes tables") };
        wave(draft, Phase::Split).writes.retain(|write| !matches!(write, Write::SlToVl { node: n, .. } if *n == node));
    }),
    harmless(
        "the packets of this pair keep to their own lanes",
        planned(
            "one (input, output) pair not restored",
            "between two ports R′ keeps to its half of the lanes",
            |draft| {
                wave(draft, Phase::Restore).writes.remove(0);
            },
        ),
    ),
    planned("restored to a lane that no link has", "packets are sent onto VL 9", |draft| {
        let Write::SlToVl { node, .. } = draft.waves[0].writes[transit(draft)] else { panic!("a table") };
        for write in &mut wave(draft, Phase::Restore).writes {
            if let Write::SlToVl { node: n, table, .. } = write
                && *n == node
            {
                *table = SlToVl::from_fn(|_| Vl::masked(9));
            }
        }
    }),
    planned("an entry of R written in the split's wave", "one packet in two goes another way while R runs", |draft| {
        let write = install_block(draft, Half::Lower, |_, _, new| new);
        wave(draft, Phase::Split).writes.push(write);
    }),
    harmless(
        "nobody sends to the spare half before the swap",
        planned("an entry of R′ written in the split's wave", "a block of the spare half comes early", |draft| {
            let early = block_write(draft);
            let write = draft.waves[2].writes[early].clone();
            wave(draft, Phase::Split).writes.push(write);
        }),
    ),
    planned("entries of R taken away by the install", "the half in use has holes", |draft| {
        let write = install_block(draft, Half::Lower, |_, _, _| PortNum::NO_ROUTE.0);
        replace_block(draft, write);
    }),
    planned("R′ installed on the half in use", "R and R′ mix on all lanes", |draft| {
        install_on_old(draft);
    }),
    planned("an entry to another host's port", "packets arrive at the wrong host", |draft| {
        mutate_entry(draft, |draft, node, _| host_port(draft, node));
    }),
    planned("an entry to a port without a cable", "packets are discarded", |draft| {
        mutate_entry(draft, |draft, node, _| {
            let fabric = &draft.before;
            let bare = fabric.ports_of(node).skip(1).find(|&port| fabric.peer(port).is_none());
            fabric.port(bare.expect("switches of this fabric have ports to spare")).num.0
        });
    }),
    planned("an entry to a switch that is to leave", "packets are lost when it has left", |draft| {
        mutate_entry(draft, |draft, node, _| port_towards_leaver(draft, node));
    }),
    sudden("an entry to a switch that has died", "packets are lost", |draft| {
        mutate_entry(draft, |draft, node, _| port_towards_leaver(draft, node));
    }),
    planned("an entry beyond the last port", "the switch has no such port", |draft| mutate_entry(draft, |_, _, _| 200)),
    planned("an entry back to where packets come from", "packets go round between two switches", |draft| {
        into_a_loop(draft);
    }),
    planned("one block of R′ not installed", "a switch has no route for 64 LIDs", |draft| {
        let at = block_write(draft);
        draft.waves[2].writes.remove(at);
    }),
    planned("one switch not installed", "it has no route of R′", |draft| {
        let at = block_write(draft);
        let Write::LftBlock { switch, .. } = draft.waves[2].writes[at] else { panic!("a block") };
        let kept = |write: &Write| !matches!(write, Write::LftBlock { switch: s, .. } if *s == switch);
        draft.waves[2].writes.retain(kept);
    }),
    planned("one source told the old half", "it sends on R after the drain", |draft| {
        let old = draft.old;
        let told = told(draft).writes.iter_mut().rfind(|write| matches!(write, Write::ActiveHalf { .. }));
        if let Some(Write::ActiveHalf { half, .. }) = told {
            *half = old;
        }
    }),
    planned("one source not told", "it sends on R after the drain", |draft| _ = told(draft).writes.pop()),
    planned("a source told in the split", "it sends on R′ before it is there", |draft| {
        let (port, half) = (draft.sm, draft.new);
        wave(draft, Phase::Split).writes.push(Write::ActiveHalf { port, half });
    }),
    planned("the SA not moved", "queries are answered with the old half", |draft| {
        records(draft).writes.retain(|write| !matches!(write, Write::SaHalf { .. }));
    }),
    planned("the SM's address not moved at one port", "its traps go to the old half", |draft| {
        let first = records(draft).writes.iter().position(|write| matches!(write, Write::MasterSm { .. }));
        records(draft).writes.remove(first.expect("the SM's port has halves"));
    }),
    planned("the SM's address moved to an old LID", "traps go to the old half", |draft| {
        let old = draft.before.half_lids(draft.sm, draft.old).next().expect("two halves");
        for write in &mut records(draft).writes {
            if let Write::MasterSm { lid, .. } = write {
                *lid = old;
            }
        }
    }),
    planned("one port stays ARMED", "it holds its data for ever", |draft| _ = draft.waves[3].writes.pop()),
    harmless(
        "safety does not rest on arming (claim A.4)",
        planned("one port not ARMED", "it carries data while tables are installed", |draft| {
            _ = draft.waves[1].writes.pop()
        }),
    ),
    planned("one source stays ARMED", "it holds its data for ever", |draft| _ = wave(draft, Phase::Swap).writes.pop()),
    planned("a port stopped for good", "restore leaves it in INITIALIZE", |draft| {
        let port = draft.sm;
        wave(draft, Phase::Restore).writes.push(Write::PortState { port, state: PortState::Initialize });
    }),
    planned("a switch left out of the drain", "its tokens do not wait for its lanes", |draft| {
        let first = *draft.drain[0].graph.arcs().keys().next().expect("switches pass packets");
        redrain(draft, |arcs, _| _ = arcs.remove(&first));
    }),
    planned("an arc left out of the drain", "a token may overtake the packets of one input", |draft| {
        redrain(draft, |arcs, _| {
            let masks = arcs.values_mut().next().expect("switches pass packets");
            let mask = masks.iter_mut().find(|mask| !mask.is_empty()).expect("an arc");
            let first = mask.iter().next().expect("an output");
            mask.remove(first);
        });
    }),
    planned("a source left out of the drain", "nobody asks whether its queue is empty", |draft| {
        let first = draft.drain[0].graph.sources()[0];
        let input = draft.surviving.peer(first).map(|peer| draft.surviving.port(peer)).expect("a source has a cable");
        let (node, num) = (input.node, input.num);
        redrain(draft, |arcs, sources| {
            sources.remove(0);
            let masks = arcs.get_mut(&node).expect("hosts send to switches that pass packets");
            masks[num.index()] = reconfig::ids::PortMask::EMPTY;
        });
    }),
    planned("nothing to drain", "A is said to be empty at once", |draft| draft.drain = Vec::new()),
    sudden("a block written to a dead switch", "nobody answers", |draft| {
        let dead = draft.before.switches().find(|&switch| !draft.surviving.node(switch).present).expect("one died");
        draft.waves[2].writes.push(Write::LftBlock { switch: dead, block: 0, entries: Box::new([255; LFT_BLOCK]) });
    }),
    sudden("a stranded port told", "nobody answers", |draft| {
        let (port, half) = (draft.stranded[0], draft.new);
        told(draft).writes.push(Write::ActiveHalf { port, half });
    }),
    planned("one table set twice in a wave", "which of the two stays is open", |draft| {
        let mut again = draft.waves[0].writes[0].clone();
        if let Write::SlToVl { table, .. } = &mut again {
            *table = draft.lanes.steady(draft.policy.partition);
        }
        draft.waves[0].writes.push(again);
    }),
    planned("the optimised form to a switch without it", "the device refuses", |draft| {
        let switch = draft.surviving.switches().next().expect("a switch");
        let table = draft.lanes.separate(draft.old);
        wave(draft, Phase::Split).writes.push(Write::SlToVl { node: switch, scope: SlToVlScope::All, table });
    }),
    planned("a live port called stranded, and left out of R′", "its packets are lost by leave of the plan", |draft| {
        let port = draft.after.end_ports().find(|&port| port != draft.sm).expect("hosts");
        draft.stranded.push(port);
        let lids: Vec<Lid> = draft.before.half_lids(port, draft.new).collect();
        for write in &mut draft.waves[2].writes {
            let Write::LftBlock { block, entries, .. } = write else { continue };
            for lid in lids.iter().filter(|lid| lid.0 / 64 == *block) {
                entries[usize::from(lid.0 % 64)] = PortNum::NO_ROUTE.0;
            }
        }
    }),
    planned("lane sets that overlap", "A and B share lanes", |draft| draft.lanes.b = draft.lanes.all),
    planned("the halves exchanged", "the half in use is called spare", |draft| {
        std::mem::swap(&mut draft.old, &mut draft.new);
    }),
    planned("called a static plan", "its waves are judged by another scheme's rules", |draft| {
        draft.scheme = Scheme::Static;
    }),
    planned("an assumption not named", "nobody is told what must hold", |draft| {
        draft.assumptions.retain(|assumed| *assumed != Assumption::NoMulticast);
    }),
];

/// Applies every mutation to a sound plan of the fabric whose old and new routing mix badly.
pub fn rows() -> Vec<Row> {
    let sound = [Removal::Planned, Removal::Sudden].map(|removal| (removal, Sound::of(removal)));
    let row = |mutation: &Mutation| {
        let sound = &sound.iter().find(|(removal, _)| *removal == mutation.removal).expect("both kinds").1;
        let mut draft = sound.plan.draft().clone();
        (mutation.apply)(&mut draft);
        assert!(draft != *sound.plan.draft(), "{}: nothing is changed", mutation.name);
        let caught = caught(sound, Plan::seal(draft));
        Row { name: mutation.name, broken: mutation.broken, caught, harmless: mutation.harmless }
    };
    MUTATIONS.iter().map(row).collect()
}

/// A plan without fault, and its certificate.
pub struct Sound {
    pub plan: Plan,
    certificate: Certificate,
}

impl Sound {
    fn of(when: Removal) -> Sound {
        let known = BUNDLED.iter().find(|known| known.name == "ghost-cycle").expect("it is bundled");
        let options = Options { seed: known.seed, radix: Some(12), ..Options::default() };
        let fabric = generate(&known.topology.parse().expect("a topology"), &options).expect("it can be made");
        let subnet = bring_up(&fabric, 1, false);
        Sound::certified(prepare(removal(&subnet, Scheme::Double, when)).expect("provable").plan.plan().clone())
    }

    pub fn certified(plan: Plan) -> Sound {
        assert!(lint(&plan).is_empty());
        let (proved, certificate) = prove_certified(plan).map_err(|(_, refusal)| refusal).expect("provable");
        Sound { plan: proved.into_inner(), certificate: certificate.expect("it has waves") }
    }
}

/// Who catches a broken plan. The checker sees the prover's own certificate where the prover takes the plan, and the
/// sound plan's, made out for the broken one, in any case.
pub fn caught(sound: &Sound, plan: Plan) -> Vec<Catcher> {
    let mut caught = Vec::new();
    let text = plan.to_json();
    if Plan::from_json(&text).map_or(true, |back| back != plan) {
        caught.push(Catcher::Reader);
    }
    if !lint(&plan).is_empty() {
        caught.push(Catcher::Lint);
    }
    let accepts = |certificate: &Certificate| {
        let written = certificate.to_text(&plan.binding(Binding::digest(text.as_bytes())));
        certificate::check(&plan, text.as_bytes(), written.as_bytes()).is_ok()
    };
    let own = prove_certified(plan.clone()).ok().and_then(|(_, certificate)| certificate);
    if prove(plan.clone()).is_err() {
        caught.push(Catcher::Prover);
    }
    if !accepts(&sound.certificate) && !own.is_some_and(|own| accepts(&own)) {
        caught.push(Catcher::Checker);
    }
    caught
}

fn wave(draft: &mut Draft, phase: Phase) -> &mut Wave {
    draft.waves.iter_mut().rfind(|wave| wave.phase == phase).expect("scheme double has all five phases")
}

/// The last wave with such a write.
fn writing(draft: &Draft, is: fn(&Write) -> bool) -> usize {
    draft.waves.iter().rposition(|wave| wave.writes.iter().any(is)).expect("a wave with such a write")
}

/// The wave of the swap in which sources are told; where ports are ARMED meanwhile, it is neither the first nor the
/// last.
fn told(draft: &mut Draft) -> &mut Wave {
    let at = writing(draft, |write| matches!(write, Write::ActiveHalf { .. }));
    &mut draft.waves[at]
}

/// The wave in which the SA takes the new half.
fn records(draft: &mut Draft) -> &mut Wave {
    let at = writing(draft, |write| matches!(write, Write::SaHalf { .. }));
    &mut draft.waves[at]
}

/// Sends one service level of a half onto another lane in the last table of the split of a switch, or of an end port.
fn stray(draft: &mut Draft, at_switch: bool, to: fn(Half, reconfig::plan::Lanes) -> (Half, Vl)) {
    let (half, vl) = to(draft.old, draft.lanes);
    let moved: Sl = half.sls().next().expect("a half has service levels");
    let at = if at_switch { transit(draft) } else { draft.waves[0].writes.len() - 1 };
    let Write::SlToVl { table, .. } = &mut draft.waves[0].writes[at] else { panic!("a split writes tables") };
    let old = *table;
    *table = SlToVl::from_fn(|sl| if sl == moved { vl } else { old.get(sl) });
}

/// The split's write of a pair of ports that both lead to switches, used by R.
fn transit(draft: &Draft) -> usize {
    let fabric = &draft.before;
    let inner = |node: NodeId, num: PortNum| {
        let port = fabric.port_at(node, num);
        port.and_then(|port| fabric.neighbour(port)).is_some_and(|next| fabric.node(next).is_switch())
    };
    let used = |write: &Write| match *write {
        Write::SlToVl { node, scope: SlToVlScope::Pair { input, output }, .. } => {
            let arcs = draft.drain[0].graph.arcs().get(&node);
            let taken = arcs.and_then(|masks| masks.get(input.index())).is_some_and(|mask| mask.contains(output));
            taken && inner(node, input) && inner(node, output)
        }
        _ => false,
    };
    draft.waves[0].writes.iter().position(used).expect("R passes switches")
}

/// The first forwarding block that the install writes.
fn block_write(draft: &Draft) -> usize {
    let blocks = draft.waves[2].writes.iter();
    blocks.into_iter().position(|write| matches!(write, Write::LftBlock { .. })).expect("install writes blocks")
}

/// The first block of the install, its entries of a half replaced: by LID, entry of R, and entry of R′ on the same
/// path.
fn install_block(draft: &Draft, half: Half, entry: fn(Lid, u8, u8) -> u8) -> Write {
    let Write::LftBlock { switch, block, entries } = &draft.waves[2].writes[block_write(draft)] else {
        panic!("a block")
    };
    let mut entries = entries.clone();
    let lids = (0..LFT_BLOCK).map(|at| (at, Lid(block * LFT_BLOCK as u16 + at as u16)));
    for (at, lid) in lids.filter(|(_, lid)| draft.before.half_of(*lid) == Some(half)) {
        // With LMC 1 the twin of a lower LID is the next one.
        let twin = entries.get(at + 1).copied().unwrap_or(PortNum::NO_ROUTE.0);
        entries[at] = entry(lid, entries[at], twin);
    }
    Write::LftBlock { switch: *switch, block: *block, entries }
}

fn replace_block(draft: &mut Draft, write: Write) {
    let at = block_write(draft);
    draft.waves[2].writes[at] = write;
}

/// Every entry of R′ is written for the twin LID of the half in use, too.
fn install_on_old(draft: &mut Draft) {
    let fabric = draft.before.clone();
    let old = draft.old;
    for write in &mut draft.waves[2].writes {
        let Write::LftBlock { block, entries, .. } = write else { continue };
        for at in 0..LFT_BLOCK - 1 {
            let lid = Lid(*block * LFT_BLOCK as u16 + at as u16);
            if fabric.half_of(lid) == Some(old) {
                entries[at] = entries[at + 1];
            }
        }
    }
}

/// A block of a switch that a cable joins with what leaves, and a LID of the new half that it leads on to another
/// switch.
fn far_lid(draft: &Draft) -> (usize, Lid) {
    for (at, write) in draft.waves[2].writes.iter().enumerate() {
        let Write::LftBlock { switch, block, entries } = write else { continue };
        for (place, &port) in entries.iter().enumerate() {
            let lid = Lid(block * LFT_BLOCK as u16 + place as u16);
            let owner = draft.after.lid_owner(lid).filter(|_| draft.before.half_of(lid) == Some(draft.new));
            let home = owner.and_then(|owner| draft.after.neighbour(owner));
            let at_leaver = draft
                .before
                .ports_of(*switch)
                .any(|port| draft.before.peer(port).is_some() && draft.after.peer(port).is_none());
            if port != PortNum::NO_ROUTE.0 && at_leaver && home.is_some_and(|home| home != *switch) {
                return (at, lid);
            }
        }
    }
    panic!("R′ leads from switch to switch")
}

/// The port of a switch whose cable is there before the change and not after it.
fn port_towards_leaver(draft: &Draft, node: NodeId) -> u8 {
    let leaves = |&port: &PortId| draft.before.peer(port).is_some() && draft.after.peer(port).is_none();
    let port = draft.before.ports_of(node).find(leaves).expect("the root has a cable to this switch");
    draft.before.port(port).num.0
}

/// The last port of a switch that leads to a host.
fn host_port(draft: &Draft, node: NodeId) -> u8 {
    let fabric = &draft.after;
    let to_host = |&port: &PortId| fabric.neighbour(port).is_some_and(|next| !fabric.node(next).is_switch());
    fabric.port(fabric.ports_of(node).rfind(to_host).expect("every switch of this fabric has hosts")).num.0
}

/// Changes one entry of R′.
fn mutate_entry(draft: &mut Draft, port: fn(&Draft, NodeId, Lid) -> u8) {
    let (at, lid) = far_lid(draft);
    let Write::LftBlock { switch, .. } = draft.waves[2].writes[at] else { panic!("a block") };
    let wrong = port(draft, switch, lid);
    let Write::LftBlock { entries, .. } = &mut draft.waves[2].writes[at] else { panic!("a block") };
    entries[usize::from(lid.0 % 64)] = wrong;
}

/// The next switch on the way to some LID sends its packets back.
fn into_a_loop(draft: &mut Draft) {
    let (at, lid) = far_lid(draft);
    let Write::LftBlock { switch, block, ref entries } = draft.waves[2].writes[at] else { panic!("a block") };
    let out = draft.after.port_at(switch, PortNum(entries[usize::from(lid.0 % 64)])).expect("a port of R′");
    let back: PortId = draft.after.peer(out).expect("a cable of R′");
    let (next, num) = (draft.after.port(back).node, draft.after.port(back).num);
    for write in &mut draft.waves[2].writes {
        if let Write::LftBlock { switch: s, block: b, entries } = write
            && (*s, *b) == (next, block)
        {
            entries[usize::from(lid.0 % 64)] = num.0;
        }
    }
}

type Arcs = std::collections::BTreeMap<NodeId, Vec<reconfig::plan::PortMask>>;

/// The drain graph with something left out.
fn redrain(draft: &mut Draft, change: impl FnOnce(&mut Arcs, &mut Vec<PortId>)) {
    let mut arcs = draft.drain[0].graph.arcs().clone();
    let mut sources: Vec<PortId> = draft.drain[0].graph.sources().to_vec();
    change(&mut arcs, &mut sources);
    let fabric = Arc::clone(&draft.surviving);
    draft.drain[0].graph = DrainGraph::new(&fabric, arcs, &sources).expect("a part of a graph without cycles has none");
}
