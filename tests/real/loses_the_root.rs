//! The root goes: its cables in ibsim's console, which is trap 128, or by `reconfig change`. Five phases with real
//! SMPs; at every barrier the subnet is looked at from outside, and judged.

use super::agree::Expected;
use super::brings_up::{BOTH, all_is_well, expected, standing};
use super::fabrics::{Net, SMALL, generated, tree};
use super::installed;
use super::judges::Judges;
use super::picture::{Lanes, Picture};
use super::scene::Scene;
use super::side_by_side;
use super::sm::{COMPLETED, FOLLOWED, Sm, without};
use crate::support::is_thorough;
use reconfig::fabric::{Fabric, NodeId};
use reconfig::ids::{Half, Sl, Vl, VlSet};
use reconfig::plan::LanePartition;

/// The states in which a change comes to its barriers.
const BARRIERS: [&str; 7] = ["splitting", "flushing", "installing", "swapping", "moving", "draining", "restoring"];
/// The options of either partition, and what is expected of the subnet between changes.
const PARTITIONS: [(LanePartition, &[&str], Meant); 2] =
    [(LanePartition::Temporary, &[], expected), (LanePartition::Standing, &["--standing-partition"], standing)];
type Meant = fn(&Fabric, u8, Half) -> Expected<'_>;
/// The fabrics whose every barrier is judged: at each, every cabled port is asked for its lanes.
fn judged() -> [Net; 2] {
    [SMALL[0], tree()].map(|(topology, seed)| generated(topology, seed))
}

/// With four data VLs: what the old half keeps, and what the new one gets.
const A: VlSet = VlSet(0b0011);
const B: VlSet = VlSet(0b1100);

/// Between split and restore the service levels of each half have lanes of their own, at every switch.
fn lanes_are_apart(picture: &Picture, lanes: &Lanes, state: &str) {
    for ((node, input, output), table) in lanes {
        let cabled = input.0 == 0 || picture.cabled(*node).contains(input);
        if picture.fabric.node(*node).is_switch() && cabled && input != output {
            let of = |half: Half| half.sls().map(|sl: Sl| table.get(sl)).collect::<VlSet>();
            let name = picture.fabric.describe_node(*node);
            assert_eq!((of(Half::Lower), of(Half::Upper)), (A, B), "{state}: {name}[{input}] to [{output}]: {table:?}");
        }
    }
}

/// The half that end ports discard at: the spare one until the swap, the retired one after it, none once all is over.
fn fence_stands(picture: &Picture, lanes: &Lanes, state: &str) {
    let closed = match state {
        "splitting" | "flushing" | "installing" => Half::Upper,
        "moving" | "draining" => Half::Lower,
        _ => return,
    };
    for ((node, _, port), table) in lanes.iter().filter(|((node, ..), _)| !picture.fabric.node(*node).is_switch()) {
        let discards = |half: Half| half.sls().all(|sl| table.get(sl) == Vl::MANAGEMENT);
        let name = format!("{state}: {}[{port}]: {table:?}", picture.fabric.describe_node(*node));
        assert_eq!((discards(closed), discards(closed.other())), (true, false), "{name}");
    }
}

/// Looks at the subnet at a barrier. Planned: the root is still there, and the old half reaches everybody.
fn judged_at(scene: &Scene, state: &str, planned: bool) {
    let picture = Picture::take(&scene.subnet);
    let nodes: Vec<NodeId> = picture.fabric.nodes().filter(|(_, node)| node.present).map(|(id, _)| id).collect();
    let lanes = picture.lanes(&scene.subnet, &nodes);
    // Judged is what a packet meets that has passed the fence.
    let mut inner = lanes.clone();
    inner.retain(|(node, ..), _| picture.fabric.node(*node).is_switch());
    let judges = Judges::new(&scene.subnet, &picture, Some(&inner));
    if state != "restoring" {
        lanes_are_apart(&picture, &lanes, state);
        fence_stands(&picture, &lanes, state);
        judges.finds_no_loop();
    }
    let at = BARRIERS.iter().position(|&name| name == state).expect("a state of the list");
    let (installed, swapped) = (at >= 2, at >= 3);
    if planned && !swapped {
        judges.accepts(if installed { &BOTH[..1] } else { &BOTH });
    }
    if installed {
        let root = picture.fabric.by_guid(scene.topology.node(scene.place.root).guid);
        let rest = root.map(|root| picture.within(without(&picture.fabric, root, &scene.place.node)));
        Judges::new(&scene.subnet, rest.as_ref().unwrap_or(&picture), Some(&inner)).accepts(&BOTH[1..]);
    }
}

fn passes_its_barriers(net: &Net, planned: bool) {
    side_by_side(&PARTITIONS, |&(partition, options, meant)| {
        passes_its_barriers_on(net, planned, partition, options, meant);
    });
}

