//! What is known of a routing in force beforehand shortens proofs, checks and preparations, and changes nothing else.
//!
//! Every comparison is with the same call without a base: verdict, refusal with its evidence, statistics, certificate
//! bytes and what the checker counts, of the plans that are made and of mutants of them that are to be refused.

use crate::support::is_thorough;
use reconfig::change::{ChangeBase, ChangeInput, engine_named, prepare, prepare_cheapest};
use reconfig::check::certificate::{self, CheckBase, IN_HAND};
use reconfig::fabric::generate::{Options, generate};
use reconfig::fabric::{Fabric, PortId};
use reconfig::ids::{Half, Lmc};
use reconfig::lid;
use reconfig::plan::{Barrier, Phase, Plan, Policy, Scheme, Sending, TurnedBack, Wave};
use reconfig::routing::{Demand, Engine, Parameters};
use reconfig::tables::{SubnetTables, Write};
use reconfig::verify::{self, BaseInput, Certificate, ProofBase, Scope};
use std::sync::Arc;

/// Topology, engine, LMC.
const SUBNETS: [(&str, &str, u8); 9] = [
    ("fat-tree:4,3", "fat-tree", 1),
    ("leaf-spine:6,3,3", "fat-tree", 1),
    ("three-level:8,4,4,4,4", "fat-tree", 0),
    ("torus:4x4,1", "up-down", 1),
    ("torus:4x4,2", "up-down-robust", 2),
    ("ring:6", "up-down", 1),
    ("random-regular:16,4,2", "up-down", 1),
    ("random-regular:16,4,2", "up-down-robust", 0),
    ("dragonfly:2,4,2", "up-down", 1),
];

struct Subnet {
    fabric: Arc<Fabric>,
    tables: SubnetTables,
    engine: Box<dyn Engine>,
    sm: PortId,
}

impl Subnet {
    fn of((topology, engine, lmc): (&str, &str, u8)) -> Subnet {
        let plain = generate(&topology.parse().expect("well formed"), &Options::default()).expect("can be built");
        let fabric = lid::assign(&plain.with_capabilities(4, true), Lmc::masked(lmc)).expect("LIDs enough");
        let engine = engine_named(engine, &Parameters { root: None, seed: 1 }).expect("an engine");
        let paths = usize::from(Lmc::masked(lmc).lids() / 2).max(1);
        let function = engine.route(&fabric, &Demand::all(&fabric, paths)).expect("it is connected");
        let tables = lid::bring_up(&fabric, &function, 4);
        let sm = fabric.end_ports().next().expect("hosts");
        Subnet { fabric: Arc::new(fabric), tables, engine, sm }
    }

    /// Fabrics that losses leave: of a cable, of a switch with hosts or without, of a host.
    fn losses(&self) -> Vec<Fabric> {
        let fabric = &*self.fabric;
        let cables: Vec<PortId> = fabric.links().map(|(one, _)| one).collect();
        let some = |count: usize, of: usize| (0..of).map(move |at| (at * count / of + 1) % count);
        let cable = |at: usize| fabric.without_links(&[cables[at]]);
        let switches: Vec<_> = fabric.switches().collect();
        let home = fabric.neighbour(self.sm);
        let gone = switches.iter().filter(|&&switch| Some(switch) != home).copied();
        let gone: Vec<_> = gone.collect();
        let mut left: Vec<Fabric> = some(cables.len(), 5).map(cable).collect();
        left.extend(some(gone.len(), 4).map(|at| fabric.without_nodes(&[gone[at]])));
        left.retain(|left| left.peer(self.sm).is_some());
        left
    }

    /// What one to three losses leave, of whatever kinds, that the manager survives.
    fn random_loss(&self, random: &mut Random) -> Fabric {
        let mut left = (*self.fabric).clone();
        for _ in 0..1 + random.below(3) {
            let without = match random.below(3) {
                0 => {
                    let switches: Vec<_> = left.switches().collect();
                    left.without_nodes(&[switches[random.below(switches.len())]])
                }
                _ => {
                    let cables: Vec<PortId> = left.links().map(|(one, _)| one).collect();
                    left.without_links(&[cables[random.below(cables.len())]])
                }
            };
            if without.peer(self.sm).is_some() {
                left = without;
            }
        }
        left
    }

