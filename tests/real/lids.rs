//! guid2lid: OpenSM and we read each other's.

use super::fabrics::{SMALL, generated};
use super::installed;
use super::opensm::OpenSm;
use super::picture::Picture;
use super::subnet::Subnet;
use reconfig::fabric::Fabric;
use reconfig::fabric::format::read;
use reconfig::frontend::lid_file::{load, save};
use reconfig::ids::{Guid, Lid, Lmc};
use reconfig::lid::{Guid2Lid, assign_stable};
use std::collections::BTreeMap;
use std::time::Duration;

/// By port GUID: base LID, LMC.
fn lids(fabric: &Fabric) -> BTreeMap<Guid, (Lid, Lmc)> {
    let of = |id| {
        let port = fabric.port(id);
        Some((port.guid.unwrap_or(fabric.node(port.node).guid), (port.lid?, port.lmc)))
    };
    fabric.lid_ports().filter_map(of).collect()
}

/// LIDs from the top down, far from what OpenSM would choose.
fn unusual(fabric: &Fabric, lmc: Lmc) -> Guid2Lid {
    let record = |(rank, id)| {
        let port = fabric.port(id);
        let (switch, guid) = (fabric.node(port.node).is_switch(), port.guid.unwrap_or(fabric.node(port.node).guid));
        let last = 0x1000 - 0x10 * rank as u16;
        format!("{guid} {last:#06x} {:#06x}\n\n", last + if switch { 0 } else { lmc.lids() - 1 })
    };
    let text: String = fabric.lid_ports().enumerate().map(record).collect();
    Guid2Lid::read(text.as_bytes(), "unusual").unwrap_or_else(|error| panic!("{}", error.render(false)))
}

#[test]
fn opensm_gives_the_lids_of_our_file_and_we_those_of_its() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let net = generated(topology, seed);
    for lmc in [0, 1, 2] {
        let subnet = Subnet::serve(&net.text);
        // ibsim numbers the ports of CAs itself: GUIDs are those that it shows.
        let shown = read(subnet.tool(&["ibnetdiscover"]).as_bytes(), "shown")
            .unwrap_or_else(|error| panic!("{}", error.render(false)));
        let file = subnet.folder().join("guid2lid");
        let ours = unusual(&shown, Lmc::masked(lmc));
        save(&file, &ours).unwrap_or_else(|error| panic!("{error}"));
        let manager = OpenSm::bring_up(&subnet, None, &format!("lmc {lmc}\nhonor_guid2lid_file TRUE\n"));
        let seen = Picture::take(&subnet).fabric;
        let meant = assign_stable(&shown, Lmc::masked(lmc), &ours).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lids(&seen), lids(&meant), "LMC {lmc}: OpenSM, told by our file");
        assert_eq!(lids(&seen).values().map(|(lid, _)| lid.0).max(), Some(0x1000), "the file was read");
        subnet.wait("OpenSM to write its guid2lid", Duration::from_secs(60), || {
            load(&file).is_ok_and(|known| known == ours)
        });
        drop(manager);
    }
}

#[test]
fn who_takes_over_from_opensm_keeps_its_lids() {
    if !installed() {
        return;
    }
    let (topology, seed) = SMALL[0];
    let net = generated(topology, seed);
    for lmc in [0, 1] {
        let subnet = Subnet::serve(&net.text);
        let manager = OpenSm::bring_up(&subnet, None, &format!("lmc {lmc}\n"));
        let seen = Picture::take(&subnet).fabric;
        drop(manager);
        let theirs = load(&subnet.folder().join("guid2lid")).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(theirs.iter().len(), lids(&seen).len());
        let bare = seen.with_lids([]).unwrap_or_else(|error| panic!("{error}"));
        let ours = assign_stable(&bare, Lmc::masked(lmc), &theirs).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lids(&ours), lids(&seen), "LMC {lmc}: the file alone");
        let ours = assign_stable(&seen, Lmc::masked(lmc), &Guid2Lid::new()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(lids(&ours), lids(&seen), "LMC {lmc}: the ports alone");
    }
}