fn passes_its_barriers_on(net: &Net, planned: bool, partition: LanePartition, options: &[&str], meant: Meant) {
    let scene = &mut Scene::of(net, &[&["--scheme", "double", "--pause-at-barriers"], options].concat());
    all_is_well(&scene.subnet, &meant(&scene.topology, 1, Half::Lower), &BOTH);
    let root = scene.root();
    let order = if planned {
        Some(scene.manager.begin(&scene.subnet, "change", &["--remove-switch", &root, "--planned", "--allow-cut-off"]))
    } else {
        scene.subnet.unlink(&root, None);
        None
    };
    let scene = &*scene;
    let mut states = scene.manager.at_each_barrier(&scene.subnet, |state| judged_at(scene, state, planned));
    states.dedup();
    // Under a standing partition phases 1 and 5 write nothing where nothing has come.
    let is_entered =
        |state: &&str| partition == LanePartition::Temporary || !["splitting", "restoring"].contains(state);
    assert_eq!(states, BARRIERS.into_iter().filter(is_entered).collect::<Vec<_>>(), "{}, {partition}", net.name);
    assert_eq!(scene.manager.count(COMPLETED), 1, "{}", net.name);
    drop(order);
    if !planned {
        let rest = without(&scene.topology, scene.place.root, &scene.place.node);
        all_is_well(&scene.subnet, &meant(&rest, 1, Half::Upper), &BOTH[1..]);
    }
}

#[test]
fn its_cables_go_and_every_barrier_is_judged() {
    if installed() {
        side_by_side(&judged(), |net| passes_its_barriers(net, false));
    }
}

#[test]
fn it_is_emptied_on_request_and_every_barrier_is_judged() {
    if installed() {
        side_by_side(&judged(), |net| passes_its_barriers(net, true));
    }
}

#[test]
fn its_cables_go_and_come_back() {
    if !installed() {
        return;
    }
    let fabrics = if is_thorough() { &SMALL[..] } else { &SMALL[2..] };
    side_by_side(fabrics, |&(topology, seed)| {
        let sent =
            PARTITIONS.map(|(_, options, meant)| goes_and_comes_back(&generated(topology, seed), options, meant));
        let [temporary, standing] = &sent;
        assert!(
            standing < temporary,
            "{topology}: SMPs of a change with a temporary and a standing partition: {sent:?}"
        );
    });
}

/// The root's cables go and come back; SMPs of the change that brought them back.
fn goes_and_comes_back(net: &Net, options: &[&str], meant: Meant) -> u64 {
    let mut scene = Scene::of(net, &[&["--scheme", "double"], options].concat());
    let root = scene.root();
    scene.subnet.unlink(&root, None);
    scene.manager.wait(&scene.subnet, FOLLOWED, 1);
    let rest = without(&scene.topology, scene.place.root, &scene.place.node);
    all_is_well(&scene.subnet, &meant(&rest, 1, Half::Upper), &BOTH[1..]);
    scene.subnet.relink(&root, None);
    scene.manager.wait(&scene.subnet, FOLLOWED, 2);
    all_is_well(&scene.subnet, &meant(&scene.topology, 1, Half::Lower), &BOTH[..1]);
    let status = scene.manager.status(&scene.subnet);
    let smps = status["last_change"]["smps"]["total"].as_u64().expect("a change was made");
    println!("{}: {options:?}: {smps} SMPs", net.name);
    smps
}

/// A manager that is started again adopts a standing partition as it stands, and one with another partition moves
/// levels to its own lanes, with a proof.
#[test]
fn a_standing_partition_is_adopted_by_who_keeps_it_and_by_nobody_else() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let mut scene = Scene::of(&generated(topology, seed), &["--standing-partition"]);
    assert_eq!(scene.manager.says(&scene.subnet, "arrival"), "cold");
    assert_eq!(scene.manager.status(&scene.subnet)["policy"]["partition"], "standing");
    drop(scene.manager);
    let again = Sm::bring_up(&scene.subnet, &scene.place.node, &["--standing-partition"]);
    assert_eq!(again.says(&scene.subnet, "arrival"), "adopted");
    all_is_well(&scene.subnet, &standing(&scene.topology, 1, Half::Lower), &BOTH);
    drop(again);
    scene.manager = Sm::bring_up(&scene.subnet, &scene.place.node, &["--takeover", "proved"]);
    assert_eq!(scene.manager.says(&scene.subnet, "arrival"), "recovered");
    assert!(scene.manager.says(&scene.subnet, "arrival_why").contains("has other SL-to-VL tables than SL mod 4"));
    all_is_well(&scene.subnet, &expected(&scene.topology, 1, Half::Lower), &BOTH);
}

/// By default no host moves where entries alone will do, and here they do: no LID, level or lane changes. On the fourth
/// fabric the waves would have to wait for one another.
#[test]
fn its_cables_go_and_come_back_and_no_host_is_moved() {
    if !installed() {
        return;
    }
    side_by_side(&SMALL[..if is_thorough() { 3 } else { 2 }], |&(topology, seed)| {
        let mut scene = Scene::of(&generated(topology, seed), &[]);
        let root = scene.root();
        scene.subnet.unlink(&root, None);
        scene.settles(1);
        let rest = without(&scene.topology, scene.place.root, &scene.place.node);
        all_is_well(&scene.subnet, &expected(&rest, 1, Half::Lower), &BOTH);
        let so_far = scene.manager.count(COMPLETED);
        scene.subnet.relink(&root, None);
        scene.settles(so_far + 1);
        all_is_well(&scene.subnet, &expected(&scene.topology, 1, Half::Lower), &BOTH);
        let changed = ["state=\"splitting\"", "state=\"swapping\""].map(|state| scene.manager.count(state));
        assert_eq!(changed, [0, 0], "{topology}");
    });
}