    fn input(&self, left: &Arc<Fabric>, turned_back: TurnedBack, both_halves: bool) -> ChangeInput<'_> {
        ChangeInput {
            before: self.fabric.clone(),
            surviving: left.clone(),
            after: left.clone(),
            tables: self.tables.clone(),
            layers: 1,
            ways: None,
            old: Half::Lower,
            both_halves,
            engine: &*self.engine,
            scheme: Scheme::Ordered,
            policy: Policy { turned_back, ..Policy::default() },
            sm: self.sm,
            base: None,
        }
    }

    fn proof(&self, both_halves: bool) -> ProofBase {
        let scope = scope(both_halves);
        let (fabric, tables) = (self.fabric.clone(), self.tables.clone());
        ProofBase::of(BaseInput { fabric, tables, scope, answerer: Some(self.sm), reserved: None }).expect("R is safe")
    }
}

/// The halves on which sources send.
fn scope(both_halves: bool) -> Scope {
    Scope::of(if both_halves { &[Half::Lower, Half::Upper] } else { &[Half::Lower] })
}

/// The checker's base of the routing that a plan begins with.
fn checked(plan: &Plan) -> CheckBase {
    let mut draft = plan.draft().clone();
    (draft.surviving, draft.after) = (draft.before.clone(), draft.before.clone());
    draft.stranded = Vec::new();
    draft.assumptions.retain(|assumption| assumption.name() != "turned-back-is-discarded");
    draft.waves = vec![Wave {
        name: "rewrite".to_string(),
        phase: Phase::Rewrite,
        writes: Vec::new(),
        barriers: vec![Barrier::Acknowledged],
        sending: Sending::AnyOrder,
    }];
    let (proved, certificate) = verify::prove_certified(Plan::seal(draft)).expect("nothing changes");
    let certificate = certificate.expect("one wave").to_text(&proved.get().binding(IN_HAND.to_string()));
    CheckBase::of(proved.get(), certificate.as_bytes()).expect("accepted").expect("of the right kind")
}

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// The plan with something wrong, or at least different: an entry, the order of two waves, a wave that is left out.
fn mutant(plan: &Plan, random: &mut Random) -> Plan {
    let mut draft = plan.draft().clone();
    let waves = draft.waves.len();
    match random.below(6) {
        0 if waves > 1 => {
            let at = random.below(waves - 1);
            let (mut first, mut second) = (draft.waves[at].clone(), draft.waves[at + 1].clone());
            std::mem::swap(&mut first.writes, &mut second.writes);
            (draft.waves[at], draft.waves[at + 1]) = (first, second);
        }
        1 if waves > 1 => drop(draft.waves.remove(random.below(waves))),
        2 => draft.assumptions.retain(|assumption| assumption.name() != "turned-back-is-discarded"),
        _ => {
            let fabric = draft.before.clone();
            let wave = &mut draft.waves[random.below(waves)];
            let blocks = wave.writes.len();
            if blocks > 0
                && let Write::LftBlock { switch, block, entries } = &mut wave.writes[random.below(blocks)]
            {
                let lid = usize::from(*block) * 64 + random.below(64);
                let owned = fabric.lid_owner(reconfig::ids::Lid(lid as u16)).is_some();
                let ports = usize::from(fabric.node(*switch).num_ports);
                let port = if owned { 1 + random.below(ports) } else { 255 };
                entries[lid % 64] = port as u8;
            }
        }
    }
    Plan::seal(draft)
}

/// What came of comparisons.
#[derive(Default, Debug)]
struct Tally {
    accepted: usize,
    refused: usize,
    faults: usize,
    differing_tables: usize,
    by_difference: usize,
    /// Of these, how many where end ports that sent have died with the loss.
    without_the_dead: usize,
}

/// Judges a plan with and without bases, and compares everything. Returns its certificate.
fn compare(plan: &Plan, proof: &ProofBase, check: &CheckBase, tally: &mut Tally, what: &str) -> Option<Certificate> {
    let last = plan.tables_at(plan.waves().len());
    let scope = Scope { stranded: plan.draft().stranded.clone(), ..scope(plan.draft().both_halves) };
    let alone = verify::prove_tables(&plan.draft().after, last, &scope).map(drop);
    tally.differing_tables += usize::from(alone.is_err());
    assert_eq!(proof.prove_tables(&plan.draft().after, last, &scope), alone, "{what}: tables by themselves");
    let full = verify::prove_certified(plan.clone());
    match (&full, verify::accept(Some(proof), plan.clone())) {
        (Ok(_), Ok(accepted)) => {
            let draft = plan.draft();
            let has_dead = draft.before.end_ports().any(|port| draft.surviving.peer(port).is_none());
            tally.by_difference += usize::from(accepted.is_by_difference());
            tally.without_the_dead += usize::from(accepted.is_by_difference() && has_dead);
        }
        (Err((_, full)), Err((_, other))) => assert_eq!(*full, other, "{what}: another refusal by difference"),
        (full, other) => panic!("{what}: accepted {} in full, {} by difference", full.is_ok(), other.is_ok()),
    }
    let based = verify::prove_certified_from(proof, plan.clone());
    match (full, based) {
        (Ok((full, certificate)), Ok((based, other))) => {
            tally.accepted += 1;
            assert_eq!(full.statistics(), based.statistics(), "{what}: statistics");
            assert!(certificate == other, "{what}: another certificate");
            let certificate = certificate?;
            let text = certificate.to_text(&plan.binding(IN_HAND.to_string()));
            let checked = certificate::check_in_hand(plan, text.as_bytes());
            assert_eq!(certificate::check_in_hand_from(check, plan, text.as_bytes()), checked, "{what}: check");
            Some(certificate)
        }
        (Err((_, full)), Err((_, based))) => {
            tally.refused += 1;
            assert_eq!(full, based, "{what}: another refusal");
            None
        }
        (full, based) => panic!("{what}: accepted {} without a base, {} with it", full.is_ok(), based.is_ok()),
    }
}

#[test]
fn a_base_changes_no_verdict_no_evidence_and_no_byte() {
    let mut tally = Tally::default();
    let mut random = Random(7);
    for case in SUBNETS {
        let subnet = Subnet::of(case);
        let proofs = [false, true].map(|both| (!both || subnet.fabric.has_both_halves()).then(|| subnet.proof(both)));
        for (at, left) in subnet.losses().into_iter().enumerate() {
            let left = Arc::new(left);
            let settings =
                [(TurnedBack::Discarded, false), (TurnedBack::Returned, false), (TurnedBack::Discarded, true)];
            for (turned_back, both_halves) in settings {
                let what = format!("{case:?}, loss {at}, turned back {turned_back:?}, both halves {both_halves}");
                let Some(proof) = &proofs[usize::from(both_halves)] else { continue };
                let Ok(prepared) = prepare(subnet.input(&left, turned_back, both_halves)) else { continue };
                let plan = prepared.plan.plan().clone();
                if plan.waves().is_empty() {
                    continue;
                }
                let check = checked(&plan);
                let own = compare(&plan, proof, &check, &mut tally, &what).expect("it was vetted");
                for number in 0..if is_thorough() { 12 } else { 4 } {
                    let mutant = mutant(&plan, &mut random);
                    let what = format!("{what}, mutant {number}");
                    compare(&mutant, proof, &check, &mut tally, &what);
                    // The certificate of another plan: what it lists is not closed here, or does not rise.
                    let text = own.to_text(&mutant.binding(IN_HAND.to_string()));
                    let full = certificate::check_in_hand(&mutant, text.as_bytes());
                    tally.faults += usize::from(full.is_err());
                    assert_eq!(certificate::check_in_hand_from(&check, &mutant, text.as_bytes()), full, "{what}");
                }
            }
        }
    }
    println!("{tally:?}");
    let Tally { accepted, refused, faults, differing_tables, by_difference, without_the_dead } = tally;
    assert!(accepted > 100 && refused > 100 && faults > 100 && differing_tables > 50, "{tally:?}");
    assert!(by_difference > 50 && without_the_dead > 20, "{tally:?}");
}

/// The same for losses at random, several at once, and for mutants of both halves of LIDs or of one alone.
#[test]
fn a_base_changes_no_verdict_whatever_is_lost() {
    let mut tally = Tally::default();
    let seed = std::env::var("PROPTEST_RNG_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("seed {seed}");
    let mut random = Random(seed);
    let subnets: Vec<Subnet> =
        SUBNETS.into_iter().filter(|case| case.0 != "three-level:8,4,4,4,4").map(Subnet::of).collect();
    let cases = if is_thorough() { 400 } else { 60 };
    for case in 0..cases {
        let subnet = &subnets[random.below(subnets.len())];
        let both_halves = subnet.fabric.has_both_halves() && random.below(3) > 0;
        let turned_back = if random.below(2) == 0 { TurnedBack::Discarded } else { TurnedBack::Returned };
        let left = Arc::new(subnet.random_loss(&mut random));
        let Ok(prepared) = prepare(subnet.input(&left, turned_back, both_halves)) else { continue };
        let plan = prepared.plan.plan().clone();
        if plan.waves().is_empty() {
            continue;
        }
        let (proof, check) = (subnet.proof(both_halves), checked(&plan));
        let what = format!("case {case}, both halves {both_halves}, turned back {turned_back:?}");
        compare(&plan, &proof, &check, &mut tally, &what);
        for number in 0..3 {
            compare(&mutant(&plan, &mut random), &proof, &check, &mut tally, &format!("{what}, mutant {number}"));
        }
    }
    println!("{tally:?}");
    let Tally { accepted, refused, by_difference, without_the_dead, .. } = tally;
    assert!(accepted > 40 && refused > 40 && by_difference > 20 && without_the_dead > 5, "{tally:?}");
}

#[test]
fn what_is_prepared_with_a_base_is_what_is_prepared_without() {
    let (mut made, mut refused) = (0, 0);
    for case in SUBNETS {
        let subnet = Subnet::of(case);
        for (at, left) in subnet.losses().into_iter().enumerate() {
            let left = Arc::new(left);
            let input = subnet.input(&left, TurnedBack::Discarded, false);
            let base = ChangeBase::of(&input.in_force()).expect("R is safe");
            let without = prepare_cheapest(input.clone(), 0);
            match (without, prepare_cheapest(ChangeInput { base: Some(&base), ..input }, 0)) {
                (Ok(without), Ok(with)) => {
                    made += 1;
                    assert!(with.plan == without.plan, "{case:?}, loss {at}: another plan");
                    assert_eq!((with.layers, with.stranded), (without.layers, without.stranded));
                }
                (Err(without), Err(with)) => {
                    refused += 1;
                    assert_eq!(with.to_string(), without.to_string(), "{case:?}, loss {at}");
                }
                (without, with) => panic!("{case:?}, loss {at}: {:?} and {:?}", without.is_ok(), with.is_ok()),
            }
        }
    }
    assert!(made > 60, "{made} made, {refused} refused");
}

/// A base of other tables is not used: what it knows is not true of these.
#[test]
fn a_base_of_another_routing_is_not_used() {
    let subnet = Subnet::of(SUBNETS[6]);
    let other = Subnet::of(("random-regular:16,4,2", "up-down-robust", 1));
    assert!(subnet.fabric == other.fabric && subnet.tables != other.tables);
    let left = Arc::new(subnet.losses().swap_remove(0));
    let base = ChangeBase::of(&other.input(&left, TurnedBack::Discarded, false).in_force()).expect("R is safe");
    let input = subnet.input(&left, TurnedBack::Discarded, false);
    let without = prepare_cheapest(input.clone(), 0).expect("a plan");
    let with = prepare_cheapest(ChangeInput { base: Some(&base), ..input }, 0).expect("a plan");
    assert!(with.plan == without.plan);
}
